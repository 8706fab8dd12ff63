"""Kinds of rules and engines by name: a new one is one module, and its line here."""

from typing import NamedTuple


class KindEntry(NamedTuple):
    """A kind's module, and what its rules state; the latter is known without importing the module."""

    module: str
    #: Whether a rule names its one answer: r(X, c). Its body is a path from the source to any entity.
    names_answer: bool = False
    #: Whether a rule names its one source, and where its body starts: r(c, Y). Other sources have no answers.
    names_source: bool = False
    #: Whether the body starts at any entity rather than the source, so every source has the same answers.
    ignores_source: bool = False
    #: Whether a rule follows edges of all relations, so that it names none. A query has one at most.
    names_no_relation: bool = False
    #: Whether a rule orders what other rules predict, but predicts nothing alone.
    only_orders: bool = False
    #: Whether a rule states that r(X, Y) is unlikely.
    negates: bool = False


#: The kinds of rules that can be weighted; the module of each has a `KIND`.
KINDS = {
    "chain": KindEntry("neurallp.weighting.kinds.chain"),
    "prior": KindEntry("neurallp.weighting.kinds.prior", ignores_source=True, only_orders=True),
    "unary": KindEntry("neurallp.weighting.kinds.unary", names_answer=True),
    "sourced": KindEntry("neurallp.weighting.kinds.sourced", names_source=True),
    "anchored": KindEntry("neurallp.weighting.kinds.anchored"),
    "mirrored": KindEntry("neurallp.weighting.kinds.mirrored"),
    "near": KindEntry("neurallp.weighting.kinds.near", names_no_relation=True, only_orders=True),
    "against": KindEntry("neurallp.weighting.kinds.against", negates=True),
    "linked": KindEntry(
        "neurallp.weighting.kinds.linked", names_no_relation=True, only_orders=True, negates=True
    ),
}

#: The engines by name, the fastest first, and the module of each.
ENGINES = {
    "cuda": "neurallp.engines.cuda",
    "cpu": "neurallp.engines.cpu",
    "reference": "neurallp.engines.reference",
}
