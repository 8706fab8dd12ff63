import numpy as np
import pytest
import torch

from neurallp import (
    ConfigError,
    DataError,
    KnowledgeBase,
    WordQuestion,
    learn_questions,
)
from neurallp.config import configure_questions
from neurallp.pipeline.questions import prepare_questions

FEW = {"num_epochs": 1, "embedding_size": 16, "hidden_size": 16}


def test_questions_of_one_to_three_hops_are_learned_from_answers_alone(cinema):
    found = cinema.program.evaluate(cinema.test)
    assert found.marked.hits_at_1 > 0.95
    assert found.linked.hits_at_1 > found.marked.hits_at_1 - 0.02
    right = [
        " ".join(cinema.program.ask_words(question.text, 1)[0].rule.body) == question.kind
        for question in cinema.test[:60]
    ]
    assert np.mean(right) > 0.8


def test_each_type_of_question_has_measures_of_its_own(cinema):
    found = cinema.program.evaluate(cinema.test).as_dict()
    assert set(found["types"]) == {question.kind for question in cinema.test}
    assert sum(each["questions"] for each in found["types"].values()) == found["questions"] == 150


def test_a_question_without_an_entity_counts_as_wrong(cinema):
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


def test_questions_without_marked_entities_can_be_learned_from(cinema):
    program = learn_questions(cinema.kb, [q.unmarked for q in cinema.train[:300]], **FEW)
    assert len(program.history) == 1


def test_questions_without_a_known_entity_or_answer_are_left_out_with_a_warning(cinema):
    lost = [WordQuestion("who directed [Nothing]", ("nobody",)), WordQuestion("what", ("nobody",))]
    with pytest.warns(UserWarning, match="2 of 202 questions"):
        learn_questions(cinema.kb, [*cinema.train[:200], *lost], **FEW)
    with pytest.raises(DataError, match="too few"), pytest.warns(UserWarning, match="Left out"):
        learn_questions(cinema.kb, lost, **FEW)


def test_an_unknown_setting_is_refused(cinema):
    with pytest.raises(ConfigError, match="Unknown setting 'colour'"):
        learn_questions(cinema.kb, cinema.train, colour="red")
    with pytest.raises(ConfigError, match="encoder must be one of order, mean"):
        learn_questions(cinema.kb, cinema.train, encoder="guess")


def test_a_knowledge_base_of_other_relations_is_refused(cinema):
    kb = KnowledgeBase.from_triples([("anna", "mother", "berta")])
    with pytest.raises(DataError, match="share no relation"):
        cinema.program.ask_words("who directed anna", kb=kb)
