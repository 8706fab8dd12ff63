import io
import json
import shutil
import signal
import subprocess
import sys
import time
import warnings
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module

import pytest
from rich.console import Console
from typer.main import get_command

from neurallp import ModelError, Rule, __version__, load_model
from neurallp.cli import app, main
from neurallp.cli import output as printing
from neurallp.config import WeightingConfig, configure
from neurallp.datasets.family import family_triples, is_true_by_definition
from neurallp.io.files import read_bytes
from neurallp.io.triples import read_triples, write_triples

MEASURES = {"mrr", "hits@1", "hits@3", "hits@10", "mean_rank"}
FEW = ("--epochs", 2, "--learning-rate", 0.01, "--no-weigh")

#: Runs the command as a terminal would, also where this process was told to ignore Ctrl-C.
COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from neurallp.cli import main
main()
"""


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "family.tsv"
    write_triples(path, family_triples(num_people=40, num_generations=3))
    return path


@pytest.fixture(scope="session")
def learned(data, tmp_path_factory):
    """A model folder that the command made."""
    folder = tmp_path_factory.mktemp("learned") / "model"
    arguments = ["learn", data, "--out", folder, "--json", *FEW]
    with redirect_stdout(io.StringIO()):
        get_command(app).main(list(map(str, arguments)), standalone_mode=False)
    return folder


@pytest.fixture
def model(learned, tmp_path):
    return shutil.copytree(learned, tmp_path / "model")


def triples_folder(folder, **parts):
    folder.mkdir()
    for part, content in parts.items():
        (folder / f"{part}.tsv").write_bytes(content.encode())
    return folder


# Help and version


def test_the_version_is_told(run):
    assert run("--version") == (0, f"neurallp {__version__}\n", "")


def test_help_costs_neither_torch_nor_numba():
    script = "import sys, neurallp.cli; sys.exit({'torch', 'numba', 'numpy'} & sys.modules.keys() != set())"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


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
        assert all(name in out for name in parameter.opts if name.startswith("--"))


def test_the_defaults_that_help_tells_are_the_ones_used():
    model, training = configure()
    used = vars(model) | vars(training)
    renamed = {
        "steps": "num_steps",
        "controllers": "num_controllers",
        "epochs": "num_epochs",
        "facts": "facts_apart",
    }
    told = {
        renamed.get(option.name, option.name): option.show_default
        for option in get_command(app).commands["learn"].params
        if isinstance(option.show_default, str)
    }
    assert told.pop("weigh") == "weigh, but not --preset paper"
    assert told.pop("kinds") == ",".join(WeightingConfig().kinds)
    assert told.pop("max_rules") == told.pop("operators_per_query") == "all"
    assert used["operators_per_query"] is None
    assert told.pop("normalize") == "normalize"
    assert used["normalize"]
    assert told.pop("exclude_source") == "exclude-source"
    assert used["exclude_source"]
    assert told == {name: str(used[name]) for name in told}


# Learning


def test_learn_leaves_a_model_and_says_what_comes_next(run, data, tmp_path):
    code, out, err = run("learn", data, "--out", tmp_path / "model", *FEW)
    assert (code, err) == (0, "")
    assert f"Next: neurallp rules {tmp_path / 'model'}" in out
    assert load_model(tmp_path / "model").history[-1].number == 2


def test_learn_judges_validation_and_test(run, data, tmp_path):
    code, out, err = run("learn", data, "--out", tmp_path, "--json", *FEW)
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert (result["model"], result["epochs"]) == (str(tmp_path), 2)
    assert json.loads((tmp_path / "metrics.json").read_text()) == {
        part: result[part] for part in ("valid", "test")
    }


def test_every_flag_of_learn_reaches_its_setting(run, data, tmp_path):
    flags = ["--steps", 3, "--controllers", 2, "--epochs", 1, "--batch-size", 32, "--learning-rate", 0.02]
    flags += [
        "--patience",
        5,
        "--objective",
        "normalized",
        "--masking",
        "batch",
        "--facts",
        "unlinked",
        "--seed",
        7,
    ]
    flags += ["--operators-per-query", 4, "--no-normalize", "--allow-source", "--memory-keys", "present"]
    assert run("learn", data, "--out", tmp_path, "--device", "cpu", *flags)[0] == 0
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["model"] | {"embedding_size": 0, "hidden_size": 0} == {
        "num_steps": 3,
        "num_controllers": 2,
        "embedding_size": 0,
        "hidden_size": 0,
        "normalize": False,
        "memory_keys": "present",
        "exclude_source": False,
        "operators_per_query": 4,
    }
    assert config["training"] == {
        "num_epochs": 1,
        "batch_size": 32,
        "learning_rate": 0.02,
        "patience": 5,
        "objective": "normalized",
        "training_masking": "batch",
        "facts_apart": "unlinked",
        "seed": 7,
    }


def test_a_folder_with_train_alone_is_enough(run, tmp_path):
    ring = "".join(f"e{i}\tnext\te{(i + 1) % 6}\n" for i in range(6))
    folder = triples_folder(tmp_path / "data", train=ring)
    code, out, err = run("learn", folder, "--out", tmp_path / "model", "--epochs", 4, "--patience", 1)
    assert (code, err) == (0, "")
    assert out.startswith("Best of 4 epochs")


def test_the_paper_s_preset_learns(run, data, tmp_path):
    assert run("learn", data, "--preset", "paper", "--epochs", 1, "--out", tmp_path)[0] == 0
    assert load_model(tmp_path).training_config.training_masking == "batch"


def test_a_dry_run_says_what_it_would_take_and_leaves_nothing(run, data, tmp_path):
    dry = ("learn", data, "--out", tmp_path / "model", "--dry-run")
    code, out, err = run(*dry)
    assert (code, err) == (0, "")
    assert " s an epoch" in out
    assert json.loads(run(*dry, "--json")[1]).keys() == {"seconds_per_epoch", "num_epochs", "num_bytes"}
    assert not (tmp_path / "model").exists()


def test_on_a_terminal_progress_tells_loss_validation_and_time_left(run, data, tmp_path, monkeypatch):
    terminal = Console(file=io.StringIO(), force_terminal=True, width=80, highlight=False)
    monkeypatch.setattr(import_module("neurallp.cli.learn"), "log", terminal)
    monkeypatch.setattr(printing, "log", terminal)
    assert run("learn", data, "--out", tmp_path, *FEW)[0] == 0
    shown = terminal.file.getvalue()
    assert "entities and 17 relations" in shown
    assert "Epoch 1 of 2" in shown
    assert "Epoch 2 of 2: loss " in shown
    assert ", valid MRR 0." in shown
    assert "left" in shown
    assert "Ranking" in shown


def test_away_from_a_terminal_only_results_are_printed(run, data, model):
    for arguments in (["learn", data, "--out", model, *FEW], ["rules", model], ["evaluate", model, data]):
        code, out, err = run(*arguments)
        assert (code, err) == (0, "")
        assert "\x1b" not in out


# Resuming and interrupting


def test_resume_goes_on_under_the_run_s_own_settings(run, data, model):
    before = load_model(model)
    assert run("learn", data, "--out", model, "--resume", "--epochs", 3, "--json")[0] == 0
    after = load_model(model)
    assert after.history[:2] == before.history
    assert len(after.history) == 3
    assert after.training_config.learning_rate == before.training_config.learning_rate == 0.01


def test_resume_refuses_other_settings_and_an_empty_folder(refuse, data, model, tmp_path):
    assert "has num_steps 2, not 3" in refuse("learn", data, "--out", model, "--resume", "--steps", 3)
    assert "nothing to resume" in refuse("learn", data, "--out", tmp_path / "none", "--resume")


def test_ctrl_c_in_the_first_epoch_leaves_the_model_before_as_it_was(run, data, model, monkeypatch):
    before = {path.name: path.read_bytes() for path in model.iterdir()}

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("neurallp.neural.training.Training.step", stop)
    assert run("learn", data, "--out", model, "--steps", 3)[0] == 130
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before


@pytest.fixture
def running(data, tmp_path):
    """A run in another process that would take very long, just after its first epoch."""
    out = tmp_path / "running"
    arguments = ["learn", data, "--out", out, "--engine", "reference"]
    arguments += ["--epochs", 100_000, "--patience", 100_000, "--learning-rate", 0.01]
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    await_file(out / "checkpoint.safetensors", process)
    yield process, out
    process.kill()
    process.communicate()


def await_file(path, process, seconds=60):
    for _ in range(seconds * 20):
        if path.exists():
            return
        assert process.poll() is None, process.stderr.read().decode()
        time.sleep(0.05)
    raise AssertionError(f"no {path} after {seconds} s")


def test_ctrl_c_keeps_the_best_so_far_and_resume_goes_on(run, data, running):
    process, out = running
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, b"")
    assert b"Next: neurallp rules" in output
    assert (out / "metrics.json").exists()
    assert (out / "rules.tsv").exists()
    go_on(run, data, out)


def test_a_kill_leaves_the_best_so_far_and_resume_goes_on(run, data, running):
    process, out = running
    process.kill()
    process.wait()
    assert load_model(out).rules("uncle")
    go_on(run, data, out)


def go_on(run, data, out):
    done = len(load_model(out).history)
    code, *_ = run("learn", data, "--out", out, "--resume", "--epochs", done + 1, "--engine", "reference")
    assert code == 0
    assert len(load_model(out).history) == done + 1


# Rules and measures


def test_rules_prints_the_rules_of_a_query(run, model):
    code, out, _ = run("rules", model, "--query", "uncle", "--limit", 3, "--min-confidence", 0)
    assert code == 0
    header, _, *lines = out.splitlines()
    assert header.split() == ["confidence", "normalized", "rule"]
    assert sum("uncle(X, Y) <= " in line for line in lines) == 3


def test_rules_counts_support_on_data(run, model, data):
    header = run("rules", model, "--query", "uncle", "--data", data)[1].splitlines()[0]
    assert header.split() == ["confidence", "normalized", "support", "measured", "rule"]


def test_rules_as_json_are_the_same_rules(run, model):
    rules = json.loads(run("rules", model, "--json", "--query", "~uncle", "--limit", 4)[1])
    assert [Rule(**known(rule)) for rule in rules] == list(load_model(model).rules("~uncle", limit=4))
    assert rules[0]["rule"].startswith("uncle(Y, X) <= ")


def known(rule):
    fields = {name: value for name, value in rule.items() if name in Rule.__dataclass_fields__}
    return fields | {"body": tuple(rule["body"]), "inequalities": tuple(map(tuple, rule["inequalities"]))}


def test_rules_can_be_narrowed_down_to_none(run, model):
    narrow = ("--query", "uncle", "--allow", "wife", "--deny", "wife")
    said = "No rule passes. Lower --min-confidence, or allow more.\n"
    assert run("rules", model, *narrow) == (0, said, "")
    assert run("rules", model, "--json", *narrow) == (0, "[]\n", "")


def test_evaluate_prints_the_measures_under_all_readings_of_a_tie(run, model, data):
    code, out, _ = run("evaluate", model, data)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    for word in ("realistic", "optimistic", "pessimistic", "Hits@10", "mean rank", "questions"):
        assert word in out


def test_evaluate_as_json_has_all_measures(run, model, data):
    code, out, err = run("evaluate", model, data, "--json")
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert result.keys() == MEASURES | {"queries", "optimistic", "pessimistic"}
    assert result["optimistic"].keys() == result["pessimistic"].keys() == MEASURES
    assert result == json.loads((model / "metrics.json").read_text())["test"]


def test_evaluate_can_tell_each_relation_apart(run, model, data):
    result = json.loads(run("evaluate", model, data, "--json", "--per-relation")[1])
    assert sum(found["queries"] for found in result["relations"].values()) == result["queries"]
    assert "grandmother" in run("evaluate", model, data, "--per-relation")[1]


def test_names_are_printed_as_they_are(run, tmp_path):
    triples = [(f":dog: {i}", name, f"e{i % 3}") for name in ("[bold]r[/]", ":x:", "日本") for i in range(4)]
    write_triples(tmp_path / "odd.tsv", triples)
    run("learn", tmp_path / "odd.tsv", "--out", tmp_path / "model", "--epochs", 1)
    out = run("rules", tmp_path / "model")[1]
    assert "[bold]r[/](X, Y)" in out
    assert ":x:(X, Y)" in out
    assert "日本(X, Y)" in out
    assert "unknown relation ':d:'" in run("rules", tmp_path / "model", "--query", ":d:")[2].lower()


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
    assert json.loads(out)[0]["target"] == "日本 ñ 😀"


# Mistakes


SOUND = "a\tr\tb\nb\tr\tc\n"


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
def test_a_faulty_file_is_told_with_its_line(refuse, tmp_path, content, message):
    path = tmp_path / "facts.tsv"
    path.write_bytes(content)
    told = refuse("learn", path, "--out", tmp_path / "model")
    assert told.startswith(str(path))
    assert message in told
    assert "\n" not in told
    assert not (tmp_path / "model").exists()


def test_a_relation_that_train_never_shows_is_told_with_its_line(refuse, tmp_path):
    folder = triples_folder(tmp_path / "data", train=SOUND, test="a\tr\tc\na\tq\tc\n")
    told = refuse("learn", folder, "--out", tmp_path / "model")
    assert told.startswith(f"{folder / 'test.tsv'}:2: relation 'q' has no fact to learn from.")


def test_an_entity_that_only_test_shows_is_noted(run, tmp_path):
    folder = triples_folder(tmp_path / "data", train=SOUND, test="a\tr\tnew\n")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code, _, err = run("learn", folder, "--out", tmp_path / "model", "--epochs", 1)
    assert code == 0
    assert err.startswith("Note: ")
    assert "'new'" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [
        ("--steps", 0, "num_steps must be at least 1, got 0."),
        ("--steps", -3, "num_steps must be at least 1, got -3."),
        ("--epochs", 0, "num_epochs must be at least 1, got 0."),
        ("--controllers", 0, "num_controllers must be at least 1, got 0."),
        ("--batch-size", 0, "batch_size must be at least 1, got 0."),
        ("--operators-per-query", 0, "operators_per_query must be at least 1, got 0."),
        ("--masking", "foo", "training_masking must be one of fact, batch, train, got 'foo'."),
        ("--objective", "foo", "objective must be one of log-score, normalized, got 'foo'."),
        ("--facts", "foo", "facts_apart must be one of relation, unlinked, got 'foo'."),
        ("--memory-keys", "foo", "memory_keys must be one of present, previous, got 'foo'."),
        ("--learning-rate", "nan", "learning_rate must be above 0 and finite, got nan."),
        ("--seed", -1, "seed must be at least 0 and below 2^63, got -1."),
        ("--device", "foo", "Cannot use the device 'foo'. Use cpu, or cuda with a GPU."),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_in_one_line(refuse, data, tmp_path, flag, value, message):
    assert refuse("learn", data, "--out", tmp_path / "model", flag, value) == message


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


def test_a_path_that_is_not_there_is_told_with_the_nearest(refuse, data, model):
    wrong = data.with_name("famly.tsv")
    for told in (refuse("learn", wrong), refuse("evaluate", model, wrong)):
        assert told == f"There is no {wrong}. Did you mean {str(data)!r}?"


def test_a_file_in_the_way_of_the_model_is_told(refuse, data, tmp_path):
    (tmp_path / "file").write_text("")
    assert refuse("learn", data, "--out", tmp_path / "file").startswith("Cannot make the folder")


def test_a_model_that_is_not_there_is_told(refuse, data, tmp_path):
    for arguments in (["rules", tmp_path / "none"], ["evaluate", tmp_path / "none", data]):
        assert refuse(*arguments).startswith(f"There is no model folder {tmp_path / 'none'}.")


def test_a_damaged_model_is_told_by_the_file(refuse, model):
    (model / "weights.safetensors").write_bytes(b"")
    assert refuse("rules", model).startswith(f"{model / 'weights.safetensors'} is missing or damaged")


def test_an_unknown_relation_is_told_with_the_nearest(refuse, model):
    for flag in ("--query", "--allow", "--deny"):
        assert refuse("rules", model, flag, "uncel").startswith(
            "Unknown relation 'uncel'. Did you mean 'uncle'?"
        )


def test_a_message_is_one_line_however_long(refuse, tmp_path):
    deep = tmp_path / ("long " * 30) / "model"
    assert "\n" not in refuse("rules", deep)


@pytest.mark.parametrize("place", [0, 2])
def test_debug_shows_the_traceback_wherever_it_stands(monkeypatch, tmp_path, place):
    arguments = ["rules", str(tmp_path / "none")]
    arguments.insert(place, "--debug")
    monkeypatch.setattr(sys, "argv", ["neurallp", *arguments])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    with pytest.raises(ModelError, match="There is no model folder"):
        main()


# The demonstration


@pytest.fixture(scope="session")
def demonstration():
    """What `demo --json` prints for a smaller family."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        get_command(app).main(["demo", "--people", "80", "--json"], standalone_mode=False)
    assert err.getvalue() == ""
    return json.loads(out.getvalue())


def test_demo_proves_what_it_was_not_told(demonstration):
    proof = demonstration["proof"]
    assert not proof["is_known"]
    assert proof["rank"] == 1
    assert proof["terms"]
    contributions = [term["contribution"] for term in proof["terms"]]
    assert sum(contributions) + proof["remainder"] == pytest.approx(proof["score"])
    assert demonstration["test"]["mrr"] > 0.8


def test_every_rule_that_demo_calls_true_is_true_by_definition(demonstration):
    true = [rule for rule in demonstration["rules"] if rule["is_true"]]
    assert true
    assert all(is_true_by_definition(rule["target"], rule["body"]) for rule in true)


def test_demo_reads_like_a_story(run):
    code, out, _ = run("demo", "--people", 80)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    history_of = [
        "A made-up family: 80 people",
        "Rules it found",
        "true",
        "Who is ",
        " because ",
        "How often",
    ]
    places = [out.index(words) for words in history_of]
    assert places == sorted(places)


# ask, explain


def test_ask_ranks_answers_and_marks_what_is_known(run, model, data):
    source = family_triples(num_people=40, num_generations=3)[0][0]
    code, out, _ = run("ask", model, data, "--head", source, "--relation", "father", "-k", 3)
    assert code == 0
    assert "rank" in out
    code, out, _ = run("ask", model, data, "--head", source, "--relation", "father", "-k", 3, "--json")
    answers = json.loads(out)
    assert 0 < len(answers) <= 3
    assert [answer["score"] for answer in answers] == sorted((a["score"] for a in answers), reverse=True)


def test_explain_says_because_and_its_parts_add_up(run, model, data):
    head, relation, tail = family_triples(num_people=40, num_generations=3)[0]
    code, out, _ = run("explain", model, data, head, relation, tail)
    assert code == 0
    assert f"{relation}({head}, {tail}) because" in out
    _, out, _ = run("explain", model, data, head, relation, tail, "-k", 1000, "--json")
    proof = json.loads(out)
    assert sum(term["contribution"] for term in proof["terms"]) == pytest.approx(proof["score"], rel=1e-5)


def test_a_question_about_nobody_is_told_with_the_nearest_name(refuse, model, data):
    source = family_triples(num_people=40, num_generations=3)[0][0]
    assert "Did you mean" in refuse("ask", model, data, "--head", source + "x", "--relation", "father")
    assert "head or the tail" in refuse("ask", model, data, "--relation", "father")


# Given rules, and predictions


@pytest.fixture
def uncles(tmp_path):
    """A file of rules as AnyBURL writes it, and a family without uncles."""
    rules, facts = tmp_path / "rules.txt", tmp_path / "small.tsv"
    rules.write_text("4\t2\t0.9\tuncle(X,Y) <= father(X,A), brother(A,Y)\n")
    facts.write_text("zoe\tfather\tyan\nyan\tbrother\txan\nzoe\tfather\tvic\n")
    return rules, facts


def test_a_file_of_rules_answers_in_the_place_of_a_model(run, uncles):
    code, out, _ = run("ask", *uncles, "--head", "zoe", "--relation", "uncle", "--json")
    assert code == 0
    assert [(answer["entity"], answer["score"]) for answer in json.loads(out)] == [("xan", 0.9)]
    _, out, _ = run("explain", *uncles, "zoe", "uncle", "xan")
    assert out.startswith("uncle(zoe, xan) because father(zoe, yan) and brother(yan, xan)\nScore 0.9, rank 1")


def test_the_rules_of_a_model_are_judged_like_the_model(run, model, data):
    code, out, _ = run("evaluate", model / "rules.tsv", data, "--json")
    assert code == 0
    assert json.loads(out)["mrr"] > 0.1


def test_why_not_names_what_is_missing(run, uncles):
    code, out, _ = run("why-not", *uncles, "zoe", "uncle", "vic")
    assert code == 0
    assert out == (
        "uncle(zoe, vic) does not follow:\n"
        "  father(zoe, yan), but brother(yan, vic) is missing (one of 2 facts that would do)\n"
    )
    _, out, _ = run("why-not", *uncles, "zoe", "uncle", "vic", "--json")
    assert json.loads(out)["missing_facts"][0]["missing"] == "brother(yan, vic)"


def test_explain_draws(run, uncles, tmp_path):
    assert run("explain", *uncles, "zoe", "uncle", "xan", "--svg", tmp_path / "proof.svg")[0] == 0
    assert (tmp_path / "proof.svg").read_text().startswith("<svg")


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".tsv.gz"])
def test_predict_writes_every_new_answer(run, uncles, tmp_path, suffix):
    out_file = tmp_path / f"new{suffix}"
    code, out, _ = run("predict", *uncles, "--out", out_file, "--json")
    assert (code, json.loads(out)["answers"]) == (0, 1)
    lines = read_bytes(out_file).decode().splitlines()
    header, row = (line.split("," if suffix == ".csv" else "\t") for line in lines)
    assert header == ["head", "relation", "tail", "score", "known"]
    assert row == ["zoe", "uncle", "xan", "0.9", "False"]


def test_predict_writes_lines_of_json(run, uncles, tmp_path):
    out_file = tmp_path / "new.jsonl.gz"
    assert run("predict", *uncles, "--out", out_file)[0] == 0
    assert json.loads(read_bytes(out_file)) == {
        "head": "zoe", "relation": "uncle", "tail": "xan", "score": 0.9, "known": False,
    }  # fmt: skip


def test_predict_writes_parquet_that_is_read_back_as_facts(run, model, data, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'neurallp[formats]'")
    out_file = tmp_path / "new.parquet"
    code, out, _ = run("predict", model, data, "--relation", "uncle", "--out", out_file, "-k", 2)
    assert code == 0
    found = read_triples(out_file)
    assert out == f"{len(found):,} answers to 40 questions in {out_file}.\n"
    assert {relation for _, relation, _ in found} == {"uncle"}
    assert not set(found) & set(read_triples(data))


def test_a_prediction_that_cannot_be_written_leaves_nothing(refuse, uncles, tmp_path):
    message = refuse("predict", *uncles, "--out", tmp_path / "new.xlsx")
    assert "must end in .parquet, .tsv, .csv, .jsonl; text also .gz" in message
    assert "must end in" in refuse("predict", *uncles, "--out", tmp_path / "new.parquet.gz")
    assert "Unknown relation 'uncel'" in refuse(
        "predict", *uncles, "--out", tmp_path / "new.tsv", "--relation", "uncel"
    )
    assert not list(tmp_path.glob("new*"))
