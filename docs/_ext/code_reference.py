"""The reference, generated from the code: public names, commands with their options, settings.

`{public-names}`, `{commands}` and `{settings}` write Markdown. Docstrings are plain text with code in single
backticks, which is escaped for autodoc.
"""

import dataclasses
import re
from importlib import import_module
from typing import Any, get_type_hints

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

#: The sections of the API reference: title, and the modules whose public names it has.
SECTIONS = (
    ("Learning and loading", ("pipeline.learn", "pipeline.program", "pipeline.callbacks", "io.triples")),
    ("Facts", ("graph.knowledge_base",)),
    ("Rules", ("rules.rule",)),
    ("Answers and reasons", ("reasoning.reasoner", "reasoning.answers", "reasoning.frames")),
    (
        "Questions in words",
        ("pipeline.questions", "io.questions", "qa.answering", "qa.answers", "qa.evaluation", "qa.examples"),
    ),
    ("Measures", ("evaluation",)),
    ("Settings", ("config",)),
    ("The neural model", ("neural.model",)),
    ("Errors", ("errors",)),
)


class Generated(SphinxDirective):
    """A directive whose content is Markdown that a function writes."""

    def markdown(self) -> str:
        """Return the content."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Parse the content where the directive stands."""
        lines = StringList(self.markdown().splitlines(), source=f"<{self.name}>")
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


class PublicNames(Generated):
    """Every name of `neurallp.__all__`, by section."""

    def markdown(self) -> str:
        """Return a section for each group of modules, with the names that are left over at the end."""
        import neurallp

        homes = {name: home for home, names in neurallp._HOMES.items() for name in names}
        listed = [home for _, modules in SECTIONS for home in modules]
        left = tuple(sorted({*homes.values()} - {*listed}))
        sections = [*SECTIONS, *([("More", left)] if left else [])]
        parts = []
        for title, modules in sections:
            names = [name for home in modules for name, of in homes.items() if of == home]
            if names:
                parts += [f"## {title}", *map(_autodoc, names)]
        return "\n\n".join(parts)


def _autodoc(name: str) -> str:
    kind = "autoclass" if name[0].isupper() else "autofunction"
    kind = "autoexception" if name.endswith("Error") else kind
    path = f"neurallp.{name}"
    inherited = "\n   :inherited-members: Exception, list, Module, Sequence, Iterator, tuple, Generic"
    return f"```{{eval-rst}}\n.. {kind}:: {path}{inherited if kind == 'autoclass' else ''}\n```"


class Commands(Generated):
    """Every command with its arguments and options."""

    def markdown(self) -> str:
        """Return a section for each command, those of groups below their group."""
        import typer

        from neurallp.cli import app

        return "\n\n".join(_describe(typer.main.get_command(app), "neurallp", 1))


def _describe(command: Any, name: str, level: int) -> list[str]:
    import typer

    children = getattr(command, "commands", {})
    context = typer.Context(command, info_name=name)
    parts = []
    if level > 1:
        usage = " ".join([name, *command.collect_usage_pieces(context)])
        parts = [f"{'#' * level} `{name}`", escape_markdown(command.help or ""), f"```text\n{usage}\n```"]
    records = (param.get_help_record(context) for param in command.params)
    if rows := [_row(*record) for record in records if record is not None]:
        parts.append("\n".join(["| argument or option | meaning |", "|---|---|", *rows]))
    for child in children.values():
        parts += _describe(child, f"{name} {child.name}", level + 1)
    return parts


def _row(names: str, told: str) -> str:
    shown = names.replace("|", "\\|")
    return f"| `{shown}` | {escape_markdown(told)} |"


class Settings(Generated):
    """Every setting of every configuration."""

    def markdown(self) -> str:
        """Return a table for each configuration of `neurallp.config` that is public."""
        config = import_module("neurallp.config")
        classes = [
            each
            for each in vars(config).values()
            if dataclasses.is_dataclass(each) and str(getattr(each, "__name__", "")).endswith("Config")
        ]
        return "\n\n".join(part for each in classes for part in _settings_of(each))


def _settings_of(config: Any) -> list[str]:
    hints = get_type_hints(config)
    rows = [
        [
            f"`{each.name}`",
            _option_of(each),
            f"`{each.default!r}`",
            escape_markdown(_type_of(hints[each.name])),
            escape_markdown(each.metadata.get("help") or ""),
        ]
        for each in dataclasses.fields(config)
    ]
    head = ["| setting | option | default | type | meaning |", "|---|---|---|---|---|"]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [f"## {config.__name__}", escape_markdown(config.__doc__ or ""), "\n".join([*head, *lines])]


def _option_of(each: Any) -> str:
    if not each.metadata.get("help"):
        return "–"
    name = str(each.name).replace("_", "-")
    flag = each.metadata.get("flag") or (f"--{name}" if each.default is not True else f"--no-{name}")
    return f"`{flag}`"


def _type_of(hint: Any) -> str:
    text = getattr(hint, "__name__", None) if isinstance(hint, type) else str(hint)
    return str(text or hint).replace("typing.Literal", "one of ").replace("typing.", "")


def escape_markdown(text: str) -> str:
    """Return a docstring as Markdown on one line: what is not code is escaped, bars included."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    escaped = (part if part.startswith("`") else re.sub(r"([*_<\[\]$~])", r"\\\1", part) for part in parts)
    return "".join(escaped).replace("|", "\\|")


def escape_docstring(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Turn the code spans of a docstring into literals, and escape the rest, for reStructuredText."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[number] = "".join(map(_escape_part, re.split(r"(`[^`]+`)", line)))


def _escape_part(part: str) -> str:
    if part.startswith("`") and len(part) > 1:
        return f"`{part}`"
    return re.sub(r"[*|_]+(?=\W|$)|\*", lambda found: "".join("\\" + each for each in found.group()), part)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives and the treatment of docstrings."""
    for name, directive in (("public-names", PublicNames), ("commands", Commands), ("settings", Settings)):
        app.add_directive(name, directive)
    app.connect("autodoc-process-docstring", escape_docstring)
    return {"parallel_read_safe": True}
