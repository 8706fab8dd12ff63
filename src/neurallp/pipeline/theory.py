"""Small theories: the few rules of each query that answer best together, and what they cost in accuracy."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..config import Plan, WeightingConfig
from ..graph.knowledge_base import KnowledgeBase, Split
from ..graph.questions import KnownAnswers, ask_both_ways
from ..rules.rule import Rule, RuleSet
from ..weighting.graph_index import GraphIndex
from ..weighting.kinds import as_candidates, rules_as_candidates
from ..weighting.kinds.base import Candidate
from ..weighting.weighted_rules import WeightedQuery, WeightedRules
from .learn import rules_to_weigh, weigh_rules
from .noisy_or import evidence, select_chains
from .program import LearnedProgram, Program, RuleProgram

#: Chains of a query that a theory is selected from.
MAX_CHAINS = 200


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
    few = _fit(program, split, num_rules)
    rules = few.rules(limit=num_rules, min_share=0, kb=split.known)
    return Theory(rules, num_rules, _mrr(few, split), _mrr(program, split), few)


def plain_theory(program: Program, split: Split, num_rules: int) -> Theory:
    """Return a theory of chains with confidences, as logic programs have them.

    Its MRR is that of the file: answers ranked by noisy-or, 1 - the product over rules of (1 - confidence).
    """
    rules = RuleSet(_chains(program, split, num_rules))
    ranked = _noisy_or(rules, program, split.known)
    return Theory(rules, num_rules, _mrr(ranked, split), _mrr(program, split), ranked)


def _chains(program: Program, split: Split, num_rules: int) -> Iterator[Rule]:
    """Yield the chains of each query that answer best together, with counted confidences."""
    kb = split.known.with_relations(program.relations)
    index, known = GraphIndex.of(kb), KnownAnswers(kb.facts, len(kb.relations))
    asked = ask_both_ways(kb.facts, len(kb.relations))
    found = program.rules(limit=MAX_CHAINS, min_share=0, kb=kb)
    for target in found.targets:
        rules = [rule for rule in found.about(target) if rule.is_deductive and rule.body and rule.support]
        own = np.flatnonzero(asked.queries == kb.relations.operator_id(target))
        if rules and len(own):
            yield from select_chains(index, rules, asked[own], known, num_rules)


def _noisy_or(rules: RuleSet, program: Program, kb: KnowledgeBase) -> LearnedProgram:
    """Return rules that are ranked by noisy-or: sums of -log(1 - confidence) over those that apply."""
    relations = program.relations
    found: dict[int, list[tuple[Candidate, float]]] = {}
    for rule in rules:
        for query, candidate in as_candidates([rule], relations):
            found.setdefault(query, []).append((candidate, evidence(rule)))
    queries = {query: _weighted(own) for query, own in found.items()}
    reflexive = kb.with_relations(relations).reflexive_relations
    return LearnedProgram(
        Plan(None, None, WeightingConfig()), weighted_rules=WeightedRules(relations, reflexive, queries)
    )


def _weighted(rules: list[tuple[Candidate, float]]) -> WeightedQuery:
    weights = np.zeros((len(rules), 3))
    weights[:, 0] = [weight for _, weight in rules]
    return WeightedQuery(tuple(candidate for candidate, _ in rules), weights, np.zeros(len(rules)))


def _fit(program: Program, split: Split, num_rules: int) -> Program:
    """Return weighted rules of a program with new weights; a neural model keeps its most confident rules."""
    if not isinstance(program, LearnedProgram) or program.weighted_rules is None:
        return RuleProgram(program.rules(limit=num_rules, kb=split.known))
    given = rules_as_candidates(rules_to_weigh(program, num_rules), split.relations)
    config = program.plan.weighting or WeightingConfig()
    kinds = tuple(program.weighted_rules.num_of_kinds)
    config = replace(config, max_rules=num_rules, num_candidates=0, kinds=kinds)
    return weigh_rules(split.without_test(), config, given)


def _mrr(program: Program, split: Split) -> float | None:
    return program.evaluate(split, "valid").mrr if len(split.valid) else None
