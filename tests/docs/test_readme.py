"""Every block of the README runs, and it stays short."""

import re
import shlex
import subprocess

from doc_pages import ROOT, python_blocks
from typer.testing import CliRunner

from neurallp.cli import app

PAGE = ROOT / "README.md"
README = PAGE.read_text(encoding="utf-8")


def commands():
    """Yield the commands of the shell blocks, without their comments."""
    for block in re.findall(r"^```sh\n(.*?)^```", README, re.DOTALL | re.MULTILINE):
        yield from (shlex.split(line, comments=True) for line in block.splitlines())


def test_the_examples_run_one_after_the_other(tmp_path, monkeypatch, capsys):
    (example,) = python_blocks(PAGE)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "uncle(X, Y) <=" in printed
    assert "uncle(abdul, keith)\n  because" in printed
    for words in commands():
        # The example has written the model that `learn` would learn again.
        if words[0] == "neurallp" and words[1] != "learn":
            result = CliRunner().invoke(app, words[1:])
            assert result.exit_code == 0, (words, result.output)
    assert (tmp_path / "proof.svg").exists()
    assert (tmp_path / "rules.sql").exists()


def test_the_commands_of_make_exist():
    targets = [words[1] for words in commands() if words[0] == "make"]
    assert targets == ["demo"]
    for target in targets:
        subprocess.run(["make", "--dry-run", target], cwd=ROOT, check=True, capture_output=True)


def test_the_model_that_is_shown_is_learned_by_the_command_that_is_shown():
    words = next(words for words in commands() if words[:2] == ["neurallp", "learn"])
    assert words[2:] == ["family.tsv", "--out", "family.model"]


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 100
