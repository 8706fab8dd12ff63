"""Scored exports compute the model's scores in DuckDB, SWI-Prolog and from JSON, for every kind of rule."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from weighted_samples import hub_kb, linked_rules, near_rules, random_kb, random_rules

from neurallp import KnowledgeBase
from neurallp.errors import ConfigError, FormatError
from neurallp.io.rules import SCORED, export_scored, import_scored
from neurallp.io.rules.logic import quote_atom
from neurallp.io.rules.scored import SCORED_KINDS
from neurallp.io.triples import write_triples
from neurallp.reasoning.calibration import Calibration
from neurallp.reasoning.calibration_sample import SHARPNESS
from neurallp.reasoning.reasoner import Reasoner
from neurallp.weighting.kinds.base import Candidate
from neurallp.weighting.weighted_rules import WeightedQuery, WeightedRules

PRINT = """
:- initialization(main).
main :- entity_list(Entities),
    forall(( member(Query, [QUERIES]), member(Source, Entities), scores(Source, Query, Pairs),
             member(Entity-Score, Pairs) ),
           ( maplist(atom_codes, [Source, Entity], Codes), format("~w ~17g ~w~n", [Codes, Score, Query]) )),
    halt.
"""

PRINT_PROBABILITIES = """
:- initialization(main).
main :- entity_list(Entities),
    forall(( member(Query, [QUERIES]), member(Source, Entities), probabilities(Source, Query, 100, Answers),
             member(answer(Entity, _, P), Answers) ),
           ( maplist(atom_codes, [Source, Entity], Codes),
             ( P == known -> Shown = P ; format(atom(Shown), "~17g", [P]) ),
             format("~w ~w ~w~n", [Codes, Shown, Query]) )),
    halt.
"""


def model_scores(kb, weighted):
    """Return {(query, source, entity): score} without zeros and without what is no candidate."""
    reasoner = Reasoner(kb, weighted)
    found, every = {}, np.arange(len(kb.entities))
    for query in range(kb.relations.num_operators):
        rows = reasoner.scores(every, np.full(len(every), query)).dense()
        for (source, entity), score in np.ndenumerate(rows):
            if np.isfinite(score) and score:
                key = kb.relations.operator_name(query), kb.entities[source], kb.entities[entity]
                found[key] = float(score)
    return found


def model_probabilities(kb, weighted, calibration):
    """Return {(query, source, entity): probability} of what has a score; None where it is known."""
    reasoner = Reasoner(kb, weighted, calibration=calibration)
    asked = [(kb.relations.operator_name(query), query) for query in range(kb.relations.num_operators)]
    return {
        (name, source, answer.entity): answer.probability
        for name, query in asked
        for place, source in enumerate(kb.entities)
        for row in [reasoner.scores(np.array([place]), np.array([query])).row(0)]
        for kept in [np.isfinite(row[1])]
        for answer in reasoner._describe(place, query, row[0][kept], row[1][kept], row)
    }


def some_calibration(kb):
    """Return a calibration with intercepts for all queries but one, some of which are functional."""
    rng = np.random.default_rng(0)
    names = [kb.relations.operator_name(query) for query in range(1, kb.relations.num_operators)]
    rows = {name: tuple(rng.normal(size=3).tolist()) for name in names}
    coefficients = (*rng.random(7).tolist(), *rng.normal(size=2).tolist())
    functional = dict(zip(names[::2], SHARPNESS, strict=False))
    return Calibration((-6.0, -3.0, -1.0, 0.5), coefficients, rows, (-1.0, 0.5, 0.25), 1.5, functional)


def by_duckdb(kb, weighted, folder, calibration=None):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install 'neurallp[sql]'")
    export_scored(folder / "rules.sql", weighted, "scored-sql", calibration)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE facts(head VARCHAR, relation VARCHAR, tail VARCHAR)")
        connection.executemany("INSERT INTO facts VALUES (?, ?, ?)", list(kb.named_facts()))
        connection.execute((folder / "rules.sql").read_text())
        names = map(kb.relations.operator_name, range(kb.relations.num_operators))
        what = "score FROM scores(?)" if calibration is None else "probability FROM answers(?)"
        return {
            (name, source, entity): value
            for name in names
            for source, entity, value in connection.execute(
                f"SELECT source, entity, {what}", [name]
            ).fetchall()
        }


def by_prolog(kb, weighted, folder, calibration=None):
    if shutil.which("swipl") is None:
        pytest.skip("SWI-Prolog is not installed: make system")
    export_scored(folder / "rules.pl", weighted, "scored-prolog", calibration)
    write_triples(folder / "facts.pl", kb.named_facts())
    atoms = [quote_atom(name) for name in kb.relations]
    queries = ", ".join([*atoms, *(f"inv({atom})" for atom in atoms)])
    printed = PRINT if calibration is None else PRINT_PROBABILITIES
    (folder / "print.pl").write_text(printed.replace("QUERIES", queries))
    files = [str(folder / f"{name}.pl") for name in ("rules", "facts", "print")]
    done = subprocess.run(["swipl", "-q", *files], capture_output=True, check=True)
    assert not done.stderr, done.stderr.decode()
    found = {}
    for line in done.stdout.decode().splitlines():
        codes, score, query = _fields(line)
        source, entity = ("".join(map(chr, each)) for each in json.loads(codes))
        name = "~" + query[4:-1] if query.startswith("inv(") else query
        found[name, source, entity] = None if score == "known" else float(score)
    return found


def _fields(line):
    codes, rest = line[: line.index("]]") + 2], line[line.index("]]") + 3 :]
    score, query = rest.split(" ", 1)
    return codes, score, query


def by_json(kb, weighted, folder, calibration=None):
    export_scored(folder / "rules.json", weighted, "scored-json", calibration)
    loaded, probabilities = import_scored(folder / "rules.json")
    if calibration is None:
        return model_scores(kb, loaded)
    return model_probabilities(kb, loaded, probabilities)


PROGRAMS = {"scored-sql": by_duckdb, "scored-prolog": by_prolog, "scored-json": by_json}


@pytest.mark.parametrize("form", PROGRAMS)
@pytest.mark.parametrize(("seed", "excludes_linked"), [(0, False), (1, True), (2, False)])
def test_every_program_computes_the_scores_of_the_model(form, seed, excludes_linked, tmp_path):
    kb = random_kb(seed)
    weighted = random_rules(kb, seed, excludes_linked)
    assert set(weighted.num_of_kinds) == set(SCORED_KINDS)
    expected, found = model_scores(kb, weighted), PROGRAMS[form](kb, weighted, tmp_path)
    found = {key: score for key, score in found.items() if abs(score) > 1e-12}
    assert len(expected) > 100
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("form", PROGRAMS)
def test_walks_of_nearness_end_where_they_end_in_the_model(form, tmp_path):
    kb = hub_kb()
    expected, found = model_scores(kb, near_rules(kb)), PROGRAMS[form](kb, near_rules(kb), tmp_path)
    assert found == pytest.approx(expected, abs=1e-9)
    reached = {entity for query, source, entity in expected if (query, source) == ("s", "leaf0_1")}
    assert "leaf0_2" in reached
    assert not {name for name in reached if name.startswith("leaf2")}


@pytest.mark.parametrize("form", PROGRAMS)
def test_links_of_any_other_relation_count_once_in_either_direction(form, tmp_path):
    facts = [("a", "r", "b"), ("a", "s", "b"), ("b", "s", "a"), ("a", "r", "c"), ("d", "r", "a")]
    kb = KnowledgeBase.from_triples([*facts, ("e", "r", "e")])
    weighted = WeightedRules(
        kb.relations,
        kb.reflexive_relations,
        {0: WeightedQuery((Candidate("linked", ()),), np.array([[-2.0, 0, 0]]), np.ones(1))},
    )
    found = PROGRAMS[form](kb, weighted, tmp_path)
    pairs = [("a", "b"), ("a", "d"), ("b", "a"), ("c", "a"), ("e", "e")]
    assert found == {("r", *pair): pytest.approx(-2) for pair in pairs}
    assert found == pytest.approx(model_scores(kb, weighted))


def sourced_rules(kb, *named):
    """Return weighted rules for the relation r: sourced ones over s, each with its source and start."""
    rules = tuple(Candidate("sourced", (kb.relations.operator_id("s"),), *each) for each in named)
    weights = np.array([[2.0 ** (place - 1), 0, 0] for place in range(len(rules))])
    own = WeightedQuery(rules, weights, np.ones(len(rules)))
    return WeightedRules(kb.relations, kb.reflexive_relations, {kb.relations.operator_id("r"): own})


@pytest.mark.parametrize("form", PROGRAMS)
def test_a_sourced_rule_gives_the_targets_of_its_start_to_its_source_alone(form, tmp_path):
    facts = [("c", "r", "x"), ("c", "s", "y"), ("d", "s", "x"), ("d", "s", "y"), ("d", "s", "c")]
    kb = KnowledgeBase.from_triples([*facts, ("e", "s", "x")])
    pairs = [("c", "d"), ("c", "c"), ("c", "e"), ("nobody", "d"), ("c", "nobody")]
    found = PROGRAMS[form](kb, sourced_rules(kb, *pairs), tmp_path)
    assert found == {("r", "c", "x"): 0.5 + 2, ("r", "c", "y"): 0.5 + 1}  # r is not reflexive


@pytest.mark.parametrize("form", PROGRAMS)
@pytest.mark.parametrize(("seed", "excludes_linked"), [(0, False), (1, True)])
def test_every_program_computes_the_probabilities_of_the_model(form, seed, excludes_linked, tmp_path):
    kb = random_kb(seed)
    weighted, calibration = random_rules(kb, seed, excludes_linked), some_calibration(kb)
    expected = model_probabilities(kb, weighted, calibration)
    found = PROGRAMS[form](kb, weighted, tmp_path, calibration)
    found = {key: value for key, value in found.items() if key in expected}  # one sums up to 0, one to 1e-17
    assert found == pytest.approx(expected, abs=1e-9)
    assert {value is None for value in expected.values()} == {True, False}
    assert len(set(expected.values())) > 50


def test_the_sample_has_reflexive_relations_and_linked_pairs():
    kb = random_kb(1)
    assert 0 < kb.reflexive_relations.sum() < 3
    some, all_of = (len(model_scores(kb, random_rules(kb, 1, flag))) for flag in (True, False))
    assert some < all_of


def test_every_scored_format_is_tested():
    assert PROGRAMS.keys() == SCORED.keys()


def test_json_keeps_every_weight_the_exclusions_and_the_calibration(tmp_path):
    kb = random_kb(0)
    weighted = random_rules(kb, 0, excludes_linked=True)
    calibration = Calibration(
        (0.0, 1.5), (0.1,) * 5, {"r": (0.5, -1.0, 0.0)}, (0.25, 0.5, 1.0), 3.5, {"r": 4.0}
    )
    export_scored(tmp_path / "rules.json", weighted, "scored-json", calibration)
    found, probabilities = import_scored(tmp_path / "rules.json")
    assert probabilities == calibration
    assert found.excludes_linked
    assert (found.reflexive == weighted.reflexive).all()
    for query, own in weighted.queries.items():
        assert found.queries[query].rules == own.rules
        assert (found.queries[query].weights == own.weights).all()


def test_rules_without_a_weight_are_left_out(tmp_path):
    kb = random_kb(0)
    own = WeightedQuery(
        (Candidate("chain", (1,)), Candidate("chain", (2,))), np.eye(3)[:2] * [[1], [0]], np.zeros(2)
    )
    export_scored(
        tmp_path / "r", WeightedRules(kb.relations, kb.reflexive_relations, {0: own}), "scored-json"
    )
    assert len(json.loads((tmp_path / "r").read_text())["rules"]) == 1


def test_an_unknown_kind_is_refused_before_anything_is_written(tmp_path):
    kb = random_kb(0)
    own = WeightedQuery((Candidate("novel", (1,)),), np.ones((1, 3)), np.zeros(1))
    with pytest.raises(FormatError, match="'novel'"):
        export_scored(
            tmp_path / "r", WeightedRules(kb.relations, kb.reflexive_relations, {0: own}), "scored-sql"
        )
    assert not list(tmp_path.iterdir())


def test_json_names_the_source_of_a_rule_and_where_its_operator_starts(tmp_path):
    kb = KnowledgeBase.from_triples([("c", "r", "x"), ("d", "s", "x")])
    export_scored(tmp_path / "r", sourced_rules(kb, ("c", "d")), "scored-json")
    (rule,) = json.loads((tmp_path / "r").read_text())["rules"]
    assert [rule[name] for name in ("source", "start", "answer", "end")] == ["c", "d", None, None]
    assert rule["rule"] == "r(c, Y) <= s(d, Y)"
    found, _ = import_scored(tmp_path / "r")
    assert found.queries[0].rules == (Candidate("sourced", (1,), "c", "d"),)


@pytest.mark.parametrize(
    "changed",
    [
        {"operators": ["s", "s"]},
        {"source": None},
        {"start": None},
        {"answer": "c"},
        {"end": "d"},
        {"kind": "chain"},
        {"kind": "unary", "answer": "c", "source": None},
        {"kind": "novel"},
    ],
)
def test_a_rule_in_json_with_parts_of_another_kind_is_refused(changed, tmp_path):
    kb = KnowledgeBase.from_triples([("c", "r", "x"), ("d", "s", "x")])
    export_scored(tmp_path / "r", sourced_rules(kb, ("c", "d")), "scored-json")
    written = json.loads((tmp_path / "r").read_text())
    written["rules"][0] |= changed
    (tmp_path / "r").write_text(json.dumps(written))
    with pytest.raises(FormatError, match="expected scored rules"):
        import_scored(tmp_path / "r")


@pytest.mark.parametrize("form", SCORED)
@pytest.mark.parametrize("named", [("\ud800", "d"), ("c", "\ud800")])
def test_an_entity_that_a_file_cannot_hold_is_named(form, named, tmp_path):
    kb = KnowledgeBase.from_triples([("c", "r", "x"), ("d", "s", "x")])
    with pytest.raises(FormatError, match="Rename it"):
        export_scored(tmp_path / "r", sourced_rules(kb, named), form)
    assert not list(tmp_path.iterdir())


UNNAMED = pytest.mark.parametrize(("kind", "rules"), [("near", near_rules), ("linked", linked_rules)])


@UNNAMED
@pytest.mark.parametrize("changed", [{"operators": ["r"]}, {"answer": "anna"}, {"end": "anna"}])
def test_a_rule_that_names_no_relation_has_no_parts(kind, rules, changed, tmp_path):
    export_scored(tmp_path / "r", rules(hub_kb()), "scored-json")
    written = json.loads((tmp_path / "r").read_text())
    written["rules"][0] |= changed
    (tmp_path / "r").write_text(json.dumps(written))
    with pytest.raises(FormatError, match=f"a rule of the kind {kind}"):
        import_scored(tmp_path / "r")


@UNNAMED
def test_a_query_has_one_rule_that_names_no_relation(kind, rules, tmp_path):
    export_scored(tmp_path / "r", rules(hub_kb()), "scored-json")
    written = json.loads((tmp_path / "r").read_text())
    written["rules"].append(written["rules"][0])
    (tmp_path / "r").write_text(json.dumps(written))
    with pytest.raises(FormatError, match=f"one rule of the kind {kind}, got 2"):
        import_scored(tmp_path / "r")


def test_another_file_is_no_scored_model_and_a_damaged_one_is_refused(tmp_path):
    (tmp_path / "other").write_text('[{"target": "r"}]')
    assert import_scored(tmp_path / "other") is None
    (tmp_path / "damaged").write_text('{"format": "neurallp scored rules, version 2", "relations": ["r"]}')
    with pytest.raises(FormatError, match="damaged: expected scored rules"):
        import_scored(tmp_path / "damaged")
    (tmp_path / "older").write_text('{"format": "neurallp scored rules, version 1", "relations": ["r"]}')
    with pytest.raises(FormatError, match=r"version 2. Export the model again"):
        import_scored(tmp_path / "older")


def test_a_misspelt_format_is_suggested(tmp_path):
    with pytest.raises(ConfigError, match="Did you mean 'scored-sql'"):
        export_scored(tmp_path / "r", random_rules(random_kb(0), 0), "scored-sq")
