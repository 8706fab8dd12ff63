"""Names are completed by a real shell, from the model and the data that stand before them."""

import os
import shutil
import subprocess
import sys

import pytest

from neurallp.io.triples import write_triples

FACTS = [("anna", "father", "bob"), ("bob", "brother", "carl smith"), ("anna b.", "uncle", "it's")]

NEURALLP = """\
import sys
from neurallp.cli import main
sys.argv[0] = "neurallp"
try:
    main()
finally:
    assert "torch" not in sys.modules
"""

#: What bash does when Tab is pressed: it calls the function with the words of the line, as they are written.
PRESS_TAB = """\
eval "$(_NEURALLP_COMPLETE=source_bash neurallp)"
COMP_WORDS=({words}) COMP_CWORD={place}
_neurallp_completion neurallp
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def press_tab(tmp_path):
    """Return what bash offers for the last word of a line."""
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    write_triples(tmp_path / "kb.tsv", FACTS)
    (tmp_path / "rules.txt").write_text("4\t2\t0.9\tuncle(X,Y) <= father(X,A), brother(A,Y)\n")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "relations.json").write_text('["aunt", "uncle"]')
    (tmp_path / "neurallp.py").write_text(NEURALLP)
    command = tmp_path / "neurallp"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tmp_path / "neurallp.py"}" "$@"\n')
    command.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTHONSAFEPATH": "1",  # the script must not be taken for the package
    }

    def press_tab(*words):
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in ("neurallp", *words))
        script = PRESS_TAB.format(words=quoted, place=len(words))
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        assert not done.stderr
        return done.stdout.rstrip("\n").split("\n")

    return press_tab


def test_names_are_completed_from_what_stands_before_them(press_tab):
    given = "rules.txt", "kb.tsv"
    assert press_tab("ask", *given, "--head", "an") == ["anna", "anna\\ b."]
    assert press_tab("ask", *given, "--head", '"anna ') == ["anna b."]
    assert press_tab("explain", *given, "anna", "~un") == ["~uncle"]
    assert press_tab("why-not", *given, "anna", "uncle", "i") == ["it\\'s"]


def test_relations_are_those_of_the_model_where_there_is_one(press_tab):
    assert press_tab("rules", "model", "--relation", "") == ["aunt", "uncle"]
    assert press_tab("predict", "model", "kb.tsv", "--relation", "a") == ["aunt"]


def test_what_cannot_be_looked_up_is_not_completed(press_tab):
    assert press_tab("explain", "no-model", "no-data", "an") == [""]
