"""The names that the source defines, read without importing it."""

import ast
from functools import cache
from pathlib import Path

from doc_pages import ROOT

PACKAGE = ROOT / "src" / "neurallp"


@cache
def modules() -> dict[str, Path]:
    """Return every module and package by its name below `neurallp`; the package itself is ``."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


@cache
def members(path: Path) -> dict[str, ast.AST]:
    """Return what a module defines or imports at its top level."""
    return _defined(ast.parse(path.read_text(encoding="utf-8")).body)


def _defined(body: list[ast.stmt]) -> dict[str, ast.AST]:
    found: dict[str, ast.AST] = {}
    for node in body:
        found.update((name, node) for name in _names(node))
        for nested in ("body", "orelse", "handlers", "finalbody"):
            if isinstance(node, ast.If | ast.Try | ast.With):
                found.update(_defined(getattr(node, nested, [])))
    return found


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).split(".")[0] for alias in node.names]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [
        name.id for target in targets if target for name in ast.walk(target) if isinstance(name, ast.Name)
    ]


def exists(dotted: str) -> bool:
    """Return whether some module whose name ends like `dotted` begins has the rest of `dotted`.

    `Rule.kind` is found among the public names, `extraction.extract_all` in `rules/extraction.py`.
    """
    parts = dotted.removeprefix("neurallp.").split(".")
    if dotted.startswith("neurallp.") and _has(modules()[""], parts):
        return True
    if parts[0][:1].isupper():
        return any(_has(path, parts) for path in modules().values())
    return any(
        _has(path, parts[split:])
        for split in range(len(parts), 0, -1)
        for name, path in modules().items()
        if f".{name}".endswith("." + ".".join(parts[:split]))
    )


def _has(path: Path, rest: list[str]) -> bool:
    """Return whether a module has a name, or a class of it an attribute, a method or a field."""
    if not rest:
        return True
    node = members(path).get(rest[0])
    if len(rest) == 1 or not isinstance(node, ast.ClassDef):
        return node is not None and len(rest) == 1
    return len(rest) == 2 and rest[1] in _class_members(node)


def _class_members(node: ast.ClassDef) -> set[str]:
    """Return the attributes of a class, those assigned to `self` included."""
    assigned = {
        target.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Assign | ast.AnnAssign)
        for target in (each.targets if isinstance(each, ast.Assign) else [each.target])
        if isinstance(target, ast.Attribute)
    }
    return assigned | _defined(node.body).keys()


def where_defined(name: str) -> list[str]:
    """Return the modules that define a name, to suggest in a failure."""
    return [
        module
        for module, path in modules().items()
        if isinstance(members(path).get(name), ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign)
        or any(
            isinstance(node, ast.ClassDef) and name in _class_members(node) for node in members(path).values()
        )
    ]
