"""Knowledge bases to learn from: generated here, or fetched by name."""

from .family import family_knowledge_base, family_triples

__all__ = ["family_knowledge_base", "family_triples"]
