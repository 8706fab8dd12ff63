"""Whether the arrays of a packed folder fit together: compiled loops index with them and check no bounds."""

from typing import Any

import numpy as np

from ...graph.arrays import Ids
from ...graph.packed import StringTable
from ...graph.segments import CsrSegments

#: Arrays of more bytes than this are taken to hold what was packed: reading them all would take seconds.
MAX_READ = 1 << 30


def require_sound(csr: CsrSegments, names: StringTable, num_relations: int, shared: Ids | None) -> None:
    """Raise ValueError where an array has another type or length than packing gives it, or a value no place.

    Values are read where all arrays together have at most `MAX_READ` bytes.
    """
    num_entities, num_segments, num_edges = len(names), len(csr.operators), len(csr.targets)
    num_operators = 2 * num_relations
    lengths = (
        *(num_entities + 1, num_segments, num_segments + 1, num_edges, num_edges),
        *(num_operators + 1, num_segments, num_segments),
    )
    for name, length in zip(CsrSegments._fields, lengths, strict=True):
        kind = np.uint32 if name in ("targets", "sources") else np.int32
        _require_shape(name, getattr(csr, name), (length,), kind)
    _require_shape("name_offsets", names.offsets, (num_entities + 1,), np.int64)
    _require_shape("names", names.text, (len(names.text),), np.uint8)
    if shared is not None:
        _require_shape("shared", shared, (num_operators, num_operators), np.int64)
    if sum(each.nbytes for each in (*csr, names.offsets, names.text)) <= MAX_READ:
        _require_places(csr, num_entities, num_operators)
        _require_names(names)


def _require_shape(name: str, array: Any, shape: tuple[int, ...], kind: Any) -> None:
    if array.shape != shape or array.dtype != kind:
        raise ValueError(f"{name} is {array.dtype} of {array.shape}, not {np.dtype(kind)} of {shape}")


def _require_places(csr: CsrSegments, num_entities: int, num_operators: int) -> None:
    num_segments, num_edges = len(csr.operators), len(csr.targets)
    for name, last in (("offsets", num_segments), ("starts", num_edges), ("operator_offsets", num_segments)):
        _require_bounds(name, getattr(csr, name), last)
    ends = {"operators": num_operators, "targets": num_entities, "sources": num_entities, "own": num_segments}
    for name, end in ends.items():
        array = getattr(csr, name)
        if len(array) and not (array.min() >= 0 and array.max() < end):
            raise ValueError(f"{name} has a value outside 0 to {end - 1:,}")
    if len(csr.fan_in) and csr.fan_in.min() < 1:
        raise ValueError("fan_in has a value below 1")


def _require_bounds(name: str, bounds: Any, last: int) -> None:
    """Raise where bounds do not ascend from 0 to `last`."""
    if bounds[0] != 0 or bounds[-1] != last or (bounds[1:] < bounds[:-1]).any():
        raise ValueError(f"{name} does not ascend from 0 to {last:,}")


def _require_names(names: StringTable) -> None:
    """Raise where a name is empty or not UTF-8."""
    _require_bounds("name_offsets", names.offsets, len(names.text))
    names.text.tobytes().decode()  # raises where it is not UTF-8
    is_empty = (names.offsets[1:] == names.offsets[:-1]).any()
    if is_empty or ((names.text[names.offsets[:-1]] & 0xC0) == 0x80).any():
        raise ValueError("names are cut at the wrong places")
