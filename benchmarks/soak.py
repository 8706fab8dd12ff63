"""Ask a model many questions, on facts that change, in one process: memory and open files must not grow.

python benchmarks/soak.py --asks 2000000 --changes 100000
"""

import argparse
import gc
import itertools
import resource
import sys
import time
from pathlib import Path

from neurallp import WeightingConfig
from neurallp.datasets.family import family_knowledge_base
from neurallp.graph.knowledge_base import split_triples
from neurallp.pipeline.learn import weigh_rules

#: What memory may grow by after the first tenth of the run.
MAX_GROWTH = 16 << 20


def memory() -> int:
    """Return the resident memory of this process in bytes."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def descriptors() -> int:
    """Return the number of open files."""
    return len(list(Path("/proc/self/fd").iterdir()))


def main() -> None:
    """Run; exit with 1 where memory or open files grew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--asks", type=int, default=2_000_000)
    parser.add_argument("--changes", type=int, default=100_000)
    chosen = parser.parse_args()
    kb = family_knowledge_base(num_people=24, num_generations=3)
    settings = WeightingConfig(max_length=2, num_candidates=10, num_pairs=40)
    asked, started = weigh_rules(split_triples(kb), settings).reasoner(kb), time.process_time()
    facts, sources, relations = list(kb.named_facts()), list(kb.entities), list(kb.relations)
    questions = list(itertools.product(sources, relations))
    per_change, tenth, begun = chosen.asks // chosen.changes, max(chosen.changes // 10, 1), (0, 0)
    for number in range(chosen.changes):
        head, relation, tail = fact = facts[number % len(facts)]
        if number % 2:
            changed = asked.changed(removed=[fact])
        else:  # a fact about an entity that is not there yet
            changed = asked.changed(added=[(f"new {number}", relation, tail)])
        changed.ask(head=head, relation=relation, k=1)
        for place in range(1, per_change):
            head, relation = questions[(number + place * per_change) % len(questions)]
            asked.ask(head=head, relation=relation, k=1)
        if (number + 1) % tenth == 0:
            begun = begun if any(begun) else (memory(), descriptors())
            print(
                f"{number + 1:,} changes: {memory() / 2**20:.1f} MiB, {descriptors()} open files", flush=True
            )
    grown, opened, seconds = memory() - begun[0], descriptors() - begun[1], time.process_time() - started
    print(
        f"{chosen.changes * per_change:,} asks and {chosen.changes:,} changes in {seconds:,.0f} CPU seconds:"
    )
    print(f"memory grew by {grown / 2**20:.1f} MiB, open files by {opened}.")
    sys.exit(grown > MAX_GROWTH or opened > 0)


if __name__ == "__main__":
    main()
