from hypothesis import given
from hypothesis import strategies as st

from neurallp.cli.output import SafeConsole, shown_name
from neurallp.graph.spelling import CONTROLS


def test_a_name_in_markup_is_one_line_as_it_is():
    assert shown_name("[red]one\ntwo\x1b") == "\\[red]one\\ntwo\\x1b"


@given(st.text(max_size=30))
def test_nothing_that_is_printed_reaches_the_terminal_raw(name):
    console = SafeConsole(emoji=False, highlight=False, force_terminal=True, color_system=None, width=80)
    with console.capture() as captured:
        console.print(name, markup=False)
    assert not CONTROLS.search(captured.get())
