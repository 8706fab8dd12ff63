import re

import pytest
from learned_family import learned
from rich.console import Console

from neurallp.cli import output as printing
from neurallp.cli.output import plain_table
from neurallp.io.triples import write_triples


def shown(table, width):
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(table)
    return [line.rstrip() for line in captured.get().splitlines()]


@pytest.fixture
def table():
    table = plain_table("relation", "kind", numbers=("MRR", "mean rank"))
    table.add_row("father", "[bold]functional[/]", "0.987", "1,234.5")
    table.add_row("", "", "0.5", "")
    return table


def test_a_table_that_fits_has_a_line_for_each_row(table):
    assert [line.split() for line in shown(table, 80)][2:] == [
        ["father", "functional", "0.987", "1,234.5"],
        ["0.5"],
    ]


def test_a_table_that_does_not_fit_has_a_paragraph_for_each_row(table):
    assert shown(table, 28) == ["father  functional", "  MRR 0.987", "  mean rank 1,234.5", "·", "  MRR 0.5"]


def test_a_name_that_is_longer_than_its_column_is_whole():
    table, name = plain_table("answer", numbers=("probability",)), "http://example.org/" + 60 * "x"
    table.add_row(name, "99.9 %")
    lines = shown(table, 60)
    assert name in "".join(line.split()[0] for line in lines)
    assert "…" not in "".join(lines)


def test_numbers_stand_on_one_line_as_long_as_they_fit(table):
    assert shown(table, 33)[1] == "  MRR 0.987  mean rank 1,234.5"


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    folder = tmp_path_factory.mktemp("narrow")
    kb, _, program = learned()
    program.save(folder / "model")
    write_triples(folder / "data.tsv", kb.named_facts())
    return folder / "model", folder / "data.tsv"


def test_nothing_is_cut_in_a_terminal_of_forty_columns(run, given, monkeypatch):
    monkeypatch.setattr(printing.console, "width", 40)
    head, relation, tail = next(iter(learned()[0].named_facts()))
    for line in (
        ["rules", *given, "--limit", 2],
        ["ask", *given, "--head", head, "--relation", relation, "--scores"],
        ["explain", *given, head, relation, tail],
        ["evaluate", *given, "--per-relation"],
        ["describe", given[1]],
        ["audit", *given, "--limit", 3],
        ["calibrate", *given],
    ):
        code, out, err = run(*line)
        assert (code, "…" in out) == (0, False), (line, out, err)


@pytest.mark.parametrize("command", ["rules", "audit"])
def test_rules_and_facts_are_folded_between_their_atoms(run, given, monkeypatch, command):
    monkeypatch.setattr(printing.console, "width", 76)
    lines = run(command, *given, "--limit", 3)[1].splitlines()
    assert sum("(" in line for line in lines) >= 6
    assert not [line for line in lines if re.search(r"\w\(\w+, *$", line)]
