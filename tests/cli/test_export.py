import json
from dataclasses import replace

import pytest
from samples import neural_program, untrained

from neurallp.datasets.family import family_knowledge_base, family_triples
from neurallp.io.rules import EXPORTS
from neurallp.io.rules.table import read_rules, write_rules
from neurallp.io.triples import write_triples
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


def test_the_rules_that_a_format_does_not_hold_are_counted_by_reason(run, tmp_path):
    inverse = Rule("~uncle", ("~brother", "~father"), 0.5, distinct_ends=True)
    named = Rule("aunt", ("sister",), 0.5, kind="unary", answer="ann")
    write_rules(tmp_path / "rules.tsv", [UNCLE, inverse, named])
    _, out, _ = run("export", "rules.tsv", "--format", "prolog", "--out", "out")
    why = "1 left out (not chains for an answer), 1 equal to the inverse of another"
    assert out == f"1 rule in out, for 1 query, {why}.\n"
    _, out, _ = run("export", "rules.tsv", "--format", "json", "--out", "out")
    assert out == "3 rules in out, for 3 queries.\n"


def test_one_query_is_exported_and_its_name_suggested(run, rules, tmp_path):
    assert run("export", rules, "--format", "tsv", "--out", "out.tsv", "--relation", "aunt")[0] == 0
    assert read_rules(tmp_path / "out.tsv") == RuleSet([AUNT])
    code, _, err = run("export", rules, "--format", "tsv", "--out", "out.tsv", "--relation", "ant")
    assert code == 2
    assert "Did you mean 'aunt'?" in err


@pytest.mark.parametrize("verb", ["export", "import"])
def test_a_misspelt_format_is_suggested(run, rules, verb):
    code, out, err = run(verb, rules, "--format", "jsonn", "--out", "out")
    assert (code, out) == (2, "")
    assert "Did you mean 'json'?" in err.replace("\n", " ")


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (["--few", 3], "--few"),
        (["--relation", "uncle", "--limit", 2], "--limit and --relation"),
        (["--distinct", "ends"], "--distinct"),
    ],
)
def test_options_that_choose_rules_are_refused_where_a_format_holds_the_whole_model(
    refuse, rules, tmp_path, given, names
):
    told = refuse("export", rules, "--format", "scored-sql", "--out", tmp_path / "out.sql", *given)
    assert told == f"--format scored-sql holds the whole model. Leave out {names}."
    assert not (tmp_path / "out.sql").exists()


def test_data_counts_support_and_flags_what_is_subsumed(run, data, tmp_path):
    married = Rule("uncle", ("father", "brother", "wife", "husband"), 0.25, 0.5)
    write_rules(tmp_path / "rules.tsv", [replace(UNCLE, support=None), married])
    code, out, _ = run("export", "rules.tsv", data, "--format", "anyburl", "--out", "out", "--json")
    assert code == 0
    assert json.loads(out)["subsumed"] == [{"rule": str(married), "by": str(UNCLE)}]
    _, out, _ = run("export", "rules.tsv", data, "--format", "anyburl", "--out", "out")
    assert f"Subsumed: {married}" in out


def test_a_table_for_spreadsheets_begins_no_cell_like_a_formula(run, refuse, tmp_path):
    write_rules(
        "odd.tsv", [Rule("=cmd", ("father",), 0.5), Rule("r", ("s",), 0.5, kind="unary", answer="@x")]
    )
    run("export", "odd.tsv", "--format", "tsv", "--out", "safe.tsv", "--safe-csv")
    cells = [cell.strip('"') for cell in (tmp_path / "safe.tsv").read_text().replace("\n", "\t").split("\t")]
    assert {"'=cmd", "'@x", "'=cmd(X, Y) <= father(X, Y)"} <= set(cells)
    assert not [cell for cell in cells if cell.startswith(("=", "@"))]
    assert "--format tsv" in refuse("export", "odd.tsv", "--format", "sql", "--out", "a", "--safe-csv")
