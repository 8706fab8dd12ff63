"""Questions in words: learn a program from questions with their answers, ask it, evaluate it, save it."""

import warnings
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..config import QuestionConfig, QuestionTrainingConfig, configure_questions
from ..engines import make_engine
from ..errors import DataError, DataWarning
from ..graph.knowledge_base import KnowledgeBase
from ..graph.operators import Operators
from ..io.files import AnyPath
from ..io.models import questions as question_models
from ..io.models.store import ModelFiles
from ..neural.loop import Epoch
from ..neural.training import choose_device, require_device
from ..qa.answering import MIN_PROBABILITY, QuestionReasoner
from ..qa.answers import WordAnswers
from ..qa.calibrating import calibrate_answers
from ..qa.confidence import AnswerCalibration
from ..qa.evaluation import QuestionMeasures, QuestionResults, evaluate_questions
from ..qa.examples import Interpreter, QuestionExamples, WordQuestion, make_examples
from ..qa.model import QuestionModel
from ..qa.tokens import WordVocabulary, tokenise
from ..qa.training import QuestionTraining
from .base import BaseProgram
from .callbacks import Callbacks
from .learn import run_training

#: Share of the questions that is held out to choose the epoch and the threshold.
VALID_SHARE = 0.1

#: Most questions that are held out.
MAX_VALID = 1000


@dataclass(frozen=True)
class QuestionEvaluation:
    """Measures of questions with their entity marked, with it found by entity linking, and by type."""

    marked: QuestionMeasures
    linked: QuestionMeasures
    kinds: dict[str, QuestionMeasures]  # with the entity marked

    def as_dict(self) -> dict[str, Any]:
        """Return one JSON object: the measures with the entity marked, and the others under their names."""
        kinds = {name: measures.as_dict() for name, measures in self.kinds.items()}
        return {**self.marked.as_dict(), "linked": self.linked.as_dict(), "types": kinds}


class QuestionProgram(BaseProgram[QuestionReasoner]):
    """A trained question model, which answers on the knowledge base it was learned from or on one given."""

    def __init__(
        self,
        model: QuestionModel,
        training_config: QuestionTrainingConfig,
        threshold: float,
        kb: KnowledgeBase | None = None,
        history: Iterable[Epoch] = (),
        calibration: AnswerCalibration | None = None,
    ) -> None:
        self.model = model.eval()
        self.calibration = calibration
        self.training_config = training_config
        self.threshold = threshold
        self.kb = kb
        self.history = list(history)

    @classmethod
    def read(cls, files: ModelFiles) -> "QuestionProgram":
        """Return the program of a model's files."""
        model, settings, history = question_models.read_model(files)
        calibration = question_models.calibration_of(files)
        return cls(model, settings.training, settings.threshold, history=history, calibration=calibration)

    def __repr__(self) -> str:
        config = self.model.config
        return f"QuestionProgram({len(self.model.vocabulary):,} words, rules up to length {config.num_steps})"

    def ask_words(
        self,
        text: str,
        k: int = 10,
        kb: KnowledgeBase | None = None,
        min_probability: float = MIN_PROBABILITY,
    ) -> WordAnswers:
        """Return the answers to a question, each with its rule and facts.

        Raise QuestionError where there is none, or none at least `min_probability` likely to be right.
        """
        return self.reasoner(kb).ask(text, k, min_probability)

    def _make_reasoner(self, kb: KnowledgeBase) -> QuestionReasoner:
        return QuestionReasoner(kb, self.model, self.threshold, calibration=self.calibration)

    def evaluate(
        self, questions: Sequence[WordQuestion], kb: KnowledgeBase | None = None
    ) -> QuestionEvaluation:
        """Return the measures of the answers, with the entity marked and with entity linking."""
        marked, kinds = self._results(questions, kb)
        linked, _ = self._results([question.unmarked for question in questions], kb)
        named = sorted({kind for kind in kinds if kind is not None})
        flags = np.array(kinds)
        return QuestionEvaluation(
            self._measure(marked),
            self._measure(linked),
            {kind: self._measure(marked[flags == kind]) for kind in named},
        )

    def _measure(self, results: QuestionResults) -> QuestionMeasures:
        return QuestionMeasures.of(results, self.threshold)

    def _results(
        self, questions: Sequence[WordQuestion], kb: KnowledgeBase | None
    ) -> tuple[QuestionResults, list[str | None]]:
        """Return the results of questions and the types of their rows; those without an entity come last."""
        reasoner = self.reasoner(kb)
        examples, failed = make_examples(questions, reasoner.parser.interpreter)
        found = evaluate_questions(self.model, reasoner.engine, examples, len(failed))
        return found, [*examples.kinds, *(question.kind for question in failed)]

    def save(self, folder: AnyPath, metrics: dict[str, Any] | None = None) -> None:
        """Write the model folder: weights, configuration, relations, words, history and measures."""
        settings = question_models.QuestionSettings(self.model.config, self.training_config, self.threshold)
        question_models.write_model(
            folder, self.model, settings, self.history, metrics or {}, self.calibration
        )


def load_question_model(folder: AnyPath) -> QuestionProgram:
    """Return the question program saved in `folder`."""
    return QuestionProgram.read(question_models.read_question_files(folder))


def learn_questions(
    kb: KnowledgeBase,
    questions: Sequence[WordQuestion],
    *,
    preset: str = "default",
    engine: str = "auto",
    device: str = "cpu",
    callbacks: Callbacks | None = None,
    **settings: Any,
) -> QuestionProgram:
    """Return a program learned from questions with answers; settings are those of both configurations."""
    configs = configure_questions(preset, **settings)
    training = prepare_questions(kb, questions, *configs, engine=engine, device=device)
    run_training(training, callbacks or Callbacks())
    return finish_questions(training, kb)


def prepare_questions(
    kb: KnowledgeBase,
    questions: Sequence[WordQuestion],
    model_config: QuestionConfig,
    training_config: QuestionTrainingConfig,
    *,
    engine: str = "auto",
    device: str = "cpu",
) -> QuestionTraining:
    """Return a training run before its first epoch; the seed fixes weights, order and held-out questions."""
    device = choose_device(device, engine)
    require_device(device)
    train, valid = _split(_answerable_examples(kb, questions), training_config)
    torch.manual_seed(training_config.seed)
    words = WordVocabulary.of(phrase.words for phrase in train.phrases)
    model = QuestionModel(kb.relations, words, model_config).to(device)
    scoring = make_engine(engine, Operators.of(kb), device)
    return QuestionTraining(model, scoring, train, valid, training_config)


def _answerable_examples(kb: KnowledgeBase, questions: Sequence[WordQuestion]) -> QuestionExamples:
    """Return the examples of questions with a known entity and answer; warn how many are left out."""
    # Which words belong to names is not known yet: count the words of whole questions.
    words = WordVocabulary.of([[token.word for token in tokenise(q.text)] for q in questions])
    examples, _ = make_examples(questions, Interpreter(kb, words))
    found = examples[examples.answerable]
    if lost := len(questions) - len(found):
        what = f"{lost:,} of {len(questions):,} questions name no known entity or no known answer"
        warnings.warn(f"Left out: {what}.", DataWarning, stacklevel=4)
    return found


def _split(
    examples: QuestionExamples, config: QuestionTrainingConfig
) -> tuple[QuestionExamples, QuestionExamples]:
    """Return the examples to train on and those to validate on."""
    num_valid = min(MAX_VALID, round(VALID_SHARE * len(examples)))
    if not 0 < num_valid < len(examples):
        raise DataError(
            f"{len(examples)} questions that can be learned from are too few to hold some out. Give more."
        )
    order = np.random.default_rng(config.seed).permutation(len(examples))
    return examples[order[num_valid:]], examples[order[:num_valid]]


def finish_questions(training: QuestionTraining, kb: KnowledgeBase) -> QuestionProgram:
    """Return the program of the best epoch so far, with the threshold chosen on its validation."""
    model = deepcopy(training.model)  # training may continue with its own
    model.load_state_dict(training.best_weights)
    threshold = training.best_epoch.metrics["threshold"]
    reasoner = QuestionReasoner(kb, model.cpu(), threshold)
    calibration = calibrate_answers(reasoner, training.train, training.valid, training.config.seed)
    return QuestionProgram(model, training.config, threshold, kb, training.history, calibration)
