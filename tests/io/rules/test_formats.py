"""The registry of rule formats: every registered module can do what it is registered for."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

from neurallp.errors import FormatError
from neurallp.io import rules as package
from neurallp.io.rules import EXPORTS, IMPORTS, LOSSLESS, SCORED, export_rules, guess_format, import_rules
from neurallp.rules.rule import Rule, RuleSet

UNCLE = Rule("uncle", ("father", "brother"), 0.5, distinct_ends=True, support=60, num_predictions=120)
FOLDER = Path(package.__file__).parent
SHARED = {
    "__init__",
    "atoms",
    "base",
    "calibrated_prolog",
    "calibrated_sql",
    "feature_sql",
    "logic",
    "scored",
}


def module(name):
    return import_module(f"neurallp.io.rules.{name}")


@pytest.mark.parametrize("form", EXPORTS)
def test_every_export_renders_text_that_names_the_rule(form):
    text = module(EXPORTS[form]).render([UNCLE], {})
    assert text.endswith("\n")
    assert "uncle" in text


@pytest.mark.parametrize("form", IMPORTS)
def test_every_import_can_parse_and_recognize(form):
    found = module(IMPORTS[form])
    assert callable(found.parse)
    assert not found.recognizes("")


def test_every_module_of_the_package_is_registered_or_shared():
    modules = {path.stem for path in FOLDER.glob("*.py")}
    assert modules == SHARED | {*EXPORTS.values()} | {*IMPORTS.values()} | {*SCORED.values()}


def test_every_format_that_is_written_and_read_is_recognized(tmp_path):
    for form in EXPORTS.keys() & IMPORTS.keys():
        export_rules(tmp_path / form, [UNCLE], form)
        assert guess_format(tmp_path / form) == form


def test_lossless_formats_keep_rules_that_others_leave_out(tmp_path):
    against = Rule("uncle", ("father",), 0.5, weight=-1.0, support=1, num_predictions=2)
    for form in EXPORTS:
        export_rules(tmp_path / form, [UNCLE, against], form)
        lines = (tmp_path / form).read_text()
        assert (form in LOSSLESS) == ("-1.0" in lines)


@pytest.mark.parametrize("form", sorted(EXPORTS.keys() & IMPORTS.keys()))
@pytest.mark.parametrize("name", ["it's", 'say "hi"', "back\\slash", "日本 😀", "a b", "%", "<b>"])
def test_odd_names_survive_every_format_that_is_written_and_read(form, name, tmp_path):
    rule = Rule(name, ("~" + name, "r"), 0.5, distinct_ends=True, support=1, num_predictions=2)
    export_rules(tmp_path / "rules", [rule], form)
    assert import_rules(tmp_path / "rules", form).rules == RuleSet([rule])


@pytest.mark.parametrize("content", ["", "\n\n", "hello", "a,b,c\n"])
def test_a_file_that_is_no_format_of_rules_is_refused(content, tmp_path):
    (tmp_path / "rules").write_text(content)
    with pytest.raises(FormatError, match=r"not a file of rules\. Formats: amie, anyburl, json, tsv"):
        guess_format(tmp_path / "rules")


def test_a_new_export_is_one_module_and_one_line(tmp_path, monkeypatch):
    (tmp_path / "shout.py").write_text("def render(rules, prefixes):\n    return str(rules[0]).upper()\n")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    monkeypatch.setattr(package, "EXPORTS", {**EXPORTS, "shout": "shout"})
    export_rules(tmp_path / "rules", [UNCLE], "shout")
    assert (tmp_path / "rules").read_text() == "UNCLE(X, Y) <= FATHER(X, A), BROTHER(A, Y), X != Y"


def test_the_registry_imports_no_format_before_it_is_used():
    tree = ast.parse((FOLDER / "__init__.py").read_text())
    imported = {
        node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 1
    }
    assert imported == {"base", "scored"}  # scored.py is shared, and imported where it is used
