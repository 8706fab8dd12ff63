"""Names that a terminal would act on, through every command that prints."""

import json
import re
import shutil
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from neurallp import KnowledgeBase, Plan, WeightingConfig
from neurallp.cli import COMMANDS, NAMES
from neurallp.graph.spelling import CONTROLS
from neurallp.io.triples import write_triples
from neurallp.pipeline.program import LearnedProgram
from neurallp.reasoning.calibration import Calibration
from neurallp.weighting.kinds.base import Candidate
from neurallp.weighting.weighted_rules import WeightedQuery, WeightedRules

#: A title by OSC, a colour by CSI and by C1, a bell, a carriage return, a change of direction, a line end.
HOSTILE = ("\x1b]0;owned\x07", "\x1b[31mred", "\x9b31mred", "back\rfront", "abc\u202edcb", "one\ntwo", "\x7f")

#: Commands that print no names of the data: they speak to programs and browsers, or about data they make.
ELSEWHERE = {"mcp", "serve", "demo", "experiment"}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Facts, rules and a model of weighted rules whose every name would change a terminal."""
    folder = tmp_path_factory.mktemp("hostile")
    people = [f"p{i}{name}" for i, name in enumerate(HOSTILE * 2)]
    father, brother, uncle = relations = [f"{name}{i}" for i, name in enumerate((*HOSTILE[4:6], HOSTILE[1]))]
    ring = list(zip(people, people[1:] + people[:1], strict=True))
    facts = [(one, relation, other) for one, other in ring for relation in relations[:2]]
    facts += [(one, uncle, other) for one, other in zip(people[:5], people[2:], strict=False)]
    rules = [{"target": uncle, "body": [father, brother], "confidence": 0.5}]
    (folder / "rules.json").write_text(json.dumps(rules))
    (folder / "rules.txt").write_text("3\t2\t0.6\tun\x1b[31mcle(X,Y) <= fa\x9bther(X,A), brother(A,Y)\n")
    labels = [
        f"{name}\tlabel{i}{HOSTILE[i % 5]}"
        for i, name in enumerate(people)
        if "\n" not in name + HOSTILE[i % 5]
    ]
    (folder / "labels.tsv").write_text("\n".join(labels).replace("\r", ""), newline="\n")
    asked = [f"whom [{one}] \x1b[31mknows?\t{other}\n" for one, other in ring if "\n" not in one + other]
    (folder / "questions.tsv").write_text("".join(asked), newline="\n")
    (folder / "bad.tsv").write_text("a\tr\tb\n\x1b]0;owned\x07\tr\n\x1b[31mred\t~\x9br\tc\n")
    for name in ("facts.parquet", "split/train.parquet"):
        (folder / name).parent.mkdir(exist_ok=True)
        write_triples(folder / name, facts)
    write_triples(folder / "split" / "test.parquet", facts[-3:])
    kb = KnowledgeBase.from_triples(facts)
    candidates = (Candidate("chain", (0, 1)), Candidate("prior", (2,)), Candidate("unary", (0,), people[3]))
    query = WeightedQuery(candidates, [[1.0, 0.5, 0.5], [0.3, 0, 0], [-0.5, 0, 0]], [0.5] * 3)
    program = LearnedProgram(Plan(None, None, WeightingConfig()), weighted_rules=weighted_of(kb, query))
    program.calibration = Calibration((0.0, 1.0), (1.0,) * 5, {}, (0.0, -1.0, -2.0))
    program.save(folder / "model")
    found = {"model": folder / "model", "rules": folder / "rules.json", "facts": folder / "facts.parquet"}
    return SimpleNamespace(
        **found, folder=folder, split=folder / "split", person=people[0], uncle=uncle, answer=people[2]
    )


def weighted_of(kb, query):
    import numpy as np

    whole = WeightedQuery(query.rules, np.array(query.weights, float), np.array(query.confidences, float))
    return WeightedRules(kb.relations, kb.reflexive_relations, {2: whole})


def commands(given, out):
    """Return a line for every command, and for each way in which it prints names."""
    model, facts, person, uncle, answer = given.model, given.facts, given.person, given.uncle, given.answer
    asked, fact = ["--head", person, "--relation", uncle], [person, uncle, answer]
    return [
        ["rules", model, facts],
        ["rules", model, "--json"],
        ["describe", facts, "--html", out / "page.html"],
        ["describe", given.split],
        ["describe", model],
        ["ask", model, facts, *asked],
        ["ask", model, facts, *asked, "--scores"],
        ["ask", model, facts, *asked, "--json"],
        ["ask", given.rules, facts, *asked],
        ["ask", model, facts, "--head", f"{person}x", "--relation", uncle],
        ["ask", out / uncle, facts, *asked],
        ["explain", model, facts, *fact],
        ["explain", model, facts, *fact, "--svg", out / f"{person}.svg"],
        ["why-not", given.rules, facts, person, uncle, person],
        ["verify", model, facts, *fact],
        ["verify", model, facts, f"{person}x", uncle, answer],
        ["audit", model, facts, "--out", out / f"{person}.csv"],
        ["evaluate", model, given.split, "--per-relation"],
        ["calibrate", model, given.split],
        ["predict", model, facts, "--out", out / f"{person}.csv"],
        ["predict", model, facts, "--out", out / f"{person}.xyz"],
        ["pack", facts, out / f"packed{uncle}"],
        ["apply", model, facts, "--out", out / f"applied{uncle}", "--dry-run"],
        ["apply", model, facts, "--out", out / f"applied{uncle}"],
        *(["export", model, "--format", form, "--out", out / f"{uncle}.{form}"] for form in EXPORTED),
        ["export", given.rules, "--format", "prolog", "--out", out / "out.pl", "--data", facts],
        ["export", model, "--format", "tsv", "--out", out / "out", "--relation", f"{uncle}x"],
        ["import", given.folder / "rules.txt", "--format", "anyburl", "--out", out / "imported.tsv"],
        ["convert", facts, out / f"{uncle}.csv"],
        ["convert", facts, out / f"{uncle}.xyz"],
        ["weigh", "-", given.split, "--length", 1, "--candidates", 5, "--out", out / f"weighed{uncle}"],
        ["learn", given.split, "--no-weigh", "--epochs", 1, "--out", out / f"learned{uncle}"],
        ["qa", "ask", out / f"learned{uncle}", facts, f"who is [{person}]"],
        ["plot", "rules", model, "--relation", uncle, "--out", out / "rules.svg"],
        ["plot", "attention", out / f"learned{uncle}", "--relation", uncle, "--out", out / f"{person}.svg"],
        ["plot", "reliability", model, given.split, "--out", out / f"{person}.svg"],
        ["data", "get", uncle],
        *more_commands(given, out, asked),
    ]


def more_commands(given, out, asked):
    """Return lines with options and files that print names of their own."""
    model, facts, labels, words = given.model, given.facts, given.folder / "labels.tsv", out / "words"
    questions = given.folder / "questions.tsv"
    small = ["--embedding-size", 4, "--hidden-size", 4, "--epochs", 1, "--verbose"]
    return [
        ["ask", model, facts, *asked, "--labels", labels],
        ["explain", model, facts, given.person, given.uncle, given.answer, "--labels", labels],
        ["rules", model, facts, "--few", 1],
        ["describe", given.folder / "bad.tsv"],
        ["--debug", "ask", model, facts, "--head", f"{given.person}x", "--relation", given.uncle],
        ["qa", "learn", facts, questions, "--out", words, *small],
        ["qa", "ask", words, facts, f"whom [{given.person}] knows?", "--min-probability", 0],
        ["qa", "ask", words, facts, f"whom [{given.person}x] knows?"],
        ["qa", "evaluate", words, facts, questions],
    ]


EXPORTED = ("tsv", "json", "sql", "sparql", "anyburl", "souffle", "problog", "scored-json", "scored-sql")


def test_no_command_prints_a_name_that_is_not_neutral(run, hostile, tmp_path):
    for arguments in commands(hostile, tmp_path):
        _, out, err = run(*arguments)
        assert "Traceback" not in err or "--debug" in arguments, err
        assert not CONTROLS.search(out + err), (arguments, out, err)
        assert "one\ntwo" not in out + err, (arguments, out, err)
        # No character is left out either, so that different names look different.
        assert not re.search(r"owned(?!\\x07|\\u0007|_)|backfront", out + err), (arguments, out, err)


def test_every_command_is_among_them(hostile, tmp_path):
    run = {line[0] for line in commands(hostile, tmp_path)}
    assert {NAMES.get(name, name.replace("_", "-")) for name in COMMANDS} - ELSEWHERE <= run


def test_pages_and_drawings_hold_no_such_character(run, hostile, tmp_path):
    run("describe", hostile.facts, "--html", tmp_path / "page.html")
    run("explain", hostile.model, hostile.facts, *fact_of(hostile), "--svg", tmp_path / "proof.svg")
    for name in ("page.html", "proof.svg"):
        text = (tmp_path / name).read_text()
        assert r"p0\x1b]0;owned\x07" in text or r"one\ntwo1" in text
        assert not CONTROLS.search(text)


def fact_of(hostile):
    return hostile.person, hostile.uncle, hostile.answer


SCRIPT = """
import sys, time
from neurallp.cli import main
for line in {lines!r}:
    sys.argv = ["neurallp", *line]
    try:
        main()
    except SystemExit:
        pass
open({done!r}, "w")
time.sleep(60)
"""


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_in_a_real_terminal_no_name_sets_the_title_or_a_colour(hostile, tmp_path):
    lines = [[str(each) for each in line] for line in commands(hostile, tmp_path)]
    script, done = tmp_path / "show.py", tmp_path / "done"
    script.write_text(SCRIPT.format(lines=lines, done=str(done)))
    tmux = ["tmux", "-L", f"neurallp-{tmp_path.name}"]
    start = ["new-session", "-d", "-x", "100", "-y", "40", sys.executable, str(script)]
    subprocess.run([*tmux, "set-option", "-g", "history-limit", "50000", ";", *start], check=True)
    try:
        until = time.monotonic() + 240
        while not done.exists() and time.monotonic() < until:
            time.sleep(0.1)
        title, screen = (
            subprocess.run([*tmux, *what], capture_output=True, text=True, check=True).stdout
            for what in (
                ["display-message", "-p", "#{pane_title}"],
                ["capture-pane", "-p", "-e", "-J", "-S", "-"],
            )
        )
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)
    assert done.exists()
    assert "owned" not in title
    assert screen.count(r"\x1b]0;owned") > 20
    assert r"Error: Unknown entity 'p0\x1b]0;owned" in re.sub("\x1b\\[[0-9;]*m", "", screen)
    assert not re.search("\x1b\\[31m *red", screen)
