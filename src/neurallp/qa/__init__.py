"""A query in words: what a question says, whom it is about, and the walk it asks for."""

from .entity_linking import Mention, Spotter
from .model import QuestionConfig, QuestionModel
from .tokens import WordVocabulary

__all__ = ["Mention", "QuestionConfig", "QuestionModel", "Spotter", "WordVocabulary"]
