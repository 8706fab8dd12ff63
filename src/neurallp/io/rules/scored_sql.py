"""Weighted rules as SQL for DuckDB: a table of rules, and a macro that computes their scores.

The rules are rows, so the statements do not grow with their number. Bodies are walked together: walk_n holds
the walks along the first n steps of all bodies of the query asked.
"""

from collections.abc import Iterator

from ...reasoning.calibration import Calibration
from ...weighting.kinds.shared_neighbours import SMOOTHING
from ...weighting.weighted_rules import WeightedRules
from . import calibrated_sql
from .scored import CHAINS, ScoredRule, scored_rules
from .sql import insert, literal, number

HEADER = """\
-- Scores of weighted rules over a table facts(head, relation, tail), for DuckDB.
--   FROM scores('uncle') WHERE source = 'anna' ORDER BY score DESC;    (anna, uncle, ?)
--   FROM scores('~uncle') WHERE source = 'carl' ORDER BY score DESC;   (?, uncle, carl)
-- Entities that are not listed score 0, or are no candidates.
"""

VIEWS = """\
CREATE VIEW edges AS
  SELECT DISTINCT head AS source, relation AS operator, tail AS target
  FROM facts SEMI JOIN relations USING (relation)
  UNION ALL
  SELECT DISTINCT tail, '~' || relation, head FROM facts SEMI JOIN relations USING (relation);
CREATE VIEW steps AS
  SELECT *, 1 / count(*) OVER (PARTITION BY source, operator) AS forward,
            1 / count(*) OVER (PARTITION BY target, operator) AS backward FROM edges;
CREATE VIEW entities AS SELECT head AS entity FROM facts UNION SELECT tail FROM facts;
CREATE MACRO log_scale(p) AS ln(1 + 100 * p) / ln(101);
"""

SCORES = """\
CREATE MACRO scores(asked) AS TABLE
WITH own AS MATERIALIZED (SELECT * FROM rules WHERE query = asked),
all_steps AS MATERIALIZED (SELECT * FROM steps),
all_edges AS MATERIALIZED (SELECT source, operator, target FROM all_steps),
asked_edges AS MATERIALIZED (SELECT source, target FROM all_edges WHERE operator = asked),
{walks},
anchored AS (
  SELECT number, source, target, entity,
         count(*) / (any_value(size) - 1 + {smoothing}) AS confidence
  FROM (SELECT r.number, x.source, x.target, o.source AS other, x.size FROM own r
        JOIN (SELECT *, count(*) OVER (PARTITION BY operator, target) AS size FROM all_edges) x
          ON r.kind = 'anchored' AND x.operator = r.step1 AND x.source <> x.target
        JOIN all_edges o ON o.operator = r.step1 AND o.target = x.target AND o.source <> x.source)
  JOIN (SELECT source AS other, target AS entity FROM asked_edges) USING (other)
  WHERE entity <> source GROUP BY number, source, target, entity),
tallied AS (
  SELECT r.number, r.step1, a.source, n.target, count(*) AS tally FROM own r
  JOIN asked_edges a ON r.kind = 'mirrored' AND a.source <> a.target
  JOIN all_edges n ON n.source = a.target AND n.operator = r.step1 AND n.target <> a.source
  GROUP BY ALL),
mirrored AS (
  SELECT number, source, target, entity, (tally - is_answer) / (size - 1 + {smoothing}) AS confidence
  FROM (SELECT t.number, t.source, t.target, g.source AS entity, t.tally,
               count(*) OVER (PARTITION BY t.number, t.source, t.target) AS size,
               CASE WHEN a.source IS NULL THEN 0 ELSE 1 END AS is_answer
        FROM tallied t
        JOIN all_edges g ON g.operator = t.step1 AND g.target = t.target AND g.source <> t.source
        LEFT JOIN asked_edges a ON a.source = t.source AND a.target = g.source)
  WHERE tally > is_answer),
neighbours AS (
  SELECT number, source, entity, max(confidence) AS forward, 1 - product(1 - confidence) AS backward
  FROM (FROM anchored UNION ALL FROM mirrored) GROUP BY ALL),
unaries AS (
  SELECT r.number, e.source, r.answer AS entity FROM own r
  JOIN (SELECT DISTINCT source, operator FROM all_edges) e ON r.kind = 'unary' AND e.operator = r.step1
  WHERE r.answer IN (SELECT entity FROM entities)),
priors AS (
  SELECT r.indicator * ln(1 + count(*)) AS amount, a.target AS entity FROM own r, asked_edges a
  WHERE r.kind = 'prior' GROUP BY a.target, r.indicator),
amounts AS (
{amounts}
  UNION ALL SELECT r.source, r.entity, o.indicator + o.forward + o.backward
  FROM unaries r JOIN own o USING (number)
  UNION ALL SELECT n.source, n.entity,
    o.indicator + o.forward * log_scale(n.forward) + o.backward * log_scale(n.backward)
  FROM neighbours n JOIN own o USING (number)
  UNION ALL SELECT e.entity, p.entity, p.amount FROM entities e, priors p),
totals AS (SELECT source, entity, sum(amount) AS score FROM amounts GROUP BY source, entity)
SELECT source, entity, score FROM totals
WHERE NOT (source = entity
           AND (SELECT NOT reflexive FROM relations WHERE asked IN (relation, '~' || relation))){linked};
"""

LINKED = """
  AND ((source, entity) NOT IN (SELECT (source, target) FROM all_edges)
       OR (source, entity) IN (SELECT (source, target) FROM asked_edges))"""


def render(weighted: WeightedRules, calibration: Calibration | None = None) -> str:
    """Return the statements; with a calibration, there is a macro for probabilities too."""
    rules = list(scored_rules(weighted))
    longest = max((len(rule.operators) for rule in rules if rule.kind in CHAINS), default=1)
    relations = zip(weighted.relations, weighted.reflexive.tolist(), strict=True)
    rows = [f"({literal(name)}, {flag})" for name, flag in relations]
    macro = SCORES.format(
        walks=",\n".join(map(_walk, range(1, longest + 1))),
        amounts="\n  UNION ALL ".join(_amounts(length, longest) for length in range(1, longest + 1)),
        smoothing=SMOOTHING,
        linked=LINKED if weighted.excludes_linked else "",
    )
    probabilities = calibration and calibrated_sql.render(calibration, weighted.excludes_linked)
    return "".join([HEADER, _table(rules, longest), _relations(rows), VIEWS, macro, probabilities or ""])


def _relations(rows: list[str]) -> str:
    return "CREATE TABLE relations(relation VARCHAR, reflexive BOOLEAN);\n" + insert("relations", rows)


def _table(rules: list[ScoredRule], longest: int) -> str:
    steps = ", ".join(f"step{i + 1} VARCHAR" for i in range(longest))
    columns = f"number INTEGER, query VARCHAR, kind VARCHAR, {steps}, answer VARCHAR"
    created = f"CREATE TABLE rules({columns}, indicator DOUBLE, forward DOUBLE, backward DOUBLE);\n"
    rows = [_row(place, rule, longest) for place, rule in enumerate(rules)]
    return created + insert("rules", rows)


def _row(place: int, rule: ScoredRule, longest: int) -> str:
    steps = [*map(literal, rule.operators), *["NULL"] * (longest - len(rule.operators))]
    answer = "NULL" if rule.answer is None else literal(rule.answer)
    named = [str(place), literal(rule.query), literal(rule.kind), *steps, answer]
    return f"({', '.join([*named, *map(number, rule.weights)])})"


def _prefix(length: int) -> str:
    return ", ".join(f"step{i + 1}" for i in range(length))


def _walk(length: int) -> str:
    """Return the walks along the first `length` steps: to each entity, the probabilities of both ways."""
    chains = f"kind IN ({', '.join(map(literal, CHAINS))})"
    wanted = f"(SELECT DISTINCT {_prefix(length)} FROM own WHERE {chains} AND step{length} IS NOT NULL)"
    if length == 1:
        found = "SELECT step1, source, target AS entity, forward, backward"
        return f"walk1 AS MATERIALIZED ({found}\n  FROM {wanted} b JOIN all_steps s ON s.operator = b.step1)"
    return (
        f"walk{length} AS MATERIALIZED (SELECT {_prefix(length)}, w.source, s.target AS entity,\n"
        "    sum(w.forward * s.forward) AS forward, sum(w.backward * s.backward) AS backward\n"
        f"  FROM {wanted} b JOIN walk{length - 1} w USING ({_prefix(length - 1)})\n"
        f"  JOIN all_steps s ON s.operator = b.step{length} AND s.source = w.entity GROUP BY ALL)"
    )


def _amounts(length: int, longest: int) -> str:
    """Return what the bodies of one length add to scores."""
    on = " AND ".join(_conditions(length, longest))
    return (
        "  SELECT w.source, w.entity,\n"
        "    o.indicator + o.forward * log_scale(w.forward) + o.backward * log_scale(w.backward) AS amount\n"
        f"  FROM own o JOIN walk{length} w ON {on}"
    )


def _conditions(length: int, longest: int) -> Iterator[str]:
    yield f"o.kind IN ({', '.join(map(literal, CHAINS))})"
    yield from (f"o.step{i + 1} = w.step{i + 1}" for i in range(length))
    if length < longest:
        yield f"o.step{length + 1} IS NULL"
