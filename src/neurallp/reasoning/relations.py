"""Which relations can be asked for, and warnings of those that the facts or the model lack."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..errors import DataError, DataWarning, brief, listed
from ..graph.knowledge_base import KnowledgeBase
from ..graph.vocabulary import Relations, relation_of
from ..rules.rule import Rule
from .scorers import HasRelations


def relations_to_ask(kb: KnowledgeBase, basis: HasRelations | Sequence[Rule]) -> Relations:
    """Return the relations that can be asked: a model's own, or those of the facts and of the rules.

    Warns of relations of the facts that a model does not know, and of relations in bodies without facts.
    """
    if isinstance(basis, HasRelations):
        if unknown := require_relations(kb, basis):
            _warn(unknown, "the model does not know", "Left out")
        _warn_of_missing(kb, basis.relations)
        return basis.relations.with_prefixes(kb.relations.prefixes)
    _warn_of_confidences(basis)
    _warn_of_missing(kb, dict.fromkeys(relation_of(name) for rule in basis for name in rule.body))
    named = (relation_of(name) for rule in basis for name in (*rule.body, rule.target))
    return Relations(dict.fromkeys([*kb.relations, *named])).with_prefixes(kb.relations.prefixes)


def with_canonical_names(rules: Iterable[Rule], relations: Relations) -> tuple[Rule, ...]:
    """Return rules whose relations have the names of the facts: rules for RDF may use declared prefixes."""
    named = relations.canonical_operator
    return tuple(
        replace(rule, target=named(rule.target), body=tuple(map(named, rule.body))) for rule in rules
    )


def _warn_of_confidences(rules: Sequence[Rule]) -> None:
    """Warn of confidences above 1, which only rules of a model with several controllers may have."""
    if high := [rule for rule in rules if rule.confidence > 1]:
        warnings.warn(
            f"Confidences lie between 0 and 1, but {brief(high[0])} has {high[0].confidence:g}: "
            f"such rules outweigh all others ({len(high):,} of {len(rules):,} rules).",
            DataWarning,
            stacklevel=4,
        )


def _warn_of_missing(kb: KnowledgeBase, relations: Iterable[str]) -> None:
    if missing := [name for name in relations if name not in kb.relations]:
        _warn(missing, "the knowledge base has no facts of", "Nothing follows from them")


def _warn(names: Sequence[str], what: str, effect: str) -> None:
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    warnings.warn(f"{effect}: {what} {listed(names[:5])}{more}.", DataWarning, stacklevel=5)


def require_relations(kb: KnowledgeBase, model: HasRelations) -> list[str]:
    """Return the relations of `kb` that `model` does not know; raise when they share none."""
    if not any(name in model.relations for name in kb.relations):
        known = listed(model.relations[:5])
        raise DataError(f"The knowledge base and the model share no relation. The model knows {known} ….")
    return [name for name in kb.relations if name not in model.relations]
