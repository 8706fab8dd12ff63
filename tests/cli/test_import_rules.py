import json

import pytest

from neurallp.datasets.family import family_triples
from neurallp.io.rules.table import read_rules
from neurallp.io.triples import write_triples

pytestmark = pytest.mark.filterwarnings("always")


@pytest.fixture(autouse=True)
def a_folder_of_its_own(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def data(tmp_path):
    write_triples(tmp_path / "family.tsv", family_triples(num_people=80))
    return tmp_path / "family.tsv"


def test_rules_are_imported_cleaned_and_counted(run, data, tmp_path):
    lines = [
        "120\t60\t0.5\tuncle(X,Y) <= father(X,A), brother(A,Y)",
        "120\t60\t0.5\tuncle(X,Y) <= father(X,A), brother(A,Y)",
        "9\t9\t1.0\tuncle(X,Y) <= uncle(X,Y)",
        "9\t9\t1.0\tuncle(X,bob) <= wife(X,A), aunt(A,eve)",
    ]
    (tmp_path / "mined.txt").write_text("\n".join(lines))
    code, out, err = run("import", "mined.txt", data, "--format", "anyburl", "--json")
    assert code == 0
    assert json.loads(out) == {
        "out": "rules.tsv", "format": "tsv", "rules": 1, "queries": 1,
        "skipped": 1, "merged": 1, "vacuous": 1, "subsumed": [],
    }  # fmt: skip
    assert "skipped 1 of 4 rules" in err
    (rule,) = read_rules(tmp_path / "rules.tsv")
    assert (rule.body, rule.confidence, rule.measured_confidence) == (("father", "brother"), 0.5, 1.0)


def test_distinct_variables_can_be_asked_for_at_import(run, tmp_path):
    line = "?a  father  ?h  ?h  brother  ?b   => ?a  uncle  ?b\t0.1\t0.5\t0.6\t60\t120\t100\t-1\n"
    (tmp_path / "amie.txt").write_text(line)
    for flags, all_inequalities in (((), []), (("ends",), [(0, 2)]), (("all",), [(0, 1), (0, 2), (1, 2)])):
        options = [f"--distinct={flag}" for flag in flags]
        assert run("import", "amie.txt", "--format", "amie", *options)[0] == 0
        assert read_rules(tmp_path / "rules.tsv")[0].all_inequalities == all_inequalities
