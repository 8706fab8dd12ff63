"""The description of data as a web page: one file, without scripts or anything from elsewhere."""

from collections.abc import Iterable, Sequence

from ..graph.spelling import as_html
from ..graph.statistics import RelationStatistics, Statistics

PAGE = """\
<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }}
table {{ border-collapse: collapse; }}
th, td {{ padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #ddd; text-align: left; }}
td.number, th.number {{ text-align: right; }}
</style>
<h1>{title}</h1>
{summary}
<h2>What to expect</h2>
{expectations}
<h2>Relations</h2>
<table>
{rows}
</table>
</html>
"""

COLUMNS = ("facts", "heads", "tails", "tails / head", "heads / tail", "symmetric")


def render_page(title: str, found: Statistics, notes: Sequence[str]) -> str:
    """Return the page of some statistics, and of notes about the files."""
    head = "".join(f'<th class="number">{name}</th>' for name in COLUMNS)
    rows = [f"<tr><th>relation</th>{head}<th></th></tr>", *map(_row, found.relations)]
    return PAGE.format(
        title=as_html(title),
        summary=_list(found.summary),
        expectations=_list([*notes, *found.expectations]),
        rows="\n".join(rows),
    )


def _list(lines: Iterable[str]) -> str:
    return "<ul>\n" + "".join(f"<li>{as_html(line)}</li>\n" for line in lines) + "</ul>"


def _row(each: RelationStatistics) -> str:
    counts = [f"{number:,}" for number in (each.num_facts, each.num_heads, each.num_tails)]
    means = [f"{each.tails_per_head:.2f}", f"{each.heads_per_tail:.2f}", f"{each.symmetric:.0%}"]
    numbers = "".join(f'<td class="number">{cell}</td>' for cell in (*counts, *means))
    return f"<tr><td>{as_html(each.name)}</td>{numbers}<td>{', '.join(each.kinds)}</td></tr>"
