"""DuckDB and Spark derive what the reasoner predicts: pairs, scores, probabilities and order."""

import json
import warnings
from functools import partial

import numpy as np
import pytest
import weighted_samples

from neurallp.errors import DataError
from neurallp.graph.vocabulary import Relations
from neurallp.io.triples import write_triples
from neurallp.io.triples.packed import open_packed, pack
from neurallp.reasoning.calibration import Calibration
from neurallp.reasoning.reasoner import Reasoner
from neurallp.scale.apply import Application, Options
from neurallp.scale.engines import open_engine
from neurallp.scale.queries import Wanted
from neurallp.weighting.kinds.base import Candidate
from neurallp.weighting.weighted_rules import WeightedQuery, WeightedRules

parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install 'neurallp[sql]'")

CALIBRATION = Calibration(
    (-9.0, -2.0, 0.5, 6.0),
    (0.4, 0.2, 0.9, 0.1, 0.6, 0.3, 0.7, 0.5, -0.2),
    {"r": (-0.5, -1.0, -2.0)},
    (-0.1, -0.2, -0.3),
    3.0,
    functional={"s": 2.0, "~r": 4.0},
)


def sample(folder, seed, excludes_linked=False):
    plain = weighted_samples.random_kb(seed, 22)
    write_triples(folder / "facts.tsv", plain.named_facts())
    pack(folder / "facts.tsv", folder / "packed")
    return open_packed(folder / "packed"), weighted_samples.random_rules(plain, seed, excludes_linked)


def read(application, query):
    path = application.path_of(query)
    return parquet.read_table(path).to_pylist()


def expected(kb, weighted, calibration, query, wanted):
    reasoner = Reasoner(kb, weighted, calibration=calibration)
    name = weighted.relations.operator_name(query)
    (found,) = reasoner.predict([name], wanted.k, known=wanted.known)
    heads, tails = found.ends
    return found, [(kb.entities[h], kb.entities[t]) for h, t in zip(heads, tails, strict=True)]


def check(application, kb, weighted, calibration, wanted):
    for query in application.options.queries:
        found, pairs = expected(kb, weighted, calibration, query, wanted)
        rows = read(application, query)
        assert [(row["head"], row["tail"]) for row in rows] == pairs
        assert [row["score"] for row in rows] == pytest.approx(found.scores.tolist(), abs=1e-9)
        assert [row["known"] for row in rows] == found.is_known.tolist()
        if calibration is not None:
            new = ~found.is_known
            told = np.array([row["probability"] for row in rows], dtype=object)
            assert told[new].tolist() == pytest.approx(found.probabilities[new].tolist(), abs=1e-9)


@pytest.mark.parametrize(
    ("seed", "excludes_linked", "wanted"),
    [(0, False, Wanted(3)), (1, True, Wanted(20)), (2, False, Wanted(20, known=True))],
)
def test_duckdb_gives_what_the_reasoner_predicts(tmp_path, seed, excludes_linked, wanted):
    kb, weighted = sample(tmp_path, seed, excludes_linked)
    options = Options(tuple(range(6)), wanted)
    application = Application(weighted, kb, CALIBRATION, tmp_path / "out", options)
    application.run(partial(open_engine, "duckdb", memory="500MB"))
    check(application, kb, weighted, CALIBRATION, wanted)


def test_nearness_ends_where_it_ends_in_the_model_and_predicts_nothing_alone(tmp_path):
    plain = weighted_samples.hub_kb()
    write_triples(tmp_path / "facts.tsv", plain.named_facts())
    pack(tmp_path / "facts.tsv", tmp_path / "packed")
    kb, weighted, wanted = open_packed(tmp_path / "packed"), weighted_samples.near_rules(plain), Wanted(100)
    application = Application(weighted, kb, CALIBRATION, tmp_path / "out", Options((0, 1), wanted))
    run(application)
    check(application, kb, weighted, CALIBRATION, wanted)
    source = np.array([kb.entities.find("leaf2_0")])
    assert (Reasoner(kb, weighted).scores(source, np.array([0])).dense() > 0).sum() > 10
    assert {row["head"] for row in read(application, 0)} == {"hub0", "hub1", "hub2"}


def test_a_rule_about_links_lowers_answers_and_predicts_none_alone(tmp_path):
    rows = [("a", "r", "b"), *((head, "s", tail) for head in "abcd" for tail in "xyz"), ("x", "r", "a")]
    write_triples(tmp_path / "facts.tsv", [*rows, ("e", "t", "f")])
    pack(tmp_path / "facts.tsv", tmp_path / "packed")
    kb, wanted = open_packed(tmp_path / "packed"), Wanted(100, known=True)
    weighted = weighted_samples.linked_rules(kb)
    application = Application(weighted, kb, CALIBRATION, tmp_path / "out", Options((0,), wanted))
    run(application)
    check(application, kb, weighted, CALIBRATION, wanted)
    assert {row["head"] for row in read(application, 0)} == set("abcd")


def test_spark_gives_what_the_reasoner_predicts(tmp_path, spark):
    kb, weighted = sample(tmp_path, 3)
    options = Options((4,), Wanted(3))
    assert "sourced" in {rule.kind for rule in weighted.queries[4].rules}
    application = Application(weighted, kb, CALIBRATION, tmp_path / "out", options)
    application.run(partial(open_engine, "spark", memory="1GB"))
    check(application, kb, weighted, CALIBRATION, options.wanted)


def run(application, **options):
    return application.run(partial(open_engine, "duckdb", memory="500MB", **options))


def without_score(row):
    return {name: value for name, value in row.items() if name != "score"}


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path):
    kb, weighted = sample(tmp_path, 0)
    whole = Application(weighted, kb, None, tmp_path / "whole", Options((0, 1, 2)))
    run(whole)
    stopped = Application(weighted, kb, None, tmp_path / "out", Options((0, 1, 2)))

    def stop(num):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped.run(partial(open_engine, "duckdb", memory="500MB"), stop)
    first = stopped.path_of(0)
    before = first.stat().st_mtime_ns
    assert not stopped.path_of(1).exists()
    run(Application(weighted, kb, None, tmp_path / "out", Options((0, 1, 2))))
    assert first.stat().st_mtime_ns == before
    for query in range(3):
        found, expected = read(stopped, query), read(whole, query)
        assert [without_score(row) for row in found] == [without_score(row) for row in expected]
        scores = [row["score"] for row in expected]  # several threads add in any order
        assert [row["score"] for row in found] == pytest.approx(scores, rel=1e-12)
    assert not (tmp_path / "out" / ".work").exists()


@pytest.mark.parametrize("name", ["run.json", "0*.parquet"])
def test_a_damaged_file_of_a_run_is_one_message(tmp_path, name):
    kb, weighted = sample(tmp_path, 0)
    run(Application(weighted, kb, None, tmp_path / "out", Options((0,))))
    next((tmp_path / "out").glob(name)).write_bytes(b"\xff[[")
    with pytest.raises(DataError, match=r"is damaged .*Delete it|has predictions of other rules"):
        run(Application(weighted, kb, None, tmp_path / "out", Options((0,))))


def test_results_of_other_options_or_facts_are_not_continued(tmp_path):
    kb, weighted = sample(tmp_path, 0)
    run(Application(weighted, kb, None, tmp_path / "out", Options((0,))))
    facts = list(kb.named_facts())
    write_triples(tmp_path / "others.tsv", [*facts[1:], (facts[0][2], facts[0][1], "g")])
    pack(tmp_path / "others.tsv", tmp_path / "others")
    others = open_packed(tmp_path / "others")
    with pytest.raises(DataError, match="Give another --out"):
        run(Application(weighted, others, None, tmp_path / "out", Options((0,))))
    with pytest.raises(DataError, match="Give another --out"):
        run(Application(weighted, kb, None, tmp_path / "out", Options((0,), Wanted(2))))


def test_sources_in_parts_give_the_same(tmp_path, monkeypatch):
    kb, weighted = sample(tmp_path, 4, excludes_linked=True)
    monkeypatch.setattr("neurallp.scale.apply.ROWS_AT_ONCE", 30)
    application = Application(weighted, kb, CALIBRATION, tmp_path / "out", Options((0, 5)))
    assert sum(cost.rows for cost in application.costs() if cost.query == 0) > 60
    run(application)
    check(application, kb, weighted, CALIBRATION, Wanted())


def test_a_rule_that_names_its_source_adds_to_it_in_one_of_the_parts(tmp_path, monkeypatch):
    facts = [*((f"a{i}", "r", f"b{i}") for i in range(6)), *(("d", "s", f"b{i}") for i in range(5))]
    write_triples(tmp_path / "facts.tsv", facts)
    pack(tmp_path / "facts.tsv", tmp_path / "packed")
    kb = open_packed(tmp_path / "packed")
    query, operator = map(kb.relations.operator_id, ("r", "s"))
    named = [("a0", "d"), ("a1", "d"), ("d", "d"), ("nobody", "d"), ("a2", "nobody")]
    rules = tuple(Candidate("sourced", (operator,), *each) for each in named)
    own = WeightedQuery(rules, np.array([[weight, 0, 0] for weight in (2.0, 1, 3, 4, 5)]), np.ones(5))
    weighted = WeightedRules(kb.relations, kb.reflexive_relations, {query: own})
    monkeypatch.setattr("neurallp.scale.apply.ROWS_AT_ONCE", 4)
    application = Application(weighted, kb, CALIBRATION, tmp_path / "out", Options((query,)))
    assert [cost.rows for cost in application.costs()] == [5, 5, 5, 0, 0]
    run(application)
    check(application, kb, weighted, CALIBRATION, Wanted())
    heads = [row["head"] for row in read(application, query)]
    assert {head: heads.count(head) for head in heads} == {"a0": 4, "a1": 4, "d": 5}  # one is known


def test_rules_that_explode_are_named_before_anything_is_run_or_left_out_by_choice(tmp_path, monkeypatch):
    kb, weighted = sample(tmp_path, 0)
    application = Application(weighted, kb, None, tmp_path / "out", Options((0,)))
    costs = application.costs()
    limit = max(cost.rows for cost in costs) - 1
    costly = [cost for cost in costs if cost.rows > limit]
    monkeypatch.setattr("neurallp.scale.apply.EXPLODING", limit)
    with pytest.raises(DataError, match="--max-rows") as error:
        run(application)
    assert costly[0].text in str(error.value)
    assert not (tmp_path / "out").exists()
    summary = run(Application(weighted, kb, None, tmp_path / "out", Options((0,), max_rows=limit)))
    assert {each["rule"] for each in summary.left_out} == {cost.text for cost in costly}
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == vars(summary)


def by_pair(rows, column):
    """Return one column of predictions by the pair that each is about."""
    return {(row["head"], row["tail"]): row[column] for row in rows}


def test_only_likely_answers_are_kept_where_a_probability_is_asked(tmp_path):
    kb, weighted = sample(tmp_path, 0)
    every = Application(weighted, kb, CALIBRATION, tmp_path / "every", Options((0,)))
    run(every)
    rows = read(every, 0)
    bound = sorted(row["probability"] for row in rows)[len(rows) // 2] - 1e-6
    wanted = Wanted(min_probability=bound)
    likely = Application(weighted, kb, CALIBRATION, tmp_path / "likely", Options((0,), wanted))
    run(likely)
    kept = [row for row in rows if row["probability"] >= bound]
    assert 0 < len(kept) < len(rows)
    found = read(likely, 0)
    for number in ("probability", "score"):  # DuckDB adds on several threads, in any order
        assert by_pair(found, number) == pytest.approx(by_pair(kept, number), rel=1e-9)
    assert len(found) == len(kept)


def test_a_model_may_number_relations_otherwise_and_lack_some(tmp_path):
    kb, weighted = sample(tmp_path, 0)
    assert kb.relations != weighted.relations
    fewer = kb.with_relations(Relations([*kb.relations[1:], "unheard"]))
    application = Application(weighted, fewer, None, tmp_path / "out", Options((0,)))
    run(application)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(application, fewer, weighted, None, Wanted())
