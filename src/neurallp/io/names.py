"""Names in text files: which names a format can hold, and how a field of CSV is quoted."""

import re

from ..errors import ConfigError
from .files import AnyPath, suffix_of

#: The character that ends a string in many programs: names of triples do not have it.
NUL = "\0"


def find_unwritable(name: str, delimiter: str = "") -> str:
    """Return why a file could not return `name` unchanged, or nothing; without a delimiter it is not text."""
    if not name:
        return "is empty"
    if delimiter and name != name.strip():
        return "begins or ends with whitespace"
    if delimiter == "tab" and re.search("[\t\n]", name):
        return "contains a tab or a line end, which only .csv can hold"
    if re.search("[\ud800-\udfff]", name):
        return "contains half a surrogate pair, which UTF-8 cannot hold"
    return ""


def require_spreadsheet(path: AnyPath) -> None:
    """Raise unless a file is one that spreadsheets open."""
    if suffix_of(path) not in (".csv", ".tsv"):
        raise ConfigError(f"--safe-csv is for .csv and .tsv, which spreadsheets open, not for {path}.")


def safe_cell(name: str) -> str:
    """Return a field that no spreadsheet takes for a formula: with a quote before it where it would."""
    return "'" + name if name.startswith(("=", "+", "-", "@", "\t", "\r")) else name


def quote_field(name: str) -> str:
    """Return a name as a field of .csv, quoted where it must be."""
    return '"' + name.replace('"', '""') + '"' if re.search('[,"\r\n]', name) else name
