"""Names as people read them: what a terminal or a page would act on is spelled out."""

import re
from html import escape

#: Characters that a terminal acts on or that reorder what is read: controls (C0 except line ends, DEL, C1),
#: marks of direction, separators of lines and paragraphs.
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")

#: What no page can hold: half surrogate pairs, and two code points that are no characters.
FORBIDDEN = re.compile("[\ud800-\udfff\ufffe\uffff]")


def neutral(text: str) -> str:
    r"""Return a text in which characters that a terminal acts on are spelled out.

    >>> print(neutral("a\x1b[31mb"))
    a\x1b[31mb
    """
    return CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


def one_line(text: str) -> str:
    r"""Return a neutral text in which line ends are spelled out too.

    >>> print(one_line("a\nb"))
    a\nb
    """
    return text if text.isprintable() else neutral(text).replace("\n", "\\n")


def as_html(text: str) -> str:
    r"""Return a neutral text of one line for HTML or SVG.

    >>> print(as_html("<\x1b>"))
    &lt;\x1b&gt;
    """
    return escape(FORBIDDEN.sub("\ufffd", one_line(text)))
