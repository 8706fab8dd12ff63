import io
import json
import re
import signal
import subprocess
import sys
import time

import pytest
from rich.console import Console
from weighted_samples import every_kind

import neurallp
from neurallp import config, load_model
from neurallp.cli import output as printing
from neurallp.io.triples import write_triples

FEW = ("--epochs", 2, "--learning-rate", 0.01, "--no-weigh")

#: Trials decide, on little data.
SIZES = ("--candidates", 20, "--pairs", 20, "--questions", 60)

#: Nothing is left to try.
KINDS = ("--kinds", "chain,prior", "--length", 2, "--masking", "fact")

#: Runs the command as a terminal would, also where this process was told to ignore Ctrl-C.
COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from neurallp.cli import main
main()
"""


def triples_folder(folder, **parts):
    folder.mkdir()
    for part, content in parts.items():
        (folder / f"{part}.tsv").write_bytes(content.encode())
    return folder


def test_learn_writes_a_model_and_names_the_next_command(run, data, tmp_path):
    code, out, err = run("learn", data, "--out", tmp_path / "model", *FEW)
    assert (code, "Error" in err) == (0, False)
    assert f"Next: neurallp rules {tmp_path / 'model'}" in out
    assert load_model(tmp_path / "model").history[-1].number == 2


def test_learn_measures_validation_alone(run, data, tmp_path):
    code, out, err = run("learn", data, "--out", tmp_path, "--json", *FEW)
    assert (code, "Error" in err) == (0, False)
    result = json.loads(out)
    assert (result["model"], result["epochs"]) == (str(tmp_path), 2)
    assert "test" not in result
    assert json.loads((tmp_path / "metrics.json").read_text()) == {"valid": result["valid"]}


def test_every_flag_of_learn_reaches_its_setting(run, data, tmp_path):
    flags = ["--steps", 3, "--controllers", 2, "--epochs", 1, "--batch-size", 32, "--learning-rate", 0.02]
    flags += [
        "--patience",
        5,
        "--objective",
        "normalized",
        "--training-masking",
        "batch",
        "--facts",
        "unlinked",
        "--seed",
        7,
    ]
    flags += [
        "--operators-per-query",
        4,
        "--no-normalize",
        "--allow-source",
        "--memory-keys",
        "present",
        "--no-weigh",
    ]
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
    code, out, err = run("learn", folder, "--out", tmp_path / "model", "--epochs", 4, "--patience", 1, *KINDS)
    assert (code, "Error" in err) == (0, False)
    assert out.startswith("Best of 4 epochs")


def test_the_preset_paper_learns(run, data, tmp_path):
    assert run("learn", data, "--preset", "paper", "--epochs", 1, "--out", tmp_path)[0] == 0
    assert load_model(tmp_path).plan.training.training_masking == "batch"


def test_a_dry_run_prints_its_plan_and_writes_nothing(run, data, tmp_path):
    dry = ("learn", data, "--out", tmp_path / "model", "--dry-run", *SIZES)
    code, out, err = run(*dry)
    assert (code, "Error" in err) == (0, False)
    assert "Each trial: " in out
    assert "tried bodies up to" in out
    assert "Weigh: bodies up to" in out
    assert "MiB of memory" in out
    plan = json.loads(run(*dry, "--json")[1])
    assert plan["estimate"].keys() == {"seconds", "num_bytes"}
    assert plan["weighting"]["num_candidates"] == 20
    assert not (tmp_path / "model").exists()


def test_the_plan_is_stored_in_the_model_and_printed_by_describe(run, data, tmp_path):
    assert run("learn", data, "--out", tmp_path, "--json", *SIZES)[0] == 0
    code, out, err = run("describe", tmp_path)
    assert (code, "Error" in err) == (0, False)
    assert "tried bodies up to" in out
    plan = json.loads(run("describe", tmp_path, "--json")[1])
    assert plan["log"]["trials"][0]["chosen"]
    assert plan["weighting"]["num_candidates"] == 20
    assert plan["log"]["cut"] == []


def test_a_time_limit_ends_with_a_complete_model_that_says_what_was_cut(run, data, tmp_path):
    code, out, err = run("learn", data, "--out", tmp_path, "--minutes", 1e-6)
    assert (code, "Error" in err) == (0, False)
    assert "Cut: trial of" in out
    assert "the refinement of 34 of 34 queries" in out
    program = load_model(tmp_path)
    assert program.plan.log.minutes == 1e-6
    assert any("refinement" in cut for cut in program.plan.log.cut)
    assert run("evaluate", tmp_path, data)[0] == 0


def test_a_limit_of_no_time_is_refused(refuse, data):
    assert refuse("learn", data, "--minutes", 0) == "minutes must be above 0 and finite, got 0.0."


def test_a_terminal_shows_loss_validation_mrr_and_time_left(run, data, tmp_path, monkeypatch):
    terminal = Console(file=io.StringIO(), force_terminal=True, width=80, highlight=False)
    monkeypatch.setattr(printing, "log", terminal)
    assert run("learn", data, "--out", tmp_path, *FEW)[0] == 0
    shown = terminal.file.getvalue()
    assert "entities and 17 relations" in shown
    assert "Epoch 1 of 2" in shown
    assert "Epoch 2 of 2: loss " in shown
    assert ", valid MRR 0." in shown
    assert "left" in shown
    assert "Ranking" in shown


def test_without_a_terminal_each_stage_is_a_line_with_its_time(run, data, model):
    code, out, err = run("learn", data, "--out", model, "--force", *FEW)
    assert code == 0
    lines = err.splitlines()
    assert all(re.match(r"\d\d:\d\d:\d\d ", line) for line in lines if "Note" not in line)
    assert any("Epoch 1 of 2" in line for line in lines)
    assert any("Ranking" in line for line in lines)
    assert "\x1b" not in out + err


def test_quiet_prints_results_alone_and_verbose_every_epoch(run, data, model):
    command = ("learn", data, "--out", model, "--force", *FEW)
    assert run(*command, "--quiet")[2] == ""
    assert "Epoch 2 of 2: loss" in run(*command, "-v")[2]
    assert run("rules", model, "-q")[2] == run("evaluate", model, data, "-q")[2] == ""


def test_a_model_is_not_replaced_unasked(run, refuse, data, model):
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    told = refuse("learn", data, "--out", model, *FEW)
    assert told == f"{model} holds a model. Give another --out, or --force to replace it."
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    assert run("learn", data, "--out", model, "--dry-run", *SIZES, *KINDS)[0] == 0


def test_numbers_become_ranges_that_rules_and_questions_use(run, tmp_path):
    born = [(f"p{i}", "born", str(1900 + i)) for i in range(80)]
    lived = [(f"p{i}", "era", "old" if i < 40 else "new") for i in range(80)]
    people, model = tmp_path / "people.tsv", tmp_path / "model"
    write_triples(people, born + lived)
    flags = ("--numbers", "bins", "--kinds", "chain,prior,unary", "--length", 2, "--masking", "fact", *SIZES)
    with every_kind():
        assert run("learn", people, "--out", model, "-q", *flags)[0] == 0
    ranges = load_model(model).numbers.bins["born"].names
    assert ranges[0].startswith("< 19")
    printed = run("rules", model, "--relation", "born", "--limit", 99)[1]
    assert any(f"Y = {name}" in printed for name in ranges[1:-1])
    new = [("zoe", "born", "1999"), ("yan", "born", "1885"), ("yan", "era", "old"), ("p1", "era", "new")]
    write_triples(tmp_path / "new.tsv", new)
    code, out, _ = run("ask", model, tmp_path / "new.tsv", "--head", "zoe", "--relation", "born", "--json")
    assert code == 0
    assert [answer["entity"] for answer in json.loads(out) if answer["is_known"]] == [ranges[-1]]
    year, own = (
        run("ask", model, people, "--tail", asked, "--relation", "born", "--json")
        for asked in ("1955", load_model(model).numbers.bins["born"].name_of("1955"))
    )
    assert year == own
    assert "p55" in run("explain", model, people, "p55", "born", "1955-06-30")[1]
    assert run("predict", model, people, "--out", tmp_path / "new.csv")[0] == 0
    assert "born" in (tmp_path / "new.csv").read_text()
    for command in ("evaluate", "calibrate"):
        code, _, err = run(command, model, people)
        assert (code, "no facts of" in err) == (0, False)


def test_numbers_and_too_few_facts_are_noted(run, tmp_path):
    write_triples(tmp_path / "few.tsv", [(f"p{i}", "born", str(1900 + i)) for i in range(20)])
    _, _, err = run("learn", tmp_path / "few.tsv", "--out", tmp_path / "model", "--dry-run", *SIZES, *KINDS)
    assert "facts are too few" in err
    assert "born: objects are numbers or dates. --numbers bins" in err


def test_resume_keeps_the_settings_of_the_run(run, data, model):
    before = load_model(model)
    assert run("learn", data, "--out", model, "--resume", "--epochs", 3, "--json", "--no-weigh")[0] == 0
    after = load_model(model)
    assert after.history[:2] == before.history
    assert len(after.history) == 3
    assert after.plan.training.learning_rate == before.plan.training.learning_rate == 0.01


def test_resume_refuses_other_settings_and_an_empty_folder(refuse, data, model, tmp_path):
    assert "has num_steps 2, not 3" in refuse(
        "learn", data, "--out", model, "--resume", "--steps", 3, "--no-weigh"
    )
    assert "nothing to resume" in refuse("learn", data, "--out", tmp_path / "none", "--resume")


def test_ctrl_c_in_the_first_epoch_leaves_an_earlier_model_unchanged(run, data, model, monkeypatch):
    before = {path.name: path.read_bytes() for path in model.iterdir()}

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("neurallp.neural.training.Training.step", stop)
    assert run("learn", data, "--out", model, "--steps", 3, "--no-weigh", "--force")[0] == 130
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before


@pytest.mark.parametrize(
    "flag", ["--training-masking", "--objective", "--facts", "--memory-keys", "--preset"]
)
def test_a_value_that_is_no_choice_is_refused_with_the_choices(refuse, data, flag):
    message = refuse("learn", data, flag, "foo")
    assert f"Invalid value for '{flag}'" in message
    assert "'foo' is not one of" in message


def test_a_command_and_the_library_learn_the_same_rules(run, data, tmp_path):
    code, *_ = run(
        "learn", data, "--out", tmp_path, "--epochs", 1, "--max-rules", 3, "--seed", 5, "--json", *SIZES
    )
    assert code == 0
    loaded = load_model(tmp_path)
    program = neurallp.learn(
        neurallp.load(data),
        num_epochs=1,
        max_rules=3,
        seed=5,
        num_candidates=20,
        num_pairs=20,
        max_questions=60,
    )
    assert loaded.rules() == program.rules_as_saved
    assert loaded.plan == program.plan


@pytest.fixture
def running(data, tmp_path):
    """A run in another process that would take very long, just after its first epoch."""
    out = tmp_path / "running"
    arguments = ["learn", data, "--out", out, "--engine", "reference", *SIZES, *KINDS]
    arguments += ["--epochs", 100_000, "--patience", 100_000, "--learning-rate", 0.01]
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        await_file(out / "checkpoint.safetensors", process)
        yield process, out
    finally:
        process.kill()
        process.communicate()


def await_file(path, process, seconds=300):
    for _ in range(seconds * 20):
        if path.exists():
            return
        assert process.poll() is None, process.stderr.read().decode()
        time.sleep(0.05)
    raise AssertionError(f"no {path} after {seconds} s")


def test_ctrl_c_keeps_the_best_epoch_and_resume_continues(run, data, running):
    process, out = running
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert b"Training was cut after epoch" in errors
    assert b"Next: neurallp rules" in output
    assert (out / "metrics.json").exists()
    assert (out / "rules.tsv").exists()
    go_on(run, data, out)


def interrupt_after(monkeypatch, num):
    """Press Ctrl-C after some steps of weighting."""
    from neurallp.cli.callbacks import LearningProgress

    steps = []

    def advance(self, done):
        steps.append(done)
        if self.stage == "weigh" and len(steps) >= num and not self.is_interrupted:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(LearningProgress, "on_progress", advance)


def test_ctrl_c_in_weighting_keeps_a_complete_model(run, data, tmp_path, monkeypatch):
    interrupt_after(monkeypatch, 20)
    code, out, err = run("learn", data, "--out", tmp_path, *SIZES, *KINDS)
    assert code == 130
    assert "Stopping: the run ends with what is learned so far. Once more ends it at once.\n" in err
    assert "Cut: the refinement of" in out
    assert "The same command with more time learns the rest." in out
    assert len(load_model(tmp_path).weighted_rules.queries) == 34
    assert run("evaluate", tmp_path, data)[0] == 0


def test_ctrl_c_before_anything_is_learned_keeps_an_earlier_model(run, data, model, tmp_path, monkeypatch):
    from neurallp.cli.callbacks import LearningProgress

    before = {path.name: path.read_bytes() for path in model.iterdir()}
    monkeypatch.setattr(LearningProgress, "on_plan", lambda *_: signal.raise_signal(signal.SIGINT))
    code, out, _ = run("learn", data, "--out", model, "--force", *SIZES, *KINDS)
    assert code == 130
    assert "keeps its earlier model" in out
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    code, out, _ = run("learn", data, "--out", tmp_path / "new", *SIZES, *KINDS)
    assert code == 130
    assert load_model(tmp_path / "new").weighted_rules.num_of_kinds == {"prior": 34}
    assert "No rule that predicts an answer was learned" in out
    assert "weighted rules" not in out


def test_one_fact_is_not_told_in_the_plural(run, tmp_path):
    (tmp_path / "one.tsv").write_text("anna\tmother\teve\n")
    code, out, err = run("learn", tmp_path / "one.tsv", "--out", tmp_path / "model")
    assert code == 0
    assert "1 fact about 2 entities and 1 relation; 0 to validate, 0 to test." in err
    assert "1 fact is too few to learn reliable rules from." in err
    assert "No rule that predicts an answer was learned" in out


def test_after_a_kill_the_best_epoch_is_there_and_resume_continues(run, data, running):
    process, out = running
    process.kill()
    process.wait()
    assert load_model(out).rules("uncle")
    go_on(run, data, out)


def go_on(run, data, out):
    done = len(load_model(out).history)
    code, *_ = run(
        "learn", data, "--out", out, "--resume", "--epochs", done + 1, "--engine", "reference", "--no-weigh"
    )
    assert code == 0
    assert len(load_model(out).history) == done + 1


@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [
        ("--steps", 0, "num_steps must be at least 1, got 0."),
        ("--steps", -3, "num_steps must be at least 1, got -3."),
        ("--epochs", 0, "num_epochs must be at least 1, got 0."),
        ("--controllers", 0, "num_controllers must be at least 1, got 0."),
        ("--batch-size", 0, "batch_size must be at least 1, got 0."),
        ("--operators-per-query", 0, "operators_per_query must be at least 1, got 0."),
        (
            "--kinds",
            "chian",
            f"kinds must be one of {', '.join(config.KINDS)}, got 'chian'. Did you mean 'chain'?",
        ),
        ("--penalties", "0.1,x", "--penalties takes values of type float, separated by commas, got '0.1,x'."),
        ("--learning-rate", "nan", "learning_rate must be above 0 and finite, got nan."),
        ("--seed", -1, "seed must be at least 0 and below 2^63, got -1."),
        ("--device", "foo", "Cannot use the device 'foo'. Use cpu, or cuda with a GPU."),
    ],
)
def test_a_wrong_setting_is_refused_in_one_line(refuse, data, tmp_path, flag, value, message):
    assert refuse("learn", data, "--out", tmp_path / "model", flag, value) == message


def test_a_file_in_place_of_the_model_folder_is_an_error(refuse, data, tmp_path):
    (tmp_path / "file").write_text("")
    assert refuse("learn", data, "--out", tmp_path / "file").startswith("Cannot make the folder")
