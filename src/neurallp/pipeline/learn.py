"""Learning, stage by stage: plan, train a neural model where that helps, then mine and weigh rules.

The library, the command line, the demo, the experiments and the benchmarks all call `learn`. A `Plan` has the
settings of each stage, and `Callbacks` follow the run: progress, checkpoints, and stopping early.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from ..config import (
    ENGINE_CHOICES,
    UNWEIGHTED_PRESETS,
    ModelConfig,
    Plan,
    TrainingConfig,
    WeightingConfig,
    make_plan,
)
from ..config.plan_log import Comparison
from ..errors import ConfigError, DataError, require_choice
from ..graph.knowledge_base import KnowledgeBase, Split, hold_out, split_triples
from ..graph.numbers import Numbers
from ..io.triples import Data, load
from ..neural.processes import is_follower, num_processes
from ..reasoning.calibration_sample import MAX_QUESTIONS
from ..rules.rule import Rule
from ..weighting.kinds import rules_as_candidates
from ..weighting.weighted_rules import WeightedRules
from .callbacks import Callbacks, Clock, TimeIsOver, ValidationMrr
from .plan import NEURAL, Planner
from .program import LearnedProgram, Program, RuleProgram

if TYPE_CHECKING:
    from ..neural.loop import TrainingLoop
    from ..neural.model import NeuralLP
    from ..neural.training import Training
    from ..weighting.fitting import Candidates, Weighting
    from ..weighting.workers import Workers

    AnyTraining = TrainingLoop[Any, Any]

#: What may be done with numbers and dates that are objects of facts.
NUMBERS = ("entities", "bins")

#: Devices with which rules are weighted on the CPU: for `auto` too, as their sparse features are gathered and
#: fitted faster there. The neural model is then trained on a GPU where there is one.
ON_CPU = ("cpu", "auto")

#: Epochs of the trial that decides whether the neural model is trained.
TRIAL_EPOCHS = 3

#: The share of the time limit that is reserved for calibrating, saving and measuring the model.
SAVING_SHARE = 0.15

#: The share of the time limit that is left after planning which training may take, where rules are weighted.
TRAINING_SHARE = 0.4


def learn(
    data: Data,
    plan: Plan | None = None,
    *,
    given: Iterable[Rule] = (),
    engine: str = "auto",
    device: str = "cpu",
    minutes: float | Clock | None = None,
    callbacks: Callbacks | None = None,
    **settings: Any,
) -> LearnedProgram:
    """Return a program learned from a path, a table, a knowledge base or a split, but not from a test part.

    It answers from all other facts that are given: also from those that were held out to choose settings and
    to calibrate.

    Without a plan, settings that are not given are chosen on the validation part, or on a part of
    train where there is none: `preset`, `train`, `weigh`, and the fields of ModelConfig, TrainingConfig and
    WeightingConfig. `minutes` bounds the whole run, and `program.plan.log.cut` tells what it cut. Rules that
    are `given` are weighted with the others. With `workers` above 1, or a `Workers` that says where, other
    processes weigh them: the result is the same. With `numbers="bins"`, numbers and dates that are objects of
    facts become ranges, with an order between them.

    >>> from neurallp.datasets.family import family_knowledge_base
    >>> program = learn(family_knowledge_base(num_people=60, num_generations=3), num_candidates=50)
    >>> program.plan.weighting.num_candidates
    50
    """
    workers: int | Workers = settings.pop("workers", 1)
    if plan is not None and settings:
        raise ConfigError(f"Give a plan or settings, not both: {', '.join(settings)}.")
    clock = minutes if isinstance(minutes, Clock) else Clock(minutes)
    bins = _wants_bins(settings)
    checked = plan or make_plan(**{**settings, "train": settings.get("train") is not False})
    require_choice("engine", engine, ENGINE_CHOICES)
    _require_device(device)
    data = load(data, numbers=bins)
    numbers = Numbers.fit(data.known if isinstance(data, Split) else data) if bins else None
    data = data if numbers is None else numbers.apply(data)
    whole = data if isinstance(data, Split) else split_triples(data, checked.seed)
    run = Run(whole.without_test(), engine, device, callbacks or Callbacks(), clock)
    run.workers = workers
    if is_follower():
        return run.train(replace(checked, weighting=None))  # the leader does all the rest
    program = run.learn(plan or run.decide(**settings), list(given))
    program.kb = data if isinstance(data, KnowledgeBase) else whole.given
    program.numbers = numbers
    return program


def _wants_bins(settings: dict[str, Any]) -> bool:
    """Take `numbers` out of the settings; return whether numbers and dates are to be put in bins."""
    if (chosen := settings.pop("numbers", None)) is not None:
        require_choice("numbers", chosen, NUMBERS)
    return bool(chosen == "bins")


def _require_device(device: str) -> None:
    """Raise unless a device can be used; the CPU always can, so torch is not loaded for it."""
    if device not in ON_CPU:
        from ..neural.training import require_device

        require_device(device)


class Run:
    """One run of `learn`: its data, callbacks and time limit, and a method for each stage."""

    workers: "int | Workers" = 1  # processes that weigh rules, or where they run

    def __init__(self, split: Split, engine: str, device: str, callbacks: Callbacks, clock: Clock) -> None:
        self.split, self.engine, self.device = split, engine, device
        self.callbacks, self.clock, self.limit = callbacks, clock, clock.part(1 - SAVING_SHARE)
        self.cut: list[str] = []

    def should_stop(self) -> bool:
        """Return whether the time is over, or a callback ends the run."""
        return self.limit.is_over or self.callbacks.should_stop()

    def learn(self, plan: Plan, given: list[Rule]) -> LearnedProgram:
        """Return the program of a plan: train, weigh, then calibrate."""
        program = self.train(plan)
        if plan.weighting is not None and not (program.has_model and self.should_stop()):
            rules = chain(self.learned_rules(program), given)
            weighted = self.weigh(plan.weighting, rules)
            is_fitted = weighted is not None and weighted.predicts
            if is_fitted or not (program.has_model and self.should_stop()):
                program.weighted_rules = weighted  # otherwise priors would answer instead of the model
        self.calibrate(program)
        program.plan = replace(plan, log=plan.log.and_cut(*self.cut))
        return program

    # The plan

    def decide(
        self, preset: str = "default", train: bool | None = None, weigh: bool | None = None, **settings: Any
    ) -> Plan:
        """Return the plan with the settings given; trials choose the others."""
        if weigh is False or (weigh is None and preset in UNWEIGHTED_PRESETS):
            return make_plan(preset, train=train is not False, weigh=False, **settings)
        if train is None and (num_processes() > 1 or any(settings.get(name) is not None for name in NEURAL)):
            train = True
        plan = make_plan(preset, train=train is not False, weigh=True, **settings)
        planner = Planner(self.split, settings, self.limit, self.callbacks.should_stop)
        planner.on_trial = self._on_trial
        self.callbacks.on_stage("plan", planner.max_trials)
        weighting = planner.decide()
        if train is None and not self._training_pays(planner, plan):
            plan = replace(plan, model=None, training=None)
        self.callbacks.on_progress(max(0, planner.max_trials - len(planner.log)))
        plan = replace(plan, weighting=weighting, log=planner.plan_log)
        self.callbacks.on_plan(plan, planner.estimate(weighting))
        return plan

    def _training_pays(self, planner: Planner, plan: Plan) -> bool:
        """Return whether the rules of a few epochs of the neural model raise the MRR of a trial."""
        if planner.best is None or not planner.can_try_training:
            return False
        assert plan.model is not None
        assert plan.training is not None
        config = replace(plan.training, num_epochs=TRIAL_EPOCHS)
        training = prepare(planner.split, plan.model, config, engine=self.engine, device=self.device)
        for _ in training.epochs():
            if planner.should_stop():
                return False
        rules = learned_rules(training.model, planner.tried.num_learned, planner.trials.queries)
        given = rules_as_candidates(rules, self.split.relations)
        return planner.is_better_with("rules of the neural model", given)

    def _on_trial(self, trial: Comparison) -> None:
        self.callbacks.on_progress(1)
        if trial.chosen:
            self.callbacks.on_mrr(trial.mrr)

    # The stages

    def train(self, plan: Plan) -> LearnedProgram:
        """Return the program of the best epoch; without a model where the plan has no training."""
        has_time = num_processes() > 1 or not self.should_stop()  # followers wait for the first epoch
        if plan.model is None or plan.training is None or (plan.weighting and not has_time):
            return LearnedProgram(plan, kb=self.split.known)
        training = prepare(self.split, plan.model, plan.training, engine=self.engine, device=self.device)
        limit = self.limit.part(TRAINING_SHARE if plan.weighting else 1.0)
        run_training(training, self.callbacks, limit)
        if limit.is_over:
            self.cut.append(f"training after {len(training.history)} epochs")
        return finish(training, plan)

    def calibrate(self, program: LearnedProgram) -> None:
        """Fit the probabilities of answers; there are none where no held-out fact is answered."""
        self.callbacks.on_stage("calibrate", MAX_QUESTIONS)
        try:
            with suppress(DataError):
                program.calibrate(self.split, self._on_calibrated)
        except TimeIsOver:
            self.cut.append("calibration")
        except KeyboardInterrupt:
            if not self.callbacks.on_interrupt("calibrate"):
                raise

    def held_out_split(self, seed: int) -> Split:
        """Return the split with a validation part: its own, or a part of train where it has none."""
        return self.split if len(self.split.valid) else hold_out(self.split, seed)

    def _on_calibrated(self, num: int) -> None:
        self.callbacks.on_progress(num)
        self.clock.require_time()

    def learned_rules(self, program: LearnedProgram) -> Iterator[Rule]:
        """Yield the most confident rules that the neural model learned, to weigh them."""
        if not program.has_model or program.plan.weighting is None:
            return iter(())
        return learned_rules(program.model, program.plan.weighting.num_learned)

    def weigh(self, config: WeightingConfig, rules: Iterable[Rule]) -> WeightedRules | None:
        """Return the weights of `rules` and mined ones; None where Ctrl-C cut the stage.

        Where the time is over, or a callback ends the run, queries are answered by cheaper fits.
        """
        self.callbacks.on_stage("weigh", 2 * len(self.split.known.facts))
        given = rules_as_candidates(rules, self.split.relations)
        weighting = make_weighting(self.split, config, given, self.device, self.workers)
        validator = None
        if not len(self.split.valid):
            held_out = self.held_out_split(config.seed)
            validator = make_weighting(held_out, config, given, self.device, self.workers)
        weighting.on_fit = ValidationMrr(self.callbacks.on_mrr)
        try:
            weighted = weighting.run(self.callbacks.on_progress, self.should_stop, validator)
        except KeyboardInterrupt:
            if not self.callbacks.on_interrupt("weigh"):
                raise
            self.cut.append("weighting")
            return None
        if unrefined := weighted.unrefined:
            num = len(weighting.queries)
            self.cut.append(f"the refinement of {len(unrefined):,} of {num:,} queries")
        if weighting.num_unthinned:
            self.cut.append(f"the thinning of {weighting.num_unthinned:,} queries")
        return weighted


def run_training(training: "AnyTraining", callbacks: Callbacks, limit: Clock | None = None) -> None:
    """Run the epochs of a training, until the time is over.

    After Ctrl-C the callbacks decide whether the epochs so far are used.
    """
    callbacks.on_training(training)
    training.follow_leader()
    num_batches = training.examples.num_batches
    done = len(training.history) * num_batches
    callbacks.on_stage("train", training.config.num_epochs * num_batches, done)
    training.on_step = partial(callbacks.on_progress, 1)
    try:
        for _ in training.epochs():
            callbacks.on_epoch(training)
            is_over = callbacks.should_stop() or (limit is not None and limit.is_over)
            if training.processes.of_leader(is_over):
                break
    except KeyboardInterrupt:
        if not callbacks.on_interrupt("train") or not training.history:
            raise


def prepare(
    data: KnowledgeBase | Split,
    model_config: ModelConfig,
    training_config: TrainingConfig,
    *,
    engine: str = "auto",
    device: str = "cpu",
) -> "Training":
    """Return a training run before its first epoch; the seed fixes weights, order and split."""
    import torch

    from ..neural.model import NeuralLP
    from ..neural.training import Training, choose_device, require_device

    device = choose_device(device, engine)
    split = data if isinstance(data, Split) else split_triples(data, training_config.seed)
    if not len(split.train):
        raise DataError("There is nothing to learn from: the part 'train' is empty.")
    require_device(device)
    torch.manual_seed(training_config.seed)
    model = NeuralLP.for_knowledge(split.known, model_config)
    return Training(model, split, training_config, engine, device)


def finish(training: "Training", plan: Plan | None = None) -> LearnedProgram:
    """Return the program of the best epoch so far."""
    plan = plan or Plan(training.model.config, training.config, None)
    model = deepcopy(training.model)  # training may continue with its own
    model.load_state_dict(training.best_weights)
    return LearnedProgram(plan, model=model.cpu(), kb=training.split.known, history=training.history)


# Rules to weigh


def rules_to_weigh(program: Program, num_learned: int) -> Iterator[Rule]:
    """Yield the rules of a program that can be weighted again; of a neural model, the most confident ones."""
    if isinstance(program, RuleProgram):
        return iter(program.given)
    if isinstance(program, LearnedProgram) and program.weighted_rules is not None:
        weighted = program.weighted_rules
        return chain.from_iterable(map(weighted.rules, weighted.queries))
    return learned_rules(program.model, num_learned) if isinstance(program, LearnedProgram) else iter(())


def learned_rules(model: "NeuralLP", num: int, queries: Iterable[int] | None = None) -> Iterator[Rule]:
    """Yield the `num` most confident rules of each query that a model learned, or of some queries."""
    from ..neural.rules import extract_rules

    for query in range(model.relations.num_operators) if queries is None else queries:
        yield from islice(extract_rules(model, query), num)


def make_weighting(
    split: Split,
    config: WeightingConfig,
    given: "Candidates | None" = None,
    device: str = "cpu",
    workers: "int | Workers" = 1,
) -> "Weighting":
    """Return what mines rules and fits their weights, with those `given`, on a device or in processes."""
    from ..weighting.fitting import Weighting

    if device in ON_CPU and workers != 1:
        from ..weighting.workers import DistributedWeighting

        return DistributedWeighting(split, config, given, workers=workers)
    if device in ON_CPU:
        return Weighting(split, config, given)
    from ..weighting.fitting_gpu import GpuWeighting

    _require_device(device)
    return GpuWeighting(split, config, given, device=device)


def weigh_rules(
    split: Split,
    config: WeightingConfig,
    given: "Candidates | None" = None,
    on_done: Callable[[int], None] = lambda num: None,
    device: str = "cpu",
) -> LearnedProgram:
    """Return the program of mined rules and the candidates `given`, with weights fitted on a device."""
    weighted = make_weighting(split, config, given, device).run(on_done)
    return LearnedProgram(Plan(None, None, config), weighted_rules=weighted, kb=split.known)
