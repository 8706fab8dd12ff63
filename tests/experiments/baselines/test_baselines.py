"""Baselines: each learns what it can learn, by the evaluator that ranks everything else."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from neurallp.datasets.family import family_knowledge_base, is_true_by_definition
from neurallp.datasets.grid import grid_split
from neurallp.evaluation import evaluate
from neurallp.experiments.baselines import embeddings
from neurallp.experiments.baselines.embeddings import fit_distmult, fit_ntn, fit_transe
from neurallp.experiments.baselines.isg import fit_isg
from neurallp.experiments.baselines.node_link import fit_node_link
from neurallp.graph.knowledge_base import Split, name_parts, split_triples
from neurallp.graph.questions import KnownAnswers, ask_both_ways
from neurallp.rules.rule import RuleSet

EMBEDDINGS = (fit_transe, fit_distmult, fit_ntn)


@pytest.fixture(scope="module")
def family() -> Split:
    """Return families in which most relations follow from others by one step or two."""
    return split_triples(family_knowledge_base(num_people=60, num_generations=3), seed=0)


def mrr(scorer, split, part="test"):
    num_relations = len(split.relations)
    known = KnownAnswers(split.true_triples, num_relations)
    return evaluate(scorer, ask_both_ways(getattr(split, part), num_relations), known).mrr


def all_scores(scorer, split):
    questions = ask_both_ways(split.test, len(split.relations))
    return scorer.scores(questions.sources, questions.queries).dense()


def test_node_link_finds_that_links_come_in_pairs(family):
    assert mrr(fit_node_link(family), family) > 0.6


def test_node_link_believes_a_link_to_one_who_never_answered_before():
    links = [(f"y{i}", "s", f"x{i}") for i in range(40)]
    answers = [(f"x{i}", "r", f"y{i}") for i in range(40)]
    split = name_parts({"train": [*links, *answers[:30]], "test": answers[30:]})
    assert mrr(fit_node_link(split, num_epochs=100), split) > 0.9


def test_node_link_does_not_count_the_asked_fact_as_a_link(family):
    model = fit_node_link(family)
    own = np.diag(model.weight.detach().numpy())
    assert own.max() <= model.weight.max() / 2


def test_isg_finds_what_defines_an_uncle(family):
    reasoner = fit_isg(family)
    uncles = sorted(RuleSet(reasoner.basis).about("uncle"), key=lambda rule: -rule.confidence)
    assert all(is_true_by_definition("uncle", rule.body) for rule in uncles[:3])
    assert mrr(reasoner, family) > 0.8


def test_isg_follows_the_gradient_to_chains_too_long_to_enumerate():
    split = grid_split(length=4, num_queries=2, size=8, seed=0)
    assert mrr(fit_isg(split, num_steps=4), split) > 0.95


def test_isg_adds_nothing_that_the_loss_does_not_ask_for(family):
    one, three = (fit_isg(family, num_rounds=num, rules_per_round=2) for num in (1, 3))
    assert len(one.basis) <= 2 * family.relations.num_operators
    assert mrr(three, family, "valid") >= mrr(one, family, "valid")


@pytest.mark.parametrize("fit", EMBEDDINGS)
def test_embeddings_rank_known_facts_better_than_chance(fit, family):
    pytest.importorskip("pykeen", reason="PyKEEN is not installed: pip install 'neurallp[baselines]'")
    before, after = (fit(family, num_epochs=num, dimension=20) for num in (1, 50))
    assert mrr(after, family) > 3 * mrr(before, family)


@pytest.mark.parametrize(("found", "best"), [([0.1, 0.5, 0.3, 0.4], 2), ([0.1, 0.2], 2), ([0.0, 0.0], 2)])
def test_fitting_on_leaves_the_epoch_that_validated_best(monkeypatch, found, best):
    monkeypatch.setattr(embeddings, "EPOCHS_PER_VALIDATION", 1)
    model, validated = torch.nn.Linear(1, 1, bias=False), iter(found)

    def epochs():
        for number in range(1, len(found) + 1):
            torch.nn.init.constant_(model.weight, number)
            yield number

    embeddings._keep_best(model, epochs(), lambda: next(validated))
    assert model.weight.item() == best


def test_a_fitted_model_is_as_good_as_its_best_epoch(family, monkeypatch):
    pytest.importorskip("pykeen", reason="PyKEEN is not installed: pip install 'neurallp[baselines]'")
    monkeypatch.setattr(embeddings, "EPOCHS_PER_VALIDATION", 2)
    shorter, longer = (fit_distmult(family, num_epochs=num, dimension=20) for num in (4, 8))
    assert mrr(longer, family, "valid") >= mrr(shorter, family, "valid")


def test_embeddings_need_no_validation(family):
    pytest.importorskip("pykeen", reason="PyKEEN is not installed: pip install 'neurallp[baselines]'")
    unjudged = replace(family, valid=family.valid[:0])
    assert mrr(fit_distmult(unjudged, num_epochs=40, dimension=50), family) > 0.6


@pytest.mark.parametrize("fit", EMBEDDINGS)
def test_a_seed_gives_the_same_embeddings_again(fit, family):
    pytest.importorskip("pykeen", reason="PyKEEN is not installed: pip install 'neurallp[baselines]'")
    first, again, other = (
        all_scores(fit(family, seed, num_epochs=1, dimension=8), family) for seed in (0, 0, 1)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("fit", [fit_node_link, fit_isg])
def test_a_seed_gives_the_same_scores_again(fit, family):
    first, again = (all_scores(fit(family, 1), family) for _ in range(2))
    assert np.array_equal(first, again)


def test_an_embedding_scores_a_triple_alike_whichever_end_is_asked(family):
    pytest.importorskip("pykeen", reason="PyKEEN is not installed: pip install 'neurallp[baselines]'")
    scorer = fit_distmult(family, num_epochs=1, dimension=8)
    questions = ask_both_ways(family.test[:20], len(family.relations))
    scores = scorer.scores(questions.sources, questions.queries).at(np.arange(40), questions.answers)
    assert np.allclose(scores[0::2], scores[1::2], atol=1e-6)
