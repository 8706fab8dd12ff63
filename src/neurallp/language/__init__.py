"""A query in words: what a question says, whom it is about, and the walk it asks for."""

from .model import QuestionConfig, QuestionModel
from .spotting import Mention, Spotter
from .words import WordVocabulary

__all__ = ["Mention", "QuestionConfig", "QuestionModel", "Spotter", "WordVocabulary"]
