"""Weighted rules as SQL for DuckDB: a table of rules, and a macro that computes their scores.

The rules are rows, so the statements do not grow with their number. Bodies are walked together: walk_n holds
the walks along the first n steps of all bodies of the query asked.
"""

from collections.abc import Iterator

from ...reasoning.calibration import Calibration
from ...weighting.kinds.near_kernels import NUM_STEPS
from ...weighting.weighted_rules import WeightedRules
from . import calibrated_sql, feature_sql
from .scored import CHAINS, ScoredRule, scored_rules
from .sql import insert, literal, number

#: The columns that identify rules that are walked together, and their weights.
KEYS = ("number",)
WEIGHTS = ("o.indicator", "o.forward", "o.backward")

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
  SELECT *, count(*) OVER (PARTITION BY source, operator) AS leaving,
            count(*) OVER (PARTITION BY target, operator) AS arriving FROM edges;
CREATE VIEW entities AS SELECT head AS entity FROM facts UNION SELECT tail FROM facts;
"""

SCORES = """\
CREATE MACRO scores(asked) AS TABLE
WITH own AS MATERIALIZED (SELECT * FROM rules WHERE query = asked),
all_steps AS MATERIALIZED (SELECT * FROM steps),
asked_edges AS MATERIALIZED (SELECT source, target FROM all_steps WHERE operator = asked),
{walks},{near}
anchoring AS (
  SELECT r.number, s.* FROM own r JOIN all_steps s ON r.kind = 'anchored' AND s.operator = r.step1),
mirroring AS (
  SELECT r.number, s.* FROM own r JOIN all_steps s ON r.kind = 'mirrored' AND s.operator = r.step1),
confidences AS (
  {anchored}
  UNION ALL {mirrored}),
neighbours AS ({neighbours}),
unaries AS (
  SELECT DISTINCT r.number, e.source, r.answer AS entity FROM own r
  JOIN all_steps e ON r.kind = 'unary' AND e.operator = r.step1 AND coalesce(e.target = r.body_end, true)
  WHERE r.answer IN (SELECT entity FROM entities)),
sourced AS (
  SELECT r.number, r.source, e.target AS entity FROM own r
  JOIN all_steps e ON r.kind = 'sourced' AND e.operator = r.step1 AND e.source = r.body_start
  WHERE r.source IN (SELECT entity FROM entities)),
priors AS (
  SELECT r.indicator * ln(1 + count(*)) AS amount, a.target AS entity FROM own r, asked_edges a
  WHERE r.kind = 'prior' GROUP BY a.target, r.indicator),
amounts AS (
{amounts}
  UNION ALL SELECT r.source, r.entity, o.indicator + o.forward + o.backward
  FROM (SELECT * FROM unaries UNION ALL SELECT * FROM sourced) r JOIN own o USING (number)
  UNION ALL SELECT n.source, n.entity, {amount_of_neighbours}
  FROM neighbours n JOIN own o USING (number)
  UNION ALL SELECT DISTINCT s.source, s.target, o.indicator + o.forward + o.backward
  FROM own o JOIN all_steps s ON o.kind = 'linked' AND s.operator <> asked
  UNION ALL SELECT e.entity, p.entity, p.amount FROM entities e, priors p{amounts_of_near}),
totals AS (SELECT source, entity, sum(amount) AS score FROM amounts GROUP BY source, entity)
SELECT source, entity, score FROM totals
WHERE NOT (source = entity
           AND (SELECT NOT reflexive FROM relations WHERE asked IN (relation, '~' || relation))){linked};
"""

LINKED = """
  AND ((source, entity) NOT IN (SELECT (source, target) FROM all_steps)
       OR (source, entity) IN (SELECT (source, target) FROM asked_edges))"""


#: Walks along edges of all relations, for queries that have a rule of nearness.
NEAR = """
links AS MATERIALIZED (
  SELECT source, target, count(*) OVER (PARTITION BY source) AS leaving,
         count(*) OVER (PARTITION BY target) AS arriving
  FROM all_steps WHERE EXISTS (FROM own WHERE kind = 'near')),
{steps},
near AS ({near}),"""

AMOUNTS_OF_NEAR = """
  UNION ALL SELECT n.source, n.entity, {amount}
  FROM near n JOIN own o ON o.kind = 'near'"""


def render(weighted: WeightedRules, calibration: Calibration | None = None) -> str:
    """Return the statements; with a calibration, there is a macro for probabilities too."""
    rules = list(scored_rules(weighted))
    has_near = any(rule.kind == "near" for rule in rules)
    amount_of_near = feature_sql.amount(WEIGHTS, "n", feature_sql.near_scale)
    longest = max((len(rule.operators) for rule in rules if rule.kind in CHAINS), default=1)
    relations = zip(weighted.relations, weighted.reflexive.tolist(), strict=True)
    rows = [f"({literal(name)}, {flag})" for name, flag in relations]
    macro = SCORES.format(
        walks=",\n".join(map(_walk, range(1, longest + 1))),
        amounts="\n  UNION ALL ".join(_amounts(length, longest) for length in range(1, longest + 1)),
        anchored=feature_sql.anchored("anchoring", "anchoring", "asked_edges", KEYS),
        mirrored=feature_sql.mirrored("mirroring", "asked_edges", KEYS),
        neighbours=feature_sql.neighbours("confidences", KEYS),
        amount_of_neighbours=feature_sql.amount(WEIGHTS, "n"),
        near=_near() if has_near else "",
        amounts_of_near=AMOUNTS_OF_NEAR.format(amount=amount_of_near) if has_near else "",
        linked=LINKED if weighted.excludes_linked else "",
    )
    probabilities = calibration and calibrated_sql.render(calibration, weighted.excludes_linked)
    return "".join([HEADER, _table(rules, longest), _relations(rows), VIEWS, macro, probabilities or ""])


def _relations(rows: list[str]) -> str:
    return "CREATE TABLE relations(relation VARCHAR, reflexive BOOLEAN);\n" + insert("relations", rows)


def _table(rules: list[ScoredRule], longest: int) -> str:
    steps = ", ".join(f"step{i + 1} VARCHAR" for i in range(longest))
    names = "answer VARCHAR, body_end VARCHAR, source VARCHAR, body_start VARCHAR"
    columns = f"number INTEGER, query VARCHAR, kind VARCHAR, {steps}, {names}"
    created = f"CREATE TABLE rules({columns}, indicator DOUBLE, forward DOUBLE, backward DOUBLE);\n"
    rows = [_row(place, rule, longest) for place, rule in enumerate(rules)]
    return created + insert("rules", rows)


def _row(place: int, rule: ScoredRule, longest: int) -> str:
    steps = [*map(literal, rule.operators), *["NULL"] * (longest - len(rule.operators))]
    entities = (rule.answer, rule.end, rule.source, rule.start)
    names = ["NULL" if name is None else literal(name) for name in entities]
    named = [str(place), literal(rule.query), literal(rule.kind), *steps, *names]
    return f"({', '.join([*named, *map(number, rule.weights)])})"


def _prefix(length: int) -> str:
    return ", ".join(f"step{i + 1}" for i in range(length))


def _walk(length: int) -> str:
    """Return the walks along the first `length` steps: to each entity, the probabilities of both ways."""
    chains = f"kind IN ({', '.join(map(literal, CHAINS))})"
    wanted = f"(SELECT DISTINCT {_prefix(length)} FROM own WHERE {chains} AND step{length} IS NOT NULL)"
    if length == 1:
        steps = f"(SELECT * FROM {wanted} b JOIN all_steps s ON s.operator = b.step1)"
        return f"walk1 AS MATERIALIZED ({feature_sql.first_step(steps, ['step1'])})"
    walks = f"(SELECT * FROM {wanted} b JOIN walk{length - 1} USING ({_prefix(length - 1)}))"
    keys = [f"step{i + 1}" for i in range(length)]
    joined = feature_sql.next_step(walks, "all_steps", keys, f"s.operator = w.step{length} AND ")
    return f"walk{length} AS MATERIALIZED ({joined})"


def _near() -> str:
    """Return the walks of nearness, step by step, and their sum."""
    steps = [feature_sql.first_near_step("links")]
    steps += [feature_sql.next_near_step(f"near{place}", "links") for place in range(1, NUM_STEPS)]
    tables = [f"near{place + 1} AS MATERIALIZED ({step})" for place, step in enumerate(steps)]
    names = [f"near{place + 1}" for place in range(NUM_STEPS)]
    return NEAR.format(steps=",\n".join(tables), near=feature_sql.near(names))


def _amounts(length: int, longest: int) -> str:
    """Return what the bodies of one length add to scores."""
    on = " AND ".join(_conditions(length, longest))
    return (
        f"  SELECT w.source, w.entity, {feature_sql.amount(WEIGHTS, 'w')} AS amount\n"
        f"  FROM own o JOIN walk{length} w ON {on}"
    )


def _conditions(length: int, longest: int) -> Iterator[str]:
    yield f"o.kind IN ({', '.join(map(literal, CHAINS))})"
    yield from (f"o.step{i + 1} = w.step{i + 1}" for i in range(length))
    if length < longest:
        yield f"o.step{length + 1} IS NULL"
