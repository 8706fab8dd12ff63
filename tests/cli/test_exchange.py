import json
from dataclasses import replace
from itertools import pairwise

import pytest
from samples import neural_program, untrained

from neurallp.datasets.family import family_knowledge_base, family_triples
from neurallp.io.rules import EXPORTS
from neurallp.io.rules.table import read_rules, write_rules
from neurallp.io.triples import read_triples, write_triples
from neurallp.rules.rule import Rule, RuleSet

UNCLE = Rule("uncle", ("father", "brother"), 0.5, distinct_ends=True, support=60, num_predictions=120)
AUNT = Rule("aunt", ("father", "sister"), 0.5, distinct_ends=True, support=60, num_predictions=120)
SELF = Rule("uncle", ("uncle",), 0.25, 0.5)


pytestmark = pytest.mark.filterwarnings("always")


@pytest.fixture(autouse=True)
def a_folder_of_its_own(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def rules(tmp_path):
    write_rules(tmp_path / "rules.tsv", [UNCLE, AUNT, SELF, UNCLE])
    return tmp_path / "rules.tsv"


@pytest.fixture
def data(tmp_path):
    write_triples(tmp_path / "family.tsv", family_triples(num_people=80))
    return tmp_path / "family.tsv"


@pytest.mark.parametrize("form", EXPORTS)
def test_rules_are_exported_without_what_is_said_twice_or_says_nothing(run, rules, tmp_path, form):
    code, out, _ = run("export", rules, "--format", form, "--out", "out", "--json")
    assert code == 0
    expected = {
        "out": "out",
        "format": form,
        "rules": 2,
        "queries": 2,
        "merged": 1,
        "vacuous": 1,
        "subsumed": [],
    }
    assert json.loads(out) == expected
    assert "uncle" in (tmp_path / "out").read_text()


def test_the_saved_rules_of_a_model_are_exported_or_as_many_as_are_asked_for(run, tmp_path):
    kb = family_knowledge_base(num_people=40, num_generations=3)
    program = neural_program(untrained(kb).float(), kb)
    program.save(tmp_path / "model")
    saved = read_rules(tmp_path / "model" / "rules.tsv")
    assert run("export", "model", "--format", "tsv", "--out", "out.tsv")[0] == 0
    exported = read_rules(tmp_path / "out.tsv")
    assert set(exported) == {rule for rule in saved if not rule.is_vacuous}
    assert run("export", "model", "--format", "tsv", "--out", "out.tsv", "--limit", 2)[0] == 0
    few = read_rules(tmp_path / "out.tsv")
    assert max(len(few.about(target)) for target in few.targets) == 2


def test_one_query_is_exported_and_its_name_suggested(run, rules, tmp_path):
    assert run("export", rules, "--format", "tsv", "--out", "out.tsv", "--query", "aunt")[0] == 0
    assert read_rules(tmp_path / "out.tsv") == RuleSet([AUNT])
    code, _, err = run("export", rules, "--format", "tsv", "--out", "out.tsv", "--query", "ant")
    assert code == 2
    assert "Did you mean 'aunt'?" in err


@pytest.mark.parametrize("verb", ["export", "import"])
def test_a_misspelt_format_is_suggested(run, rules, verb):
    code, out, err = run(verb, rules, "--format", "jsonn", "--out", "out")
    assert (code, out) == (2, "")
    assert "Did you mean 'json'?" in err.replace("\n", " ")


def test_data_counts_support_and_flags_what_is_subsumed(run, data, tmp_path):
    married = Rule("uncle", ("father", "brother", "wife", "husband"), 0.25, 0.5)
    write_rules(tmp_path / "rules.tsv", [replace(UNCLE, support=None), married])
    code, out, _ = run("export", "rules.tsv", "--format", "anyburl", "--out", "out", "--data", data, "--json")
    assert code == 0
    assert json.loads(out)["subsumed"] == [{"rule": str(married), "by": str(UNCLE)}]
    _, out, _ = run("export", "rules.tsv", "--format", "anyburl", "--out", "out", "--data", data)
    assert f"Subsumed: {married}" in out


def test_rules_are_imported_cleaned_and_counted(run, data, tmp_path):
    lines = [
        "120\t60\t0.5\tuncle(X,Y) <= father(X,A), brother(A,Y)",
        "120\t60\t0.5\tuncle(X,Y) <= father(X,A), brother(A,Y)",
        "9\t9\t1.0\tuncle(X,Y) <= uncle(X,Y)",
        "9\t9\t1.0\tuncle(X,bob) <= wife(X,A)",
    ]
    (tmp_path / "mined.txt").write_text("\n".join(lines))
    code, out, err = run("import", "mined.txt", "--format", "anyburl", "--data", data, "--json")
    assert code == 0
    assert json.loads(out) == {
        "out": "rules.tsv", "format": "tsv", "rules": 1, "queries": 1,
        "skipped": 1, "merged": 1, "vacuous": 1, "subsumed": [],
    }  # fmt: skip
    assert "1 of 4 rules are no chains" in err
    (rule,) = read_rules(tmp_path / "rules.tsv")
    assert (rule.body, rule.confidence, rule.measured_confidence) == (("father", "brother"), 0.5, 1.0)


def test_distinct_variables_can_be_asked_for_at_import(run, tmp_path):
    line = "?a  father  ?h  ?h  brother  ?b   => ?a  uncle  ?b\t0.1\t0.5\t0.6\t60\t120\t100\t-1\n"
    (tmp_path / "amie.txt").write_text(line)
    for flags, all_inequalities in (((), []), (("ends",), [(0, 2)]), (("all",), [(0, 1), (0, 2), (1, 2)])):
        options = [f"--distinct={flag}" for flag in flags]
        assert run("import", "amie.txt", "--format", "amie", *options)[0] == 0
        assert read_rules(tmp_path / "rules.tsv")[0].all_inequalities == all_inequalities


def test_triples_are_converted_there_and_back(run, data, tmp_path):
    pytest.importorskip("pyoxigraph", reason="pyoxigraph is not installed: pip install 'neurallp[formats]'")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'neurallp[formats]'")
    chain = [data, "a.parquet", "a.ttl", "a.nt.gz", "a.csv"]
    for source, target in pairwise(chain):
        assert run("convert", source, target)[0] == 0
    assert sorted(read_triples(tmp_path / "a.csv")) == sorted(read_triples(data))


def test_a_folder_is_converted_part_by_part(run, refuse, tmp_path):
    (tmp_path / "split").mkdir()
    parts = {"train": [("a", "r", "b"), ("b", "r", "c")], "test": [("a", "r", "c")]}
    for part, triples in parts.items():
        write_triples(tmp_path / "split" / f"{part}.tsv", triples)
    code, out, _ = run("convert", "split", "new", "--to", "csv.gz", "--json")
    assert (code, json.loads(out)) == (0, {"out": "new", "triples": 3, "relations": 1, "literals": 0})
    assert {part: read_triples(tmp_path / "new" / f"{part}.csv.gz") for part in parts} == parts
    assert "--to ttl" in refuse("convert", "split", "other")
    assert "--to is for folders" in refuse("convert", "split/train.tsv", "a.csv", "--to", "csv")


def test_converting_tells_what_was_left_out_and_keeps_iris(run, tmp_path):
    pytest.importorskip("pyoxigraph", reason="pyoxigraph is not installed: pip install 'neurallp[formats]'")
    (tmp_path / "a.ttl").write_text("@prefix ex: <http://ex.org/> . ex:a ex:r ex:b ; ex:age 4 .")
    code, out, _ = run("convert", "a.ttl", "a.nt", "--json")
    assert (code, json.loads(out)) == (0, {"out": "a.nt", "triples": 1, "relations": 1, "literals": 1})
    assert (tmp_path / "a.nt").read_text() == "<http://ex.org/a> <http://ex.org/r> <http://ex.org/b> .\n"
    (tmp_path / "b.tsv").write_text("x:a\tx:r\tx:b\n")
    assert run("convert", "b.tsv", "b.nt", "--prefix", "x=http://x.org/")[0] == 0
    assert "<http://x.org/a>" in (tmp_path / "b.nt").read_text()


@pytest.mark.parametrize("prefix", ["ex", "ex=nothing", "=", ""])
def test_a_prefix_without_iri_is_refused(run, data, prefix):
    code, _, err = run("convert", data, "a.nt", "--prefix", prefix)
    assert code == 2
    assert "NAME=IRI" in err
