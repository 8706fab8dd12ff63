"""Learning, stage by stage: train a neural model, then weigh its rules together with mined ones.

The library, the command line, the demo, the experiments and the benchmarks all call `learn`. A `Plan` has the
settings of each stage, and `Callbacks` follow the run: progress, checkpoints, and stopping early.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from ..config import ModelConfig, Plan, TrainingConfig, WeightingConfig, make_plan
from ..errors import ConfigError, DataError
from ..graph.knowledge_base import KnowledgeBase, Split, split_triples
from ..graph.vocabulary import Relations
from ..io.files import AnyPath
from ..io.triples import Data, load
from ..reasoning.calibration_sample import MAX_QUESTIONS
from ..rules.rule import Rule
from ..weighting.kinds import as_candidates, get_kind
from ..weighting.kinds.base import Candidate
from ..weighting.weighted_rules import WeightedRules
from .program import LearnedProgram, Program, RuleProgram

if TYPE_CHECKING:
    from ..neural.loop import TrainingLoop
    from ..neural.model import NeuralLP
    from ..neural.training import Training
    from ..weighting.fitting import Candidates

    AnyTraining = TrainingLoop[Any, Any]

#: The stages of a run, in order.
Stage = Literal["train", "weigh", "calibrate"]


class Callbacks:
    """Functions that `learn` calls during a run. By default they do nothing, and Ctrl-C ends the run."""

    def on_training(self, training: "AnyTraining") -> None:
        """Called before the first epoch, with the model as it is initialised; may restore a checkpoint."""

    def on_stage(self, stage: Stage, total: int, done: int = 0) -> None:
        """Called when a stage begins, with its number of steps and those that a checkpoint has done."""

    def on_progress(self, num: int) -> None:
        """Called after every `num` steps of a stage."""

    def on_epoch(self, training: "AnyTraining") -> None:
        """Called after every epoch of training; may write a checkpoint."""

    def should_stop(self) -> bool:
        """Return whether to end the run after this epoch; what is learned so far is returned."""
        return False

    def on_interrupt(self, stage: Stage) -> bool:
        """Return whether to keep what is there and go on with the next stage after Ctrl-C in `stage`."""
        return False


class Checkpoints(Callbacks):
    """Write a checkpoint into a folder after every epoch; resume from it where that is wanted."""

    def __init__(self, folder: AnyPath, *, resume: bool = False) -> None:
        self.folder, self.resume = folder, resume

    @property
    def files(self) -> ModuleType:
        """The module that writes and resumes checkpoints of this kind of training."""
        from ..io.models import neural

        return neural

    def on_training(self, training: "AnyTraining") -> None:
        from ..io.models.folders import make_folder

        make_folder(self.folder)
        if self.resume:
            self.files.resume(self.folder, training)

    def on_epoch(self, training: "AnyTraining") -> None:
        self.files.write_checkpoint(self.folder, training)


def learn(
    data: Data,
    plan: Plan | None = None,
    *,
    given: Iterable[Rule] = (),
    engine: str = "auto",
    device: str = "cpu",
    callbacks: Callbacks | None = None,
    **settings: Any,
) -> LearnedProgram:
    """Return a program learned from a path, a table, a knowledge base or a split.

    It answers from all facts that are given but those of a test part: also from those that were held out to
    choose settings and to calibrate.

    Without a plan, `make_plan` makes one from the settings: `preset`, `train`, `weigh`, and the fields of
    ModelConfig, TrainingConfig and WeightingConfig. Rules that are `given` are weighted with the others.

    >>> from neurallp.datasets.family import family_knowledge_base
    >>> program = learn(family_knowledge_base(num_people=60, num_generations=3), num_epochs=2)
    >>> program.model.config.num_steps
    2
    """
    if plan is not None and settings:
        raise ConfigError(f"Give a plan or settings, not both: {', '.join(settings)}.")
    plan = plan or make_plan(**settings)
    data = load(data)
    split = data if isinstance(data, Split) else split_triples(data, plan.seed)
    run = Run(split, plan, engine, device, callbacks or Callbacks())
    program = run.train()
    if plan.weighting is not None and not run.callbacks.should_stop():
        program.weighted_rules = run.weigh(chain(run.learned_rules(program), given))
    run.calibrate(program)
    program.kb = data if isinstance(data, KnowledgeBase) else split.given
    return program


@dataclass(frozen=True)
class Run:
    """One run of `learn`: its data, plan and callbacks, and a method for each stage."""

    split: Split
    plan: Plan
    engine: str
    device: str
    callbacks: Callbacks

    def train(self) -> LearnedProgram:
        """Return the program of the best epoch; without a model where the plan has no training."""
        if self.plan.model is None or self.plan.training is None:
            return LearnedProgram(self.plan, kb=self.split.known)
        configs = self.plan.model, self.plan.training
        training = prepare(self.split, *configs, engine=self.engine, device=self.device)
        run_training(training, self.callbacks)
        return finish(training, self.plan)

    def calibrate(self, program: LearnedProgram) -> None:
        """Fit the probabilities of answers; there are none where no held-out fact is answered."""
        self.callbacks.on_stage("calibrate", MAX_QUESTIONS)
        try:
            program.calibrate(self.split, self.callbacks.on_progress)
        except DataError:
            return
        except KeyboardInterrupt:
            if not self.callbacks.on_interrupt("calibrate"):
                raise

    def learned_rules(self, program: LearnedProgram) -> Iterator[Rule]:
        """Yield the most confident rules that the neural model learned, to weigh them."""
        if self.plan.model is None or self.plan.weighting is None:
            return iter(())
        return learned_rules(program.model, self.plan.weighting.num_learned)

    def weigh(self, rules: Iterable[Rule]) -> WeightedRules | None:
        """Return the weights of `rules` and mined ones, or None where Ctrl-C cut the stage."""
        assert self.plan.weighting is not None
        self.callbacks.on_stage("weigh", 2 * len(self.split.known.facts))
        try:
            candidates = rules_as_candidates(rules, self.split.relations)
            done = self.callbacks.on_progress
            return weigh_rules(self.split, self.plan.weighting, candidates, done, self.device).weighted_rules
        except KeyboardInterrupt:
            if not self.callbacks.on_interrupt("weigh"):
                raise
        return None


def run_training(training: "AnyTraining", callbacks: Callbacks) -> None:
    """Run the epochs of a training; after Ctrl-C the callbacks decide whether the epochs so far are used."""
    callbacks.on_training(training)
    num_batches = training.examples.num_batches
    done = len(training.history) * num_batches
    callbacks.on_stage("train", training.config.num_epochs * num_batches, done)
    training.on_step = partial(callbacks.on_progress, 1)
    try:
        for _ in training.epochs():
            callbacks.on_epoch(training)
            if callbacks.should_stop():
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
    from ..neural.training import Training, require_device

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


def learned_rules(model: "NeuralLP", num: int) -> Iterator[Rule]:
    """Yield the `num` most confident rules of each query that a model learned."""
    from ..neural.rules import extract_rules

    for query in range(model.relations.num_operators):
        yield from islice(extract_rules(model, query), num)


def rules_as_candidates(rules: Iterable[Rule], relations: Relations) -> dict[int, list[Candidate]]:
    """Return rules as candidates, by query; rules with other relations are left out.

    A query without rules gets the inverted rules of its inverse, of the kinds that can be inverted.
    """
    found: defaultdict[int, list[Candidate]] = defaultdict(list)
    for query, candidate in as_candidates(rules, relations):
        found[query].append(candidate)
    for query in list(found):
        inverted = (get_kind(each.kind).invert(each, relations) for each in found[query])
        found.setdefault(relations.inverse(query), [each for each in inverted if each is not None])
    return dict(found)


def weigh_rules(
    split: Split,
    config: WeightingConfig,
    given: "Candidates | None" = None,
    on_done: Callable[[int], None] = lambda num: None,
    device: str = "cpu",
) -> LearnedProgram:
    """Return the program of mined rules and the candidates `given`, with weights fitted on a device."""
    from ..weighting.fitting import Weighting

    if device != "cpu":
        from ..neural.training import require_device

        require_device(device)
    if device == "cpu":
        weighting = Weighting(split, config, given)
    else:
        from ..weighting.fitting_gpu import GpuWeighting

        weighting = GpuWeighting(split, config, given, device=device)
    plan = Plan(None, None, config)
    return LearnedProgram(plan, weighted_rules=weighting.run(on_done), kb=split.known)
