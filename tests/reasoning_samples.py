"""Small families, reasoners over them, and random rules, shared by the tests of reasoning."""

import warnings

from hypothesis import strategies as st
from samples import rules_over, untrained

from neurallp import KnowledgeBase, Reasoner, Rule
from neurallp.errors import DataWarning

FAMILY = [("anna", "father", "bob"), ("bob", "brother", "carl"), ("anna", "uncle", "carl")]
OTHER_FAMILY = [("zoe", "father", "yan"), ("yan", "brother", "xan")]


def family(**settings_):
    return untrained(KnowledgeBase.from_triples(FAMILY), **settings_)


def reason(kb, model):
    """Return a reasoner on the readable engine; what it notes about relations is tested by itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return Reasoner(kb, model, engine="reference")


def questions(kb):
    """Return (head, relation) for every entity and operator."""
    operators = [kb.relations.operator_name(k) for k in range(kb.relations.num_operators)]
    return [(head, relation) for head in kb.entities for relation in operators]


UNCLES = [
    Rule("uncle", ("father", "brother"), 0.9, distinct_ends=True),
    Rule("uncle", ("mother", "brother"), 0.5, distinct_ends=True),
]
BIG_FAMILY = [
    ("zoe", "father", "yan"),
    ("yan", "brother", "xan"),
    ("zoe", "mother", "uma"),
    ("uma", "brother", "xan"),
    ("uma", "brother", "will"),
]


@st.composite
def rule_sets(draw):
    """Draw rules over r0 and r1, some of which want different entities at some places and some do not."""
    return draw(st.lists(rules_over("r0", "r1"), min_size=1, max_size=5))
