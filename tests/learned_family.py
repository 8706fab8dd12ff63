"""A program with weighted rules and probabilities, learned once from a small family."""

from functools import cache

from neurallp import KnowledgeBase, learn
from neurallp.datasets.family import family_knowledge_base
from neurallp.graph.knowledge_base import split_triples

#: A fact that is wrong: nobody else has this head, and the tail is nobody's father.
WRONG = "father"


@cache
def learned():
    """Return the family, its split, and the program."""
    kb = family_knowledge_base(num_people=60, num_generations=3)
    split = split_triples(kb)
    program = learn(split, train=False, max_length=2, num_candidates=30, kinds=("chain", "prior"))
    program.calibrate(split)
    return kb, split, program


def with_wrong_fact():
    """Return the family with one fact that is wrong, and that fact: a woman is someone's second father."""
    kb, _, _ = learned()
    facts = list(kb.named_facts())
    child = next(head for head, relation, _ in facts if relation == "father")
    mothers = [tail for head, relation, tail in facts if relation == "mother" and head != child]
    wrong = (child, "father", mothers[-1])
    return KnowledgeBase.from_triples([*facts, wrong]), wrong
