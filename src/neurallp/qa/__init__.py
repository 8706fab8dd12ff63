"""A query in words: what a question says, whom it is about, and the walk it asks for."""

from ..config import QuestionConfig
from .entity_linking import EntityLinker, Mention
from .model import QuestionModel
from .tokens import WordVocabulary

__all__ = ["EntityLinker", "Mention", "QuestionConfig", "QuestionModel", "WordVocabulary"]
