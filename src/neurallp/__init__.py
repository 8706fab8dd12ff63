"""Learn weighted logical rules from a knowledge base, answer questions with them, and show why."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .answers import Answer, Proof, WhyNot
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
    from .formats.questions import load_questions
    from .formats.triples import load
    from .knowledge import KnowledgeBase, Split
    from .language.answering import WordAnswer, WordAnswers
    from .language.questions import WordQuestion
    from .learning import learn
    from .model import ModelConfig, NeuralLP
    from .program import Program, RuleProgram, load_model, load_program
    from .questioning import QuestionProgram, learn_questions, load_question_model
    from .reasoning import Reasoner
    from .rules import Rule, RuleSet
    from .training import TrainingConfig

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "ConfigError",
    "DataError",
    "Evaluation",
    "FormatError",
    "KnowledgeBase",
    "ModelConfig",
    "ModelError",
    "NeuralLP",
    "NeuralLPError",
    "Program",
    "Proof",
    "QuestionError",
    "QuestionProgram",
    "Reasoner",
    "Rule",
    "RuleProgram",
    "RuleSet",
    "Split",
    "TrainingConfig",
    "UnknownNameError",
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
    "errors": (
        "ConfigError",
        "DataError",
        "FormatError",
        "ModelError",
        "NeuralLPError",
        "QuestionError",
        "UnknownNameError",
    ),
    "evaluation": ("Evaluation", "evaluate"),
    "formats.triples": ("load",),
    "knowledge": ("KnowledgeBase", "Split"),
    "model": ("ModelConfig", "NeuralLP"),
    "formats.questions": ("load_questions",),
    "language.answering": ("WordAnswer", "WordAnswers"),
    "language.questions": ("WordQuestion",),
    "learning": ("learn",),
    "program": ("Program", "RuleProgram", "load_model", "load_program"),
    "questioning": ("QuestionProgram", "learn_questions", "load_question_model"),
    "answers": ("Answer", "Proof", "WhyNot"),
    "reasoning": ("Reasoner",),
    "rules": ("Rule", "RuleSet"),
    "training": ("TrainingConfig",),
}


def __getattr__(name: str) -> Any:
    # Importing torch costs a second, which `neurallp --help` must not pay: names are fetched when used.
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f".{home}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
