"""What facts look like before learning: counts, properties of relations, and what to expect of them."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .arrays import Flags, Floats, Ids, concatenate_ranges, group_offsets
from .knowledge_base import KnowledgeBase
from .numbers import find_numeric
from .spelling import one_line

#: The share of a relation's facts for which a property must hold.
HOLDS = 0.9

#: Facts of a relation that transitivity is checked on, and continuations of each.
NUM_SAMPLED, MAX_CONTINUED = 500, 10

#: Fewer facts than these are too few to learn from: of a relation, and of all.
FEW_OF_RELATION, FEW = 10, 50

#: Least facts for a pair of relations to be reported as inverse or equal.
MIN_SHARED = 3


@dataclass(frozen=True)
class RelationStatistics:
    """One relation: its size, and the shares of its facts for which a property holds."""

    name: str
    num_facts: int
    num_heads: int
    num_tails: int
    symmetric: float  # facts whose reverse is a fact
    transitive: float | None  # of a sample of two facts in a row, those with the fact from end to end
    reflexive: float  # facts from an entity to itself
    numeric: bool  # whether its objects are numbers or dates

    @property
    def tails_per_head(self) -> float:
        return self.num_facts / max(self.num_heads, 1)

    @property
    def heads_per_tail(self) -> float:
        return self.num_facts / max(self.num_tails, 1)

    @property
    def kinds(self) -> list[str]:
        """What the relation is, in the field's words."""
        enough = self.num_facts >= FEW_OF_RELATION
        found = {
            "functional": enough and self.tails_per_head <= 1.02,
            "inverse functional": enough and self.heads_per_tail <= 1.02,
            "symmetric": self.symmetric >= HOLDS,
            "transitive": self.transitive is not None and self.transitive >= HOLDS,
            "reflexive": self.reflexive >= HOLDS,
            "numbers": self.numeric,
            "few facts": not enough,
        }
        return [name for name, holds in found.items() if holds]

    def as_dict(self) -> dict[str, Any]:
        """Return one JSON object."""
        means = {"tails_per_head": self.tails_per_head, "heads_per_tail": self.heads_per_tail}
        return asdict(self) | means | {"kinds": self.kinds}


@dataclass(frozen=True)
class RelationPair:
    """Two relations and the share of the first one's facts that the second has too, or has reversed."""

    first: str
    second: str
    share: float


@dataclass(frozen=True)
class Statistics:
    """What a knowledge base looks like."""

    num_facts: int
    num_entities: int
    num_duplicates: int
    mean_degree: float
    median_degree: float
    max_degree: int
    max_degree_entity: str
    num_once: int  # entities in one fact only
    linked: float  # facts between entities that another fact links
    relations: tuple[RelationStatistics, ...]  # the largest first
    inverse: tuple[RelationPair, ...]
    equal: tuple[RelationPair, ...]

    @property
    def summary(self) -> list[str]:
        """The counts, in sentences."""
        pairs = [(self.inverse, "Inverse"), (self.equal, "Equal")]
        return [
            f"{self.num_facts:,} facts about {self.num_entities:,} entities and {len(self.relations):,} "
            f"relations; {self.num_duplicates:,} repetitions.",
            f"An entity is in {self.mean_degree:.1f} facts on average (median {self.median_degree:g}); "
            f"{self.max_degree_entity} in {self.max_degree:,}; {self.num_once:,} entities in one only.",
            *(
                f"{title} relations: {_some([f'{each.first} and {each.second}' for each in found])}."
                for found, title in pairs
                if found
            ),
        ]

    @property
    def expectations(self) -> list[str]:
        """What to expect of learning, in sentences."""
        sparse = [each.name for each in self.relations if each.num_facts < FEW_OF_RELATION]
        numeric = [each.name for each in self.relations if each.numeric]
        told = {
            f"{self.num_facts:,} facts are too few to learn reliable rules from. Hundreds are needed.": (
                self.num_facts < FEW
            ),
            f"{len(sparse):,} of {len(self.relations):,} relations have fewer than {FEW_OF_RELATION} facts: "
            f"expect few rules for them ({_some(sparse)}).": bool(sparse),
            f"Most entities are in one fact ({self.num_once:,} of {self.num_entities:,}): few paths lead to "
            "answers about them.": 2 * self.num_once > self.num_entities,
            f"{self.linked:.0%} of the facts link entities that another fact links: short rules will answer "
            "many questions.": self.linked >= 0.3,
            f"{_some([f'{each.first} and {each.second}' for each in self.inverse])}: almost inverse. One "
            "predicts the other, so figures say little about longer rules.": bool(self.inverse),
            f"{_some([f'{each.first} and {each.second}' for each in self.equal])}: almost the same facts. "
            "Drop one of each pair, unless that is what you study.": bool(self.equal),
            f"{_some(numeric)}: objects are numbers or dates, each an entity of its own. `learn --numbers "
            "bins` makes ranges of them.": bool(numeric),
        }
        return [sentence for sentence, holds in told.items() if holds] or ["Nothing unusual: learn."]

    def as_dict(self) -> dict[str, Any]:
        """Return one JSON object."""
        relations = [each.as_dict() for each in self.relations]
        return asdict(self) | {"relations": relations, "expectations": self.expectations}


def _some(names: list[str], num: int = 5) -> str:
    more = f" and {len(names) - num:,} more" if len(names) > num else ""
    return ", ".join(map(one_line, names[:num])) + more


def describe_facts(kb: KnowledgeBase) -> Statistics:
    """Return the statistics of a knowledge base; a million facts take seconds."""
    degrees = np.bincount(kb.facts[:, [0, 2]].ravel(), minlength=len(kb.entities))
    reversed_share, equal_share, linked = _compare_relations(kb)
    top = int(degrees.argmax())
    return Statistics(
        num_facts=len(kb.facts),
        num_entities=len(kb.entities),
        num_duplicates=kb.num_duplicates,
        mean_degree=float(degrees.mean()),
        median_degree=float(np.median(degrees)),
        max_degree=int(degrees[top]),
        max_degree_entity=kb.entities[top],
        num_once=int((degrees == 1).sum()),
        linked=linked,
        relations=_describe_relations(kb, reversed_share),
        inverse=_pairs(reversed_share, kb),
        equal=_pairs(equal_share, kb),
    )


Shares = dict[tuple[int, int], float]


def _describe_relations(kb: KnowledgeBase, reversed_share: Shares) -> tuple[RelationStatistics, ...]:
    num = len(kb.relations)
    head, relation, tail = kb.facts.T
    sizes = np.bincount(relation, minlength=num)
    heads, tails = (_count_distinct(relation, ends, num) for ends in (head, tail))
    loops = np.bincount(relation[head == tail], minlength=num)
    transitive = _measure_transitive(kb)
    numeric = find_numeric(kb)
    found = [
        RelationStatistics(
            name,
            int(sizes[r]),
            int(heads[r]),
            int(tails[r]),
            reversed_share.get((r, r), 0.0),
            None if np.isnan(transitive[r]) else float(transitive[r]),
            float(loops[r] / max(sizes[r], 1)),
            name in numeric,
        )
        for r, name in enumerate(kb.relations)
    ]
    return tuple(sorted(found, key=lambda each: -each.num_facts))


def _count_distinct(groups: Ids, values: Ids, num_groups: int) -> Ids:
    """Return how many different values each group has."""
    keys = np.unique(groups * (values.max(initial=0) + 1) + values)
    return np.bincount(keys // (values.max(initial=0) + 1), minlength=num_groups)


def _compare_relations(kb: KnowledgeBase) -> tuple[Shares, Shares, float]:
    """Return the shares of facts whose reverse, and whose pair, another relation has, and of linked facts."""
    head, relation, tail = kb.facts.T
    num_entities, num = len(kb.entities), len(kb.relations)
    key, back = head * num_entities + tail, tail * num_entities + head
    order = np.argsort(key, kind="stable")
    reverse_pairs, has_reverse = _join(key[order], relation[order], back, relation, num)
    same_pairs, _ = _join(key[order], relation[order], key, relation, num)
    starts, stops = np.searchsorted(key[order], key, "left"), np.searchsorted(key[order], key, "right")
    is_linked = (stops - starts > 1) | (has_reverse & (head != tail))
    sizes = np.bincount(relation, minlength=num)
    shares = [
        {(r, s): count / sizes[r] for (r, s), count in pairs.items() if count >= MIN_SHARED or r == s}
        for pairs in (reverse_pairs, same_pairs)
    ]
    return shares[0], shares[1], float(is_linked.mean()) if len(key) else 0.0


def _join(
    keys: Ids, relations: Ids, wanted: Ids, own: Ids, num_relations: int
) -> tuple[dict[tuple[int, int], int], Flags]:
    """Return how often relations r of `own` and s share a key, and which of `wanted` are among `keys`."""
    starts, stops = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
    pairs = np.repeat(own, stops - starts) * num_relations + relations[concatenate_ranges(starts, stops)]
    found, counts = np.unique(pairs, return_counts=True)
    named = zip((found // num_relations).tolist(), (found % num_relations).tolist(), strict=True)
    return dict(zip(named, counts.tolist(), strict=True)), stops > starts


def _pairs(shares: Shares, kb: KnowledgeBase) -> tuple[RelationPair, ...]:
    """Return pairs of different relations of which each has almost all facts of the other."""
    return tuple(
        RelationPair(kb.relations[r], kb.relations[s], share)
        for (r, s), share in shares.items()
        if r < s and share >= HOLDS and shares.get((s, r), 0.0) >= HOLDS
    )


def _measure_transitive(kb: KnowledgeBase) -> Floats:
    """Return for each relation how many of two facts in a row have the fact from end to end; NaN for none."""
    num_entities, num = len(kb.entities), len(kb.relations)
    facts = kb.facts[np.lexsort((kb.facts[:, 2], kb.facts[:, 0], kb.facts[:, 1]))]
    head, relation, tail = facts.T
    source = relation * num_entities + head
    triple = source * num_entities + tail
    rows = _sample(relation, num)
    wanted = relation[rows] * num_entities + tail[rows]
    starts, stops = np.searchsorted(source, wanted, "left"), np.searchsorted(source, wanted, "right")
    stops = np.minimum(stops, starts + MAX_CONTINUED)
    first = np.repeat(rows, stops - starts)
    ends = tail[concatenate_ranges(starts, stops)]
    kept = (ends != head[first]) & (tail[first] != head[first]) & (ends != tail[first])
    first, ends = first[kept], ends[kept]
    holds = np.isin(source[first] * num_entities + ends, triple)
    chains = np.bincount(relation[first], minlength=num).astype(np.float64)
    chains[chains < MIN_SHARED] = np.nan
    return np.bincount(relation[first], holds, minlength=num) / chains


def _sample(relation: Ids, num_relations: int) -> Ids:
    """Return rows of facts, sorted by relation: at most NUM_SAMPLED of each."""
    order = np.random.default_rng(0).permutation(len(relation))
    order = order[np.argsort(relation[order], kind="stable")]
    offsets = group_offsets(relation, num_relations)
    return order[np.arange(len(order)) - offsets[relation[order]] < NUM_SAMPLED]
