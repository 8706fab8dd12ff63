"""Films, and weighted rules about what the films of one genre have in common."""

import numpy as np

from neurallp import KnowledgeBase, Plan, WeightingConfig
from neurallp.pipeline.program import LearnedProgram
from neurallp.weighting.kinds.base import Candidate
from neurallp.weighting.weighted_rules import WeightedQuery, WeightedRules

#: Two noirs of Wilder, one comedy of his, a noir of Lang, and a film without a genre of each.
FILMS = (
    *((f"wilder{i}", "director", "Wilder") for i in range(4)),
    *((f"lang{i}", "director", "Lang") for i in range(2)),
    *((film, "genre", "noir") for film in ("wilder0", "wilder1", "lang0")),
    ("wilder2", "genre", "comedy"),
    ("wilder3", "cast", "Holden"),
)


def film_program():
    """Return a program with rules about noir and comedies; asked from a genre, `~genre`."""
    kb = KnowledgeBase.from_triples(FILMS)
    k = kb.relations.operator_id
    rules = (
        Candidate("sourced", (k("~director"),), "noir", "Wilder"),
        Candidate("sourced", (k("~cast"),), "noir", "Holden"),
        Candidate("sourced", (k("~director"),), "comedy", "Wilder"),
        Candidate("prior", (k("~genre"),)),
    )
    weights = np.zeros((len(rules), 3))
    weights[:, 0] = 2.0, 1.0, -0.5, 0.25
    own = WeightedQuery(rules, weights, np.array([0.5, 0.5, 0.25, 0.0]))
    weighted = WeightedRules(kb.relations, kb.reflexive_relations, {k("~genre"): own})
    program = LearnedProgram(Plan(None, None, WeightingConfig()), weighted_rules=weighted)
    program.kb = kb
    return program
