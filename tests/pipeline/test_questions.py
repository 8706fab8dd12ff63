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
from neurallp.pipeline.callbacks import Callbacks
from neurallp.pipeline.questions import finish_questions, prepare_questions

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


class Recorder(Callbacks):
    """Records the calls of a run, and stops it after some epochs."""

    def __init__(self, num_epochs=100):
        self.num_epochs, self.calls, self.steps = num_epochs, [], 0

    def on_training(self, training):
        self.calls.append("training")

    def on_stage(self, stage, total, done=0):
        self.calls.append((stage, total, done))

    def on_progress(self, num):
        self.steps += num

    def on_epoch(self, training):
        self.calls.append(training.history[-1].number)

    def should_stop(self):
        return self.calls[-1] == self.num_epochs


def test_callbacks_follow_a_run_on_questions_as_they_follow_one_on_facts(cinema):
    seen = Recorder()
    learn_questions(cinema.kb, cinema.train[:200], **FEW | {"num_epochs": 2}, callbacks=seen)
    batches = -(-180 // 64)
    assert seen.calls == ["training", ("train", 2 * batches, 0), 1, 2]
    assert seen.steps == 2 * batches


def test_a_run_that_a_callback_stops_gives_the_program_so_far(cinema):
    program = learn_questions(
        cinema.kb, cinema.train[:200], **FEW | {"num_epochs": 9}, callbacks=Recorder(num_epochs=1)
    )
    assert len(program.history) == 1


def test_the_program_has_the_weights_and_the_threshold_of_the_best_epoch(cinema):
    training = prepare_questions(
        cinema.kb, cinema.train[:200], *configure_questions(**FEW | {"num_epochs": 3})
    )
    list(training.epochs())
    program = finish_questions(training, cinema.kb)
    assert program.threshold == training.best_epoch.metrics["threshold"]
    for name, weights in program.model.state_dict().items():
        assert torch.equal(weights, training.best_weights[name])


def test_the_reasoner_of_the_last_knowledge_base_is_cached(cinema):
    program = cinema.program
    own = program.reasoner()
    assert program.reasoner() is own
    other = KnowledgeBase.from_triples([("Alien", "directed_by", "Scott")])
    assert program.reasoner(other) is program.reasoner(other) is not own
    assert program.reasoner().kb.entities == cinema.kb.entities


def test_the_paper_preset_has_its_encoder_and_two_steps(cinema):
    program = learn_questions(cinema.kb, cinema.train[:200], preset="paper", **FEW)
    assert (program.model.config.encoder, program.model.config.num_steps) == ("mean", 2)
    assert repr(program).endswith("words, rules up to length 2)")
