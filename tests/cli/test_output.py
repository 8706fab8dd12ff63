import json
import re
import shutil
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurallp.cli.output import CONTROLS, SafeConsole, neutral, shown_name

#: A title by OSC, a colour by CSI and by C1, a bell, a carriage return, a change of direction, a line end.
HOSTILE = ("\x1b]0;owned\x07", "\x1b[31mred", "\x9b31mred", "back\rfront", "abc\u202edcb", "one\ntwo", "\x7f")


@pytest.mark.parametrize("name", HOSTILE)
def test_what_a_terminal_acts_on_is_spelled_out(name):
    assert shown_name(name).isprintable()
    assert len(shown_name(name)) > len(name)


def test_names_of_all_scripts_stay_as_they_are():
    for name in ("père", "日本", "می\u200cخواهم", "👩\u200d👧", "a\u0301"):
        assert neutral(name) == name


@given(st.text(max_size=30))
def test_nothing_that_is_printed_reaches_the_terminal_raw(name):
    console = SafeConsole(emoji=False, highlight=False, force_terminal=True, color_system=None, width=80)
    with console.capture() as captured:
        console.print(name, markup=False)
    assert not CONTROLS.search(captured.get())


@pytest.fixture
def hostile(tmp_path):
    """A file of rules and facts whose every name would change a terminal."""
    names = [name.replace("\r", " ").replace("\n", " ") for name in HOSTILE]
    person, father, brother, uncle, *others = [f"n{i}{name}" for i, name in enumerate(names)]
    facts, rules = tmp_path / "facts.csv", tmp_path / "rules.json"
    rows = [(person, father, others[0]), (others[0], brother, others[1]), (others[1], uncle, person)]
    facts.write_text("".join(",".join(f'"{name}"' for name in row) + "\n" for row in rows))
    rules.write_text(json.dumps([{"target": uncle, "body": [father, brother], "confidence": 0.5}]))
    return rules, facts, person, uncle, others[1]


def commands(hostile, tmp_path):
    rules, facts, person, uncle, answer = hostile
    asked = ["--head", person, "--relation", uncle]
    return [
        ["ask", rules, facts, *asked],
        ["ask", rules, facts, *asked, "--json"],
        ["explain", rules, facts, person, uncle, answer],
        ["why-not", rules, facts, person, uncle, person],
        ["evaluate", rules, facts, "--per-relation"],
        ["predict", rules, facts, "--out", tmp_path / f"{person}.csv"],
        ["export", rules, facts, "--format", "prolog", "--out", tmp_path / "out.pl"],
        ["ask", rules, facts, "--head", f"{person}x", "--relation", uncle],
        ["ask", tmp_path / uncle, facts, *asked],
        ["convert", facts, tmp_path / f"{uncle}.xyz"],
    ]


def test_no_command_prints_a_name_that_is_not_neutral(run, hostile, tmp_path):
    for arguments in commands(hostile, tmp_path):
        _, out, err = run(*arguments)
        assert "Traceback" not in err
        assert not CONTROLS.search(out + err), (arguments[0], out, err)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_in_a_real_terminal_no_name_sets_the_title_or_a_colour(hostile, tmp_path):
    call = [sys.executable, "-c", "from neurallp.cli import main; main()"]
    rules, facts, person, uncle, answer = hostile
    script = tmp_path / "show.py"
    lines = [
        ["ask", rules, facts, "--head", person, "--relation", uncle],
        ["explain", rules, facts, person, uncle, answer],
    ]
    script.write_text(
        "import subprocess\n"
        + "".join(f"subprocess.run({[*call, *map(str, line)]!r})\n" for line in lines)
        + f"open({str(tmp_path / 'done')!r}, 'w')\nimport time; time.sleep(60)\n"
    )
    name = f"neurallp-{tmp_path.name}"
    tmux = ["tmux", "-L", name]
    subprocess.run(
        [*tmux, "new-session", "-d", "-x", "100", "-y", "40", sys.executable, str(script)], check=True
    )
    try:
        for _ in range(600):
            if (tmp_path / "done").exists():
                break
            time.sleep(0.1)
        title, screen = (
            subprocess.run([*tmux, *what], capture_output=True, text=True, check=True).stdout
            for what in (["display-message", "-p", "#{pane_title}"], ["capture-pane", "-p", "-e"])
        )
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)
    assert "owned" not in title
    assert r"\x1b]0;owned" in screen
    assert not re.search("\x1b\\[31m", screen)
