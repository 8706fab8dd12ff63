"""A learned program: the one object a user holds. Learn it, read its rules, ask it, judge it, keep it."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import fields
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, get_args

import torch

from .calibration import Calibration, Sample, draw_sample, fit_calibration
from .engine import make_engine
from .engine.evidence import Body, Clue
from .errors import ConfigError, DataError, require_choice, require_positive
from .evaluation import Evaluation, Scorer, evaluate, per_relation, rank_questions
from .formats import models, weighed_rules
from .formats.calibrations import read_calibration, recalibrated
from .formats.exchange import guess_format, import_rules
from .formats.files import AnyPath
from .knowledge import (
    INVERSE_MARK,
    KnowledgeBase,
    KnownAnswers,
    Questions,
    Relations,
    Split,
    ask_both_ways,
    split_triples,
)
from .model import ModelConfig, ModelScorer, NeuralLP
from .reasoning import (
    Answer,
    Basis,
    Predictions,
    Proof,
    Reasoner,
    WhyNot,
    has_logarithmic_scores,
    require_relations,
)
from .rules import Rule, RuleFilter, RuleSet, recover_rules, spell_out
from .training import Epoch, Training, TrainingConfig, require_device
from .weighed import WeighedRules, as_candidate, select_rules
from .weighing import Candidates, Weighing, WeighingConfig

#: Rules are shown down to this share of their query's best.
MIN_SHARE = 0.01

Part = Literal["valid", "test"]  # train is walked on: ranking it would find each fact by itself

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    # As published, and as the authors' program does where the text is silent.
    "paper": {
        "num_ranks": 1,
        "exclude_source": False,
        "objective": "log-score",
        "hiding": "batch",
        "num_epochs": 10,
        "patience": 10,
        "batch_size": 64,
        "learning_rate": 0.001,
    },
}


class Answering:
    """What every program can do: it answers from some basis, on the knowledge base it has or is given."""

    kb: KnowledgeBase | None = None
    calibration: Calibration | None = None
    seed = 0  # by which a file that is not split was split to learn from
    _last: tuple[KnowledgeBase, Reasoner] | None = None

    @property
    def basis(self) -> Basis:
        """What answers: a model, weighed rules, or rules as they were given."""
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
        self, split: Split, part: Part = "test", *, engine: str = "auto"
    ) -> dict[str, Evaluation]:
        """Return the same for each relation by itself."""
        scorer, questions, known, relations = self._trial(split, part, engine)
        found = per_relation(rank_questions(scorer, questions, known), questions, len(relations))
        return {relations[r]: evaluation for r, evaluation in found.items()}

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


class WeighedProgram(Answering):
    """Weighed rules, with the knowledge base they were weighed on where that is at hand."""

    def __init__(
        self, weighed: WeighedRules, config: WeighingConfig, kb: KnowledgeBase | None = None
    ) -> None:
        self.weighed, self.weighing_config, self.kb = weighed, config, kb
        self.seed = config.seed

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.weighed):,} weighed rules)"

    @property
    def basis(self) -> Basis:
        """The weighed rules."""
        return self.weighed

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
        queries = _select_queries(self.weighed.relations, query, limit, (*(allow or ()), *deny))
        wanted = RuleFilter(min_confidence, max_length, allow, deny)
        facts = kb or self.kb
        if facts is not None:
            require_relations(facts, self.weighed)
        return select_rules(self.weighed, queries, wanted, limit=limit, kb=facts)

    def save(self, folder: AnyPath, metrics: dict[str, Any] | None = None) -> None:
        """Write the folder: weights, configuration, relations, rules and measures."""
        with recalibrated(folder, self.calibration):
            weighed_rules.write_weighed(
                folder, self.weighed, self.weighing_config, self.rules_as_saved, metrics or {}
            )

    @property
    def rules_as_saved(self) -> RuleSet:
        """The best rules, not measured: counting long ones on large sets takes longer than weighing them."""
        return WeighedProgram(self.weighed, self.weighing_config).rules()


class Program(Answering):
    """A trained model, and where its rules were weighed those, which then answer in its place."""

    def __init__(
        self,
        model: NeuralLP,
        training_config: TrainingConfig,
        kb: KnowledgeBase | None = None,
        history: Iterable[Epoch] = (),
        weighed: WeighedProgram | None = None,
    ) -> None:
        self.model = model.eval()
        self.training_config = training_config
        self.seed = training_config.seed
        self.kb = kb
        self.history = list(history)
        self.weighed = weighed

    def __repr__(self) -> str:
        config = self.model.config
        relations = f"{len(self.model.relations):,} relations"
        if self.weighed is not None:
            return f"Program({relations}, {len(self.weighed.weighed):,} weighed rules)"
        return f"Program({relations}, rules up to length {config.num_steps})"

    @property
    def basis(self) -> Basis:
        """The weighed rules where there are any, else the model."""
        return self.model if self.weighed is None else self.weighed.weighed

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
        if self.weighed is not None:
            return self.weighed.rules(
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
        return recover_rules(self.model, queries, wanted, limit=limit, kb=facts)

    def save(self, folder: AnyPath, metrics: dict[str, Any] | None = None) -> None:
        """Write the model folder: weights, configuration, relations, rules, history and measures."""
        with recalibrated(folder, self.calibration):
            learned = self.model, self.training_config, self.history
            weighed = None if self.weighed is None else (self.weighed.weighed, self.weighed.weighing_config)
            models.write_model(folder, *learned, self.rules_as_saved, metrics or {}, weighed)

    @property
    def rules_as_saved(self) -> RuleSet:
        """The best rules, not measured: counting long ones on large sets takes minutes."""
        if self.weighed is not None:
            return self.weighed.rules_as_saved
        queries = range(self.model.relations.num_operators)
        return recover_rules(self.model, queries, RuleFilter(MIN_SHARE), kb=self.kb, measured=False)


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


def _examine(split: Split, part: Part) -> tuple[Questions, KnownAnswers]:
    """Return the questions of a part, and all that is known to be true."""
    require_choice("part", part, get_args(Part))
    triples = getattr(split, part)
    if not len(triples):
        raise DataError(f"There is nothing to evaluate: the part {part!r} is empty.")
    num_relations = len(split.relations)
    return ask_both_ways(triples, num_relations), KnownAnswers(split.true_triples, num_relations)


def load_program(path: AnyPath) -> Program | WeighedProgram | RuleProgram:
    """Return the program of a model folder, or of a file of rules in any format that can be imported."""
    if Path(path).is_file():
        return RuleProgram(import_rules(path, guess_format(path)).rules)
    return load_model(path)


def load_model(folder: AnyPath) -> Program | WeighedProgram:
    """Return the program saved in `folder`."""
    program = _read_program(folder)
    program.calibration = read_calibration(folder)
    return program


def _read_program(folder: AnyPath) -> Program | WeighedProgram:
    weighed = (
        WeighedProgram(*weighed_rules.read_weighed(folder)) if weighed_rules.has_weighed(folder) else None
    )
    if weighed is not None and not models.has_model(folder):
        return weighed
    model, training_config, history = models.read_model(folder)
    return Program(model, training_config, history=history, weighed=weighed)


def configure(preset: str = "default", **settings: Any) -> tuple[ModelConfig, TrainingConfig]:
    """Return both configurations: the preset's settings, overruled by those given (None means not given).

    >>> model, training = configure("paper", num_steps=3)
    >>> model.num_steps, training.hiding
    (3, 'batch')
    """
    if preset not in PRESETS:
        raise ConfigError(f"Unknown preset {preset!r}. There are: {', '.join(PRESETS)}.")
    chosen = PRESETS[preset] | {name: value for name, value in settings.items() if value is not None}
    known = {config: {field.name for field in fields(config)} for config in (ModelConfig, TrainingConfig)}
    unknown = chosen.keys() - set().union(*known.values())
    if unknown:
        raise ConfigError(f"Unknown setting {sorted(unknown)[0]!r}. See ModelConfig and TrainingConfig.")
    return (
        ModelConfig(**{name: value for name, value in chosen.items() if name in known[ModelConfig]}),
        TrainingConfig(**{name: value for name, value in chosen.items() if name in known[TrainingConfig]}),
    )


def prepare(
    data: KnowledgeBase | Split,
    model_config: ModelConfig,
    training_config: TrainingConfig,
    *,
    engine: str = "auto",
    device: str = "cpu",
) -> Training:
    """Return a training run that has not begun; the seed fixes weights, order and split."""
    split = data if isinstance(data, Split) else split_triples(data, training_config.seed)
    if not len(split.train):
        raise DataError("There is nothing to learn from: the part 'train' is empty.")
    require_device(device)
    torch.manual_seed(training_config.seed)
    model = NeuralLP.for_knowledge(split.known, model_config)
    return Training(model, split, training_config, engine, device)


def learn(
    data: KnowledgeBase | Split,
    *,
    preset: str = "default",
    engine: str = "auto",
    device: str = "cpu",
    weigh: bool | None = None,
    weighing: WeighingConfig | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
    **settings: Any,
) -> Program:
    """Return a program learned from a knowledge base or a split; settings are those of both configurations.

    Its rules are weighed unless `weigh` is false, or the preset is the paper's.

    >>> from neurallp.datasets.family import family_knowledge_base
    >>> program = learn(family_knowledge_base(num_people=60, num_generations=3), num_epochs=2)
    >>> program.model.config.num_steps
    2
    """
    training = prepare(data, *configure(preset, **settings), engine=engine, device=device)
    for epoch in training.epochs():
        if on_epoch is not None:
            on_epoch(epoch)
    program = finish(training)
    if preset == "paper" if weigh is None else not weigh:
        return program
    config = weighing or weighing_config(program)
    program.weighed = weigh_rules(training.split, config, candidates_of(program.model, config), device=device)
    return program


def finish(training: Training) -> Program:
    """Return the program of the best epoch so far."""
    training.model.load_state_dict(training.best_weights)
    return Program(training.model.cpu(), training.config, training.split.known, training.history)


def weighing_config(program: Program, **settings: Any) -> WeighingConfig:
    """Return how to weigh what a program learned: bodies as long, the same seed, but for what is given."""
    chosen = {"max_length": program.model.config.num_steps, "seed": program.training_config.seed}
    return WeighingConfig(**chosen | {name: value for name, value in settings.items() if value is not None})


def candidates_of(model: NeuralLP, config: WeighingConfig) -> Candidates:
    """Return the bodies of the most confident rules that a model learned, for each query."""
    return rules_as_candidates(learned_rules(model, config.num_learned), model.relations)


AnyProgram = Program | WeighedProgram | RuleProgram


def offered_rules(program: AnyProgram, num_learned: int) -> Iterator[Rule]:
    """Yield the rules of a program that can be weighed anew; of what a model learned, the most confident."""
    if isinstance(program, RuleProgram):
        return iter(program.rules)
    if isinstance(program, WeighedProgram):
        return chain.from_iterable(map(program.weighed.rules, program.weighed.queries))
    if program.weighed is not None:
        return offered_rules(program.weighed, num_learned)
    return learned_rules(program.model, num_learned)


def learned_rules(model: NeuralLP, num: int) -> Iterator[Rule]:
    """Yield the most confident rules that a model learned, so many of each query."""
    for query in range(model.relations.num_operators):
        yield from islice(spell_out(model, query), num)


def rules_as_candidates(rules: Iterable[Rule], relations: Relations) -> dict[int, list[Body | Clue]]:
    """Return what rules look for, by query, where the relations are theirs.

    A query that no rule is about gets the chains of its inverse, turned round.
    """
    found: defaultdict[int, list[Body | Clue]] = defaultdict(list)
    for rule in rules:
        names = [name.removeprefix(INVERSE_MARK) for name in (rule.target, *rule.body)]
        if rule.kind != "prior" and all(name in relations for name in names):
            found[relations.operator_id(rule.target)].append(as_candidate(rule, relations))
    for query in list(found):
        chains = [body for body in found[query] if not isinstance(body, Clue)]
        back = [tuple(relations.inverse(k) for k in reversed(body)) for body in chains]
        found.setdefault(relations.inverse(query), [*back])
    return dict(found)


def weigh_rules(
    split: Split,
    config: WeighingConfig,
    given: Candidates | None = None,
    on_done: Callable[[int], None] = lambda num: None,
    device: str = "cpu",
) -> WeighedProgram:
    """Return rules found on a split, and those `given`, with weights learned on a device.

    Clues are weighed on the CPU, whatever the device.
    """
    require_device(device)
    if device == "cpu" or config.wants_clues:
        weighing = Weighing(split, config, given)
    else:
        from .weighing_blocks import BlockWeighing

        weighing = BlockWeighing(split, config, given, device=device)
    return WeighedProgram(weighing.run(on_done), config, split.known)
