import numpy as np
import pytest
import torch

from neurallp import (
    ConfigError,
    DataError,
    FormatError,
    KnowledgeBase,
    ModelError,
    WordQuestion,
    learn_questions,
    load_model,
    load_question_model,
    load_questions,
)
from neurallp.config import configure_questions
from neurallp.io.models.questions import write_question_checkpoint
from neurallp.pipeline.questions import finish_questions, prepare_questions

FEW = {"num_epochs": 1, "embedding_size": 16, "hidden_size": 16}


def test_questions_of_one_to_three_hops_are_learned_from_answers_alone(cinema):
    found = cinema.program.evaluate(cinema.test)
    assert found.marked.hits_at_1 > 0.95
    assert found.own_spotting.hits_at_1 > found.marked.hits_at_1 - 0.02
    right = [
        " ".join(cinema.program.ask_words(question.text, 1)[0].rule.body) == question.kind
        for question in cinema.test[:60]
    ]
    assert np.mean(right) > 0.8


def test_types_are_measured_apart(cinema):
    found = cinema.program.evaluate(cinema.test).as_dict()
    assert set(found["types"]) == {question.kind for question in cinema.test}
    assert sum(each["questions"] for each in found["types"].values()) == found["questions"] == 150


def test_a_question_that_cannot_be_read_counts_as_wrong(cinema):
    asked = [*cinema.test[:9], WordQuestion("who directed nobody knows what", ("nobody",))]
    assert cinema.program.evaluate(asked).marked.num_questions == 10


def test_the_same_seed_gives_the_same_weights(cinema):
    one, other = (learn_questions(cinema.kb, cinema.train[:200], seed=3, **FEW) for _ in range(2))
    for first, second in zip(one.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(first, second)


def test_a_gradient_longer_than_5_is_shortened_to_it_and_no_other(cinema, monkeypatch):
    def length(slope):
        training = prepare_questions(cinema.kb, cinema.train[:40], *configure_questions(**FEW))
        loss = training.loss
        monkeypatch.setattr(training, "loss", lambda batch: slope * loss(batch))
        list(training.epochs())  # one step, of which the mean takes a tenth
        return 10 * training.descent.moments["mean"].norm().item()

    assert length(1e6) == pytest.approx(5)
    assert length(1e-3) == pytest.approx(length(1e-6) * 1e3, rel=1e-4)


def test_marks_are_not_needed_to_learn(cinema):
    program = learn_questions(cinema.kb, [q.unmarked for q in cinema.train[:300]], **FEW)
    assert len(program.history) == 1


def test_what_is_saved_is_what_is_loaded(cinema, tmp_path):
    cinema.program.save(tmp_path / "model")
    same = load_question_model(tmp_path / "model")
    asked = cinema.test[0].text
    assert same.ask_words(asked, kb=cinema.kb) == cinema.program.ask_words(asked)
    assert same.history == cinema.program.history
    assert same.threshold == cinema.program.threshold


def test_a_damaged_or_other_folder_is_refused(cinema, tmp_path):
    with pytest.raises(ModelError, match="no model folder"):
        load_question_model(tmp_path / "none")
    cinema.program.save(tmp_path)
    with pytest.raises(ModelError):
        load_model(tmp_path)
    (tmp_path / "words.json").write_text("{}")
    with pytest.raises(ModelError, match="does not fit"):
        load_question_model(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="no model of questions"):
        load_question_model(tmp_path)


def test_questions_without_a_known_entity_or_answer_are_left_out_and_told(cinema):
    lost = [WordQuestion("who directed [Nothing]", ("nobody",)), WordQuestion("what", ("nobody",))]
    with pytest.warns(UserWarning, match="2 of 202 questions"):
        learn_questions(cinema.kb, [*cinema.train[:200], *lost], **FEW)
    with pytest.raises(DataError, match="too few"), pytest.warns(UserWarning, match="Left out"):
        learn_questions(cinema.kb, lost, **FEW)


def test_a_setting_that_is_not_there_is_refused(cinema):
    with pytest.raises(ConfigError, match="Unknown setting 'colour'"):
        learn_questions(cinema.kb, cinema.train, colour="red")
    with pytest.raises(ConfigError, match="encoder must be one of order, mean"):
        learn_questions(cinema.kb, cinema.train, encoder="guess")


def test_a_knowledge_base_of_other_relations_is_refused(cinema):
    kb = KnowledgeBase.from_triples([("anna", "mother", "berta")])
    with pytest.raises(DataError, match="share no relation"):
        cinema.program.ask_words("who directed anna", kb=kb)


# Files of questions


def test_questions_are_read_with_answers_and_types(tmp_path):
    path = tmp_path / "some.tsv"
    path.write_text("who wrote [Rio]\tAnna|Bob\n\nwho wrote it\tCarl\n", encoding="utf-8")
    first, second = load_questions(path)
    assert first == WordQuestion("who wrote [Rio]", ("Anna", "Bob"))
    assert first.is_marked and not second.is_marked  # noqa: PT018
    (tmp_path / "some_qtype.txt").write_text("one\ntwo\n")
    assert [question.kind for question in load_questions(path)] == ["one", "two"]


def test_types_may_stand_on_the_line(tmp_path):
    path = tmp_path / "some.tsv"
    path.write_text("who wrote [Rio]\tAnna\tmovie_to_writer\n")
    assert load_questions(path)[0].kind == "movie_to_writer"


def test_all_faults_of_a_file_are_told_with_their_lines(tmp_path):
    path = tmp_path / "bad.tsv"
    path.write_text("who\nwho wrote [Rio]\tAnna\nwhat\t\n")
    with pytest.raises(FormatError, match=r"bad\.tsv:1: expected.*\n.*bad\.tsv:3: expected"):
        load_questions(path)
    path.write_bytes(b"who\xff\tAnna")
    with pytest.raises(FormatError, match="not UTF-8"):
        load_questions(path)
    path.write_text("\n")
    with pytest.raises(FormatError, match="no questions"):
        load_questions(path)


def test_a_checkpoint_is_a_model_that_can_be_used(cinema, tmp_path):
    training = prepare_questions(cinema.kb, cinema.train[:200], *configure_questions(num_epochs=2, seed=1))
    for _ in training.epochs():
        write_question_checkpoint(tmp_path, training)
    kept, finished = load_question_model(tmp_path), finish_questions(training, cinema.kb)
    assert (kept.threshold, kept.history) == (finished.threshold, finished.history)
    for name, weights in finished.model.state_dict().items():
        assert torch.equal(kept.model.state_dict()[name], weights)
