"""Small theories: the few rules of each query that answer best together, and what they cost in accuracy."""

from dataclasses import dataclass, replace
from math import log1p

import numpy as np

from ..config import Plan, WeightingConfig
from ..graph.knowledge_base import KnowledgeBase, Split
from ..rules.rule import RuleSet
from ..weighting.kinds import as_candidates
from ..weighting.kinds.base import Candidate
from ..weighting.weighted_rules import WeightedQuery, WeightedRules
from .learn import rules_as_candidates, rules_to_weigh, weigh_rules
from .program import LearnedProgram, Program, RuleProgram

#: Confidences above this are taken as this: a rule that is always right would outweigh any others.
MAX_CONFIDENCE = 0.999


@dataclass(frozen=True)
class Theory:
    """A small theory, and the validation MRR of it and of the whole model (None: nothing to validate on)."""

    rules: RuleSet
    num_rules: int  # of each query, at most
    mrr: float | None
    whole_mrr: float | None
    program: Program

    @property
    def cost(self) -> str:
        """What the theory costs, as a sentence."""
        size = f"{self.num_rules} rules a query" if self.num_rules > 1 else "1 rule a query"
        if self.mrr is None or self.whole_mrr is None:
            return f"{size}: there is no validation part to measure what that costs."
        return f"{size}: validation MRR {_short(self.mrr)} instead of {_short(self.whole_mrr)}."


def _short(mrr: float) -> str:
    return f"{mrr:.3f}".removeprefix("0")


def small_theory(program: Program, split: Split, num_rules: int) -> Theory:
    """Return the theory of `num_rules` rules a query, of all kinds, with weights fitted anew."""
    few = _fit(program, split, num_rules, None)
    rules = few.rules(limit=num_rules, min_share=0, kb=split.known)
    return Theory(rules, num_rules, _mrr(few, split), _mrr(program, split), few)


def plain_theory(program: Program, split: Split, num_rules: int) -> Theory:
    """Return a theory of chains with confidences, as logic programs have them.

    Its MRR is that of the file: answers ranked by noisy-or, 1 - the product over rules of (1 - confidence).
    """
    few = _fit(program, split, num_rules, ("chain", "prior"))
    found = few.rules(limit=num_rules, min_share=0, kb=split.known)
    rules = RuleSet(rule for rule in found if rule.is_deductive and rule.support)
    ranked = _noisy_or(rules, program, split.known)
    return Theory(rules, num_rules, _mrr(ranked, split), _mrr(program, split), ranked)


def _noisy_or(rules: RuleSet, program: Program, kb: KnowledgeBase) -> LearnedProgram:
    """Return rules that are ranked by noisy-or: sums of -log(1 - confidence) over those that apply."""
    relations = program.relations
    found: dict[int, list[tuple[Candidate, float]]] = {}
    for rule in rules:
        for query, candidate in as_candidates([rule], relations):
            found.setdefault(query, []).append(
                (candidate, -log1p(-min(MAX_CONFIDENCE, rule.stated_confidence)))
            )
    queries = {query: _weighted(own) for query, own in found.items()}
    reflexive = kb.with_relations(relations).reflexive_relations
    return LearnedProgram(
        Plan(None, None, WeightingConfig()), weighted_rules=WeightedRules(relations, reflexive, queries)
    )


def _weighted(rules: list[tuple[Candidate, float]]) -> WeightedQuery:
    weights = np.zeros((len(rules), 3))
    weights[:, 0] = [weight for _, weight in rules]
    return WeightedQuery(tuple(candidate for candidate, _ in rules), weights, np.zeros(len(rules)))


def _fit(program: Program, split: Split, num_rules: int, kinds: tuple[str, ...] | None) -> Program:
    """Return weighted rules of a program with new weights; a neural model keeps its most confident rules."""
    if not isinstance(program, LearnedProgram) or program.weighted_rules is None:
        return RuleProgram(program.rules(limit=num_rules, kb=split.known))
    given = list(rules_to_weigh(program, num_rules))
    kinds = kinds or tuple(program.weighted_rules.num_of_kinds)
    config = program.plan.weighting or WeightingConfig()
    config = replace(config, max_rules=num_rules, num_candidates=0, kinds=kinds)
    wanted = (rule for rule in given if rule.kind in kinds)
    return weigh_rules(split.without_test(), config, rules_as_candidates(wanted, split.relations))


def _mrr(program: Program, split: Split) -> float | None:
    return program.evaluate(split, "valid").mrr if len(split.valid) else None
