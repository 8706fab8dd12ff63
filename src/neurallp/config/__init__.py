"""Settings: every configuration, preset, choice and default, in one place. Imports neither torch nor numpy.

A setting is a field of a configuration. Its type lists what it may be, and its default is used unless a value
is given. The command line derives its options from the fields that have a `help` text; a field without one is
an expert setting of the library only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from ..errors import ConfigError, quoted, require_choice, require_positive
from .plan_log import PlanLog
from .registry import ENGINES as ENGINES
from .registry import KINDS as KINDS
from .settings import choices_of as choices_of
from .settings import (
    require_all_positive,
    require_choices,
    require_dropout,
    require_learning_rate,
    require_seed,
    setting,
)

Preset = Literal["default", "paper"]
Part = Literal["valid", "test"]  # the parts to evaluate: a fact of train is in the graph that is searched
RuleOrder = Literal["clarity", "weight", "confidence", "support"]
MemoryKeys = Literal["present", "previous"]
Objective = Literal["log-score", "normalized"]
TrainingMasking = Literal["fact", "batch", "train"]
FactsApart = Literal["relation", "unlinked"]
Masking = Literal["auto", "fact", "pair", "both"]
EncoderName = Literal["order", "mean"]
Signs = Literal["non-negative", "any"]
Linked = Literal["auto", "exclude", "include"]

ENGINE_CHOICES = ("auto", *ENGINES)
#: Bodies to weigh for a query, pairs to mine between, and questions to count on, however few facts it has.
ALWAYS_CANDIDATES, ALWAYS_PAIRS, ALWAYS_COUNTED = 400, 300, 200

#: How many times the feature values of a refined fit a first fit may have.
FIRST_FIT_WIDTH = 8

C = TypeVar("C")


@dataclass(frozen=True)
class ModelConfig:
    """The architecture of the neural model."""

    num_steps: int = setting(2, "Longest rule body (T).", flag="--steps")
    num_controllers: int = setting(1, "Parallel controllers whose scores add.", flag="--controllers")
    embedding_size: int = setting(128, "Size of the query embedding.")
    hidden_size: int = setting(128, "Size of the controller's state.")
    normalize: bool = setting(True, "Divide each memory by its sum.")
    # Departs from eq. 11: attends to h_1 … h_t as the authors' program does; better on validation.
    memory_keys: MemoryKeys = setting(
        "present", "States that eq. 11 attends to: previous ones (the paper's), or up to the present one."
    )
    exclude_source: bool = setting(
        True,
        "The source is no candidate answer where no fact of the relation is reflexive.",
        flag="--exclude-source/--allow-source",
    )
    operators_per_query: int | None = setting(
        None, "Use only the operators that share most entities with the query.", unset="all"
    )

    def __post_init__(self) -> None:
        require_all_positive(
            self, "num_steps", "num_controllers", "embedding_size", "hidden_size", "operators_per_query"
        )
        require_choices(self)


@dataclass(frozen=True)
class TrainingConfig:
    """How the neural model is trained."""

    num_epochs: int = setting(20, "Passes over the training questions, at most.", flag="--epochs")
    batch_size: int = setting(128, "Questions in a batch; each fact is asked in both directions.")
    learning_rate: float = setting(0.001, "Step size of Adam.")
    patience: int = setting(4, "Epochs without a better validation MRR before training stops.")
    # Departs from eq. 4: wrong answers count too. UMLS validation MRR .64 -> .68, test .87 -> .93.
    objective: Objective = setting(
        "normalized",
        "What is maximised: the answer's log score (the paper's), or the log of its normalised score.",
    )
    # Departs from the fixed 3:1 split: every fact is asked, masked in the graph of its own question only.
    training_masking: TrainingMasking = setting(
        "fact",
        "Facts masked while a question is scored: its own, those of its batch, or all of train.",
    )
    facts_apart: FactsApart = setting(
        "relation",
        "How a quarter of the facts is separated to be asked, unless each masks its own.",
        flag="--facts",
    )
    seed: int = setting(0, "Fixes weights, order, samples and split.")

    def __post_init__(self) -> None:
        require_all_positive(self, "num_epochs", "batch_size", "patience")
        require_choices(self)
        require_learning_rate(self.learning_rate)
        require_seed(self.seed)


@dataclass(frozen=True)
class WeightingConfig:
    """How rules are found and weighted; counts are for one query."""

    max_length: int = setting(3, "Longest body to mine.", flag="--length")
    other_lengths: tuple[int, ...] = setting(
        (),
        "Lengths to try besides; each query keeps the best on validation.",
        flag="--or-length",
        unset="none",
    )
    num_candidates: int = setting(
        1000,
        "Bodies to weigh for each query, the best of those mined: one for each fact, 400 at least.",
        flag="--candidates --mine",
    )
    num_learned: int = setting(50, "Rules of each query to take from the neural model.", flag="--learned")
    max_rules: int | None = setting(
        None, "Weighted rules to keep for each query; weights are fitted anew for them.", unset="all"
    )
    num_pairs: int = setting(
        1000,
        "Known pairs of each query to mine between: half of its facts, 300 at least; ends once little new "
        "is found.",
        flag="--pairs",
    )
    num_mined: int = setting(1000, "Bodies of each length to count right conclusions of.", flag="--mined")
    num_counted: int = setting(
        600,
        "Questions of each query on which conclusions of mined bodies are counted: half of its facts, 200 at "
        "least.",
    )
    max_paths: int = setting(5_000_000, "Paths to follow while mining for one query.")
    num_pilot: int = setting(300, "Questions of each query for the first fit, which chooses settings.")
    max_questions: int = setting(4000, "Questions of each query to fit weights on.", flag="--questions")
    max_per_source: int = setting(30, "Questions of one source to fit weights on.", flag="--per-source")
    max_entries: int = setting(
        8000, "Feature values of a question, on average: bounds time and memory.", flag="--entries"
    )
    masking: Masking = setting(
        "auto", "Facts masked while weights are fitted: the question's own, all links of its pair, or both."
    )
    kinds: tuple[str, ...] = setting(("chain", "prior", "against"), f"Kinds of rules: {', '.join(KINDS)}.")
    signs: Signs = setting(
        "non-negative",
        "Weights of rules: at least 0 (at most 0 for the kinds against and linked), or of any sign.",
    )
    linked: Linked = setting(
        "auto",
        "Whether entities that a fact links to the source are candidates; auto: decided from the data.",
    )
    penalties: tuple[float, ...] = setting(
        (2e-4, 3e-3, 5e-2), "Penalties on squared weights; chosen on validation."
    )
    dropout: float = setting(
        0.0,
        "Probability that a rule is left out of a question at a step of fitting: less, the more questions "
        "a query has.",
    )
    thinning: bool = setting(
        True, "Drop rules without which the fit is as good.", flag="--thinning/--no-thinning"
    )
    batch_size: int = 32
    learning_rate: float = 0.06
    min_steps: int = 300
    seed: int = setting(0, "Fixes what is sampled.")

    def __post_init__(self) -> None:
        require_all_positive(self, "max_length", "num_pairs", "max_questions", "batch_size", "max_rules")
        require_all_positive(self, "num_mined", "num_counted", "num_pilot", "max_per_source", "max_entries")
        require_dropout(self.dropout)
        for length in self.other_lengths:
            require_positive("other_lengths", length)
        require_choices(self)
        for kind in self.kinds:
            require_choice("kinds", kind, tuple(KINDS))
        if not (self.penalties and self.kinds):
            raise ConfigError("Weighting needs at least one penalty, and one kind of rules.")

    @property
    def lengths(self) -> tuple[int, ...]:
        """The maximum lengths to try."""
        return tuple(dict.fromkeys((self.max_length, *self.other_lengths)))

    def candidates_for(self, num_facts: int) -> int:
        """Return how many bodies are weighed for a query: more facts are evidence for more bodies."""
        return min(self.num_candidates, max(ALWAYS_CANDIDATES, num_facts))

    def pairs_for(self, num_facts: int) -> int:
        """Return how many pairs of a query are mined between: others are left to count conclusions on."""
        return min(self.num_pairs, max(ALWAYS_PAIRS, num_facts // 2)) if self.num_candidates else 0

    def counted_for(self, num_facts: int) -> int:
        """Return on how many questions the conclusions of a query's bodies are counted."""
        return min(self.num_counted, max(ALWAYS_COUNTED, num_facts // 2))

    def first_entries_for(self, num_facts: int) -> float:
        """Return how many feature values a question may have in a query's first fit.

        The first fit may choose among more rules where there are other questions to fit the chosen ones on.
        """
        usual = type(self).num_pilot  # a time limit, which lowers the number, makes no fit wider
        width = min(num_facts, self.max_questions) / (2 * usual)
        return self.max_entries * min(FIRST_FIT_WIDTH, max(1.0, width))


@dataclass(frozen=True)
class QuestionConfig:
    """The architecture of a model of questions in words."""

    encoder: EncoderName = setting("order", "All words in order, or the mean of some (the paper's).")
    num_steps: int = setting(3, "Longest chain (T); a question may ask for a shorter one.", flag="--steps")
    embedding_size: int = setting(128, "Size of the word embedding.")
    hidden_size: int = setting(128, "Size of the controller's state.")
    normalize: bool = setting(True, "Divide each memory by its sum.")
    memory_keys: MemoryKeys = setting("previous", "States that eq. 11 attends to.")
    # Departs from the paper: another film by the director of X is not X, nor does it lead through X.
    may_return: bool = setting(
        False, "Whether a path may return to the entity asked about.", flag="--may-return/--never-return"
    )

    def __post_init__(self) -> None:
        require_all_positive(self, "num_steps", "embedding_size", "hidden_size")
        require_choices(self)


@dataclass(frozen=True)
class QuestionTrainingConfig:
    """How a model of questions in words is trained."""

    num_epochs: int = setting(30, "Passes over the questions, at most.", flag="--epochs")
    batch_size: int = setting(64, "Questions in a batch.")
    learning_rate: float = setting(0.002, "Step size of Adam.")
    patience: int = setting(3, "Epochs without better validation before training stops.")
    seed: int = setting(0, "Fixes weights, order and what is held out.")

    def __post_init__(self) -> None:
        require_all_positive(self, "num_epochs", "batch_size", "patience")
        require_learning_rate(self.learning_rate)
        require_seed(self.seed)


@dataclass(frozen=True)
class Plan:
    """The settings of one run of learning, stage by stage; a stage whose settings are None is left out."""

    model: ModelConfig | None
    training: TrainingConfig | None
    weighting: WeightingConfig | None
    log: PlanLog = field(default_factory=PlanLog)

    def __post_init__(self) -> None:
        if (self.model is None) != (self.training is None):
            raise ConfigError("A plan needs both the model's settings and those of its training, or neither.")
        if self.training is None and self.weighting is None:
            raise ConfigError("There is nothing to do: neither train a model nor weigh rules.")

    @property
    def seed(self) -> int:
        """The seed of the run, which also splits data that comes in one file."""
        stage = self.training or self.weighting
        return 0 if stage is None else stage.seed

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the neural model and its training, by name."""
        return {
            name: value
            for stage in (self.model, self.training)
            if stage
            for name, value in vars(stage).items()
        }


#: Presets: settings by name. `paper` is as published, and else as the authors' program.
PRESETS: Mapping[Preset, Mapping[str, Any]] = MappingProxyType(
    {
        "default": {},
        "paper": {
            "num_controllers": 1,
            "exclude_source": False,
            "objective": "log-score",
            "training_masking": "batch",
            "num_epochs": 10,
            "patience": 10,
            "batch_size": 64,
            "learning_rate": 0.001,
        },
    }
)

#: Presets whose rules are not weighted unless that is asked for.
UNWEIGHTED_PRESETS: tuple[Preset, ...] = ("paper",)

#: Presets for questions in words (section 4.4).
QUESTION_PRESETS: Mapping[Preset, Mapping[str, Any]] = MappingProxyType(
    {"default": {}, "paper": {"encoder": "mean", "num_steps": 2}}
)


def make_plan(
    preset: str = "default", *, train: bool = True, weigh: bool | None = None, **settings: Any
) -> Plan:
    """Return the plan with a preset's settings, replaced by those given (None means not given).

    Rules are weighted by default, but not in the preset `paper`. Mined bodies are as long as the rules of the
    neural model unless `max_length` is given.

    >>> make_plan(num_steps=3).weighting.max_length
    3
    >>> make_plan("paper").weighting is None
    True
    """
    chosen = _with_preset(PRESETS, preset, settings)
    require_known(chosen, ModelConfig, TrainingConfig, WeightingConfig)
    model, training = choose(ModelConfig, chosen), choose(TrainingConfig, chosen)
    weighting = choose_weighting(chosen)
    if train and "max_length" not in chosen:
        weighting = replace(weighting, max_length=model.num_steps)
    weigh = preset not in UNWEIGHTED_PRESETS if weigh is None else weigh
    return Plan(model if train else None, training if train else None, weighting if weigh else None)


def choose_weighting(settings: Mapping[str, Any]) -> WeightingConfig:
    """Return the weighting settings; the expert ones share names with those of training and keep defaults."""
    shown = {each.name for each in fields(WeightingConfig) if each.metadata.get("help")}
    return WeightingConfig(**{name: value for name, value in settings.items() if name in shown})


def configure(preset: str = "default", **settings: Any) -> tuple[ModelConfig, TrainingConfig]:
    """Return the configurations of the neural model: the preset's settings, replaced by those given.

    >>> model, training = configure("paper", num_steps=3)
    >>> model.num_steps, training.training_masking
    (3, 'batch')
    """
    chosen = _with_preset(PRESETS, preset, settings)
    require_known(chosen, ModelConfig, TrainingConfig)
    return choose(ModelConfig, chosen), choose(TrainingConfig, chosen)


def configure_questions(
    preset: str = "default", **settings: Any
) -> tuple[QuestionConfig, QuestionTrainingConfig]:
    """Return the configurations for questions in words: the preset's settings, replaced by those given.

    >>> configure_questions("paper")[0].encoder
    'mean'
    """
    chosen = _with_preset(QUESTION_PRESETS, preset, settings)
    require_known(chosen, QuestionConfig, QuestionTrainingConfig)
    return choose(QuestionConfig, chosen), choose(QuestionTrainingConfig, chosen)


def _with_preset(
    presets: Mapping[Preset, Mapping[str, Any]], preset: str, settings: Mapping[str, Any]
) -> dict[str, Any]:
    if preset not in presets:
        raise ConfigError(f"Unknown preset {quoted(preset)}. There are: {', '.join(presets)}.")
    given = {name: value for name, value in settings.items() if value is not None}
    return {**presets[preset], **given}  # type: ignore[index]


def choose(config: type[C], settings: Mapping[str, Any]) -> C:
    """Return a configuration made of those settings that are its fields."""
    return config(**{name: settings[name] for name in _names(config) if name in settings})


def require_known(settings: Mapping[str, Any], *configs: type) -> None:
    """Raise where a setting is in none of the configurations."""
    known = [name for config in configs for name in _names(config)]
    unknown = sorted(settings.keys() - {*known})
    if unknown:
        near = get_close_matches(unknown[0], known, n=1)
        hint = (
            f"Did you mean {near[0]!r}?"
            if near
            else f"See {' and '.join(each.__name__ for each in configs)}."
        )
        raise ConfigError(f"Unknown setting {quoted(unknown[0])}. {hint}")


def _names(config: type) -> list[str]:
    return [each.name for each in fields(config)]
