"""Packed folders: a knowledge base as arrays that are memory-mapped, so that opening one takes no time.

Triples are streamed through DuckDB, which holds no more than a memory limit. Entities are numbered in the
order of their names (UTF-8 bytes), so that equal facts give equal folders and a name is found by bisection.
"""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from ...errors import DataError, FormatError, brief, import_extra
from ...graph.arrays import Ids
from ...graph.packed import PackedKnowledgeBase, PackedOperators, StringTable
from ...graph.segments import CsrSegments, count_shared, sort_edges
from ...graph.vocabulary import INVERSE_MARK, Relations
from ..duckdb import MEMORY, Database, open_database
from ..files import AnyPath, atomic_write
from ..schema import as_error, parse_json
from .packed_arrays import require_sound
from .streams import Stream, open_stream

DESCRIPTION = "packed.json"
FORMAT = "neurallp packed triples, version 1"

#: Operators for which it is counted how many entities have two of them: the counts are quadratic in these.
MAX_SHARED = 4096


@dataclass(frozen=True)
class Packed:
    """What packing found."""

    num_entities: int
    num_relations: int
    num_facts: int
    num_duplicates: int
    num_literals: int
    num_bytes: int


def is_packed(path: AnyPath) -> bool:
    """Return whether a path is a packed folder."""
    return (Path(path) / DESCRIPTION).is_file()


# Packing


def pack(
    triples: AnyPath, out: AnyPath, *, memory: str = MEMORY, relations: Relations | None = None
) -> Packed:
    """Write the facts of a file, or of a folder of files, as a packed folder.

    `relations` come first in the numbering, in their order: where a model's are given, it answers from the
    folder as it is, and otherwise edges are sorted in memory when the folder is opened with the model.
    """
    out = Path(out)
    _require_writable(out)
    building = out.with_name(f".{uuid4().hex}.tmp")
    building.mkdir(parents=True)
    try:
        with open_database(building, memory) as database:
            stream = open_stream(Path(triples), database)
            found = _write(building, database, stream, relations)
        if out.exists():
            shutil.rmtree(out)
        building.replace(out)
    except OSError as error:
        raise DataError(f"Cannot write {out}: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return found


def _require_writable(out: Path) -> None:
    if out.exists() and not is_packed(out) and (out.is_file() or any(out.iterdir())):
        raise DataError(f"{out} exists and is no packed folder. Give another name, or remove it.")


def _write(folder: Path, database: Database, stream: Stream, given: Relations | None) -> Packed:
    relations = _relations(database, stream, given)
    num_entities = _write_names(folder, database)
    if num_entities < 2:
        raise DataError(f"{stream.path}: there must be at least two entities with facts.")
    columns = _number(folder, database, relations)
    csr = sort_edges(*columns, num_entities, len(relations))
    num_given = len(columns[0])
    del columns
    for name, column in csr._asdict().items():
        np.save(folder / f"{name}.npy", column)
    if len(relations) * 2 <= MAX_SHARED:
        shared = np.zeros((2 * len(relations), 2 * len(relations)), np.int64)
        count_shared(csr.offsets, csr.operators, shared)
        np.save(folder / "shared.npy", shared)
    num_facts = len(csr.targets) // 2
    reflexive = PackedKnowledgeBase(Relations([]), PackedOperators(len(relations), csr), relations)
    sizes = {file.name: file.stat().st_size for file in sorted(folder.glob("*.npy"))}
    found = Packed(
        num_entities,
        len(relations),
        num_facts,
        num_given - num_facts,
        stream.num_literals,
        sum(sizes.values()),
    )
    description = {
        "format": FORMAT,
        "relations": list(relations),
        "reflexive": reflexive.reflexive_relations.tolist(),
        "facts": num_facts,
        "duplicates": found.num_duplicates,
        "literals": found.num_literals,
        "files": sizes,
    }
    atomic_write(folder / DESCRIPTION, json.dumps(description, indent=1, ensure_ascii=False) + "\n")
    return found


def _relations(database: Database, stream: Stream, given: Relations | None) -> Relations:
    """Return the relations of the triples, after checking all names; those given come first."""
    bad = (
        f"head IS NULL OR tail IS NULL OR relation IS NULL OR head = '' OR tail = '' OR relation = '' "
        f"OR starts_with(relation, '{INVERSE_MARK}') OR contains(concat(head, relation, tail), chr(0))"
    )
    if faults := database.rows(f"SELECT head, relation, tail FROM triples WHERE {bad} LIMIT 1"):
        raise FormatError(
            f"{stream.path}: the triple {faults[0]} has an empty name, a NUL character, or a relation "
            f"that starts with {INVERSE_MARK!r}. Correct or remove such rows."
        )
    rows = database.rows("SELECT DISTINCT relation FROM triples ORDER BY relation")
    if not rows:
        raise FormatError(f"{stream.path}: no triples. Give one on each line: head, relation, tail.")
    return Relations(dict.fromkeys([*(given or ()), *(name for (name,) in rows)]))


def _write_names(folder: Path, database: Database) -> int:
    """Write the names of entities in order; return how many there are."""
    names = "SELECT DISTINCT name FROM (SELECT head AS name FROM triples UNION ALL SELECT tail FROM triples)"
    pa = import_extra("pyarrow", "formats")
    lengths = []
    with (folder / "names.bin").open("wb") as file:
        for batch in database.batches(f"{names} ORDER BY name"):
            column = batch.column(0).cast(pa.large_string())
            bounds = np.frombuffer(column.buffers()[1], np.int64)[
                column.offset : column.offset + len(column) + 1
            ]
            file.write(memoryview(column.buffers()[2] or b"")[bounds[0] : bounds[-1]])
            lengths.append(np.diff(bounds))
    offsets = np.zeros(1 + sum(map(len, lengths)), np.int64)
    np.cumsum(np.concatenate([*lengths, np.zeros(0, np.int64)]), out=offsets[1:])
    np.save(folder / "name_offsets.npy", offsets)
    text = np.fromfile(folder / "names.bin", np.uint8)
    np.save(folder / "names.npy", text)
    (folder / "names.bin").unlink()
    return len(offsets) - 1


def _number(folder: Path, database: Database, relations: Relations) -> tuple[Any, Any, Any]:
    """Return heads, relations and tails of all triples as ids, 4 bytes each."""
    pa = import_extra("pyarrow", "formats")
    table = _map_names(folder)
    database.register("names", names_table(table))
    numbers = pa.array(np.arange(len(relations), dtype=np.int32))
    database.register("numbered", pa.table({"name": pa.array(list(relations), pa.string()), "id": numbers}))
    ((num,),) = database.rows("SELECT count(*) FROM triples")
    columns = tuple(np.empty(num, np.int32) for _ in range(3))
    start = 0
    query = (
        "SELECT h.id, r.id, t.id FROM triples JOIN names h ON h.name = head "
        "JOIN names t ON t.name = tail JOIN numbered r ON r.name = relation"
    )
    for batch in database.batches(query):
        for column, values in zip(columns, batch.columns, strict=True):
            column[start : start + batch.num_rows] = values.to_numpy()
        start += batch.num_rows
    return columns[0], columns[1], columns[2]


def names_table(names: StringTable) -> Any:
    """Return an Arrow table of the names and their ids that shares the memory of the names."""
    pa = import_extra("pyarrow", "formats")
    buffers = pa.py_buffer(names.offsets), pa.py_buffer(names.text)
    column = pa.LargeStringArray.from_buffers(len(names), *buffers)
    return pa.table({"name": column, "id": pa.array(np.arange(len(names), dtype=np.int32))})


# Opening


@dataclass(frozen=True)
class Description:
    """What `packed.json` holds."""

    format: str
    relations: tuple[str, ...]
    reflexive: tuple[bool, ...]
    facts: int
    duplicates: int
    literals: int
    files: dict[str, int]  # sizes in bytes


def open_packed(folder: AnyPath) -> PackedKnowledgeBase:
    """Return the knowledge base of a packed folder; its arrays are mapped, not copied."""
    folder = Path(folder)
    with as_error(lambda why: _damaged(folder, why)):
        description = _describe(folder)
        if len({*description.relations}) != len(description.reflexive):
            raise ValueError("relations and reflexive do not fit")
        relations = Relations(description.relations)
        csr = CsrSegments(*(_map(folder, name) for name in CsrSegments._fields))
        shared: Ids | None = _map(folder, "shared") if (folder / "shared.npy").exists() else None
        names = _map_names(folder)
        require_sound(csr, names, len(relations), shared)
    operators = PackedOperators(len(relations), csr, shared)
    kb = PackedKnowledgeBase(names, operators, relations, description.duplicates)
    kb.__dict__["reflexive_relations"] = np.array(description.reflexive, dtype=bool)
    return kb


def _damaged(folder: Path, why: object) -> DataError:
    return DataError(f"{folder} is a damaged packed folder ({brief(why)}). Pack the triples again.")


def _describe(folder: Path) -> Description:
    """Return the description of a folder; raise where a file is not as it was written."""
    content = (folder / DESCRIPTION).read_bytes()
    if parse_json(content, dict[str, object]).get("format") != FORMAT:
        raise DataError(f"{folder} was packed by another version. Pack the triples again.")
    description = parse_json(content, Description)
    for path in folder.glob("*.npy"):
        if description.files.get(path.name) != path.stat().st_size:
            raise _damaged(folder, f"{path.name} has another size than when it was written")
    return description


def _map_names(folder: Path) -> StringTable:
    return StringTable(_map(folder, "name_offsets"), _map(folder, "names"))


def _map(folder: Path, name: str) -> Any:
    """Return an array of a folder, mapped: pages are shared between processes, and none is written back."""
    path = folder / f"{name}.npy"
    if not np.lib.format.open_memmap(path, mode="r").size:
        return np.load(path)
    # Copy-on-write pages: compiled loops take writable arrays, so one version of them serves both kinds.
    return np.asarray(np.load(path, mmap_mode="c"))
