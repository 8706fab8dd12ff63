"""Rules in the order in which a person reads them: reasons first, then rules against, in groups.

Rules that predict nearly the same pairs form one group, which is shown by its first rule. The order is by
clarity: a lower bound of the share of right conclusions among the paths along the body. A rule that states a
definition is confident and reaches each conclusion in one way; a confident rule that reaches the same
conclusions in many ways (a sibling of a sibling of ...) follows from the definition and comes later. A rule
that names its answer or its source says nothing of others, so its clarity is multiplied by its share of the
facts.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from ..config import RuleOrder
from ..graph.arrays import Ids
from ..graph.knowledge_base import KnowledgeBase
from ..graph.operators import Operators
from ..graph.vocabulary import is_inverse, relation_of
from .paths import Path
from .rule import Rule, atom, facts_along
from .support import find_named, predict_pairs, predicting_paths

#: Rules that share at least this much of the pairs that either predicts (Jaccard) form a group.
MIN_OVERLAP = 0.8

#: Sources of a query on which the pairs of two rules are compared, at most.
NUM_SOURCES = 300

#: Right conclusions of a rule that are looked at for other paths than along themselves, at most.
NUM_CONCLUSIONS = 300

#: Standard errors below the observed share at which a lower bound lies: 95 % of the mass is above.
Z = 1.645


@dataclass(frozen=True)
class RuleGroup:
    """A rule, those that predict nearly the same pairs, and an example: the facts of one conclusion.

    `circular_share` is the share of right conclusions that are reached only along themselves: no evidence.
    """

    rule: Rule
    similar: tuple[Rule, ...] = ()
    example: str | None = None
    circular_share: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the group as one JSON object."""
        return {
            **self.rule.as_dict(),
            "example": self.example,
            "similar": [str(each) for each in self.similar],
            "circular_share": self.circular_share,
        }


@dataclass(frozen=True)
class Listing:
    """The rules of one query: the reasons for an answer, and the rules against one."""

    query: str
    reasons: tuple[RuleGroup, ...]
    against: tuple[RuleGroup, ...]

    @property
    def heading(self) -> str:
        """What the query asks, in words."""
        asked = atom(self.query, "X", "Y")
        return f"{asked}: X is given, Y is sought" + (" (inverse)" if is_inverse(self.query) else "")

    def __len__(self) -> int:
        return len(self.reasons) + len(self.against)

    def as_dict(self) -> dict[str, Any]:
        """Return the listing as one JSON object."""
        reasons, against = ([group.as_dict() for group in side] for side in (self.reasons, self.against))
        return {"query": self.query, "reasons": reasons, "against": against}


def clarity(rule: Rule, num_facts: int = 0) -> float:
    """Return a lower bound of the share of right conclusions among a rule's paths; 0 if not counted.

    That of a rule which names its answer or its source is multiplied by the share of the query's facts that
    it concludes.
    """
    bound = lower_bound(rule.support or 0, rule.num_paths or 0)
    return bound * (rule.support or 0) / num_facts if rule.names_entities and num_facts else bound


def lower_bound(successes: float, trials: float) -> float:
    """Return Wilson's lower bound of a share.

    >>> round(lower_bound(9, 10), 2), round(lower_bound(900, 1000), 2), lower_bound(0, 0)
    (0.65, 0.88, 0.0)
    """
    if not trials:
        return 0.0
    share, spread = successes / trials, Z * Z / trials
    root = float(np.sqrt(share * (1 - share) * spread + spread * spread / 4))
    return max(0.0, (share + spread / 2 - root) / (1 + spread))


#: How each order ranks rules; ties are broken by weight, then by the shorter body.
ORDERS: dict[RuleOrder, Callable[[Rule], float]] = {
    "clarity": clarity,
    "weight": lambda rule: abs(_strength(rule)),
    "confidence": lambda rule: rule.confidence,
    "support": lambda rule: rule.support or 0,
}


def _strength(rule: Rule) -> float:
    return rule.confidence if rule.weight is None else rule.weight


def in_order(rules: Iterable[Rule], order: RuleOrder, num_facts: int = 0) -> list[Rule]:
    """Return rules sorted, those that come first in a listing first; `num_facts` are facts of their query."""
    rank = partial(clarity, num_facts=num_facts) if order == "clarity" else ORDERS[order]
    return sorted(rules, key=lambda rule: (-rank(rule), len(rule.body), -abs(_strength(rule)), rule.body))


def list_rules(
    query: str,
    rules: Sequence[Rule],
    kb: KnowledgeBase | None,
    limit: int = 10,
    order: RuleOrder = "clarity",
    labels: Mapping[str, str] | None = None,
) -> Listing:
    """Return the listing of one query, `limit` groups for and against each; examples and groups need `kb`.

    `labels` are what entities are called in examples.

    Rules against an answer are ordered by weight: such a rule is good where few conclusions are right.
    Rules that only order answers, such as the prior, are listed last.
    """
    first = order if kb is not None else "weight"
    grouping = None if kb is None else _Grouping(kb, query, labels or {})
    num_facts = 0 if grouping is None else len(grouping.facts)
    positive = (rule for rule in rules if not (rule.is_against or rule.only_orders))
    reasons = in_order(positive, first, num_facts)
    against = in_order((rule for rule in rules if rule.is_against and not rule.only_orders), "weight")
    ordering = [rule for rule in rules if rule.only_orders and rule.weight]
    group: Callable[[Sequence[Rule]], Iterator[RuleGroup]] = partial(map, RuleGroup)
    if grouping is not None:
        group = partial(grouping.groups, limit=limit)
    sides = [
        [*list(group(side))[:limit], *(RuleGroup(rule) for rule in ordering if rule.is_against == is_against)]
        for is_against, side in ((False, reasons), (True, against))
    ]
    return Listing(query, tuple(sides[0]), tuple(sides[1]))


class _Grouping:
    """Groups the rules of one query by what they predict on the facts of a knowledge base."""

    def __init__(self, kb: KnowledgeBase, query: str, labels: Mapping[str, str]) -> None:
        self.kb, self.operators, self.labels = kb, Operators.of(kb), labels
        self.query = kb.relations.operator_id(query)
        edges = self.operators.edges_by_operator(self.query)
        self.facts = np.stack([self.operators.sources[edges], self.operators.targets[edges]], axis=1)
        sources = np.unique(self.facts[:, 0])
        step = max(1, len(sources) // NUM_SOURCES)
        self.sources = sources[::step][:NUM_SOURCES]

    def groups(self, rules: Sequence[Rule], limit: int) -> Iterator[RuleGroup]:
        """Yield up to `limit` groups; each rule joins the first group whose leader it resembles."""
        leaders: list[tuple[Ids, list[Rule]]] = []
        for rule in rules:
            pairs = self._pairs(rule)
            for leader, members in leaders:
                if _overlap(pairs, leader) >= MIN_OVERLAP:
                    members.append(rule)
                    break
            else:
                if len(leaders) < limit:
                    leaders.append((pairs, [rule]))
        for _, (first, *others) in leaders:
            yield RuleGroup(first, tuple(others), self.example(first), self._circular_share(first))

    def _pairs(self, rule: Rule) -> Ids:
        """Return the pairs that a rule predicts from the sampled sources, or its own, as sorted keys."""
        sources = self.sources if rule.source is None else find_named(rule.source, self.kb)
        rows, answers = predict_pairs(rule, self.kb, self.operators, sources)
        return sources[rows] * len(self.kb.entities) + answers

    def example(self, rule: Rule) -> str | None:
        """Return the facts along a path to a right conclusion (against: to a wrong one); None without any."""
        for source, answer in self._tried(rule):
            if path := self._path_without(rule, source, answer):
                concluded = atom(rule.target, self._name(source), self._name(answer))
                facts = ", ".join(facts_along(rule, list(map(self._name, path))))
                return f"{facts}, but not {concluded}" if rule.is_against else f"{concluded} as {facts}"
        return None

    def _path_without(self, rule: Rule, source: int, answer: int) -> Path:
        """Return a path to a conclusion that does not lead along the conclusion itself; empty without any."""
        names = self.kb.entities
        itself = atom(rule.target, names[source], names[answer])
        for path in predicting_paths(rule, self.kb, self.operators, source, answer):
            if itself not in facts_along(rule, [names[entity] for entity in path]):
                return path
        return ()

    def _circular_share(self, rule: Rule) -> float:
        """Return the share of right conclusions that are reached only along themselves."""
        if rule.is_against or relation_of(rule.target) not in map(relation_of, rule.body):
            return 0.0
        tried = list(islice(self._tried(rule), NUM_CONCLUSIONS))
        return sum(not self._path_without(rule, *pair) for pair in tried) / len(tried) if tried else 0.0

    def _name(self, entity: int) -> str:
        name = self.kb.entities[entity]
        return self.labels.get(name, name)

    def _tried(self, rule: Rule) -> Iterator[tuple[int, int]]:
        """Yield conclusions of a rule that are right, or wrong where the rule is against them."""
        known = self.facts[:, 0] * len(self.kb.entities) + self.facts[:, 1]
        sources, answers = np.divmod(self._pairs(rule), len(self.kb.entities))
        chosen = np.isin(sources * len(self.kb.entities) + answers, known) != rule.is_against
        yield from zip(sources[chosen].tolist(), answers[chosen].tolist(), strict=True)


def _overlap(one: Ids, other: Ids) -> float:
    """Return the Jaccard similarity of two sets of distinct keys."""
    shared = len(np.intersect1d(one, other, assume_unique=True))
    total = len(one) + len(other) - shared
    return shared / total if total else 1.0
