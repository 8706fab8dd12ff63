"""Conclusions of generated rules in neurallp, DuckDB and SWI-Prolog, which must be equal, and their time."""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from graphs import make_facts
from report import report

from neurallp.graph.vocabulary import inverse_name
from neurallp.rules.rule import Rule

sys.path.append(str(Path(__file__).parent.parent / "tests"))
import foreign

Triples = set[tuple[str, str, str]]


def main() -> None:
    """Derive with each program, and compare the conclusions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--entities", type=int, default=20_000)
    parser.add_argument("--relations", type=int, default=20)
    parser.add_argument("--rules", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    triples = make_triples(args.entities, args.relations, args.facts)
    rules = make_rules(args.relations, args.rules, args.seed)
    rows = compare(rules, triples)
    equal = all(row["equal"] for row in rows)
    report(rows, args.json, facts=len(triples), rules=len(rules), equal=equal)
    sys.exit(not equal)


def make_triples(num_entities: int, num_relations: int, num_facts: int) -> list[tuple[str, str, str]]:
    """Return generated facts by name."""
    # Some are sampled twice and count once, so a few more are sampled.
    facts = make_facts(num_entities, num_relations, num_facts + num_facts // 10, skew=0.3)[:num_facts]
    return [(f"e{head}", f"r{relation}", f"e{tail}") for head, relation, tail in facts.tolist()]


def make_rules(num_relations: int, num_rules: int, seed: int) -> list[Rule]:
    """Return distinct rules with bodies of up to three atoms, in all directions, half of them with X != Y."""
    rng = np.random.default_rng(seed)
    names = np.array([name for r in range(num_relations) for name in (f"r{r}", inverse_name(f"r{r}"))])
    rules: dict[object, Rule] = {}
    while len(rules) < num_rules:
        target, *body = rng.choice(names, size=rng.choice([2, 3, 4], p=[0.1, 0.5, 0.4])).tolist()
        rule = Rule(target, tuple(body), float(rng.random()), distinct_ends=bool(rng.random() < 0.5))
        rules[rule.target, rule.body] = rule
    return list(rules.values())


def compare(rules: list[Rule], triples: list[tuple[str, str, str]]) -> list[dict[str, Any]]:
    """Return a row for each program: conclusions, seconds, and whether they equal those of neurallp."""
    rows, expected = [], None
    for name, derive in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as folder:
            start = perf_counter()
            derived = derive(rules, triples, Path(folder))
            seconds = perf_counter() - start
        expected = derived if expected is None else expected
        rows.append(
            {"program": name, "derived": len(derived), "seconds": seconds, "equal": derived == expected}
        )
    return rows


def by_prolog(rules: list[Rule], triples: list[tuple[str, str, str]], folder: Path) -> Triples:
    """Return what SWI-Prolog derives, printed without escapes, since these names are plain."""
    return foreign.by_prolog(rules, triples, folder, plain=True)


PROGRAMS: dict[str, Callable[[list[Rule], list[tuple[str, str, str]], Path], Triples]] = {
    "neurallp": foreign.by_engine,
    "DuckDB": foreign.by_duckdb,
    "SWI-Prolog": by_prolog,
}


if __name__ == "__main__":
    main()
