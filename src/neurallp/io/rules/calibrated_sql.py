"""Probabilities of answers in the scored SQL, computed as `reasoning.calibration` does."""

from ...reasoning.calibration import MAX_LOG_ODDS, Calibration
from ...reasoning.calibration_sample import CLIP, NUM_CASES
from .sql import insert, literal, number

ANSWERS = """\
--   FROM answers('uncle') WHERE source = 'anna' ORDER BY score DESC;   with probabilities
-- A probability is how likely the fact is true, given all facts; it is NULL where it is one of them.
CREATE MACRO answers(asked) AS TABLE
WITH scored AS MATERIALIZED (FROM scores(asked)),
asked_edges AS MATERIALIZED (SELECT source, target FROM edges WHERE operator = asked),
holders AS MATERIALIZED (SELECT DISTINCT source, operator FROM edges),
listed AS MATERIALIZED (
  SELECT s.*, a.source IS NOT NULL AS known FROM scored s
  LEFT JOIN asked_edges a ON a.source = s.source AND a.target = s.entity),
tops AS (SELECT source, greatest(max(score), 0) AS top FROM listed GROUP BY source),
size AS MATERIALIZED (SELECT count(*) AS number FROM entities),
sharp AS MATERIALIZED (
  SELECT coalesce(max(sharpness), 1) AS sharpness, count(*) > 0 AS functional
  FROM functional WHERE query = asked),
excluded AS (
  SELECT source, count(*) AS number FROM (
    SELECT source, source AS entity FROM tops
    WHERE (SELECT NOT reflexive FROM relations WHERE asked IN (relation, '~' || relation)){linked})
  GROUP BY source),
known AS (
  SELECT source, count(*) AS number,
         count(*) FILTER (source <> target OR (SELECT reflexive FROM relations
                                               WHERE asked IN (relation, '~' || relation))) AS candidates
  FROM asked_edges GROUP BY source),
sums AS (
  SELECT source, any_value(top) AS top,
         coalesce(sum(exp(score - top)) FILTER (known), 0) AS of_known, count(*) FILTER (known) AS num_known,
         coalesce(sum(exp(score - top)) FILTER (NOT known), 0) AS of_others,
         coalesce(sum(exp(sharpness * (score - top))) FILTER (NOT known), 0) AS of_sharp,
         count(*) FILTER (NOT known) AS num_others
  FROM sharp, listed JOIN tops USING (source) GROUP BY source),
counts AS (
  SELECT s.*, k.number, k.candidates,
         size.number - coalesce(x.number, 0) - coalesce(k.candidates, 0) - num_others AS num_unlisted
  FROM size, sums s LEFT JOIN known k USING (source) LEFT JOIN excluded x USING (source)),
parts AS (
  SELECT source, top, least(coalesce(number, 0), {last}) AS number,
         of_others + num_unlisted * exp(-top) AS others,
         of_sharp + num_unlisted * exp(-sharpness * top) AS sharp_others,
         of_known + (coalesce(candidates, 0) - num_known) * exp(-top) AS of_known
  FROM sharp, counts),
shared AS (
  SELECT h.operator, (count(*) FILTER (a.source IS NOT NULL) + 0.5) / (count(*) + 1) AS confidence
  FROM holders h LEFT JOIN holders a ON a.source = h.source AND a.operator = asked GROUP BY h.operator),
base AS (
  SELECT ((SELECT count(*) FROM holders WHERE operator = asked) + 0.5) / (number + 1) AS base FROM size),
domains AS (
  SELECT source, greatest(any_value(base), max(confidence)) AS best
  FROM base, holders JOIN shared USING (operator) WHERE operator <> asked GROUP BY source),
constants AS (
  SELECT p.source, top, others, sharp_others, p.number,
         coalesce(i.intercept, o.intercept) + o.slope *
         CASE p.number WHEN 0 THEN ln(coalesce(best, base) / (1 - coalesce(best, base)))
                       ELSE ln(greatest(others / (others + of_known), {clip})) END AS log_odds
  FROM base, parts p JOIN intercepts o ON o.query IS NULL AND o.number = p.number
  LEFT JOIN intercepts i ON i.query = asked AND i.number = p.number
  LEFT JOIN domains d ON d.source = p.source),
shares AS (
  SELECT l.source, entity, score, known, c.number, log_odds,
         least(greatest(exp(score - top) / others, {clip}), 1 - {clip}) AS share,
         least(greatest(exp(sharpness * (score - top)) / sharp_others, {clip}), 1 - {clip}) AS sharp_share,
         functional
  FROM sharp, listed l JOIN constants c USING (source)),
odds AS (
  SELECT *, ln(share / (1 - share)) AS odds,
         CASE WHEN functional THEN ln(sharp_share / (1 - sharp_share)) ELSE {highest} END AS most
  FROM shares)
SELECT source, entity, score, known, CASE WHEN NOT known THEN
  1 / (1 + exp(-greatest(least(log_odds + CASE WHEN number = 0 THEN {unknown} ELSE {some} END,
                               most, {highest}), -{most}))) END AS probability
FROM odds;
"""

LINKED = """
    UNION SELECT source, target FROM edges
    WHERE (source, target) NOT IN (SELECT (source, target) FROM asked_edges)"""


def render(calibration: Calibration, excludes_linked: bool) -> str:
    """Return the statements: tables of intercepts and of functional queries, and the macro `answers`."""
    slopes = (calibration.domain_slope, *calibration.left_slopes)
    rows = [("NULL", calibration.others)]
    rows += [(literal(query), row) for query, row in calibration.intercepts.items()]
    values = [
        f"({query}, {case}, {number(value)}, {number(slopes[case])})"
        for query, row in rows
        for case, value in enumerate(row)
    ]
    macro = ANSWERS.format(
        linked=LINKED if excludes_linked else "",
        last=NUM_CASES - 1,
        clip=number(CLIP),
        unknown=pieces(calibration, has_known=False),
        some=pieces(calibration, has_known=True),
        highest=number(calibration.highest),
        most=number(MAX_LOG_ODDS),
    )
    columns = "query VARCHAR, number INTEGER, intercept DOUBLE, slope DOUBLE"
    tables = f"CREATE TABLE intercepts({columns});\n{insert('intercepts', values)}"
    limited = [f"({literal(query)}, {number(each)})" for query, each in calibration.functional.items()]
    tables += f"CREATE TABLE functional(query VARCHAR, sharpness DOUBLE);\n{insert('functional', limited)}"
    return f"{tables}{macro}"


def pieces(calibration: Calibration, has_known: bool) -> str:
    """Return the piecewise linear function of `odds` as an expression."""
    terms = []
    for piece in calibration.pieces:
        if piece.has_known == has_known:
            inner = "odds" if piece.low == float("-inf") else f"greatest(odds, {number(piece.low)})"
            inner = inner if piece.high == float("inf") else f"least({inner}, {number(piece.high)})"
            terms.append(f"{number(piece.slope)} * ({inner} - {number(piece.knot)})")
    return "(" + " + ".join(terms) + ")"
