"""Learn weighted logical rules from a knowledge base, answer questions with them, and show why."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .config import (
        ModelConfig,
        Plan,
        QuestionConfig,
        QuestionTrainingConfig,
        TrainingConfig,
        WeightingConfig,
    )
    from .errors import (
        ConfigError,
        DataError,
        FormatError,
        ModelError,
        NeuralLPError,
        QuestionError,
        UnknownNameError,
    )
    from .evaluation import Evaluation, evaluate
    from .graph.knowledge_base import KnowledgeBase, Split
    from .io.questions import load_questions
    from .io.triples import load
    from .neural.model import NeuralLP
    from .pipeline.callbacks import Callbacks, Checkpoints
    from .pipeline.learn import learn
    from .pipeline.program import LearnedProgram, Program, RuleProgram, load_model, load_program
    from .pipeline.questions import (
        QuestionEvaluation,
        QuestionProgram,
        learn_questions,
        load_question_model,
    )
    from .qa.answering import QuestionReasoner
    from .qa.answers import WordAnswer, WordAnswers
    from .qa.evaluation import QuestionMeasures
    from .qa.examples import WordQuestion
    from .reasoning.answers import Answer, Proof, WhyNot
    from .reasoning.frames import Answers, PredictionBatches
    from .reasoning.reasoner import Reasoner
    from .rules.rule import Rule, RuleSet

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Answers",
    "Callbacks",
    "Checkpoints",
    "ConfigError",
    "DataError",
    "Evaluation",
    "FormatError",
    "KnowledgeBase",
    "LearnedProgram",
    "ModelConfig",
    "ModelError",
    "NeuralLP",
    "NeuralLPError",
    "Plan",
    "PredictionBatches",
    "Program",
    "Proof",
    "QuestionConfig",
    "QuestionError",
    "QuestionEvaluation",
    "QuestionMeasures",
    "QuestionProgram",
    "QuestionReasoner",
    "QuestionTrainingConfig",
    "Reasoner",
    "Rule",
    "RuleProgram",
    "RuleSet",
    "Split",
    "TrainingConfig",
    "UnknownNameError",
    "WeightingConfig",
    "WhyNot",
    "WordAnswer",
    "WordAnswers",
    "WordQuestion",
    "evaluate",
    "learn",
    "learn_questions",
    "load",
    "load_model",
    "load_program",
    "load_question_model",
    "load_questions",
]

_HOMES = {
    "config": (
        "ModelConfig",
        "Plan",
        "QuestionConfig",
        "QuestionTrainingConfig",
        "TrainingConfig",
        "WeightingConfig",
    ),
    "errors": (
        "ConfigError",
        "DataError",
        "FormatError",
        "ModelError",
        "NeuralLPError",
        "QuestionError",
        "UnknownNameError",
    ),
    "evaluation": (
        "Evaluation",
        "evaluate",
    ),
    "graph.knowledge_base": (
        "KnowledgeBase",
        "Split",
    ),
    "io.questions": ("load_questions",),
    "io.triples": ("load",),
    "neural.model": ("NeuralLP",),
    "pipeline.callbacks": ("Callbacks", "Checkpoints"),
    "pipeline.learn": ("learn",),
    "pipeline.program": (
        "LearnedProgram",
        "Program",
        "RuleProgram",
        "load_model",
        "load_program",
    ),
    "pipeline.questions": (
        "QuestionEvaluation",
        "QuestionProgram",
        "learn_questions",
        "load_question_model",
    ),
    "qa.answering": ("QuestionReasoner",),
    "qa.answers": (
        "WordAnswer",
        "WordAnswers",
    ),
    "qa.evaluation": ("QuestionMeasures",),
    "qa.examples": ("WordQuestion",),
    "reasoning.answers": (
        "Answer",
        "Proof",
        "WhyNot",
    ),
    "reasoning.frames": (
        "Answers",
        "PredictionBatches",
    ),
    "reasoning.reasoner": ("Reasoner",),
    "rules.rule": (
        "Rule",
        "RuleSet",
    ),
}


def __getattr__(name: str) -> Any:
    # Importing torch costs a second, which `neurallp --help` must not pay: names are fetched when used.
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f".{home}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
