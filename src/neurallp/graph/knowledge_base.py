"""Knowledge bases and their splits: facts over named entities and relations. Numpy only, no torch.

A fact is (head, relation, tail). Relation r of R has two operators: r itself, from the head to the tail, and
its inverse r + R, written `~name`, from the tail to the head. A query is an operator too: (?, r, t) is asked
as (t, ~r), so that no code needs a direction flag.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError
from .arrays import Ids, distinct
from .vocabulary import Relations, Vocabulary

Triple = tuple[str, str, str]  # the same by name


@dataclass(frozen=True, eq=False)
class KnowledgeBase:
    """Facts over named entities and relations."""

    entities: Vocabulary
    relations: Relations
    facts: Ids
    num_duplicates: int = 0

    @classmethod
    def from_triples(cls, triples: Iterable[tuple[str, str, str]]) -> "KnowledgeBase":
        """Return the knowledge base of named triples; repetitions are dropped and counted.

        >>> kb = KnowledgeBase.from_triples([("anna", "father", "bob"), ("bob", "brother", "carl")])
        >>> kb
        KnowledgeBase(3 entities, 2 relations, 2 facts)
        """
        return name_parts({"facts": triples}).known

    def __repr__(self) -> str:
        return (
            f"KnowledgeBase({len(self.entities):,} entities, {len(self.relations):,} relations, "
            f"{len(self.facts):,} facts)"
        )

    def named_facts(self) -> Iterator[Triple]:
        """Yield the facts by name, in order."""
        entities, relations = self.entities.names, self.relations.names
        return ((entities[h], relations[r], entities[t]) for h, r, t in self.facts.tolist())

    def with_relations(self, relations: Relations) -> "KnowledgeBase":
        """Return the same facts under another numbering; facts of other relations are left out."""
        return KnowledgeBase(
            self.entities, relations, renumber_relations(self.facts, self.relations, relations)
        )

    @property
    def num_facts(self) -> int:
        """How many facts there are."""
        return len(self.facts)

    @cached_property
    def reflexive_relations(self) -> NDArray[np.bool_]:
        """For each relation, whether a fact relates an entity to itself."""
        flags = np.zeros(len(self.relations), dtype=bool)
        flags[self.facts[self.facts[:, 0] == self.facts[:, 2], 1]] = True
        return flags


def renumber_relations(triples: Ids, old: Relations, new: Relations) -> Ids:
    """Return the triples whose relation is also in `new`, numbered as there."""
    if old == new:
        return triples
    numbers = np.array([new.find(name) for name in old] or [-1], dtype=np.int64)
    renumbered = triples.copy()
    renumbered[:, 1] = numbers[triples[:, 1]]
    return renumbered[renumbered[:, 1] >= 0]


@dataclass(frozen=True, eq=False)
class Split:
    """Triples in parts: `facts` for the graph, `train` to learn from, `valid` to select, `test` to evaluate.

    `facts` may be empty; then training uses `train` itself as the graph. At validation and test the graph is
    `known`: facts and train together.
    """

    entities: Vocabulary
    relations: Relations
    facts: Ids
    train: Ids
    valid: Ids
    test: Ids
    num_duplicates: int = 0

    @cached_property
    def known(self) -> KnowledgeBase:
        """Facts and train: the graph at validation and test."""
        triples = distinct(np.concatenate([self.facts, self.train]))
        return KnowledgeBase(self.entities, self.relations, triples, self.num_duplicates)

    @cached_property
    def given(self) -> KnowledgeBase:
        """Facts, train and valid: what questions are answered from after learning; test is left out."""
        triples = distinct(np.concatenate([self.facts, self.train, self.valid]))
        return KnowledgeBase(self.entities, self.relations, triples, self.num_duplicates)

    @cached_property
    def true_triples(self) -> Ids:
        """The triples of all parts, to filter ranks with."""
        return distinct(np.concatenate([self.facts, self.train, self.valid, self.test]))

    def __repr__(self) -> str:
        counts = (f"{name} {len(getattr(self, name)):,}" for name in ("facts", "train", "valid", "test"))
        return (
            f"Split({', '.join(counts)}; {len(self.entities):,} entities, {len(self.relations):,} relations)"
        )

    def with_relations(self, relations: Relations) -> "Split":
        """Return the same triples under another numbering; those of other relations are left out."""
        facts, train, valid, test = (
            renumber_relations(triples, self.relations, relations)
            for triples in (self.facts, self.train, self.valid, self.test)
        )
        return Split(self.entities, relations, facts, train, valid, test, self.num_duplicates)

    def without_test(self) -> "Split":
        """Return the split without its test part, and without entities that occur there alone.

        Learning uses this: the number of entities must not depend on the test part.
        """
        parts = self.facts, self.train, self.valid
        used, places = np.unique(np.concatenate([each[:, [0, 2]] for each in parts]), return_inverse=True)
        pairs, names = (
            places.reshape(-1, 2),
            self.entities.with_names(self.entities[i] for i in used.tolist()),
        )
        bounds = np.cumsum([0, *map(len, parts)])
        facts, train, valid = (
            np.column_stack([own[:, 0], each[:, 1], own[:, 1]])
            for each, own in zip(parts, np.split(pairs, bounds[1:-1]), strict=True)
        )
        return Split(names, self.relations, facts, train, valid, self.test[:0], self.num_duplicates)


def name_parts(
    parts: dict[str, Iterable[tuple[str, str, str]]], prefixes: Mapping[str, str] | None = None
) -> Split:
    """Return a split whose vocabularies are shared by all parts; repetitions within a part are dropped.

    Parts are named facts, train, valid and test; those not given are empty. Names may be asked for with
    `prefixes`.
    """
    entities: dict[str, int] = {}
    relations: dict[str, int] = {}
    numbered = {name: _number(triples, entities, relations) for name, triples in parts.items()}
    kept = {name: distinct(triples) for name, triples in numbered.items()}
    lost = sum(len(numbered[name]) - len(kept[name]) for name in parts)
    none = np.empty((0, 3), dtype=np.int64)
    facts, train, valid, test = (kept.get(name, none) for name in ("facts", "train", "valid", "test"))
    names = Vocabulary(entities).with_prefixes(prefixes or {})
    operators = Relations(relations).with_prefixes(prefixes or {})
    return Split(names, operators, facts, train, valid, test, lost)


def _number(
    triples: Iterable[tuple[str, str, str]], entities: dict[str, int], relations: dict[str, int]
) -> Ids:
    rows = [
        (
            entities.setdefault(head, len(entities)),
            relations.setdefault(relation, len(relations)),
            entities.setdefault(tail, len(entities)),
        )
        for head, relation, tail in triples
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def split_triples(kb: KnowledgeBase, seed: int = 0, share: float = 0.1) -> Split:
    """Return a random split with `share` of the facts each for valid and test.

    Every relation keeps at least one fact in train, so that it can be learned at all.
    """
    if not 0 < share < 0.5:
        raise ConfigError(f"The share of facts for valid and test must lie between 0 and 0.5, got {share}.")
    order = np.random.default_rng(seed).permutation(len(kb.facts))
    _, first = np.unique(kb.facts[order, 1], return_index=True)
    movable = np.delete(order, first)
    num_each = min(round(share * len(order)), len(movable) // 2)
    valid, test = movable[:num_each], movable[num_each : 2 * num_each]
    train = np.setdiff1d(order, np.concatenate([valid, test]))
    none = np.empty((0, 3), dtype=np.int64)
    train, valid, test = (kb.facts[np.sort(rows)] for rows in (train, valid, test))
    return Split(kb.entities, kb.relations, none, train, valid, test, kb.num_duplicates)


def hold_out(split: Split, seed: int = 0, share: float = 0.1) -> Split:
    """Return the split with a share of train as its validation part, for choices where it has none.

    Every relation keeps at least one fact in train; a split of very few facts stays as it is.
    """
    order = np.random.default_rng(seed).permutation(len(split.train))
    _, first = np.unique(split.train[order, 1], return_index=True)
    movable = np.delete(order, first)
    moved = np.isin(np.arange(len(order)), movable[: round(share * len(order))])
    return replace(split, train=split.train[~moved], valid=split.train[moved])


def separate_facts(split: Split, seed: int = 0, unlinked: bool = False) -> Split:
    """Return the split with facts and train separated 3:1, as the paper does; a given facts part stays.

    By default every relation with n triples puts max(1, n // 4) of them in train. With `unlinked`
    (the paper's FB15KSelected) a quarter of all triples is drawn so that no two entities of a train
    triple are directly linked in facts.
    """
    if len(split.facts):
        return split
    rng = np.random.default_rng(seed)
    draw = _draw_unlinked if unlinked else _draw_per_relation
    asked = draw(split.train, rng)
    return Split(
        split.entities,
        split.relations,
        split.train[~asked],
        split.train[asked],
        split.valid,
        split.test,
        split.num_duplicates,
    )


def _draw_per_relation(triples: Ids, rng: np.random.Generator) -> NDArray[np.bool_]:
    asked = np.zeros(len(triples), dtype=bool)
    for relation in np.unique(triples[:, 1]):
        rows = np.flatnonzero(triples[:, 1] == relation)
        asked[rng.permutation(rows)[: max(1, len(rows) // 4)]] = True
    return asked


def _draw_unlinked(triples: Ids, rng: np.random.Generator) -> NDArray[np.bool_]:
    ends = np.sort(triples[:, [0, 2]], axis=1)
    _, pair, size = np.unique(ends, axis=0, return_inverse=True, return_counts=True)
    shuffled = rng.permutation(len(size))
    # Whole pairs move together, so the quarter may be missed by less than the largest pair.
    before = np.cumsum(size[shuffled]) - size[shuffled]
    taken = shuffled[before < max(1, len(triples) // 4)]
    return np.isin(pair.reshape(-1), taken)
