"""Functions that measure rows: the part of the data of a quick run, figures, and what is missing."""

import json
from dataclasses import replace

import numpy as np
import pytest

from neurallp.datasets.family import family_triples
from neurallp.errors import ConfigError, DataError
from neurallp.evaluation import Evaluation, Ranks
from neurallp.experiments import measuring
from neurallp.experiments.inductive import hide_entities, sample_negatives
from neurallp.experiments.measuring import figures, fit_baseline, load_set, part_of, training_history
from neurallp.experiments.measuring import test_questions as questions_of_test
from neurallp.graph.knowledge_base import name_parts
from neurallp.graph.questions import KnownAnswers, ask_both_ways
from neurallp.io.triples import write_triples
from neurallp.neural.training import Epoch

TRIPLES = family_triples(num_people=60, num_generations=3)


@pytest.fixture
def split():
    return name_parts({"train": TRIPLES[2:], "valid": TRIPLES[:1], "test": TRIPLES[1:2] + TRIPLES[::7]})


@pytest.fixture
def small(monkeypatch):
    """Let a quick run take few triples."""
    monkeypatch.setattr(measuring, "QUICK_FACTS", 50)
    monkeypatch.setattr(measuring, "QUICK_TRIPLES", 10)


def rows(triples):
    return set(map(tuple, triples.tolist()))


def folder_of(path, **parts):
    path.mkdir(parents=True)
    for name, triples in parts.items():
        write_triples(path / f"{name}.tsv", triples)


# A part of the data


def test_a_quick_run_learns_from_a_part_that_is_always_the_same(split, small):
    part, again = part_of(split), part_of(split)
    assert len(part.train) == 50
    assert rows(part.train) < rows(split.train)
    assert np.array_equal(part.train, again.train)
    assert np.array_equal(part.test, split.test)  # every true triple is filtered


def test_a_part_keeps_the_order_and_small_data_stays_whole(split, small):
    assert np.array_equal(part_of(split).valid, split.valid)
    order = {row: place for place, row in enumerate(map(tuple, split.train.tolist()))}
    assert (np.diff([order[row] for row in map(tuple, part_of(split).train.tolist())]) > 0).all()


def test_a_quick_run_asks_a_few_questions_of_the_test_both_ways(split, small):
    assert len(questions_of_test(split, quick=True)) == 20
    assert len(questions_of_test(split, quick=False)) == 2 * len(split.test)


# Public sets


def test_a_set_without_a_test_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("NEURALLP_DATA", str(tmp_path))
    folder_of(tmp_path / "umls", train=TRIPLES[:9])
    with pytest.raises(DataError, match="umls has nothing to test on"):
        load_set("umls")


def test_entities_that_only_the_test_has_are_no_reason_to_warn(tmp_path, monkeypatch):
    monkeypatch.setenv("NEURALLP_DATA", str(tmp_path))
    head, relation, _ = TRIPLES[0]
    folder_of(tmp_path / "umls", train=TRIPLES, test=[(head, relation, "nobody")])
    split = load_set("umls")
    assert split.entities[split.test[0, 2]] == "nobody"


def test_an_unknown_baseline_is_named(split):
    with pytest.raises(ConfigError, match="The baseline 'oracle' cannot be used here"):
        fit_baseline("oracle", split, 0)


# Figures


def test_figures_are_realistic_with_the_optimistic_ones_apart():
    # Nothing better than the first, which ties with one more; nine are better than the second.
    found = figures(Evaluation.of(Ranks(np.array([0, 9]), np.array([2, 1]))))
    assert found["MRR"] == pytest.approx((1 / 1.5 + 1 / 10) / 2)
    assert found["optimistic"]["MRR"] == pytest.approx((1 + 1 / 10) / 2)
    assert found["optimistic"]["Hits@1"] == 0.5
    assert found["Hits@10"] == found["optimistic"]["Hits@10"] == 1.0


def test_the_history_names_the_validation_of_the_best_epoch():
    epochs = [
        Epoch(number, loss=1.0, metrics={"mrr": mrr}, seconds=0.1, is_best=best)
        for number, mrr, best in ((1, 0.2, True), (2, 0.5, True), (3, 0.4, False))
    ]
    found = training_history(epochs)
    assert found["valid MRR"] == 0.5
    assert [Epoch(**each) for each in json.loads(json.dumps(found["history"]))] == epochs
    assert training_history([]) == {"valid MRR": None, "history": []}


# Unseen entities


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_no_triple_that_is_learned_from_has_a_hidden_entity(split, share):
    seen = hide_entities(split, 0, share)
    hidden = set(seen.test[:, [0, 2]].reshape(-1).tolist())
    for part, whole in ((seen.train, split.train), (seen.valid, split.valid)):
        expected = {row for row in rows(whole) if not {row[0], row[2]} & hidden}
        assert rows(part) == expected
    assert len(seen.test) == max(1, round(share * len(split.test)))


def test_at_least_one_triple_of_the_test_is_drawn(split):
    few = replace(split, test=split.test[:1])
    assert len(hide_entities(few, 0, 0.1).test) == 1


def test_negatives_are_the_same_for_a_seed_and_never_an_answer_or_the_source(split):
    questions = ask_both_ways(split.test[:5], len(split.relations))
    known = KnownAnswers(split.true_triples, len(split.relations))
    sizes = len(split.entities) + 40  # a family is small: entities without facts make up the number
    first, again, other = (sample_negatives(questions, known, sizes, seed) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    for row, negatives in enumerate(first.tolist()):
        _, answers = known.pairs(questions.sources[row : row + 1], questions.queries[row : row + 1])
        assert set(negatives).isdisjoint({*answers.tolist(), int(questions.sources[row])})
        assert len(set(negatives)) == len(negatives)
