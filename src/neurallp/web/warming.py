"""Warming up: questions and pages are computed before anybody asks for them, as far as time allows."""

from time import monotonic

import numpy as np

from .explorer import Explorer
from .pages.relation import relation

#: Seconds after which nothing more is computed in advance.
MAX_SECONDS = 20.0

#: Probabilities are measured at the start on so many facts; on more, when a person asks.
FEW_FACTS = 20_000


def warm_up(explorer: Explorer, seconds: float = MAX_SECONDS) -> None:
    """Compile the rules of each query, index the names, and count the rules of the largest relations."""
    end = monotonic() + seconds
    reasoner = explorer.reasoner
    reasoner.find_entities("a", 1)
    sizes = explorer.relation_sizes
    largest = [number for number in np.argsort(-sizes, kind="stable").tolist() if sizes[number]]
    for number in largest:
        for query in (number, reasoner.relations.inverse(number)):
            if monotonic() < end:
                _ask(explorer, query)
    if explorer.kb.num_facts <= FEW_FACTS:
        explorer.reliability()
    if explorer.reader is not None:
        explorer.reader.warm_up()
    for number in largest:
        if monotonic() < end:
            relation(explorer, reasoner.relations[number])


def _ask(explorer: Explorer, query: int) -> None:
    """Ask one question of a query that has facts."""
    reasoner = explorer.reasoner
    source = reasoner.operators.sources_at(reasoner.operators.edges_by_operator(query)[:1])
    # Two questions at once: a single one does not load the compiled loops.
    reasoner.scores(source.repeat(2), np.array([query, query]))
    name, asked = reasoner.kb.entities[int(source[0])], reasoner.relations.operator_name(query)
    reasoner.ask(head=name, relation=asked)
