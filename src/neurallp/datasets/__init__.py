"""Data sets: generated knowledge bases, and public data sets that are downloaded by name."""

from .family import family_knowledge_base, family_triples

__all__ = ["family_knowledge_base", "family_triples"]
