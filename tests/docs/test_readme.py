"""The examples of the README run, and it stays short."""

import re

from doc_pages import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_example_runs(tmp_path, monkeypatch, capsys):
    (example,) = re.findall(r"## In Python\n\n```python\n(.*?)```", README, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {})
    assert "uncle(X, Y) <=" in capsys.readouterr().out
    assert (tmp_path / "family.model" / "rules.tsv").exists()


def test_the_readme_fits_two_screens():
    assert len(README.splitlines()) <= 100
