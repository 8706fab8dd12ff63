"""The SQL that applies the rules of one query to facts: what each rule adds, scores, and the best answers.

Every statement runs on DuckDB and on Spark. Entities and operators are ids. Facts of relation r are the table
facts_r(source, target, leaving, arriving); an inverse operator swaps its columns.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..graph.vocabulary import inverse_operator
from ..io.rules import feature_sql
from ..io.rules.calibrated_sql import pieces
from ..io.rules.scored import CHAINS
from ..io.rules.sql import number
from ..reasoning.calibration import MAX_LOG_ODDS, Calibration
from ..reasoning.calibration_sample import CLIP
from ..weighting.kinds.base import Candidate
from ..weighting.kinds.near_kernels import NUM_STEPS

#: Exponentials of greater scores are taken as this one's, which is still finite.
MAX_SCORE = 600

#: Digits after the point that are compared to order answers: sums in another order differ after them.
DIGITS = 10

Body = tuple[int, ...]


@dataclass(frozen=True)
class Part:
    """Some of the sources: those whose id leaves the remainder `number` when divided by `num_parts`."""

    number: int = 0
    num_parts: int = 1

    def of(self, table: str) -> str:
        """Return the rows of a table that belong to the part."""
        if self.num_parts == 1:
            return table
        return f"(SELECT * FROM {table} z WHERE source % {self.num_parts} = {self.number})"


@dataclass(frozen=True)
class RuleQueries:
    """The rules of one query as SQL."""

    query: int
    num_relations: int
    #: Bodies of several steps that begin several rules, and the tables with their walks.
    shared: Mapping[Body, str]

    def steps(self, operator: int) -> str:
        """Return the edges of an operator."""
        if operator < self.num_relations:
            return f"facts_{operator}"
        swapped = "target AS source, source AS target, arriving AS leaving, leaving AS arriving"
        return f"(SELECT {swapped} FROM facts_{inverse_operator(operator, self.num_relations)} i)"

    @property
    def asked(self) -> str:
        """The known answers of the query."""
        return self.steps(self.query)

    def walks(self, body: Body, part: Part, *, use_shared: bool = True) -> str:
        """Return the walks along a body from the sources of a part."""
        if len(body) == 1:
            return feature_sql.first_step(f"{part.of(self.steps(body[0]))} f")
        if use_shared and body in self.shared:
            return f"SELECT * FROM {self.shared[body]} g"
        return feature_sql.next_step(f"({self.walks(body[:-1], part)})", self.steps(body[-1]))

    def features(self, rule: Candidate, part: Part, names: Mapping[str, int]) -> str:
        """Return source, entity, forward and backward of one rule; `names` has the ids of its entities."""
        if rule.kind in CHAINS:
            return self.walks(rule.operators, part)
        steps = self.steps(rule.operators[0])
        if rule.kind == "unary":
            found = f"{names[str(rule.constant)]} AS entity, 1.0e0 AS forward, 1.0e0 AS backward"
            ends = "" if rule.end is None else f" WHERE target = {names[rule.end]}"
            return f"SELECT DISTINCT source, {found} FROM {part.of(steps)} u{ends}"
        if rule.kind == "sourced":
            source, start = names[str(rule.constant)], names[str(rule.end)]
            found = f"{source} AS source, target AS entity, 1.0e0 AS forward, 1.0e0 AS backward"
            owned = f"{source} % {part.num_parts} = {part.number}"
            return f"SELECT {found} FROM {steps} u WHERE source = {start} AND {owned}"
        if rule.kind == "anchored":
            return feature_sql.neighbours(f"({feature_sql.anchored(part.of(steps), steps, self.asked)})")
        return feature_sql.neighbours(f"({feature_sql.mirrored(steps, part.of(self.asked))})")

    def amounts(self, rule: Candidate, weights: Sequence[float], part: Part, names: Mapping[str, int]) -> str:
        """Return what one rule adds to the scores of entities."""
        numbers = list(map(number, weights))
        features = self.features(rule, part, names)
        amount = feature_sql.amount(numbers, "v")
        return f"SELECT source, entity, {amount} AS amount, 1 AS listed FROM ({features}) v"


def near_steps(links: str) -> dict[str, str]:
    """Return the walks of nearness, one table for each step, from the sources in the table amounts."""
    wanted = f"(SELECT * FROM {links} z WHERE source IN (SELECT source FROM amounts))"
    steps = {"near_1": feature_sql.first_near_step(wanted)}
    for place in range(1, NUM_STEPS):
        steps[f"near_{place + 1}"] = feature_sql.next_near_step(f"near_{place}", links)
    return steps


def near_amounts(steps: Sequence[str], weights: Sequence[float]) -> str:
    """Return what nearness adds to the scores of entities; it predicts none of them alone."""
    amount = feature_sql.amount(list(map(number, weights)), "v", feature_sql.near_scale)
    return f"SELECT source, entity, {amount} AS amount, 0 AS listed FROM ({feature_sql.near(steps)}) v"


def linked_amounts(links: str, asked: str, weights: Sequence[float]) -> str:
    """Return what linked entities add to the scores of sources in the table amounts; none is predicted alone.

    An edge of the query itself is no link: a pair must have more edges than that.
    """
    edges = (
        f"SELECT source, target, 1 AS num FROM {links} l "
        f"UNION ALL SELECT source, target, -1 AS num FROM {asked} k"
    )
    return (
        f"SELECT source, target AS entity, {number(sum(weights))} AS amount, 0 AS listed FROM ({edges}) e "
        "WHERE source IN (SELECT source FROM amounts) GROUP BY source, target HAVING sum(num) > 0"
    )


def shared_prefixes(bodies: Sequence[Body]) -> Iterator[Body]:
    """Yield bodies of at least two steps that several of the given ones begin with, shorter ones first."""
    counts: dict[Body, int] = {}
    for body in bodies:
        for length in range(2, len(body) + 1):
            counts[body[:length]] = counts.get(body[:length], 0) + 1
    yield from sorted(
        (body for body, count in counts.items() if count > 1), key=lambda body: (len(body), body)
    )


# Scores


def pairs(rules: RuleQueries, part: Part, *, links: str | None, excludes_source: bool) -> str:
    """Return each pair of source and entity that a rule, a known fact or an exclusion is about.

    amount is the sum over rules. listed: a rule predicts the entity; known: it is a fact already; excluded:
    it is no candidate. `links` has all edges of all operators where linked entities are no candidates.
    """
    rows = [
        "SELECT source, entity, amount, listed, 0 AS known, 0 AS linked FROM amounts a",
        f"SELECT source, target, 0.0e0, 0, 1, 0 FROM {part.of(rules.asked)} k",
    ]
    if links is not None:
        rows.append(f"SELECT source, target, 0.0e0, 0, 0, 1 FROM {part.of(links)} l")
    if excludes_source:
        rows.append("SELECT DISTINCT source, source, 0.0e0, 0, 0, 1 FROM amounts s")
    own = "source = entity" if excludes_source else "1 = 0"
    linked = "max(linked) = 1 AND max(known) = 0"
    return (
        "SELECT source, entity, sum(amount) AS amount, max(listed) AS listed, max(known) AS known, "
        f"CASE WHEN {own} OR ({linked}) THEN 1 ELSE 0 END AS excluded "
        f"FROM ({' UNION ALL '.join(rows)}) u GROUP BY source, entity"
    )


@dataclass(frozen=True)
class Wanted:
    """Which answers are kept."""

    k: int = 10
    known: bool = False
    min_probability: float = 0.0


@dataclass(frozen=True)
class Totals:
    """The sums, over all entities, of the exponentials of the dense terms; and of these times a sharpness."""

    plain: float
    sharpness: float | None = None  # where answers exclude each other
    sharp: float = 0.0


#: The best answers of each source, from the tables pairs, dense(entity, prior) and domains(source, domain).
ANSWERS = """
WITH scored AS (
  SELECT p.source, p.entity, p.listed, p.known, p.excluded, coalesce(d.prior, 0.0e0) AS prior,
         p.amount + coalesce(d.prior, 0.0e0) AS score
  FROM pairs p LEFT JOIN dense d ON d.entity = p.entity),
sums AS (
  SELECT source, sum(known) AS num_known,
         {total} + sum(CASE WHEN excluded = 0 AND known = 0 THEN {exponential} ELSE 0.0e0 END - exp(prior))
           AS others,
         sum(CASE WHEN excluded = 0 AND known = 1 THEN {exponential} ELSE 0.0e0 END) AS of_known{sharp_others}
  FROM scored GROUP BY source),
ranked AS (
  SELECT source, entity, score, known,
         row_number() OVER (PARTITION BY source ORDER BY round(score, {digits}) DESC, entity) AS place
  FROM scored WHERE listed = 1 AND excluded = 0 AND score > prior AND score > 0 AND known <= {known}),
evidence AS (
  SELECT r.source, r.entity, r.score, r.known, r.place, s.num_known, {odds} AS odds, m.domain{most},
         CASE WHEN s.num_known = 0 THEN 0.0e0
              ELSE ln(greatest(s.others / (s.others + s.of_known), {clip})) END AS unknown
  FROM ranked r JOIN sums s ON s.source = r.source LEFT JOIN domains m ON m.source = r.source
  WHERE r.place <= {k}),
told AS (
  SELECT source, entity, score, known, place,
         CASE WHEN known = 1 THEN NULL ELSE {probability} END AS probability
  FROM evidence)
SELECT * FROM told WHERE {likely}"""


SHARP_OTHERS = """,
         {total} + sum(CASE WHEN excluded = 0 AND known = 0 THEN {exponential} ELSE 0.0e0 END
                       - exp({sharpness} * prior)) AS sharp_others"""


def answers(wanted: Wanted, totals: Totals, probability: str) -> str:
    """Return the best answers of each source: source, entity, score, known, place, probability.

    What is left of the totals without the pairs, and with their scores, normalises scores.
    """
    exponential = f"exp(least(score, {MAX_SCORE}.0e0))"
    likely = f"known = 1 OR probability >= {number(wanted.min_probability)}"
    sharp_others, most = _sharp(totals)
    return ANSWERS.format(
        total=number(totals.plain),
        exponential=exponential,
        digits=DIGITS,
        known=int(wanted.known),
        odds=_log_odds(f"{exponential} / s.others"),
        sharp_others=sharp_others,
        most=most,
        clip=number(CLIP),
        k=wanted.k,
        probability=probability,
        likely=likely if wanted.min_probability else "1 = 1",
    )


def _sharp(totals: Totals) -> tuple[str, str]:
    """Return the columns of the sharpened sum and of the greatest log odds; none where nothing excludes."""
    if totals.sharpness is None:
        return "", ""
    sharpness = number(totals.sharpness)
    exponential = f"exp(least({sharpness} * score, {MAX_SCORE}.0e0))"
    others = SHARP_OTHERS.format(total=number(totals.sharp), exponential=exponential, sharpness=sharpness)
    return others, f", {_log_odds(f'{exponential} / s.sharp_others')} AS most"


def _log_odds(fraction: str) -> str:
    inner = f"least(greatest({fraction}, {number(CLIP)}), 1 - {number(CLIP)})"
    return f"ln({inner} / (1 - {inner}))"


def probability_of(calibration: Calibration | None, operator: str) -> str:
    """Return SQL for the probability of an answer from odds, num_known, unknown, domain and most."""
    if calibration is None:
        return "CAST(NULL AS DOUBLE)"
    intercepts = calibration.intercepts.get(operator, calibration.others)
    none, some = (pieces(calibration, has_known) for has_known in (False, True))
    cases = [
        f"{none} + {number(calibration.domain_slope)} * domain + {number(intercepts[0])}",
        *(
            f"{some} + {number(slope)} * unknown + {number(intercept)}"
            for slope, intercept in zip(calibration.left_slopes, intercepts[1:], strict=True)
        ),
    ]
    branches = " ".join(f"WHEN num_known = {case} THEN {odds}" for case, odds in enumerate(cases[:-1]))
    most = ", most" if operator in calibration.functional else ""
    odds = f"least(CASE {branches} ELSE {cases[-1]} END, {number(calibration.highest)}{most})"
    clipped = f"least(greatest({odds}, {number(-MAX_LOG_ODDS)}), {number(MAX_LOG_ODDS)})"
    return f"1 / (1 + exp(-({clipped})))"
