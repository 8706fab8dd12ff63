"""Ask a model many questions, on facts that change, in one process: memory and open files must not grow.

python benchmarks/soak.py --asks 2000000 --changes 100000
"""

import argparse
import gc
import resource
import sys
import time
from pathlib import Path

import numpy as np

from neurallp import KnowledgeBase, WeightingConfig
from neurallp.datasets.family import family_knowledge_base
from neurallp.graph.knowledge_base import split_triples
from neurallp.pipeline.learn import weigh_rules

#: What memory may grow by after the first tenth of the run.
MAX_GROWTH = 64 << 20


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
    kb = family_knowledge_base(num_people=60, num_generations=3)
    program = weigh_rules(split_triples(kb), WeightingConfig(max_length=2, num_candidates=20, num_pairs=40))
    facts, rng = list(kb.named_facts()), np.random.default_rng(0)
    sources, relations = list(kb.entities), list(kb.relations)
    per_change, first = max(chosen.asks // chosen.changes, 1), max(chosen.changes // 10, 1)
    started, begun = time.perf_counter(), (0, 0)
    for number in range(chosen.changes):
        left_out = int(rng.integers(len(facts)))
        changed = KnowledgeBase.from_triples(facts[:left_out] + facts[left_out + 1 :])
        for _ in range(per_change):
            head, relation = sources[rng.integers(len(sources))], relations[rng.integers(len(relations))]
            if head in changed.entities and relation in changed.relations:
                program.ask(head=head, relation=relation, kb=changed)
        if number + 1 == first:
            begun = memory(), descriptors()
    grown, opened = memory() - begun[0], descriptors() - begun[1]
    seconds = time.perf_counter() - started
    print(f"{chosen.changes * per_change:,} asks and {chosen.changes:,} changes in {seconds:,.0f} s:")
    print(f"memory grew by {grown / 2**20:.1f} MiB, open files by {opened}.")
    sys.exit(grown > MAX_GROWTH or opened > 0)


if __name__ == "__main__":
    main()
