"""Facts as Parquet files for the SQL engines: those of one relation, and the edges of all together."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import import_extra
from ..graph.packed import PackedKnowledgeBase

#: Edges that are written together.
EDGES_AT_ONCE = 5_000_000


def write_steps(path: Path, kb: PackedKnowledgeBase, relation: int) -> None:
    """Write the facts of one relation with the numbers of its edges that leave and arrive."""
    edges = kb.operators.edges_by_operator(relation)
    sources, sizes = kb.operators.sources_of(relation)
    csr = kb.operators.csr
    columns = {
        "source": np.repeat(sources, sizes).astype(np.int32),
        "target": csr.targets[edges].astype(np.int32),
        "leaving": np.repeat(sizes, sizes).astype(np.int32),
        "arriving": csr.fan_in[edges],
    }
    _write(path, iter([columns]))


def write_links(path: Path, kb: PackedKnowledgeBase) -> None:
    """Write the edges of all operators, with the numbers of edges of any operator that leave and arrive."""
    _write(path, _links(kb))


def _links(kb: PackedKnowledgeBase) -> Iterator[dict[str, Any]]:
    """Yield columns of some edges at a time: sources, targets, and how many edges each of both has."""
    starts = kb.operators.csr.starts[kb.operators.csr.offsets].astype(np.int64)
    degrees = np.diff(starts).astype(np.int32)
    for first in range(0, max(kb.operators.num_edges, 1), EDGES_AT_ONCE):
        last = min(first + EDGES_AT_ONCE, kb.operators.num_edges)
        sources = np.searchsorted(starts, np.arange(first, last), side="right") - 1
        targets = kb.operators.csr.targets[first:last]
        yield {
            "source": sources.astype(np.int32),
            "target": targets.astype(np.int32),
            "leaving": degrees[sources],
            "arriving": degrees[targets],
        }


def _write(path: Path, tables: Iterator[Mapping[str, Any]]) -> None:
    """Write tables one after the other, completely or not at all."""
    pa, parquet = import_extra("pyarrow", "formats"), import_extra("pyarrow.parquet", "formats")
    temporary = path.with_suffix(".tmp")
    first = pa.table(dict(next(tables)))
    with parquet.ParquetWriter(temporary, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(pa.table(dict(table)))
    temporary.replace(path)
