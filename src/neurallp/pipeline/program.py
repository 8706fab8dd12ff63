"""A learned program: the one object a user holds. Learn it, read its rules, ask it, judge it, keep it."""

from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

from ..config import Part, TrainingConfig, WeightingConfig
from ..engines import make_engine
from ..errors import ConfigError, DataError, require_choice, require_positive
from ..evaluation import Evaluation, Scorer, evaluate, per_relation, rank_questions
from ..graph.knowledge_base import KnowledgeBase, Split
from ..graph.questions import KnownAnswers, Questions, ask_both_ways
from ..graph.vocabulary import Relations
from ..io.files import AnyPath
from ..io.models import neural as models
from ..io.models import weighted as weighted_rules
from ..io.models.calibration import read_calibration, recalibrated
from ..io.rules import guess_format, import_rules
from ..neural.model import ModelScorer, NeuralLP
from ..neural.rules import best_rules
from ..neural.training import Epoch
from ..reasoning.answers import Answer, Predictions, Proof, WhyNot
from ..reasoning.calibration import Calibration, Sample, draw_sample, fit_calibration
from ..reasoning.reasoner import Basis, Reasoner, has_logarithmic_scores, require_relations
from ..rules.rule import Rule, RuleFilter, RuleSet
from ..weighting.weighted_rules import WeightedRules, select_rules

#: Rules are shown down to this share of their query's best.
MIN_SHARE = 0.01


class Answering:
    """What every program can do: it answers from some basis, on the knowledge base it has or is given."""

    kb: KnowledgeBase | None = None
    calibration: Calibration | None = None
    seed = 0  # by which a file that is not split was split to learn from
    _last: tuple[KnowledgeBase, Reasoner] | None = None

    @property
    def basis(self) -> Basis:
        """What answers: a model, weighted rules, or rules as they were given."""
        raise NotImplementedError

    def reasoner(self, kb: KnowledgeBase | None = None) -> Reasoner:
        """Return a reasoner over `kb`, or over the knowledge base learned from; the last one is kept."""
        facts = kb or self.kb
        if facts is None:
            raise ConfigError("A loaded model brings no facts. Give the knowledge base to ask: kb=….")
        if self._last is None or self._last[0] is not facts:
            self._last = facts, Reasoner(facts, self.basis)
        self._last[1].calibration = self.calibration
        return self._last[1]

    def ask(
        self,
        *,
        head: str | None = None,
        tail: str | None = None,
        relation: str,
        k: int = 10,
        kb: KnowledgeBase | None = None,
    ) -> list[Answer]:
        """Return the best answers to (head, relation, ?) or (?, relation, tail)."""
        return self.reasoner(kb).ask(head=head, tail=tail, relation=relation, k=k)

    def explain(
        self, head: str, relation: str, tail: str, k: int = 3, kb: KnowledgeBase | None = None
    ) -> Proof:
        """Return why (head, relation, tail) scores what it does."""
        return self.reasoner(kb).explain(head, relation, tail, k)

    def why_not(
        self, head: str, relation: str, tail: str, k: int = 3, kb: KnowledgeBase | None = None
    ) -> WhyNot:
        """Return the rules that are one fact short of (head, relation, tail)."""
        return self.reasoner(kb).why_not(head, relation, tail, k)

    def predict(
        self, relations: Iterable[str] | None = None, k: int = 10, kb: KnowledgeBase | None = None
    ) -> Iterator[Predictions]:
        """Yield new answers of every source to every relation, in batches."""
        return self.reasoner(kb).predict(relations, k)

    def evaluate(
        self,
        split: Split,
        part: Part = "test",
        *,
        engine: str = "auto",
        on_done: Callable[[int], None] = lambda num: None,
    ) -> Evaluation:
        """Return filtered realistic ranks of a part of `split`, walking on its facts and train."""
        scorer, questions, known, _ = self._trial(split, part, engine)
        return evaluate(scorer, questions, known, on_done)

    def evaluate_per_relation(
        self,
        split: Split,
        part: Part = "test",
        *,
        engine: str = "auto",
        on_done: Callable[[int], None] = lambda num: None,
    ) -> tuple[Evaluation, dict[str, Evaluation]]:
        """Return the same, and besides each relation by itself."""
        scorer, questions, known, relations = self._trial(split, part, engine)
        ranks = rank_questions(scorer, questions, known, on_done)
        found = per_relation(ranks, questions, len(relations))
        return Evaluation.of(ranks), {relations[r]: evaluation for r, evaluation in found.items()}

    def sample(
        self, split: Split, part: Part = "valid", on_done: Callable[[int], None] = lambda num: None
    ) -> Sample:
        """Return the answers shown to the questions of a part of `split`, and which of them are right."""
        scorer, questions, known, _ = self._trial(split, part, "auto")
        logarithmic = has_logarithmic_scores(self.basis)
        return draw_sample(scorer, questions, known, logarithmic=logarithmic, on_done=on_done)

    def calibrate(self, split: Split, method: str = "isotonic") -> None:
        """Fit on validation what answers from now on have as their probability."""
        self.calibration = fit_calibration(self.sample(split), method)

    def _trial(
        self, split: Split, part: Part, engine: str
    ) -> tuple[Scorer, Questions, KnownAnswers, Relations]:
        reasoner = Reasoner(split.known, self.basis, engine)
        split = split.with_relations(reasoner.relations)
        if not isinstance(self.basis, NeuralLP):
            return reasoner, *_examine(split, part), reasoner.relations
        # A reasoner walks in double precision; ranks do well with single.
        scorer = ModelScorer(self.basis, make_engine(engine, reasoner.operators))
        return scorer, *_examine(split, part), reasoner.relations


def _select_queries(relations: Relations, query: str | None, limit: int, names: Iterable[str]) -> list[int]:
    """Return the queries whose rules are wanted; raise for names that are none."""
    require_positive("limit", limit)
    for name in names:
        relations.id(name)
    return list(range(relations.num_operators)) if query is None else [relations.operator_id(query)]


class WeightedProgram(Answering):
    """Weighted rules, with the knowledge base they were weighted on where that is at hand."""

    def __init__(
        self, weighted: WeightedRules, config: WeightingConfig, kb: KnowledgeBase | None = None
    ) -> None:
        self.weighted, self.weighting_config, self.kb = weighted, config, kb
        self.seed = config.seed

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.weighted):,} weighted rules)"

    @property
    def basis(self) -> Basis:
        """The weighted rules."""
        return self.weighted

    def rules(
        self,
        query: str | None = None,
        *,
        limit: int = 10,
        min_confidence: float = MIN_SHARE,
        max_length: int | None = None,
        allow: Collection[str] | None = None,
        deny: Collection[str] = (),
        kb: KnowledgeBase | None = None,
    ) -> RuleSet:
        """Return the rules of greatest weight of a query, or of all; support is counted on `kb` if given."""
        queries = _select_queries(self.weighted.relations, query, limit, (*(allow or ()), *deny))
        wanted = RuleFilter(min_confidence, max_length, allow, deny)
        facts = kb or self.kb
        if facts is not None:
            require_relations(facts, self.weighted)
        return select_rules(self.weighted, queries, wanted, limit=limit, kb=facts)

    def save(self, folder: AnyPath, metrics: dict[str, Any] | None = None) -> None:
        """Write the folder: weights, configuration, relations, rules and measures."""
        models.require_no_model(folder)
        with recalibrated(folder, self.calibration):
            weighted_rules.write_weighted(
                folder, self.weighted, self.weighting_config, self.rules_as_saved, metrics or {}
            )

    @property
    def rules_as_saved(self) -> RuleSet:
        """The best rules, not measured: counting long ones on large sets takes longer than weighting them."""
        return WeightedProgram(self.weighted, self.weighting_config).rules()


class Program(Answering):
    """A trained model, and where its rules were weighted those, which then answer in its place."""

    def __init__(
        self,
        model: NeuralLP,
        training_config: TrainingConfig,
        kb: KnowledgeBase | None = None,
        history: Iterable[Epoch] = (),
        weighted: WeightedProgram | None = None,
    ) -> None:
        self.model = model.eval()
        self.training_config = training_config
        self.seed = training_config.seed
        self.kb = kb
        self.history = list(history)
        self.weighted = weighted

    def __repr__(self) -> str:
        config = self.model.config
        relations = f"{len(self.model.relations):,} relations"
        if self.weighted is not None:
            return f"Program({relations}, {len(self.weighted.weighted):,} weighted rules)"
        return f"Program({relations}, rules up to length {config.num_steps})"

    @property
    def basis(self) -> Basis:
        """The weighted rules where there are any, else the model."""
        return self.model if self.weighted is None else self.weighted.weighted

    def rules(
        self,
        query: str | None = None,
        *,
        limit: int = 10,
        min_confidence: float = MIN_SHARE,
        max_length: int | None = None,
        allow: Collection[str] | None = None,
        deny: Collection[str] = (),
        kb: KnowledgeBase | None = None,
    ) -> RuleSet:
        """Return the best rules of a query (`uncle`, or `~uncle` asked from the other end), or of all.

        Support is counted on `kb`, or on the knowledge base learned from, and rules that predict nothing
        there are left out; a loaded program without `kb` counts nothing.
        """
        if self.weighted is not None:
            return self.weighted.rules(
                query,
                limit=limit,
                min_confidence=min_confidence,
                max_length=max_length,
                allow=allow,
                deny=deny,
                kb=kb,
            )
        queries = _select_queries(self.model.relations, query, limit, (*(allow or ()), *deny))
        wanted = RuleFilter(min_confidence, max_length, allow, deny)
        facts = kb or self.kb
        if facts is not None:
            require_relations(facts, self.model)
        return best_rules(self.model, queries, wanted, limit=limit, kb=facts)

    def save(self, folder: AnyPath, metrics: dict[str, Any] | None = None) -> None:
        """Write the model folder: weights, configuration, relations, rules, history and measures."""
        with recalibrated(folder, self.calibration):
            learned = self.model, self.training_config, self.history
            weighted = (
                None if self.weighted is None else (self.weighted.weighted, self.weighted.weighting_config)
            )
            models.write_model(folder, *learned, self.rules_as_saved, metrics or {}, weighted)

    @property
    def rules_as_saved(self) -> RuleSet:
        """The best rules, not measured: counting long ones on large sets takes minutes."""
        if self.weighted is not None:
            return self.weighted.rules_as_saved
        queries = range(self.model.relations.num_operators)
        return best_rules(self.model, queries, RuleFilter(MIN_SHARE), kb=self.kb, measured=False)


class RuleProgram(Answering):
    """Given rules in the place of a learned program: asked, explained and judged by the same code."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = RuleSet(rules)

    def __repr__(self) -> str:
        return f"RuleProgram({len(self.rules):,} rules for {len(self.rules.targets):,} queries)"

    @property
    def basis(self) -> Basis:
        """The rules."""
        return self.rules


AnyProgram = Program | WeightedProgram | RuleProgram


def _examine(split: Split, part: Part) -> tuple[Questions, KnownAnswers]:
    """Return the questions of a part, and all that is known to be true."""
    require_choice("part", part, get_args(Part))
    triples = getattr(split, part)
    if not len(triples):
        raise DataError(f"There is nothing to evaluate: the part {part!r} is empty.")
    num_relations = len(split.relations)
    return ask_both_ways(triples, num_relations), KnownAnswers(split.true_triples, num_relations)


def load_program(path: AnyPath) -> AnyProgram:
    """Return the program of a model folder, or of a file of rules in any format that can be imported."""
    if Path(path).is_file():
        return RuleProgram(import_rules(path, guess_format(path)).rules)
    return load_model(path)


def load_model(folder: AnyPath) -> Program | WeightedProgram:
    """Return the program saved in `folder`."""
    program = _read_program(folder)
    program.calibration = read_calibration(folder)
    return program


def _read_program(folder: AnyPath) -> Program | WeightedProgram:
    weighted = (
        WeightedProgram(*weighted_rules.read_weighted(folder))
        if weighted_rules.has_weighted(folder)
        else None
    )
    if weighted is not None and not models.has_model(folder):
        return weighted
    model, training_config, history = models.read_model(folder)
    return Program(model, training_config, history=history, weighted=weighted)
