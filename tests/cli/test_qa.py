import json
import re
import subprocess
import sys
from urllib.parse import urlencode

import pytest
from served import fetch, serving

from neurallp.io.triples import write_triples

FEW = ("--epochs", 2, "--learning-rate", 0.01, "--seed", 1)


@pytest.fixture(scope="module")
def files(cinema, tmp_path_factory):
    """A knowledge base, questions and a model, as the command finds them."""
    folder = tmp_path_factory.mktemp("cinema")
    names, relations = cinema.kb.entities, cinema.kb.relations
    write_triples(folder / "kb.tsv", [(names[h], relations[r], names[t]) for h, r, t in cinema.kb.facts])
    for name, questions in (("train", cinema.train[:300]), ("test", cinema.test[:60])):
        lines = ("\t".join([q.text, "|".join(q.answers), q.kind]) for q in questions)
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    cinema.program.save(folder / "model")
    return folder


def test_learn_evaluate_and_ask_work_together(run, files, tmp_path):
    code, out, err = run(
        "qa", "learn", files / "kb.tsv", files / "train.tsv", "--out", tmp_path / "m", "--json", *FEW
    )
    assert (code, err) == (0, "")
    assert json.loads(out)["model"] == str(tmp_path / "m")
    code, out, _ = run("qa", "evaluate", tmp_path / "m", files / "kb.tsv", files / "test.tsv", "--json")
    assert code == 0
    assert {"accuracy", "hits@1", "f1", "questions"} <= json.loads(out)["linked"].keys()


def test_a_resumed_run_ends_as_one_that_was_not_interrupted(run, refuse, files, tmp_path):
    def learn(out, *options):
        return "qa", "learn", files / "kb.tsv", files / "train.tsv", "--out", tmp_path / out, *options

    assert run(*learn("whole", *FEW, "--device", "cpu"))[0] == 0
    assert run(*learn("parts", *FEW, "--epochs", 1))[0] == 0
    for name in ("metrics.json", "weights.safetensors"):
        (tmp_path / "parts" / name).unlink()  # all that a killed run leaves is its checkpoint
    assert run(*learn("parts", "--resume", "--epochs", 2))[0] == 0
    weights = [(tmp_path / out / "weights.safetensors").read_bytes() for out in ("whole", "parts")]
    assert weights[0] == weights[1]
    assert "has num_steps 3, not 2" in refuse(*learn("parts", "--resume", "--steps", 2))
    assert "nothing to resume" in refuse(*learn("none", "--resume"))
    other = "qa", "learn", files / "kb.tsv", files / "test.tsv", "--out", tmp_path / "parts", "--resume"
    assert "other words" in refuse(*other)


def test_an_unknown_device_is_refused(refuse, files, tmp_path):
    command = "qa", "learn", files / "kb.tsv", files / "train.tsv", "--out", tmp_path / "m"
    assert "Cannot use the device 'gpu'" in refuse(*command, "--device", "gpu")


def test_evaluate_reports_marked_and_linked_entities_apart(run, files):
    code, out, _ = run("qa", "evaluate", files / "model", files / "kb.tsv", files / "test.tsv", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["questions"] == found["linked"]["questions"] == 60
    assert found["hits@1"] > 0.9
    code, out, _ = run("qa", "evaluate", files / "model", files / "kb.tsv", files / "test.tsv")
    assert "entity marked" in out
    assert "entity linked" in out


def test_ask_prints_the_answers_their_rule_and_their_facts(run, files, cinema):
    question = next(q for q in cinema.test if q.kind == "release_year").unmarked
    code, out, _ = run("qa", "ask", files / "model", files / "kb.tsv", question.text)
    assert code == 0
    assert re.search(rf"{question.answers[0]}  probability 0\.\d\d  because release_year\(", out)
    assert "rule: answer(X, Y) <= release_year(X, Y), X != Y" in out
    code, out, _ = run("qa", "ask", files / "model", files / "kb.tsv", question.text, "-k", 1, "--json")
    assert json.loads(out)["answers"][0]["entity"] == question.answers[0]


def test_without_a_question_each_line_of_input_is_one(run, files, cinema, monkeypatch):
    question = next(q for q in cinema.test if q.kind == "release_year").unmarked
    lines = iter([question.text, "who directed nobody", ""])
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    code, out, err = run("qa", "ask", files / "model", files / "kb.tsv")
    assert code == 0
    assert question.answers[0] in out
    assert "names no entity" in err


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("", "The question is empty"),
        ("wer weiß was", "names no entity"),
        ("кто это", "names no entity"),
        ("word " * 10_000, "10,000 words; at most 200"),
    ],
)
def test_a_bad_question_is_refused_with_one_line(refuse, files, question, said):
    message = refuse("qa", "ask", files / "model", files / "kb.tsv", question)
    assert said in message
    assert "\n" not in message


def test_a_folder_that_is_no_question_model_is_refused(refuse, files, tmp_path):
    assert "no model folder" in refuse("qa", "ask", tmp_path / "none", files / "kb.tsv", "who")


def test_a_bad_file_of_questions_leaves_nothing_behind(refuse, files, tmp_path):
    (tmp_path / "bad.tsv").write_text("no answers\n")
    out = tmp_path / "model"
    message = refuse("qa", "learn", files / "kb.tsv", tmp_path / "bad.tsv", "--out", out)
    assert "bad.tsv:1: expected a question" in message
    assert not out.exists()


def test_an_unknown_experiment_is_refused_with_the_choices(refuse):
    assert "inductive" in refuse("experiment", "alchemy")


def test_an_experiment_without_its_data_names_the_variable_to_set(refuse, monkeypatch):
    monkeypatch.delenv("NEURALLP_DATA", raising=False)
    assert "NEURALLP_DATA" in refuse("experiment", "qa")


def test_the_options_of_learn_are_the_settings_of_both_configurations(run):
    code, out, _ = run("qa", "learn", "--help")
    assert code == 0
    options = set(re.findall(r"--[a-z-]+", out))
    assert {"--encoder", "--steps", "--may-return", "--never-return", "--epochs", "--patience"} <= options
    assert "[default: (never-return)]" in " ".join(out.split())


@pytest.mark.parametrize("command", ["learn", "evaluate", "ask"])
def test_a_missing_file_is_refused_before_torch_is_imported(files, tmp_path, command):
    paths = {
        "learn": [tmp_path / "none.tsv", files / "train.tsv"],
        "evaluate": [files / "model", files / "kb.tsv", tmp_path / "none.tsv"],
        "ask": [files / "model", tmp_path / "none.tsv", "who"],
    }[command]
    arguments = ["neurallp", "qa", command, *map(str, paths)]
    program = (
        f"import sys; sys.argv = {arguments!r}\nfrom neurallp.cli import main\n"
        "try: main()\nexcept SystemExit as done: print(done.code, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "2 False\n"
    assert "none.tsv" in done.stderr


def test_a_note_shows_that_a_name_fits_several_entities(run, files, cinema, tmp_path):
    title = next(name for name in cinema.kb.entities if name.startswith("The "))
    facts = (files / "kb.tsv").read_text(encoding="utf-8")
    (tmp_path / "kb.tsv").write_text(f"{facts}{title.upper()}\thas_genre\tOpera\n", encoding="utf-8")
    code, out, _ = run("qa", "ask", files / "model", tmp_path / "kb.tsv", f"who directed {title.lower()}")
    assert code == 0
    assert f"Note: Taken to be about '{title}'; the name also fits '{title.upper()}'" in out


def test_a_question_model_is_explored_in_the_browser(files, cinema):
    question = next(q for q in cinema.test if q.kind == "release_year").unmarked
    with serving("serve", files / "model", files / "kb.tsv") as address:
        assert f">{question.answers[0]}</bdi>" in fetch(
            address, f"question?{urlencode({'text': question.text})}"
        )
