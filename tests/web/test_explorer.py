"""The explorer: worlds, vetoes and what is kept, as the library computes them."""

import threading

import pytest

from neurallp import ConfigError, KnowledgeBase, Reasoner, Rule, RuleProgram, UnknownNameError, load_model
from neurallp.graph.numbers import Numbers
from neurallp.io.triples import load, write_triples
from neurallp.io.triples.packed import pack
from neurallp.web.changes import UNCHANGED, Changes
from neurallp.web.explorer import Cache, Explorer, open_explorer
from neurallp.web.pages.ask import ask
from neurallp.web.pages.entity import entity
from neurallp.web.pages.overview import overview
from neurallp.web.pages.relation import relation
from neurallp.web.pages.rule import rule


def answers(reasoner, fact):
    return [
        (each.entity, round(each.score, 9)) for each in reasoner.ask(head=fact[0], relation=fact[1], k=50)
    ]


def test_an_unchanged_world_is_the_one_that_is_served(explorer):
    assert explorer.world(UNCHANGED) is explorer.reasoner


def test_a_changed_world_answers_as_one_made_from_the_changed_facts(explorer, program, fact):
    head, _, tail = fact
    other = next(name for name in explorer.kb.entities if name not in (head, tail))
    world = explorer.world(UNCHANGED.removing(fact).adding((other, "father", tail)))
    triples = [each for each in explorer.kb.named_facts() if each != fact] + [(other, "father", tail)]
    made = Reasoner(KnowledgeBase.from_triples(triples), program.basis)
    assert sorted(answers(world, fact)) == sorted(answers(made, fact))
    assert explorer.kb.facts.shape == explorer.data.given.facts.shape


def test_a_veto_takes_one_rule_away_and_leaves_the_others(explorer, program, fact):
    query = program.relations.operator_id("uncle")
    left = explorer.without(("uncle:0", "uncle:2")).queries
    whole = program.weighted_rules.queries
    assert left[query].rules == (whole[query].rules[1], *whole[query].rules[3:])
    assert all(
        left[other] is not None and len(left[other]) == len(whole[other]) for other in whole if other != query
    )
    numbers = range(len(whole[query]))
    without_all = explorer.world(Changes(veto=tuple(f"uncle:{number}" for number in numbers)))
    assert answers(without_all, fact) == []


def test_a_rule_that_a_person_wrote_can_be_left_out(given_rules, split):
    explorer = Explorer(given_rules, split)
    assert [str(rule) for rule in explorer.without(("uncle:0",))] == list(map(str, given_rules.given[1:]))


@pytest.mark.parametrize("veto", ["uncle:999", "nobody:0"])
def test_a_veto_of_what_is_not_there_is_an_error(explorer, veto):
    with pytest.raises(UnknownNameError):
        explorer.world(Changes(veto=(veto,)))


def test_a_neural_model_has_no_single_rules(split):
    from samples import neural_program, untrained

    explorer = Explorer(neural_program(untrained(split.known)), split)
    assert explorer.is_neural
    with pytest.raises(ConfigError, match="weigh them first"):
        explorer.without(("uncle:0",)) if explorer.rules(0) else pytest.fail("no rules to leave out")


def test_a_cache_keeps_what_was_used_last():
    cache = Cache(2)
    made = []

    def make(key):
        return cache.get(key, lambda: made.append(key) or key)

    for key in ("a", "b", "a", "c", "a", "b"):
        assert make(key) == key
    assert made == ["a", "b", "c", "b"]


def test_a_cache_is_safe_under_threads():
    cache = Cache(3)
    found = []

    def use():
        found.extend(cache.get(key % 7, lambda key=key: key % 7) == key % 7 for key in range(2000))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found)
    assert len(found) == 8000


def test_a_saved_model_is_opened_with_its_measures(program, split, tmp_path):
    program.save(tmp_path / "kin", {"valid": {"mrr": 0.5}})
    opened = open_explorer(tmp_path / "kin", load_model(tmp_path / "kin"), split)
    assert (opened.name, opened.metrics) == ("kin", {"valid": {"mrr": 0.5}})


def test_numbers_are_the_bins_of_the_model(tmp_path):
    kb = KnowledgeBase.from_triples(
        [(f"p{year}", "born", str(year)) for year in range(1900, 1980)] + [("p1900", "knows", "p1901")]
    )
    program = RuleProgram([Rule("born", ("knows", "born"), 0.5)])
    program.numbers = Numbers.fit(kb)
    served = Explorer(program, kb)
    ranges = program.numbers.bins["born"].names
    assert {tail for _, relation, tail in served.kb.named_facts() if relation == "born"} == set(ranges)
    told = [answer.entity for answer in served.reasoner.ask(head="p1900", relation="born")]
    assert told == [ranges[0]]
    assert served.split.known.entities == served.kb.entities


def test_a_packed_folder_is_explored_without_its_facts_in_memory(program, split, fact, tmp_path):
    write_triples(tmp_path / "family.tsv", split.given.named_facts())
    pack(tmp_path / "family.tsv", tmp_path / "packed")
    packed, plain = (Explorer(program, load(tmp_path / name)) for name in ("packed", "family.tsv"))
    question = {"entity": fact[0], "relation": fact[1]}
    told = [
        {answer.entity: pytest.approx(answer.score) for answer in ask(each, **question, k=50).answers}
        for each in (packed, plain)
    ]
    assert told[0] == told[1]
    for page in (
        overview(packed),
        relation(packed, "uncle"),
        entity(packed, fact[0]),
        rule(packed, "uncle:1"),
    ):
        assert page.rows is not None
    assert "facts" not in vars(packed.kb)
