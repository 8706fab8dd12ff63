import io
import json
import sys
import warnings

import pytest
from typer.main import get_command

from neurallp import __version__
from neurallp.cli import app, main
from neurallp.io.triples import write_triples

SOUND = "a\tr\tb\nb\tr\tc\n"


def triples_folder(folder, **parts):
    folder.mkdir()
    for part, content in parts.items():
        (folder / f"{part}.tsv").write_bytes(content.encode())
    return folder


def test_the_version_is_printed(run):
    assert run("--version") == (0, f"neurallp {__version__}\n", "")


@pytest.mark.parametrize(
    "verb",
    [[], ["demo"], ["learn"], ["calibrate"], ["rules"], ["why-not"], ["predict"], ["evaluate"], ["weigh"]],
)
def test_help_fits_80_columns_with_every_name_whole(run, monkeypatch, verb):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(*verb, "--help")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    assert "..." not in out.replace("[ARGS]...", "")
    command = get_command(app)
    for parameter in (command.commands[verb[0]] if verb else command).params:
        names = [] if getattr(parameter, "hidden", False) else parameter.opts
        assert all(name in out for name in names if name.startswith("--"))


def test_names_are_printed_as_they_are(run, tmp_path):
    triples = [(f":dog: {i}", name, f"e{i % 3}") for name in ("[bold]r[/]", ":x:", "日本") for i in range(4)]
    write_triples(tmp_path / "odd.tsv", triples)
    run("learn", tmp_path / "odd.tsv", "--out", tmp_path / "model", "--epochs", 1)
    out = run("rules", tmp_path / "model")[1]
    assert "[bold]r[/](X, Y)" in out
    assert ":x:(X, Y)" in out
    assert "日本(X, Y)" in out
    assert "unknown relation ':d:'" in run("rules", tmp_path / "model", "--relation", ":d:")[2].lower()


def test_a_terminal_that_lacks_a_letter_still_gets_an_answer(run, tmp_path, monkeypatch):
    write_triples(tmp_path / "odd.tsv", [("a", "日本 ñ 😀", "b"), ("b", "日本 ñ 😀", "c")])
    run("learn", tmp_path / "odd.tsv", "--out", tmp_path / "model", "--epochs", 1)
    for form in ([], ["--json"]):
        screen = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        monkeypatch.setattr(sys, "stdout", screen)
        assert run("rules", tmp_path / "model", *form)[0] == 0
        screen.flush()
        out = screen.buffer.getvalue()
        assert b"u65e5" in out
    assert json.loads(out)[0]["query"] == "日本 ñ 😀"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no triples"),
        (b"\n\n", "no triples"),
        (b"a\tr\tb\na\tb\n", ":2: expected 3 tab-separated fields (head, relation, tail), got 2: 'a\\tb'."),
        (b"a\tr\tb\tc\n", ":1: expected 3 tab-separated fields (head, relation, tail), got 4"),
        (b"a\tr\t\n", ":1: the tail is empty"),
        (b"a\tr\tb\n\xff\tr\tb\n", ":2: byte 1 of the line (0xff) is not UTF-8"),
        (b"a\t~r\tb\n", "starts with '~', which marks an inverse"),
    ],
)
def test_a_faulty_file_is_reported_with_its_line(refuse, tmp_path, content, message):
    path = tmp_path / "facts.tsv"
    path.write_bytes(content)
    told = refuse("learn", path, "--out", tmp_path / "model")
    assert told.startswith(str(path))
    assert message in told
    assert "\n" not in told
    assert not (tmp_path / "model").exists()


def test_a_relation_that_train_never_shows_is_reported_with_its_line(refuse, tmp_path):
    folder = triples_folder(tmp_path / "data", train=SOUND, test="a\tr\tc\na\tq\tc\n")
    told = refuse("learn", folder, "--out", tmp_path / "model")
    assert told.startswith(f"{folder / 'test.tsv'}:2: relation 'q' has no fact to learn from.")


def test_an_entity_that_only_test_shows_is_noted(run, tmp_path):
    folder = triples_folder(tmp_path / "data", train=SOUND, test="a\tr\tnew\n")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code, _, err = run("learn", folder, "--out", tmp_path / "model", "--epochs", 1)
    assert code == 0
    notes = [line for line in err.splitlines() if line.startswith("Note: ")]
    assert len(notes) == 2
    assert "'new'" in notes[0]
    assert "2 facts are too few" in notes[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["learn"],
        ["learn", "data", "--preset", "foo"],
        ["learn", "data", "--engine", "foo"],
        ["learn", "data", "--steps", "two"],
        ["learn", "data", "--nonsense"],
        ["rules", "model", "--limit", "0"],
        ["evaluate", "model", "data", "--split", "foo"],
        ["demo", "--seed", "-1"],
        ["nonsense"],
    ],
)
def test_a_command_that_cannot_be_read_is_refused_with_a_hint(refuse, arguments):
    told = refuse(*arguments)
    assert told.startswith("Usage: ")
    assert "--help" in told
    assert "\nError: " in told


def test_a_path_that_is_not_there_is_reported_with_the_nearest(refuse, data, model):
    wrong = data.with_name("famly.tsv")
    for told in (refuse("learn", wrong), refuse("evaluate", model, wrong)):
        assert told == f"There is no {wrong}. Did you mean {str(data)!r}?"


def test_a_model_that_is_not_there_is_reported(refuse, data, tmp_path):
    for arguments in (["rules", tmp_path / "none"], ["evaluate", tmp_path / "none", data]):
        assert refuse(*arguments).startswith(f"There is no model folder {tmp_path / 'none'}.")


def test_a_message_is_one_line_however_long(refuse, tmp_path):
    deep = tmp_path / ("long " * 30) / "model"
    assert "\n" not in refuse("rules", deep)


@pytest.mark.parametrize("place", [0, 2])
def test_debug_shows_the_traceback_wherever_it_stands(monkeypatch, capsys, tmp_path, place):
    arguments = ["rules", str(tmp_path / "none")]
    arguments.insert(place, "--debug")
    monkeypatch.setattr(sys, "argv", ["neurallp", *arguments])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    with pytest.raises(SystemExit):
        main()
    assert "ModelError: There is no model folder" in capsys.readouterr().err
