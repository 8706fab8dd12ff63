"""The features of weighted rules in SQL, as `weighting.kinds` defines them. Runs on DuckDB and on Spark.

Steps are edges of one operator, or of several with columns that tell them apart (`keys`, such as the number
of a rule): (source, target, leaving, arriving), where leaving counts the edges of the operator with the same
source, and arriving those with the same target. A query results in (source, entity, forward, backward).
"""

from collections.abc import Callable, Sequence

from ...weighting.kinds.near_kernels import GOING_ON, LEAST, TAKEN
from ...weighting.kinds.shared_neighbours_kernels import SMOOTHING
from .sql import number

Keys = Sequence[str]


def log_scale(probability: str) -> str:
    """Return SQL for log(1 + 100 p) / log(101)."""
    return f"ln(1 + 100 * {probability}) / ln(101)"


def near_scale(probability: str) -> str:
    """Return SQL for the scale of nearness."""
    return f"ln(1 + {probability} / {number(LEAST)}) / ln(1 + 1 / {number(LEAST)})"


def amount(weights: Sequence[object], features: str, scale: Callable[[str], str] = log_scale) -> str:
    """Return SQL for what a rule adds to a score; `features` names the table with forward and backward."""
    indicator, forward, backward = weights
    return (
        f"{indicator} + {forward} * {scale(f'{features}.forward')}"
        f" + {backward} * {scale(f'{features}.backward')}"
    )


def first_step(steps: str, keys: Keys = ()) -> str:
    """Return the walks along one step."""
    return (
        f"SELECT {_listed(keys)}source, target AS entity, 1.0e0 / leaving AS forward, "
        f"1.0e0 / arriving AS backward FROM {steps}"
    )


def next_step(walks: str, steps: str, keys: Keys = (), on: str = "") -> str:
    """Return walks that are one step longer: to each entity, the probabilities of both ways.

    `walks` (called w) and `steps` (called s) are joined where also `on` holds.
    """
    return (
        f"SELECT {_listed(keys)}w.source, s.target AS entity, sum(w.forward / s.leaving) AS forward, "
        f"sum(w.backward / s.arriving) AS backward FROM {walks} w JOIN {steps} s ON {on}s.source = w.entity "
        f"GROUP BY {_listed(keys)}w.source, s.target"
    )


def anchored(steps: str, others: str, asked: str, keys: Keys = ()) -> str:
    """Return the confidence of each answer of others that share a neighbour with the source.

    `steps` and `others` are steps of the same operator; those of some sources, and all.
    """
    return (
        f"SELECT {_listed(keys, 'x')}x.source, x.target AS neighbour, a.target AS entity, "
        f"count(*) / (max(x.arriving) - 1.0e0 + {SMOOTHING}) AS confidence "
        f"FROM {steps} x JOIN {others} o "
        f"ON {_equal(keys, 'o', 'x')}o.target = x.target AND o.source <> x.source "
        f"JOIN {asked} a ON a.source = o.source WHERE x.source <> x.target AND a.target <> x.source "
        f"GROUP BY {_listed(keys, 'x')}x.source, x.target, a.target"
    )


def mirrored(steps: str, asked: str, keys: Keys = ()) -> str:
    """Return the confidence of each entity that shares a neighbour with the source's other answers.

    `asked` may be those of some sources.
    """
    tallied = (
        f"SELECT {_listed(keys, 'n')}a.source, n.target AS neighbour, count(*) AS tally "
        f"FROM {asked} a JOIN {steps} n ON n.source = a.target WHERE a.source <> a.target "
        f"AND n.target <> a.source GROUP BY {_listed(keys, 'n')}a.source, n.target"
    )
    grouped = (
        f"SELECT {_listed(keys, 't')}t.source, t.neighbour, g.source AS entity, t.tally, "
        f"count(*) OVER (PARTITION BY {_listed(keys, 't')}t.source, t.neighbour) AS size, "
        f"CASE WHEN a.source IS NULL THEN 0 ELSE 1 END AS is_answer FROM ({tallied}) t "
        f"JOIN {steps} g ON {_equal(keys, 'g', 't')}g.target = t.neighbour AND g.source <> t.source "
        f"LEFT JOIN {asked} a ON a.source = t.source AND a.target = g.source"
    )
    return (
        f"SELECT {_listed(keys)}source, neighbour, entity, "
        f"(tally - is_answer) / (size - 1.0e0 + {SMOOTHING}) AS confidence "
        f"FROM ({grouped}) q WHERE tally > is_answer"
    )


def neighbours(confidences: str, keys: Keys = ()) -> str:
    """Return the largest confidence and the noisy-or of each entity over all neighbours."""
    # A confidence is below 1, as its divisor is smoothed.
    return (
        f"SELECT {_listed(keys)}source, entity, max(confidence) AS forward, "
        f"1 - exp(sum(ln(1 - confidence))) AS backward FROM {confidences} c "
        f"GROUP BY {_listed(keys)}source, entity"
    )


def first_near_step(links: str) -> str:
    """Return the walks of nearness along one edge of any relation.

    `links` are steps of all operators together: leaving counts all edges with the same source. Walks have
    the columns source, entity, probability, leaving (of the entity) and leaving_source.
    """
    share = f"{number(GOING_ON)} / l.leaving"
    return (
        f"SELECT l.source, l.target AS entity, sum({share}) AS probability, max(l.arriving) AS leaving, "
        f"max(l.leaving) AS leaving_source FROM {links} l WHERE {share} >= {number(TAKEN)} "
        "GROUP BY l.source, l.target"
    )


def next_near_step(walks: str, links: str) -> str:
    """Return walks of nearness that are one edge longer; only edges along which enough is carried."""
    share = f"{number(GOING_ON)} * w.probability / w.leaving"
    return (
        f"SELECT w.source, l.target AS entity, sum({share}) AS probability, max(l.arriving) AS leaving, "
        f"max(w.leaving_source) AS leaving_source FROM {walks} w JOIN {links} l ON l.source = w.entity "
        f"WHERE {share} >= {number(TAKEN)} GROUP BY w.source, l.target"
    )


def near(steps: Sequence[str]) -> str:
    """Return the probabilities of walks of all numbers of steps together, and of the walks back."""
    every = " UNION ALL ".join(f"SELECT * FROM {step} w" for step in steps)
    return (
        "SELECT source, entity, sum(probability) AS forward, "
        "sum(probability) * max(leaving_source) / max(leaving) AS backward "
        f"FROM ({every}) n GROUP BY source, entity"
    )


def _listed(keys: Keys, table: str = "") -> str:
    prefix = f"{table}." if table else ""
    return "".join(f"{prefix}{key}, " for key in keys)


def _equal(keys: Keys, one: str, other: str) -> str:
    return "".join(f"{one}.{key} = {other}.{key} AND " for key in keys)
