"""Options and manners that all commands share."""

import json
import os
import subprocess
import sys

import pytest
from typer.main import get_command

from neurallp.cli import app
from neurallp.cli.log_lines import INTERVAL, LogLines

#: Commands that run until they are ended, and print no result.
SERVERS = (("serve",), ("mcp",))


def every_command():
    """Yield the words and the command of every command, those of groups included."""
    for name, command in get_command(app).commands.items():
        for more, each in getattr(command, "commands", {"": command}).items():
            yield (name, more) if more else (name,), each


@pytest.mark.parametrize("words", [words for words, _ in every_command()], ids=" ".join)
def test_every_command_has_json_quiet_and_verbose(words):
    command = dict(every_command())[words]
    options = {option for param in command.params for option in param.opts}
    assert options >= {"--quiet", "-q", "--verbose", "-v"}
    assert "--json" in options or words in SERVERS


@pytest.mark.parametrize("words", [words for words, _ in every_command()], ids=" ".join)
def test_models_data_and_relations_have_the_same_names_and_order_everywhere(words):
    params = dict(every_command())[words].params
    arguments = [
        param.metavar or param.name.upper() for param in params if param.param_type_name == "argument"
    ]
    order = [name for name in ("MODEL", "RULES", "DATA", "HEAD", "RELATION", "TAIL") if name in arguments]
    assert arguments[: len(order)] == order
    options = {option for param in params if not getattr(param, "hidden", False) for option in param.opts}
    assert options.isdisjoint({"--query", "--data", "--kb", "--limit-rules", "--output", "--threads"})


def test_options_of_earlier_versions_are_understood(run, model, data):
    now = run("rules", model, data, "--relation", "uncle")
    assert now[0] == 0
    assert run("rules", model, "--data", data, "--query", "uncle") == now


def test_help_has_a_short_and_a_long_form_and_lists_exit_codes(run):
    assert run("-h") == run("--help")
    out = run("-h")[1]
    assert "Exit codes: 0" in out
    assert "--install-completion" in out
    assert run("plot", "rules", "-h")[0] == 0


def test_completion_is_installed_by_one_command(tmp_path):
    code = "import sys; sys.argv[0] = 'neurallp'; from neurallp.cli import main; main()"
    environment = os.environ | {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, "--install-completion", "bash"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "neurallp" in (tmp_path / ".bashrc").read_text()


def test_columns_are_an_option_of_commands_that_read_data(run, refuse, tmp_path):
    path = tmp_path / "facts.csv"
    path.write_text("7;anna;eve;mother\n8;bob;carl;uncle\n")
    out = tmp_path / "out.tsv"
    assert run("convert", path, out, "--columns", "2,4,3")[0] == 0
    assert out.read_text() == "anna\tmother\teve\nbob\tuncle\tcarl\n"
    assert json.loads(run("describe", path, "--columns", "2,4,3", "--json")[1])["num_entities"] == 4
    assert "--columns 1,2,3" in refuse("describe", path)
    assert "--columns takes the columns" in refuse("describe", path, "--columns", "2,4")


def test_a_log_has_a_line_for_each_task_and_one_now_and_then():
    lines, clock = [], [0.0]
    log = LogLines(lines.append, "Planning", 10, now=lambda: clock[0])
    for _ in range(5):
        log.advance()
    log.describe("Planning: valid MRR 0.5")
    assert lines == ["Planning"]
    clock[0] = INTERVAL
    log.advance()
    log.restart("Weighting", 4)
    assert lines == ["Planning", "Planning: valid MRR 0.5 (60%)", "Weighting"]


def test_every_change_is_a_line_where_that_is_asked_for():
    lines = []
    log = LogLines(lines.append, "Epoch 1", 2, every_change=True, now=lambda: 0.0)
    log.describe("Epoch 2")
    log.describe("Epoch 2")
    assert lines == ["Epoch 1", "Epoch 2"]
