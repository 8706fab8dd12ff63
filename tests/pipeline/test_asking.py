"""A program passes what it is asked to the reasoner of a knowledge base, its own or a given one."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from learned_family import learned
from reasoning_samples import BIG_FAMILY, UNCLES

from neurallp import ConfigError, KnowledgeBase, RuleProgram


def test_every_verb_answers_as_the_reasoner_does():
    kb, _, program = learned()
    reasoner, fact = program.reasoner(kb), next(kb.named_facts())
    assert program.verify(*fact, kb=kb) == reasoner.verify(*fact)
    assert program.audit("uncle", limit=2, kb=kb) == reasoner.audit("uncle", limit=2)
    assert program.find_entities("an", kb=kb) == reasoner.find_entities("an")
    assert not program.what_if(removed=[fact], kb=kb).explain(*fact).answer.is_known


def test_entities_are_found_with_their_number_of_facts():
    program, kb = RuleProgram(UNCLES), KnowledgeBase.from_triples(BIG_FAMILY)
    (found,) = program.find_entities("Umma", kb=kb)
    assert vars(found) == {"name": "uma", "match": "typo", "num_typos": 1, "num_facts": 3}
    with pytest.raises(ConfigError, match="limit must be at least 1"):
        program.find_entities("uma", limit=0, kb=kb)


def test_threads_that_ask_about_different_facts_each_get_their_own():
    program = RuleProgram(UNCLES)
    worlds = [
        KnowledgeBase.from_triples([("zoe", "father", f"f{i}"), (f"f{i}", "brother", f"u{i}")])
        for i in range(8)
    ]

    def ask(i):
        with_mother = KnowledgeBase.from_triples([*worlds[i].named_facts(), ("zoe", "mother", "m")])
        return [program.ask(head="zoe", relation="uncle", kb=with_mother)[0].entity for _ in range(20)]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [[f"u{i}"] * 20 for i in range(8)]
