"""The directives of the documentation site; the site itself is built by `make docs`."""

import sys

import pytest
from doc_pages import DOCS

pytest.importorskip("sphinx", reason="sphinx is not installed: pip install 'neurallp[docs]'")


@pytest.fixture
def site(monkeypatch):
    """The extensions of the site."""
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    import code_reference
    import run_blocks

    yield code_reference, run_blocks
    for name in ("code_reference", "run_blocks"):
        sys.modules.pop(name, None)


def test_a_command_is_run_with_its_output_and_its_exit_code(site, tmp_path):
    (tmp_path / "facts.tsv").write_text("anna\tfather\tbob\n")
    _, run_blocks = site
    status, output = run_blocks.run_in_process(["convert", "facts.tsv", "facts.csv"], tmp_path)
    assert (status, output) == (0, "1 triples of 1 relations in facts.csv.\n")
    assert (tmp_path / "facts.csv").exists()
    status, output = run_blocks.run_in_process(["convert", "none.tsv", "facts.csv"], tmp_path)
    assert status == 2
    assert "none.tsv" in output


def test_the_sample_of_the_site_is_what_the_first_tutorial_makes(site):
    page = (DOCS / "first-ten-minutes.md").read_text(encoding="utf-8")
    _, run_blocks = site
    for line in run_blocks.MAKE_FAMILIES.strip().splitlines():
        assert line in page
    assert f"$ {run_blocks.LEARN}\n" in page


def test_every_command_and_public_name_is_in_the_reference(site):
    import neurallp
    from neurallp.cli import COMMANDS, NAMES

    reference, _ = site
    commands = reference.Commands.markdown(None)
    assert all(f"`neurallp {NAMES.get(name, name).replace('_', '-')}`" in commands for name in COMMANDS)
    names = reference.PublicNames.markdown(None)
    assert all(f".{name}\n" in names for name in neurallp.__all__)


def test_every_setting_is_in_the_reference(site):
    from dataclasses import fields

    from neurallp.config import WeightingConfig

    text = site[0].Settings.markdown(None)
    assert all(f"`{each.name}`" in text for each in fields(WeightingConfig))


def test_what_is_not_code_is_escaped(site):
    reference, _ = site
    assert reference.escape_markdown("a|b, `c|d` and *e*") == r"a\|b, `c\|d` and \*e\*"
    lines = ["Return `x*` and **y, or z_ alone."]
    reference.escape_docstring(None, "function", "f", None, None, lines)
    assert lines == [r"Return ``x*`` and \*\*y, or z\_ alone."]
