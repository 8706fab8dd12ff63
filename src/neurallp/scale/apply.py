"""Rules applied to all facts at once: new facts with scores and probabilities, a file for each relation.

They are those of `Reasoner.predict`: the same rules, exclusions, probabilities and order.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from ..config import KINDS
from ..errors import DataError, import_extra
from ..graph.arrays import Floats
from ..graph.packed import PackedKnowledgeBase, StringTable
from ..graph.vocabulary import is_inverse, relation_of
from ..io.files import atomic_write
from ..io.predictions import COLUMNS
from ..io.rules.scored import CHAINS
from ..io.rules.sql import literal
from ..io.schema import as_error
from ..io.triples.packed import names_table
from ..reasoning.calibration import Calibration
from ..reasoning.domains import Domains
from ..weighting.graph_index import GraphIndex
from ..weighting.kinds import compile_rules, is_dense
from ..weighting.kinds.base import Candidate
from ..weighting.weighted_rules import WeightedRules
from .engines import Engine
from .estimate import Cost, Estimator
from .queries import (
    Body,
    Part,
    RuleQueries,
    Totals,
    Wanted,
    answers,
    linked_amounts,
    near_amounts,
    near_steps,
    pairs,
    probability_of,
    shared_prefixes,
)
from .tables import write_links, write_steps

SUMMARY = "summary.json"
RUN = "run.json"

#: Rows of a query that are worked on together, about: more are done in parts, by source.
ROWS_AT_ONCE = 100_000_000

#: Rows from which on a rule is said to explode, unless another limit is given.
EXPLODING = 1_000_000_000

#: The table of amounts without rows.
NO_AMOUNTS = (
    "SELECT CAST(0 AS INT) AS source, CAST(0 AS INT) AS entity, 0.0e0 AS amount, 1 AS listed WHERE 1 = 0"
)

#: The table with the edges of all relations.
LINKS = "links"


@dataclass(frozen=True)
class Options:
    """What is asked for, and which rules are left out."""

    queries: tuple[int, ...]
    wanted: Wanted = field(default_factory=Wanted)
    max_rows: int | None = None  # a rule of more rows is left out; None: such a rule is an error


@dataclass
class Summary:
    """What was written and what was left out."""

    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    left_out: list[dict[str, Any]] = field(default_factory=list)


class Application:
    """Weighted rules bound to packed facts, an engine and a folder for the results."""

    def __init__(
        self,
        weighted: WeightedRules,
        kb: PackedKnowledgeBase,
        calibration: Calibration | None,
        out: Path,
        options: Options,
    ) -> None:
        self.weighted, self.calibration, self.out, self.options = weighted, calibration, out, options
        found = kb.with_relations(weighted.relations)
        if not isinstance(found, PackedKnowledgeBase):
            raise DataError("Rules are applied to packed facts.")
        self.kb, self.work = found, out / ".work"
        self.index = GraphIndex(found, found.operators)
        self.domains = Domains(found.operators)

    def costs(self) -> list[Cost]:
        """Return what each rule will take."""
        estimator = Estimator(self.kb)
        return [cost for query in self.options.queries for cost in estimator.costs(self.weighted, query)]

    def run(
        self, engine: Callable[[Path], Any], on_done: Callable[[int], None] = lambda num: None
    ) -> Summary:
        """Write the predictions of all queries; those written by a run that was stopped are kept.

        `engine` is a function that opens one in a folder. Calls `on_done` with a number of rules.
        """
        costs = self.costs()
        capped = self._cap(costs)
        self.work.mkdir(parents=True, exist_ok=True)
        self._require_same_run()
        with engine(self.work) as opened:
            self._prepare(opened)
            for query in self.options.queries:
                own = [cost for cost in costs if cost.query == query and cost not in capped]
                self._apply(opened, query, own)
                on_done(len(own))
        summary = self._summarize(capped)
        shutil.rmtree(self.work)
        return summary

    def _cap(self, costs: Sequence[Cost]) -> list[Cost]:
        """Return the rules that are left out; raise where some explode and no limit was given."""
        limit = EXPLODING if self.options.max_rows is None else self.options.max_rows
        exploding = sorted((cost for cost in costs if cost.rows > limit), key=lambda cost: -cost.rows)
        if exploding and self.options.max_rows is None:
            shown = "\n".join(f"  {cost.rows:,} rows: {cost.text}" for cost in exploding[:10])
            raise DataError(
                f"{len(exploding)} rules would yield more than {limit:,} rows each:\n{shown}\n"
                "Leave such rules out with --max-rows, or give it a greater number to apply them."
            )
        return exploding

    # Files

    def path_of(self, query: int) -> Path:
        """Return where the predictions of a query go."""
        name = self.weighted.relations.operator_name(query)
        readable = re.sub(r"[^\w~-]+", "_", name)[-60:]
        return self.out / f"{query:05d}-{readable}.parquet"

    def _require_same_run(self) -> None:
        """Note what is applied to what; raise where the folder has the results of something else."""
        rules = [(query, own.rules, own.weights.tobytes()) for query, own in self.weighted.queries.items()]
        asked = repr((rules, self.options, self.calibration, self.weighted.excludes_linked))
        digest = sha256(asked.encode())
        for column in (*self.kb.operators.csr[:4], self._names.offsets, self._names.text):
            digest.update(np.ascontiguousarray(column).data)
        run = digest.hexdigest()
        path = self.out / RUN
        if path.exists() and path.read_bytes() != json.dumps(run).encode():
            raise DataError(
                f"{self.out} has predictions of other rules, facts or options. Give another --out."
            )
        atomic_write(path, json.dumps(run))

    def _prepare(self, engine: Engine) -> None:
        """Write the facts of each relation that is used as Parquet, and name them."""
        writers: dict[str, Callable[[Path, PackedKnowledgeBase], None]]
        writers = {f"facts_{k}": partial(write_steps, relation=k) for k in sorted(self._used())}
        if self.weighted.excludes_linked or any(map(self._unnamed, self.options.queries)):
            writers[LINKS] = write_links
        for name, write in writers.items():
            path = self.work / f"{name}.parquet"
            if not path.exists():
                write(path, self.kb)
            engine.view(name, str(path))
        names = names_table(self._names)
        engine.load("names", {name: names.column(name) for name in names.column_names})

    @property
    def _names(self) -> StringTable:
        """The names of entities."""
        names = self.kb.entities
        assert isinstance(names, StringTable)
        return names

    def _used(self) -> set[int]:
        """Return the relations of the queries and of their rules."""
        num = len(self.weighted.relations)
        rules = [rule for query in self.options.queries for rule in self._rules(query)]
        used = [k for rule in rules for k in rule.operators]
        return {k % num for k in (*used, *self.options.queries)}

    def _rules(self, query: int) -> Sequence[Candidate]:
        own = self.weighted.queries.get(query)
        return own.rules if own else ()

    def _unnamed(self, query: int) -> list[int]:
        """Return the numbers of the query's rules that follow edges of all relations."""
        rules = enumerate(self._rules(query))
        return [number for number, rule in rules if KINDS[rule.kind].names_no_relation]

    # One query

    def _apply(self, engine: Engine, query: int, costs: Sequence[Cost]) -> None:
        path = self.path_of(query)
        if path.exists():
            return
        num_parts = 1 + sum(cost.rows for cost in costs) // ROWS_AT_ONCE
        totals = self._load_dense(engine, query)
        parts = []
        for part in (Part(number, num_parts) for number in range(num_parts)):
            parts.append(self.work / f"{path.stem}-{part.number}.parquet")
            if not parts[-1].exists():
                self._apply_part(engine, query, [cost.number for cost in costs], part)
                found = answers(self.options.wanted, totals, self._probability(query))
                engine.write(self._named(query, found), parts[-1])
        for number, part_path in enumerate(parts):
            engine.view(f"part_{number}", str(part_path))
        every = " UNION ALL ".join(f"SELECT * FROM part_{number}" for number in range(num_parts))
        engine.write(f"SELECT {', '.join(COLUMNS)} FROM ({every}) e ORDER BY source, place", path)

    def _apply_part(self, engine: Engine, query: int, numbers: Sequence[int], part: Part) -> None:
        """Make the table of pairs of one part of the sources, one rule after the other."""
        shared: dict[Body, str] = {}
        rules = RuleQueries(query, len(self.weighted.relations), shared)
        candidates = [self._rules(query)[number] for number in numbers]
        for prefix in shared_prefixes([rule.operators for rule in candidates if rule.kind in CHAINS]):
            name = f"walks_{len(shared)}"
            engine.create(name, rules.walks(prefix, part))
            shared[prefix] = name
        added = [NO_AMOUNTS, *self._amounts(rules, numbers, part)]
        engine.drop("amounts")
        for start in range(0, len(added), engine.rules_at_once):
            engine.append("amounts", " UNION ALL ".join(added[start : start + engine.rules_at_once]))
        for number in self._unnamed(query):
            if number in numbers:
                self._add_unnamed(engine, rules, number)
        links = LINKS if self.weighted.excludes_linked else None
        excludes_source = self.weighted.excludes_source(query)
        engine.create("pairs", pairs(rules, part, links=links, excludes_source=excludes_source))
        for name in ("amounts", *shared.values()):
            engine.drop(name)

    def _amounts(self, rules: RuleQueries, numbers: Sequence[int], part: Part) -> Iterator[str]:
        """Yield a query for what each rule adds, without rules about entities that the facts do not have."""
        for number in numbers:
            own = self.weighted.queries[rules.query]
            rule, weights = own.rules[number], own.weights[number].tolist()
            named = [name for name in (rule.constant, rule.end) if name is not None]
            ids = {name: self.kb.entities.find(name) for name in named}
            used = any(weights) and not KINDS[rule.kind].names_no_relation
            if used and all(each >= 0 for each in ids.values()):
                yield rules.amounts(rule, weights, part, ids)

    def _add_unnamed(self, engine: Engine, rules: RuleQueries, number: int) -> None:
        """Add what a rule that names no relation adds, for sources for which another predicts something."""
        own = self.weighted.queries[rules.query]
        weights = own.weights[number].tolist()
        if not any(weights):
            return
        if own.rules[number].kind == "linked":
            engine.create("linked", linked_amounts(LINKS, rules.asked, weights))
            engine.append("amounts", "SELECT * FROM linked")
            engine.drop("linked")
            return
        steps = near_steps(LINKS)
        for name, step in steps.items():
            engine.create(name, step)
        engine.append("amounts", near_amounts(list(steps), weights))
        for name in steps:
            engine.drop(name)

    def _load_dense(self, engine: Engine, query: int) -> Totals:
        """Load the dense term of each entity and the domain of each source; return the exponentials' sums."""
        dense = [(rule, weight) for rule, weight in self._weights(query) if is_dense(rule)]
        values = compile_rules(self.index, query, [rule for rule, _ in dense]).dense.values
        values = values * sum(weight for _, weight in dense)
        entities = np.flatnonzero(values).astype(np.int32)
        engine.load("dense", {"entity": entities, "prior": values[entities]})
        everyone = np.arange(len(self.kb.entities))
        domain: Floats = np.zeros(len(everyone))
        if self.calibration is not None:
            domain = self.domains.log_odds(everyone, query)
        engine.load("domains", {"source": everyone.astype(np.int32), "domain": domain})
        return self._totals(query, values)

    def _totals(self, query: int, dense: Floats) -> Totals:
        functional = {} if self.calibration is None else self.calibration.functional
        sharpness = functional.get(self.weighted.relations.operator_name(query))
        sharp = 0.0 if sharpness is None else float(np.exp(sharpness * dense).sum())
        return Totals(float(np.exp(dense).sum()), sharpness, sharp)

    def _weights(self, query: int) -> Iterator[tuple[Candidate, float]]:
        """Yield each rule with the weight of its indicator."""
        own = self.weighted.queries.get(query)
        yield from zip(own.rules, own.weights[:, 0].tolist(), strict=True) if own else ()

    def _probability(self, query: int) -> str:
        return probability_of(self.calibration, self.weighted.relations.operator_name(query))

    def _named(self, query: int, found: str) -> str:
        """Return the answers by name, in the columns of every file of predictions."""
        operator = self.weighted.relations.operator_name(query)
        ends = ("t", "h") if is_inverse(operator) else ("h", "t")
        return (
            f"SELECT a.source, a.place, {ends[0]}.name AS head, "
            f"{literal(relation_of(operator))} AS relation, {ends[1]}.name AS tail, "
            f"a.probability, a.score, a.known = 1 AS known FROM ({found}) a "
            "JOIN names h ON h.id = a.source JOIN names t ON t.id = a.entity"
        )

    def _summarize(self, capped: Sequence[Cost]) -> Summary:
        summary = Summary(left_out=[describe(cost) for cost in capped])
        for query in self.options.queries:
            path = self.path_of(query)
            files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
            num = sum(map(_num_rows, files))
            summary.files[path.name] = {"query": self.weighted.relations.operator_name(query), "rows": num}
        atomic_write(self.out / SUMMARY, json.dumps(vars(summary), indent=1, ensure_ascii=False) + "\n")
        return summary


def describe(cost: Cost) -> dict[str, Any]:
    """Return what a rule takes, for a summary."""
    return {"rule": cost.text, "rows": cost.rows, "bytes": cost.num_bytes, "minutes": round(cost.minutes, 2)}


def _num_rows(path: Path) -> int:
    """Return the number of rows of a file of results."""
    parquet = import_extra("pyarrow.parquet", "formats")
    with as_error(lambda why: DataError(f"{path} is damaged ({why}). Delete it to derive its facts again.")):
        return int(parquet.ParquetFile(path).metadata.num_rows)
