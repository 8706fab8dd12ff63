"""Vetoes: a program without some of its rules, and what that does to its validation ranks."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..errors import ConfigError, UnknownNameError, quoted
from ..evaluation import Evaluation, Scorer, rank_questions
from ..graph.arrays import Ids
from ..graph.knowledge_base import Split
from ..reasoning.reasoner import Basis, Reasoner
from ..rules.rule import RuleSet
from ..weighting.weighted_rules import WeightedQuery, WeightedRules
from .base import ask_part
from .program import LearnedProgram, Program, RuleProgram

#: Rules that do not count, as text, for each query (`uncle`, or `~uncle` for its inverse).
Vetoes = Mapping[str, Collection[str]]


def veto(program: Program, vetoes: Vetoes) -> Program:
    """Return a program without some rules; weights of the others and probabilities stay as they are.

    Rules are named by their text, `str(rule)`. Weighted rules can be saved as before, without a neural model
    beside them. Raises where a rule is none of the query's, and for a neural model, whose rules cannot be
    taken out one by one.
    """
    if isinstance(program, RuleProgram):
        changed: Program = RuleProgram(_without_given(program.given, vetoes))
    elif isinstance(program, LearnedProgram) and program.weighted_rules is not None:
        weighted = _without_weighted(program.weighted_rules, vetoes)
        # Without the neural model: its rules would count again where the program is learned further.
        plan = replace(program.plan, model=None, training=None)
        changed = LearnedProgram(plan, weighted_rules=weighted)
    else:
        raise ConfigError("The rules of a neural model cannot be switched off: weigh them first.")
    changed.kb, changed.calibration, changed.seed = program.kb, program.calibration, program.seed
    return changed


def _without_weighted(weighted: WeightedRules, vetoes: Vetoes) -> WeightedRules:
    queries = dict(weighted.queries)
    for name, unwanted in vetoes.items():
        query = weighted.relations.operator_id(name)
        old = queries.get(query)
        texts = [str(weighted.rule(query, number)) for number in range(len(old or ()))]
        kept = _kept(name, texts, unwanted)
        if old is not None:
            rules = tuple(old.rules[number] for number in kept.tolist())
            queries[query] = WeightedQuery(rules, old.weights[kept], old.confidences[kept])
    return replace(weighted, queries=queries)


def _without_given(rules: RuleSet, vetoes: Vetoes) -> RuleSet:
    unwanted = {name: set(texts) for name, texts in vetoes.items()}
    for name, texts in unwanted.items():
        _kept(name, list(map(str, rules.about(name))), texts)
    return RuleSet(rule for rule in rules if str(rule) not in unwanted.get(rule.target, ()))


def _kept(query: str, rules: Collection[str], unwanted: Collection[str]) -> Ids:
    """Return the places of the rules that stay; raise where one to leave out is not there."""
    for rule in unwanted:
        if rule not in rules:
            raise UnknownNameError.among("rule", rule, list(rules), f"The query {quoted(query)}")
    return np.array([place for place, rule in enumerate(rules) if rule not in unwanted], dtype=np.int64)


@dataclass(frozen=True)
class VetoEffect:
    """The validation ranks of the queries with vetoes, before and after, and what that adds to the MRR."""

    before: Evaluation
    after: Evaluation
    num_questions: int  # of all queries

    @property
    def mrr_change(self) -> float:
        """The change of the MRR over all validation questions."""
        share = self.before.num_questions / max(self.num_questions, 1)
        return share * (self.after.mrr - self.before.mrr)

    def as_dict(self) -> dict[str, object]:
        """Return the effect as one JSON object."""
        sides = {"before": self.before.as_dict(), "after": self.after.as_dict()}
        return {**sides, "mrr_change": self.mrr_change, "num_questions": self.num_questions}


class VetoMeter:
    """Measures vetoes on the validation part of a split; asks only questions of the queries concerned."""

    def __init__(self, program: Program, split: Split) -> None:
        """Ask nothing yet. The graph is `split.known`, as in `Program.evaluate`."""
        self._base = Reasoner(split.known, program.basis)
        self._program = program
        parts = split.with_relations(self._base.relations)
        self._questions, self._known = ask_part(parts, "valid")

    def measure(self, vetoes: Vetoes) -> VetoEffect:
        """Return the effect of vetoes on the ranks of their queries."""
        queries = [self._base.relations.operator_id(name) for name in vetoes]
        changed = self._reasoner(veto(self._program, vetoes).basis)
        rows = np.flatnonzero(np.isin(self._questions.queries, queries))
        before, after = (self._rank(scorer, rows) for scorer in (self._base, changed))
        return VetoEffect(before, after, len(self._questions))

    def _reasoner(self, basis: Basis) -> Reasoner:
        return Reasoner(self._base.kb, basis, operators=self._base.operators)

    def _rank(self, scorer: Scorer, rows: Ids) -> Evaluation:
        return Evaluation.of(rank_questions(scorer, self._questions[rows], self._known))
