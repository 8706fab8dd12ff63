"""Every command in the documentation exists, with its options, its choices and its arguments; none is run."""

import re
import shlex

import pytest
import typer
from doc_pages import CURRENT, ROOT, block_lines, code_spans

from neurallp.cli import app

APP = typer.main.get_command(app)
BENCHMARKS = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks").glob("*.py")}
PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9_]*(\.\.\.)?|.*…")


def split_commands(line):
    """Yield the commands of a shell line as lists of words, comments and prompts left out."""
    words = shlex.split(line.removeprefix("$ "), comments=True)
    command = []
    for word in [*words, "&&"]:
        if word in ("&&", "|", ";"):
            yield [re.sub(r"^\[|\]$", "", word) for word in command if not re.match(r"[A-Z_]+=", word)]
            command = []
        else:
            command.append(word)


def find_command(words):
    """Return the command that the words begin with, and the words that are left."""
    command, rest = APP, list(words)
    while hasattr(command, "commands") and rest and not rest[0].startswith("--"):
        if rest[0] not in command.commands:
            known = ", ".join(command.commands)
            raise AssertionError(f"there is no command {rest[0]!r}. There are: {known}")
        command = command.commands[rest.pop(0)]
    return command, rest


def check(words, *, whole):
    """Raise unless the words are a command with options that it has; `whole` requires its arguments too."""
    command, rest = find_command(words)
    context = typer.Context(command, info_name=words[0])
    given, extra, _ = command.make_parser(context).parse_args(rest)
    assert not extra, f"too many arguments: {extra}"
    for param in command.params:
        value = given.get(param.name)
        # Arguments and values with a suffix or a slash are files, which do not exist here.
        is_file = param.param_type_name == "argument" or re.search(r"[a-zA-Z]\.|/", str(value))
        if isinstance(value, str) and not is_file and not PLACEHOLDER.fullmatch(value):
            param.process_value(context, value)  # raises if it is not a choice or not a number
        if whole and param.required:
            assert value is not None, f"{param.name} is missing"


def faults_of(spans, *, whole, prefixed):
    for span in spans:
        if prefixed and not span.text.removeprefix("$ ").startswith(("neurallp ", "NEURALLP_DATA=")):
            continue
        for words in split_commands(span.text):
            if (words[:1] == ["neurallp"]) != prefixed or "…" in words:
                continue
            try:
                check(words[prefixed:], whole=whole)
            except Exception as error:  # every way to fail is a fault of the page
                yield f"{span.place}: {span.text!r}: {getattr(error, 'message', error)}"


def verb_spans(page):
    """Yield code spans that are a command without `neurallp`: a verb and something else."""
    for span in code_spans(page):
        words = span.text.split()
        if len(words) > 1 and words[0] in APP.commands and "…" not in span.text:
            yield span


@pytest.mark.parametrize("page", CURRENT, ids=lambda page: page.name)
def test_every_command_in_a_code_block_can_be_parsed(page):
    faults = list(faults_of(block_lines(page), whole=True, prefixed=True))
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("page", CURRENT, ids=lambda page: page.name)
def test_every_command_in_the_text_has_existing_options(page):
    faults = list(faults_of(code_spans(page), whole=False, prefixed=True))
    faults += faults_of(verb_spans(page), whole=False, prefixed=False)
    assert not faults, "\n".join(faults)


def all_options(command):
    """Return every option of a command and of those below it."""
    for param in command.params:
        yield from (*param.opts, *param.secondary_opts)
    for child in getattr(command, "commands", {}).values():
        yield from all_options(child)


OPTIONS = {*all_options(APP), "--install-completion", "--show-completion", "--help"}


@pytest.mark.parametrize("page", CURRENT, ids=lambda page: page.name)
def test_every_option_that_is_mentioned_exists(page):
    benchmark_options = {
        option for text in BENCHMARKS.values() for option in re.findall(r'"(--[\w-]+)"', text)
    }
    known = OPTIONS | benchmark_options
    faults = [
        f"{span.place}: no command has the option {option}."
        for span in code_spans(page)
        for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", span.text)
        if option not in known and not span.text.startswith(("pip ", "git ", "nvidia"))
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("page", CURRENT, ids=lambda page: page.name)
def test_every_benchmark_that_is_mentioned_exists_with_its_options(page):
    for span in [*code_spans(page), *block_lines(page)]:
        if found := re.search(r"(?:^|benchmarks/)(\w+\.py)((?: --[^#]*)?)", span.text):
            name, options = found.groups()
            if "benchmarks/" in span.text or name in BENCHMARKS:
                assert name in BENCHMARKS, f"{span.place}: there is no benchmarks/{name}."
                for option in re.findall(r"--[\w-]+", options):
                    assert f'"{option}"' in BENCHMARKS[name], f"{span.place}: {name} has no option {option}."


@pytest.mark.parametrize(
    "line",
    [
        "neurallp lern DATA",
        "neurallp learn DATA --no-such-option",
        "neurallp learn DATA --preset papre",
        "neurallp explain MODEL DATA",
        "neurallp rules MODEL DATA extra",
    ],
)
def test_a_wrong_command_would_be_found(line):
    (words,) = split_commands(line)
    with pytest.raises(Exception, match=r"."):
        check(words[1:], whole=True)
