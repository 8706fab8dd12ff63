"""Programs: rules that answer questions, explain their answers, and are evaluated and saved.

Importing this module, and loading weighted or given rules, needs no torch: a neural model is loaded on use.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from ..config import Part, Plan, RuleOrder, WeightingConfig
from ..errors import ConfigError, require_choice, require_positive
from ..evaluation import Evaluation, Scorer, evaluate, per_relation, rank_questions
from ..graph.knowledge_base import KnowledgeBase, Split
from ..graph.numbers import Facts, Numbers
from ..graph.questions import KnownAnswers, Questions
from ..graph.vocabulary import Relations, relation_of
from ..io.files import AnyPath
from ..io.models import folders, store
from ..io.models.calibration import calibration_file, calibration_of, read_calibration
from ..io.models.numbers import numbers_file, read_numbers
from ..io.models.plans import plan_file, read_plan_log
from ..io.models.weighted import has_weighted, read_weighted, weighted_files
from ..io.rules import guess_format, import_rules, import_scored
from ..io.rules.table import format_rules
from ..io.schema import to_json
from ..reasoning.calibration import Calibration
from ..reasoning.reasoner import Basis, Reasoner, require_relations
from ..rules.listing import Listing, list_rules
from ..rules.rule import Rule, RuleFilter, RuleSet
from ..weighting.weighted_rules import WeightedRules, select_rules
from . import calibrating
from .asking import AskingProgram
from .base import ask_part

if TYPE_CHECKING:
    from ..neural.model import NeuralLP
    from ..neural.training import Epoch

#: Rules are listed down to this fraction of the confidence of their query's best rule.
MIN_NORMALIZED_CONFIDENCE = 0.01

#: Rules of a query that a listing chooses from.
MAX_LISTED = 1000


class Program(AskingProgram):
    """Rules that answer questions on the knowledge base they were learned from, or on one that is given."""

    calibration: Calibration | None = None
    seed = 0  # the seed that split the data, where that came in one file
    numbers: Numbers | None = None  # the bins that the rules have in place of numbers

    @property
    def basis(self) -> Basis:
        """The object that answers: a neural model, weighted rules, or given rules."""
        raise NotImplementedError

    @property
    def relations(self) -> Relations:
        """The relations of the rules."""
        raise NotImplementedError

    def _best_rules(
        self, queries: list[int], wanted: RuleFilter, limit: int, kb: KnowledgeBase | None
    ) -> RuleSet:
        """Return the best rules of some queries, with support counted on `kb`."""
        raise NotImplementedError

    def rules(
        self,
        query: str | None = None,
        *,
        limit: int = 10,
        min_share: float = MIN_NORMALIZED_CONFIDENCE,
        max_length: int | None = None,
        allow: Collection[str] | None = None,
        deny: Collection[str] = (),
        kb: KnowledgeBase | None = None,
    ) -> RuleSet:
        """Return the best rules of a query (`uncle`, or `~uncle` for its inverse), or of all queries.

        Support is counted on `kb`, or else on the knowledge base learned from; a loaded program without `kb`
        counts nothing. The rules of a neural model that predict nothing there are left out.
        """
        require_positive("limit", limit)
        wanted = self._named(RuleFilter(min_share, max_length, allow, deny))
        facts = None if kb is None else self.binned(kb)
        return self._best_rules(self._queries(query), wanted, limit, facts or self.kb)

    def listings(
        self,
        query: str | None = None,
        *,
        limit: int = 10,
        order: RuleOrder = "clarity",
        wanted: RuleFilter | None = None,
        kb: KnowledgeBase | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> list[Listing]:
        """Return the rules of a query, or of all, as a person reads them: reasons first, in groups.

        Groups, examples and the order by clarity need facts: `kb`, or the knowledge base learned from.
        `labels` are what entities are called in examples.
        """
        require_positive("limit", limit)
        require_choice("order", order, get_args(RuleOrder))
        wanted = self._named(wanted or RuleFilter(MIN_NORMALIZED_CONFIDENCE))
        facts = self.kb if kb is None else self.binned(kb)
        found = self._best_rules(self._queries(query), wanted, MAX_LISTED, facts)
        facts = None if facts is None else facts.with_relations(self.relations)
        counted = [(name, list(filter(wanted.keeps_counted, found.about(name)))) for name in found.targets]
        return [list_rules(name, rules, facts, limit, order, labels) for name, rules in counted if rules]

    def _named(self, wanted: RuleFilter) -> RuleFilter:
        """Return a filter by the names of the program's relations; raise for one that it does not know."""
        allow, deny = (
            None if given is None else [self.relations[self.relations.id(name)] for name in given]
            for given in (wanted.allow, wanted.deny)
        )
        return replace(wanted, allow=allow, deny=deny or ())

    def _queries(self, query: str | None) -> list[int]:
        every = range(self.relations.num_operators)
        return [*every] if query is None else [self.relations.operator_id(query)]

    def reasoner(self, kb: KnowledgeBase | None = None) -> Reasoner:
        """Return a reasoner over `kb`, or over the knowledge base learned from; the last one is cached."""
        last = self._last
        if last is not None and self._is_outdated(last[1]):
            self._last = None
        return super().reasoner(kb)

    def _is_outdated(self, reasoner: Reasoner) -> bool:
        return reasoner.basis is not self.basis or reasoner.calibration is not self.calibration

    def binned(self, data: Facts) -> Facts:
        """Return facts with the bins of this program in place of numbers and dates."""
        return data if self.numbers is None else self.numbers.apply(data)

    def _make_reasoner(self, kb: KnowledgeBase) -> Reasoner:
        return Reasoner(self.binned(kb), self.basis, calibration=self.calibration)

    def evaluate(
        self,
        split: Split,
        part: Part = "test",
        *,
        engine: str = "auto",
        on_done: Callable[[int], None] = lambda num: None,
    ) -> Evaluation:
        """Return the filtered ranks of a part of `split`, scored on its facts and train."""
        scorer, questions, known, _ = self._examine(split, part, engine)
        return evaluate(scorer, questions, known, on_done)

    def evaluate_per_relation(
        self,
        split: Split,
        part: Part = "test",
        *,
        engine: str = "auto",
        on_done: Callable[[int], None] = lambda num: None,
    ) -> tuple[Evaluation, dict[str, Evaluation]]:
        """Return the evaluation of a part of `split`, and one for each relation."""
        scorer, questions, known, relations = self._examine(split, part, engine)
        ranks = rank_questions(scorer, questions, known, on_done)
        found = per_relation(ranks, questions, len(relations))
        return Evaluation.of(ranks), {relations[r]: evaluation for r, evaluation in found.items()}

    def calibrate(self, split: Split, on_done: Callable[[int], None] = lambda num: None) -> None:
        """Fit the probabilities of answers on the validation part; answers have one from then on.

        Where there is no validation part, a tenth of the known facts is held out.
        """
        self.calibration = calibrating.calibrate(self.basis, self.binned(split), self.seed, on_done)

    def _examine(
        self, split: Split, part: Part, engine: str
    ) -> tuple[Scorer, Questions, KnownAnswers, Relations]:
        """Return what an evaluation needs: a scorer, the questions of a part, and their known answers."""
        split = self.binned(split)
        reasoner = Reasoner(split.known, self.basis, engine)
        return (
            self._scorer(reasoner, engine),
            *ask_part(split.with_relations(reasoner.relations), part),
            reasoner.relations,
        )

    def _scorer(self, reasoner: Reasoner, engine: str) -> Scorer:
        return reasoner


class LearnedProgram(Program):
    """Learned rules: a neural model, weighted rules, or both; weighted rules answer where there are any."""

    def __init__(
        self,
        plan: Plan,
        *,
        model: "NeuralLP | None" = None,
        weighted_rules: WeightedRules | None = None,
        kb: KnowledgeBase | None = None,
        history: "Iterable[Epoch]" = (),
    ) -> None:
        self.plan, self.weighted_rules, self.kb, self.seed = plan, weighted_rules, kb, plan.seed
        self._model = None if model is None else model.eval()
        self._history = list(history)
        #: Reads the neural model and its history when they are first used.
        self._load: Callable[[], tuple[NeuralLP, list[Epoch]]] | None = None

    @classmethod
    def read(cls, files: store.ModelFiles) -> "LearnedProgram":
        """Return the program of a model's files; the neural model is made now only where it has to answer."""
        weighted, weighting = read_weighted(files) if has_weighted(files) else (None, None)
        if weighted is not None and store.CONFIG not in files:
            program = cls(Plan(None, None, weighting), weighted_rules=weighted)
        else:
            settings = folders.read_config(files)
            program = cls(Plan(settings.model, settings.training, weighting), weighted_rules=weighted)
            program._load = partial(_read_neural, files)
            if weighted is None:
                program._load_model()
        program.calibration = calibration_of(files)
        program.plan = replace(program.plan, log=read_plan_log(files))
        program.numbers = read_numbers(files)
        return program

    def __repr__(self) -> str:
        found = f"{len(self.relations):,} relations"
        if self.weighted_rules is not None:
            return f"LearnedProgram({found}, {len(self.weighted_rules):,} weighted rules)"
        return f"LearnedProgram({found}, rules up to length {self.model.config.num_steps})"

    def _load_model(self) -> None:
        if self._load is not None:
            model, self._history = self._load()
            self._model, self._load = model.eval(), None

    @property
    def has_model(self) -> bool:
        """Whether there is a neural model."""
        return self._model is not None or self._load is not None

    @property
    def model(self) -> "NeuralLP":
        """The neural model; raises where rules were weighted without one."""
        self._load_model()
        if self._model is None:
            raise ConfigError("This program has no neural model: its rules were weighted without one.")
        return self._model

    @property
    def history(self) -> "list[Epoch]":
        """The epochs of the neural model's training."""
        self._load_model()
        return self._history

    @property
    def basis(self) -> Basis:
        """The weighted rules where there are any, else the neural model."""
        return self.model if self.weighted_rules is None else self.weighted_rules

    @property
    def relations(self) -> Relations:
        """The relations that were learned about."""
        return self.model.relations if self.weighted_rules is None else self.weighted_rules.relations

    def _best_rules(
        self, queries: list[int], wanted: RuleFilter, limit: int, kb: KnowledgeBase | None
    ) -> RuleSet:
        if kb is not None:
            require_relations(kb, self.weighted_rules or self.model)
        if self.weighted_rules is not None:
            return select_rules(self.weighted_rules, queries, wanted, limit=limit, kb=kb)
        from ..neural.rules import best_rules

        return best_rules(self.model, queries, wanted, limit=limit, kb=kb)

    def _scorer(self, reasoner: Reasoner, engine: str) -> Scorer:
        """Return the weighted rules' reasoner, or the neural model in single precision, enough for ranks."""
        if self.weighted_rules is not None:
            return reasoner
        from ..engines import make_engine
        from ..neural.model import ModelScorer

        return ModelScorer(self.model, make_engine(engine, reasoner.operators))

    def save(self, folder: AnyPath, metrics: dict[str, Any] | None = None) -> None:
        """Write the model folder in one step: weights, settings, relations, rules, history and measures."""
        contents: dict[str, str | bytes] = {
            store.RULES: format_rules(self.rules_as_saved),
            store.METRICS: to_json(metrics or {}),
            **calibration_file(self.calibration),
            **plan_file(self.plan.log),
            **numbers_file(self.numbers),
        }
        if self.weighted_rules is not None and self.plan.weighting is not None:
            contents |= weighted_files(self.weighted_rules, self.plan.weighting)
        if self.has_model and self.plan.training is not None:
            from ..io.models.neural import model_files, write_model

            write_model(folder, contents | model_files(self.model, self.plan.training, self.history))
        else:
            folders.require_no_model(folder)
            store.write_files(folder, "rules", contents)

    @property
    def rules_as_saved(self) -> RuleSet:
        """The best rules without support: counting that of long rules on large sets takes minutes."""
        queries, wanted = [*range(self.relations.num_operators)], RuleFilter(MIN_NORMALIZED_CONFIDENCE)
        if self.weighted_rules is not None:
            return select_rules(self.weighted_rules, queries, wanted, limit=10, kb=None)
        from ..neural.rules import best_rules

        return best_rules(self.model, queries, wanted, kb=self.kb, measured=False)


class RuleProgram(Program):
    """Given rules, which answer, explain and are evaluated as learned ones are."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.given = RuleSet(rules)

    def __repr__(self) -> str:
        return f"RuleProgram({len(self.given):,} rules for {len(self.given.targets):,} queries)"

    @property
    def basis(self) -> Basis:
        """The rules."""
        return self.given

    @property
    def relations(self) -> Relations:
        """The relations that the rules mention, in order of appearance."""
        names = (name for rule in self.given for name in (rule.target, *rule.body))
        return Relations(dict.fromkeys(map(relation_of, names)))

    def _best_rules(
        self, queries: list[int], wanted: RuleFilter, limit: int, kb: KnowledgeBase | None
    ) -> RuleSet:
        from ..rules.support import measure

        names = map(self.relations.operator_name, queries)
        kept = [rule for name in names for rule in _most_confident(self.given.about(name), wanted, limit)]
        return RuleSet(kept) if kb is None else measure(kept, kb)


def _most_confident(rules: Iterable[Rule], wanted: RuleFilter, limit: int) -> list[Rule]:
    return sorted(filter(wanted.keeps, rules), key=lambda rule: -rule.confidence)[:limit]


def load_program(path: AnyPath) -> Program:
    """Return the program of a model folder, or of a file of rules in any format that can be imported."""
    if not Path(path).is_file():
        return load_model(path)
    if (scored := import_scored(path)) is not None:
        learned = LearnedProgram(Plan(None, None, WeightingConfig()), weighted_rules=scored[0])
        learned.calibration = scored[1]
        return learned
    program = RuleProgram(import_rules(path, guess_format(path)).rules)
    program.calibration = read_calibration(path)
    return program


def load_model(folder: AnyPath) -> LearnedProgram:
    """Return the program saved in `folder`."""
    folders.require_folder(folder, "neurallp learn DATA")
    return LearnedProgram.read(folders.read_rules_model(folder))


def _read_neural(files: store.ModelFiles) -> "tuple[NeuralLP, list[Epoch]]":
    from ..io.models.neural import read_model

    model, _, history = read_model(files)
    return model, history
