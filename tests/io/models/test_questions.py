import json

import pytest
import torch
from model_folders import change, rewrite

from neurallp import ModelError, load_model, load_question_model
from neurallp.config import configure_questions
from neurallp.io.models.questions import resume, write_checkpoint
from neurallp.pipeline.questions import finish_questions, prepare_questions

SMALL = {"embedding_size": 16, "hidden_size": 16, "num_epochs": 2}


@pytest.fixture
def saved(cinema, tmp_path):
    """A folder with a saved question model."""
    cinema.program.save(tmp_path / "model", {"valid": {"hits@1": 1.0}})
    return tmp_path / "model"


def run(cinema, **settings):
    return prepare_questions(cinema.kb, cinema.train[:200], *configure_questions(**SMALL | settings))


def test_a_loaded_program_answers_as_the_saved_one(cinema, saved):
    same = load_question_model(saved)
    asked = cinema.test[0].text
    assert same.ask_words(asked, kb=cinema.kb) == cinema.program.ask_words(asked)
    assert same.history == cinema.program.history
    assert (same.threshold, same.training_config) == (
        cinema.program.threshold,
        cinema.program.training_config,
    )


def test_a_folder_says_its_kind_and_checksums(saved):
    manifest = json.loads((saved / "manifest.json").read_text())
    assert manifest["kind"] == "questions"
    assert {"relations.json", "words.json", "history.jsonl", "weights.safetensors"} < manifest["files"].keys()
    assert json.loads((saved / "metrics.json").read_text()) == {"valid": {"hits@1": 1.0}}


def test_a_folder_that_does_not_exist_is_refused_with_the_command_that_makes_one(tmp_path):
    with pytest.raises(ModelError, match=r"no model folder .*neurallp qa learn DATA QUESTIONS --out"):
        load_question_model(tmp_path / "none")


def test_a_folder_of_another_kind_is_refused(saved):
    with pytest.raises(ModelError, match="neurallp qa ask"):
        load_model(saved)
    change(saved, "manifest.json", kind="rules")
    with pytest.raises(ModelError, match="no model of questions"):
        load_question_model(saved)


@pytest.mark.parametrize("name", ["words.json", "relations.json", "history.jsonl", "weights.safetensors"])
def test_a_file_that_was_not_saved_with_the_others_is_refused(saved, name):
    (saved / name).write_bytes((saved / name).read_bytes() + b" ")
    with pytest.raises(ModelError, match=f"{name} is missing or damaged .*not the file that manifest"):
        load_question_model(saved)
    (saved / name).unlink()
    with pytest.raises(ModelError, match=f"{name} is missing"):
        load_question_model(saved)


@pytest.mark.parametrize("words", ['{"who": -1}', '{"who": "often"}', "[]", '{"who": 1e999}'])
def test_words_that_were_never_counted_are_refused(saved, words):
    rewrite(saved, "words.json", words)
    with pytest.raises(ModelError, match=r"words\.json is missing or damaged"):
        load_question_model(saved)


@pytest.mark.parametrize("values", [{"threshold": 0.3333}, {"model": {"num_steps": 0}}, {"training": 7}])
def test_a_configuration_of_impossible_values_is_refused(saved, values):
    change(saved, "config.json", **values)
    with pytest.raises(ModelError, match=r"config\.json is missing or damaged"):
        load_question_model(saved)


def test_weights_of_another_size_are_refused(saved):
    model = json.loads((saved / "config.json").read_text())["model"]
    change(saved, "config.json", model=model | {"hidden_size": 8})
    with pytest.raises(ModelError, match="does not fit"):
        load_question_model(saved)


def test_a_checkpoint_is_a_complete_model_without_measures(cinema, saved):
    training = run(cinema, seed=1)
    for _ in training.epochs():
        write_checkpoint(saved, training)
    loaded, finished = load_question_model(saved), finish_questions(training, cinema.kb)
    assert (loaded.threshold, loaded.history) == (finished.threshold, finished.history)
    for name, weights in finished.model.state_dict().items():
        assert torch.equal(loaded.model.state_dict()[name], weights)
    assert not (saved / "metrics.json").exists()


def test_a_resumed_run_continues_with_the_same_weights(cinema, tmp_path):
    whole, first, second = run(cinema), run(cinema), run(cinema)
    list(whole.epochs())
    next(first.epochs())
    write_checkpoint(tmp_path, first)
    resume(tmp_path, second)
    list(second.epochs())
    assert [epoch.loss for epoch in second.history] == [epoch.loss for epoch in whole.history]
    for name, weights in whole.best_weights.items():
        assert torch.equal(second.best_weights[name], weights)


def test_a_run_is_not_resumed_with_other_settings_or_other_words(cinema, tmp_path):
    first = run(cinema)
    next(first.epochs())
    write_checkpoint(tmp_path, first)
    with pytest.raises(ModelError, match="has hidden_size 16, not 8"):
        resume(tmp_path, run(cinema, hidden_size=8))
    other = prepare_questions(cinema.kb, cinema.train[:15], *configure_questions(**SMALL))
    with pytest.raises(ModelError, match="other words"):
        resume(tmp_path, other)
