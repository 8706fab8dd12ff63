"""Questions in words: the entity that a question names, and the chain rules that its other words ask for."""

from ..config import QuestionConfig
from .entity_linking import EntityLinker, Mention
from .model import QuestionModel
from .tokens import WordVocabulary

__all__ = ["EntityLinker", "Mention", "QuestionConfig", "QuestionModel", "WordVocabulary"]
