"""Every name of code in the documentation exists, every link resolves, and the whole paper has its place.

A failure names the page, the line, the name that is gone, and where a name like it is defined now.
"""

import re

import pytest
from doc_pages import CURRENT, DOCS, PAGES, ROOT, code_spans, table_rows
from source_names import PACKAGE, exists, modules, where_defined

DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
PATH = re.compile(r"[\w./-]+\.(py|md|svg|png|toml)|[\w./-]+/")
FILE_SUFFIXES = {"csv", "dl", "facts", "gz", "json", "md", "parquet", "pl", "png", "problog", "rq", "sql"} | {
    *("svg", "tsv", "ttl", "txt", "py", "model", "toml", "nt", "rdf", "pyi", "cff", "jsonl", "safetensors")
}

#: Variables of the examples: `answer.probability` is an attribute of what a call returned.
VARIABLES = {"answer", "answers", "kb", "program", "proof", "rule", "same", "split"}

#: Packages of others that the documentation names.
FOREIGN = {"torch", "pykeen", "numpy"}

#: Each numbered part of the paper.
PAPER = [
    *(f"eq. {number}" for number in range(1, 12)),
    "algorithm 1",
    *(f"table {number}" for number in range(1, 9)),
    *(f"figure {number}" for number in range(1, 5)),
]


def reference(text):
    """Return the dotted name that a code span is, without call brackets, or nothing."""
    name = re.sub(r"\(.*\)$", "", text)
    if not DOTTED.fullmatch(name) or name.rsplit(".", 1)[1] in FILE_SUFFIXES:
        return ""
    return "" if name.split(".")[0] in VARIABLES | FOREIGN else name


def find_path(text):
    """Return whether a path exists below the project, its source or its documentation."""
    return any((folder / text).exists() for folder in (ROOT, PACKAGE, DOCS))


def missing_names(page):
    for span in code_spans(page):
        if (name := reference(span.text)) and not exists(name):
            last = name.rsplit(".", 1)[1]
            now = ", ".join(where_defined(last)) or "no module; search for its new name"
            yield f"{span.place}: `{span.text}` does not exist. `{last}` is defined in: {now}."


def missing_paths(page):
    for span in code_spans(page):
        if "/" in span.text and PATH.fullmatch(span.text) and not find_path(span.text):
            yield f"{span.place}: there is no {span.text} in the project."


@pytest.mark.parametrize("page", CURRENT, ids=lambda page: page.name)
def test_every_name_of_code_exists(page):
    faults = list(missing_names(page))
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("page", CURRENT, ids=lambda page: page.name)
def test_every_path_of_a_file_exists(page):
    faults = [fault for fault in missing_paths(page) if "DATA" not in fault and "OUT" not in fault]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_resolves(page):
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), (
            f"{page.relative_to(ROOT)} links to {link}, which does not exist."
        )


def test_every_package_is_described_in_the_architecture():
    described = {row[0].strip("`") for row in table_rows(DOCS / "architecture.md")}
    entries = {path.stem for path in PACKAGE.iterdir() if not path.name.startswith("__")} - {"py"}
    assert entries <= described, f"docs/architecture.md does not describe {entries - described}."


def test_every_page_of_the_site_is_in_its_contents():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    entries = re.findall(r"^([\w-]+\*?)$", index, re.MULTILINE)
    listed = {page.stem for entry in entries for page in DOCS.glob(f"{entry}.md")}
    assert {page.stem for page in DOCS.glob("*.md")} - listed == {"index"}


def numbered_parts(cell):
    """Return the parts of the paper that a cell names: `eqs. 6-8` is eq. 6, eq. 7 and eq. 8."""
    for kind, first, last in re.findall(r"(eq|algorithm|table|figure)s?\.? (\d+)(?:-(\d+))?", cell.lower()):
        for number in range(int(first), int(last or first) + 1):
            yield f"{kind}{'.' if kind == 'eq' else ''} {number}"


def places(cell):
    """Return the code spans of a cell that name something that exists."""
    for text in re.findall(r"`([^`]+)`", cell):
        name = reference(text)
        if (name and exists(name)) or (PATH.fullmatch(text) and find_path(text)) or text in modules():
            yield text


@pytest.mark.parametrize("part", PAPER)
def test_each_part_of_the_paper_has_an_existing_place(part):
    rows = [row for row in table_rows(DOCS / "paper-in-code.md") if part in numbered_parts(row[0])]
    assert rows, f"docs/paper-in-code.md has no row for {part} of the paper."
    assert any(list(places(row[1])) for row in rows), (
        f"docs/paper-in-code.md: the row of {part} names no existing module, function or file: {rows[0][1]}"
    )


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("rules.rule.Rule", True),
        ("neurallp.rules.rule.Rule.kind", True),
        ("extraction.extract_all", True),
        ("Rule.normalized_confidence", True),
        ("RuleSet.rules", True),
        ("config.configure", True),
        ("rules.rule.Rule.no_such_field", False),
        ("rules.rule.NoRule", False),
        ("rules.no_module.Rule", False),
        ("Rule.no_such_field", False),
    ],
)
def test_names_that_are_not_there_are_told_from_those_that_are(name, found):
    assert exists(name) == found
    assert reference(f"{name}(…)") == name
