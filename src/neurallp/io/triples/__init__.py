"""Triples in files: which formats there are, and how a file or a folder is read and written.

The suffix identifies the format; every file may also be compressed (.gz). One file is a KnowledgeBase, a
folder with train, and optionally facts, valid and test, is a Split; a packed folder is a KnowledgeBase.

A format is a module of this package that defines `read(path)`, `write(path, triples, prefixes)` or both. To
add a format, add its module here and its suffixes to `READERS` or `WRITERS`.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from os import PathLike
from pathlib import Path, PurePath
from types import ModuleType
from typing import Any

import numpy as np

from ...errors import ConfigError, DataError, DataWarning, FormatError, brief, quoted
from ...graph.knowledge_base import KnowledgeBase, Split, Triple, name_parts
from ...graph.vocabulary import INVERSE_MARK, is_inverse
from ..files import AnyPath, TripleFile, missing, suffix_of
from ..names import NUL, find_unwritable
from . import layout, prolog, rdf, tables, text
from .packed import is_packed, open_packed

#: Suffix -> the module that reads it.
READERS: dict[str, ModuleType] = {
    **dict.fromkeys(text.DELIMITERS, text),
    ".parquet": tables,
    **dict.fromkeys(rdf.SUFFIXES, rdf),
}

#: Suffix -> the module that writes it.
WRITERS: dict[str, ModuleType] = {
    **{suffix: module for suffix, module in READERS.items() if suffix not in rdf.QUADS},
    ".pl": prolog,
    ".problog": prolog,
}

#: File name -> part of a split; facts and train come first, so that their names get the lowest ids.
PARTS = {"facts": "facts", "train": "train", "valid": "valid", "dev": "valid", "test": "test"}


#: What facts are given as: a path, a table (pandas, polars, Arrow), or what `load` returns.
Data = AnyPath | KnowledgeBase | Split | Any


def load(data: Data, columns: Sequence[str] = (), *, numbers: bool = False) -> KnowledgeBase | Split:
    """Return the knowledge base of a file of triples or of a table, or the split of a folder of such files.

    `columns` are those of head, relation and tail in text and Parquet, by name or by number from 1, where no
    usual header names them. With `numbers`, literals of RDF that are numbers or dates are entities.

    A knowledge base or a split is returned as it is. Warns of entities that occur only in valid or test (no
    rule can answer about them), and of literals.
    """
    if isinstance(data, KnowledgeBase | Split):
        return data
    if not isinstance(data, str | PathLike):
        return tables.from_table(data)
    path = Path(data)
    if is_packed(path):
        return open_packed(path)
    files = {part: read_file(file, columns, numbers=numbers) for part, file in find_parts(path).items()}
    for file in files.values():
        _warn_of_literals(file)
        _warn_of_layout(file)
    prefixes = {name: iri for file in files.values() for name, iri in file.prefixes.items()}
    split = name_parts({part: file.triples for part, file in files.items()}, prefixes)
    num_entities, num_relations = _count_known(split)
    _require_known_relations(split.relations[num_relations:], files)
    if num_entities < 2:
        only = split.entities[0]
        raise DataError(f"{path}: {quoted(only)} is the only entity with facts; there must be at least two.")
    if unseen := split.entities[num_entities:]:
        warnings.warn(_describe_unseen(path, unseen), DataWarning, stacklevel=2)
    return split if path.is_dir() else split.known


def read_triples(path: AnyPath) -> list[Triple]:
    """Return the triples of a file in order, repetitions included.

    In text files, names are stripped; blank lines and a header such as `head relation tail` are skipped. All
    faults of a file are raised as one FormatError. Triples of RDF with a literal object are skipped with
    a warning.
    """
    file = read_file(path)
    _warn_of_literals(file)
    return file.triples


def write_triples(
    path: AnyPath, triples: Iterable[Triple], prefixes: Mapping[str, str] | None = None
) -> None:
    """Write triples so that `read_triples` returns them; raise for names that the format cannot hold.

    `prefixes` map the prefixes of names such as `ex:anna` to IRIs; only RDF uses them, and such names come
    back as IRIs.
    """
    path = Path(path)
    suffix = _require_suffix(path, WRITERS)
    rows = list(triples)
    _require_writable(path, rows)
    WRITERS[suffix].write(path, rows, prefixes or {})


# Finding the files


def find_parts(path: Path) -> dict[str, Path]:
    """Return the file of each part, facts first; a single file holds facts only."""
    if not path.is_dir():
        return {"facts": path}
    candidates = [file for file in sorted(path.iterdir()) if suffix_of(file) in READERS and file.is_file()]
    parts: dict[str, Path] = {}
    for name, part in PARTS.items():
        for file in candidates:
            if _stem(file) == name:
                _assign(parts, part, file)
    if "train" not in parts and (path / "relations.json").is_file():
        raise DataError(f"{path} is a model folder, not data. In Python, load_program loads it.")
    if "train" not in parts:
        raise DataError(f"{path} has no train file (train{_listed(READERS)}, also .gz). {_contents(path)}")
    return parts


def find_stream_files(path: Path) -> list[Path]:
    """Return the file, or of a folder its parts but test, or else all its files of triples."""
    if not path.exists():
        raise missing(path)
    if not path.is_dir():
        _require_suffix(path, READERS)
        return [path]
    candidates = [file for file in sorted(path.iterdir()) if suffix_of(file) in READERS and file.is_file()]
    if any(_stem(file) == "train" for file in candidates):
        return [file for part, file in find_parts(path).items() if part != "test"]
    if not candidates:
        raise DataError(f"{path} has no triples ({_listed(READERS)}, also .gz). {_contents(path)}")
    return candidates


def _assign(parts: dict[str, Path], part: str, file: Path) -> None:
    if part in parts:
        other = parts[part].name
        raise DataError(f"{file.parent} has two files for {part}: {other} and {file.name}. Keep one.")
    parts[part] = file


def _contents(folder: Path) -> str:
    names = sorted(file.name for file in folder.iterdir())
    more = f" and {len(names) - 8:,} more" if len(names) > 8 else ""
    return f"It has {', '.join(names[:8])}{more}." if names else "It is empty."


def _stem(path: Path) -> str:
    return PurePath(path.name.lower().removesuffix(".gz")).stem


def _require_suffix(path: Path, known: Iterable[str]) -> str:
    """Return the suffix of a path, or raise if no format has it."""
    suffix = suffix_of(path)
    if suffix not in known:
        what = suffix or "a name without suffix"
        advice = layout.ADVICE.get(suffix) or f"Use {_listed(known)}, each also as .gz."
        raise FormatError(f"{path}: unknown format: {what}. {advice}")
    return suffix


def _listed(suffixes: Iterable[str]) -> str:
    *others, last = suffixes
    return f"{', '.join(others)} or {last}"


# Reading


def read_file(path: AnyPath, columns: Sequence[str] = (), *, numbers: bool = False) -> TripleFile:
    """Return the triples of a file with their line numbers, prefixes and number of literals."""
    path = Path(path)
    if not path.exists():
        raise missing(path)
    suffix = _require_suffix(path, READERS)
    if columns and suffix in rdf.SUFFIXES:
        raise ConfigError(f"{path} is RDF, which has no columns. Leave --columns out.")
    is_rdf = suffix in rdf.SUFFIXES
    file: TripleFile = rdf.read(path, numbers=numbers) if is_rdf else READERS[suffix].read(path, columns)
    if not file.triples and file.num_literals:
        raise FormatError(
            f"{path}: all {file.num_literals:,} triples end in a literal (text, a number or a date); rules "
            "need facts between entities. Add some."
        )
    if not file.triples:
        raise FormatError(f"{path}: no triples. Give one on each line: head, relation, tail.")
    if suffix not in text.DELIMITERS:
        _require_valid(file)
    return file


def _require_valid(file: TripleFile) -> None:
    """Raise for an empty name, a NUL character or a relation like an inverse; text is checked by line."""
    faults = [f"{file.path}: {what}" for row in file.triples if (what := text.find_fault(row, "tab"))]
    if faults:
        raise FormatError.collected(faults)


def _warn_of_literals(file: TripleFile) -> None:
    if file.num_literals:
        total = file.num_literals + len(file.triples)
        skipped = f"{file.path}: skipped {file.num_literals:,} of {total:,} triples, which end in a literal."
        warnings.warn(skipped, DataWarning, stacklevel=3)


def _warn_of_layout(file: TripleFile) -> None:
    """Warn where rows may be no triples: a table of entities, a header, columns in another order."""
    if told := layout.suspect_table(file.triples):
        warnings.warn(f"{file.path}: {told}", DataWarning, stacklevel=3)
        return
    _warn_of_header(file)
    _warn_of_order(file)


def _warn_of_header(file: TripleFile) -> None:
    if file.lines and (first := layout.suspect_header(file.triples)):
        where = f"{file.path}:{file.lines[0]}"
        told = f"{where}: {brief(', '.join(first), 120)} may be a header: none of its names occurs again."
        advice = f"If it is, and column 2 holds relations, give --columns {brief(','.join(first), 120)}."
        warnings.warn(f"{told} {advice}", DataWarning, stacklevel=4)


def _warn_of_order(file: TripleFile) -> None:
    if columns := layout.suspect_order(file.triples):
        num = len({row[1] for row in file.triples})
        told = f"{file.path}: column 2 has {num:,} different relations in {len(file.triples):,} rows."
        warnings.warn(
            f"{told} If the relation is in another column, say which: --columns {columns}.",
            DataWarning,
            stacklevel=4,
        )


# Checking a split as a whole


def _count_known(split: Split) -> tuple[int, int]:
    """Return the numbers of entities and relations in facts and train; these have the lowest ids."""
    known = np.concatenate([split.facts, split.train])
    return int(known[:, [0, 2]].max()) + 1, int(known[:, 1].max()) + 1


def _require_known_relations(unseen: Iterable[str], files: dict[str, TripleFile]) -> None:
    places = dict.fromkeys(unseen, "")
    for file in files.values():
        for line, (_, relation, _) in zip_longest(file.lines, file.triples):
            if places.get(relation) == "":
                places[relation] = f"{file.path}:{line}" if line else str(file.path)
    if places:
        why = "has no fact to learn from. Add some to train or remove the line."
        raise FormatError.collected(
            [f"{place}: relation {quoted(name)} {why}" for name, place in places.items()]
        )


def _describe_unseen(path: Path, unseen: Sequence[str]) -> str:
    return (
        f"{path}: {len(unseen):,} of the entities in valid and test have no fact, for example "
        f"{quoted(unseen[0])}. No rule can answer questions about them."
    )


# Writing


def _require_writable(path: Path, rows: list[Triple]) -> None:
    if not rows:
        raise DataError(f"{path}: there are no triples to write.")
    delimiter = text.DELIMITERS.get(suffix_of(path), ("",))[0]
    names = dict.fromkeys(name for row in rows for name in row)
    marked = dict.fromkeys(row[1] for row in rows if is_inverse(row[1]))
    faults = [f"name {quoted(name)} {why}" for name in names if (why := find_unwritable(name, delimiter))]
    faults += [f"relation {quoted(name)} starts with {INVERSE_MARK!r}" for name in marked]
    faults += [f"name {quoted(name)} has a NUL character" for name in names if NUL in name]
    if faults:
        raise FormatError.collected([f"{path}: {fault}. Rename it." for fault in faults])
