"""The registry of kinds, and a toy kind in one file that goes through everything."""

import pkgutil
from dataclasses import replace

import numpy as np
import pytest

from neurallp import ConfigError, load_model
from neurallp.config import KINDS, WeightingConfig
from neurallp.config.registry import KindEntry
from neurallp.graph.knowledge_base import name_parts
from neurallp.graph.vocabulary import Relations
from neurallp.io.rules.table import read_rules, write_rules
from neurallp.pipeline.learn import weigh_rules
from neurallp.rules.rule import Rule
from neurallp.weighting import kinds
from neurallp.weighting.fitting import Weighting
from neurallp.weighting.fitting_gpu import GpuWeighting
from neurallp.weighting.graph_index import GraphIndex
from neurallp.weighting.kinds import compile_rules, get_kind, get_kinds, is_dense, rules_as_candidates
from neurallp.weighting.kinds.base import Candidate, DenseKind, Kind

QUICK = WeightingConfig(
    max_length=2, num_candidates=10, num_pairs=40, min_steps=40, max_questions=100, thinning=False
)

#: Members of a club know each other; the club is the common target.
FACTS = [
    fact
    for club in range(5)
    for i in range(5)
    for fact in [
        (f"p{club}{i}", "member of", f"club{club}"),
        *((f"p{club}{i}", "knows", f"p{club}{j}") for j in range(5) if j != i),
    ]
]


@pytest.fixture
def twin(monkeypatch):
    monkeypatch.setitem(KINDS, "twin", KindEntry("twin_kind"))
    monkeypatch.syspath_prepend(__file__.rpartition("/")[0])
    return get_kind("twin")


@pytest.fixture
def split():
    held_out = FACTS[1::25]
    return name_parts({"train": [fact for fact in FACTS if fact not in held_out], "valid": held_out})


def test_every_kind_is_registered_under_its_own_name():
    for name in KINDS:
        assert get_kind(name).name == name
        assert isinstance(get_kind(name), Kind)


def test_the_kinds_that_ignore_the_source_are_those_with_a_dense_feature():
    assert {name for name, entry in KINDS.items() if entry.ignores_source} == {
        name for name in KINDS if isinstance(get_kind(name), DenseKind)
    }


def test_a_query_without_rules_of_a_kind_gets_those_of_its_inverse_inverted():
    relations = Relations(["genre", "director"])
    chain = Rule("genre", ("director", "~director", "genre"), 0.5)
    noir = Rule("genre", ("director",), 0.5, kind="unary", answer="noir", body_end="wilder")
    any_director = Rule("genre", ("director",), 0.5, kind="unary", answer="noir")
    like_metropolis = Rule("~genre", ("~director",), 0.5, kind="unary", answer="metropolis", body_end="lang")
    turned_chain = Candidate("chain", (2, 1, 3))
    of_noir = Candidate("sourced", (3,), "noir", "wilder")
    of_metropolis = Candidate("sourced", (1,), "metropolis", "lang")

    found = rules_as_candidates([chain, noir, any_director], relations)
    assert (len(found[0]), found[2]) == (3, [turned_chain, of_noir])
    # A query with a unary rule of its own gets chains and sourced rules nevertheless, and gives its own.
    found = rules_as_candidates([chain, noir, like_metropolis], relations)
    assert found[2][1:] == [turned_chain, of_noir]
    assert found[0][2:] == [of_metropolis]
    # Of a kind that it has itself, it gets none.
    own = Rule("~genre", ("~director",), 0.5, kind="sourced", source="horror", body_start="lang")
    found = rules_as_candidates([chain, noir, own], relations)
    assert found[2] == [Candidate("sourced", (3,), "horror", "lang"), turned_chain]
    assert len(found[0]) == 2
    # Rules with weights were chosen for their direction: only a query without any rules gets them inverted.
    weighted = [replace(rule, weight=1.0) for rule in (chain, noir, like_metropolis)]
    found = rules_as_candidates(weighted, relations)
    assert (len(found[0]), len(found[2])) == (2, 1)
    assert rules_as_candidates(weighted[:2], relations)[2] == [turned_chain, of_noir]


def test_every_module_with_a_kind_is_registered():
    modules = {f"{kinds.__name__}.{each.name}" for each in pkgutil.iter_modules(kinds.__path__)}
    helpers = {each for each in modules if each.endswith(("base", "kernels", "shared_neighbours"))}
    assert {entry.module for entry in KINDS.values()} == modules - helpers


def test_kinds_come_in_the_order_of_the_registry():
    assert [kind.name for kind in get_kinds(["unary", "chain"])] == ["chain", "unary"]


def test_a_query_has_at_most_one_dense_feature(split):
    prior = Candidate("prior", (0,))
    assert is_dense(prior)
    assert not is_dense(Candidate("chain", (0,)))
    with pytest.raises(ConfigError, match="one rule with a dense feature"):
        compile_rules(GraphIndex.of(split.known), 0, [prior, prior])


def test_an_unregistered_kind_is_refused():
    with pytest.raises(ConfigError, match="kinds must be one of"):
        WeightingConfig(kinds=("twin",))


def test_a_kind_without_features_says_what_it_lacks():
    class Incomplete(Kind):
        name = "incomplete"
        find = rule = candidate = None

    with pytest.raises(NotImplementedError, match="Incomplete defines neither"):
        Incomplete().features(None, None)


def test_a_toy_kind_in_one_file_is_mined_weighted_saved_loaded_printed_and_explained(twin, split, tmp_path):
    knows, member_of = map(split.relations.id, ("knows", "member of"))
    program = weigh_rules(split, replace(QUICK, kinds=("twin", "prior")))
    weighted = program.weighted_rules.queries[knows]
    assert Candidate("twin", (member_of,)) in weighted.rules
    assert program.weighted_rules.num_of_kinds.keys() == {"prior", "twin"}

    program.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.weighted_rules.queries[knows].rules == weighted.rules
    np.testing.assert_array_equal(loaded.weighted_rules.queries[knows].weights, weighted.weights)

    rules = loaded.rules("knows", kb=split.known, min_share=0)
    assert "knows(X, Y) <= member of(X, A), member of(Y, A), X != Y" in map(str, rules)
    write_rules(tmp_path / "rules.tsv", rules)
    assert read_rules(tmp_path / "rules.tsv") == rules
    given = rules_as_candidates(rules, split.relations)
    assert set(given[knows]) == {rule for rule in weighted.rules if rule.kind == "twin"}

    head, _, tail = FACTS[1]
    assert tail in [answer.entity for answer in loaded.ask(head=head, relation="knows", kb=split.known)]
    proof = loaded.explain(head, "knows", tail, kb=split.known, k=100)
    assert proof.remainder == pytest.approx(0, abs=1e-9)
    assert (head, "club0", tail) in [term.path for term in proof.terms if term.rule.kind == "twin"]


def test_a_toy_kind_is_weighted_equally_beside_chains_and_in_blocks(twin, split):
    config = replace(QUICK, kinds=("chain", "twin", "prior", "unary"))
    expected = Weighting(split, config).run().queries
    found = GpuWeighting(split, config, device="cpu").run().queries
    assert {rule.kind for each in expected.values() for rule in each.rules} >= {"chain", "twin", "prior"}
    for query, each in expected.items():
        assert found[query].rules == each.rules
        np.testing.assert_allclose(found[query].weights, each.weights, rtol=2e-2, atol=1e-3)


def test_a_query_may_do_without_every_kind_but_chains_priors_and_links_against():
    assert {name for name in KINDS if not get_kind(name).is_optional} == {"chain", "prior", "against"}
