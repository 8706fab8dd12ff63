"""Settings: every configuration, preset, choice and default, in one place. Imports neither torch nor numpy.

A setting is a field of a configuration. Its type says what it may be, its default what it is unless
given, and its metadata what the command line shows: `help`, and `flag` where it is not the field's name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from .errors import ConfigError, require_choice, require_positive

EngineName = Literal["auto", "reference", "cpu", "cuda"]
Part = Literal["valid", "test"]  # what can be evaluated: a fact of train is in the graph, so it finds itself
MemoryKeys = Literal["present", "previous"]
Objective = Literal["log-score", "normalized"]
TrainingMasking = Literal["fact", "batch", "train"]
FactsApart = Literal["relation", "unlinked"]
Masking = Literal["auto", "fact", "pair", "both"]
EncoderName = Literal["order", "mean"]
CalibrationMethod = Literal["isotonic", "platt"]

C = TypeVar("C")


def setting(default: Any, help: str = "", *, flag: str = "") -> Any:  # noqa: A002
    """Return a field of a configuration with what the command line shows of it."""
    return field(default=default, metadata={"help": help, "flag": flag})


def choices_of(annotation: Any) -> tuple[str, ...]:
    """Return what a setting of some type may be, or nothing where its type is no choice.

    >>> choices_of(Objective)
    ('log-score', 'normalized')
    """
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def _require_choices(config: Any) -> None:
    """Raise unless every setting that is a choice has one of its values."""
    for name, annotation in get_type_hints(type(config)).items():
        if choices := choices_of(annotation):
            require_choice(name, getattr(config, name), choices)


def _require_positive(config: Any, *names: str) -> None:
    for name in names:
        if (value := getattr(config, name)) is not None:
            require_positive(name, value)


def _require_learning_rate(rate: float) -> None:
    if not 0 < rate < float("inf"):
        raise ConfigError(f"learning_rate must be above 0 and finite, got {rate}.")


def _require_seed(seed: int) -> None:
    if not 0 <= seed < 2**63:
        raise ConfigError(f"seed must be at least 0 and below 2^63, got {seed}.")


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
        True, "The source is no candidate answer where no fact of the relation is reflexive."
    )
    operators_per_query: int | None = setting(
        None, "Use only the operators that share most entities with the query."
    )

    def __post_init__(self) -> None:
        _require_positive(
            self, "num_steps", "num_controllers", "embedding_size", "hidden_size", "operators_per_query"
        )
        _require_choices(self)


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
        "How a quarter of the facts is set apart to ask, unless each masks its own.",
        flag="--facts",
    )
    seed: int = setting(0, "Fixes weights, order, samples and split.")

    def __post_init__(self) -> None:
        _require_positive(self, "num_epochs", "batch_size", "patience")
        _require_choices(self)
        _require_learning_rate(self.learning_rate)
        _require_seed(self.seed)


@dataclass(frozen=True)
class WeightingConfig:
    """How rules are found and weighted; counts are for one query."""

    max_length: int = setting(3, "Longest body to find.", flag="--length")
    other_lengths: tuple[int, ...] = setting(
        (), "Further lengths to try; each query keeps what validates best.", flag="--or-length"
    )
    num_candidates: int = setting(500, "Bodies to find between known pairs.", flag="--candidates")
    num_learned: int = setting(50, "Rules to take from a neural model.", flag="--learned")
    max_rules: int | None = setting(None, "Rules kept for each query; all unless given.")
    num_pairs: int = setting(200, "Known pairs to find bodies between.", flag="--pairs")
    max_paths: int = setting(20_000_000, "Paths followed to find the bodies of one query, at most.")
    max_questions: int = setting(4000, "Questions to fit weights on.", flag="--questions")
    masking: Masking = setting(
        "auto", "Facts masked while a question is scored: its own, all links of its pair, or both in turn."
    )
    kinds: tuple[str, ...] = setting(("chain", "prior"), "Kinds of rules.")
    penalties: tuple[float, ...] = setting(
        (2e-4, 3e-3, 5e-2), "Penalties on squared weights; chosen on validation."
    )
    batch_size: int = 32
    learning_rate: float = 0.06
    min_steps: int = 150
    seed: int = setting(0, "Fixes what is sampled.")

    def __post_init__(self) -> None:
        _require_positive(self, "max_length", "num_pairs", "max_questions", "batch_size", "max_rules")
        for length in self.other_lengths:
            require_positive("other_lengths", length)
        _require_choices(self)
        for kind in self.kinds:
            require_choice("kinds", kind, tuple(KINDS))
        if not (self.penalties and self.kinds):
            raise ConfigError("Weighting needs at least one penalty, and one kind of rules.")

    @property
    def lengths(self) -> tuple[int, ...]:
        """The maximum lengths that are tried."""
        return tuple(dict.fromkeys((self.max_length, *self.other_lengths)))


#: The kinds of rules that can be weighted, by name, and the module of each: its `KIND` is all there is to know.
KINDS = {
    "chain": "neurallp.weighting.kinds.chain",
    "prior": "neurallp.weighting.kinds.prior",
    "unary": "neurallp.weighting.kinds.unary",
    "anchored": "neurallp.weighting.kinds.anchored",
    "mirrored": "neurallp.weighting.kinds.mirrored",
}


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
    may_return: bool = setting(False, "Whether a path may return to the entity asked about.")

    def __post_init__(self) -> None:
        _require_positive(self, "num_steps", "embedding_size", "hidden_size")
        _require_choices(self)


@dataclass(frozen=True)
class QuestionTrainingConfig:
    """How a model of questions in words is trained."""

    num_epochs: int = setting(30, "Passes over the questions, at most.", flag="--epochs")
    batch_size: int = setting(64, "Questions in a batch.")
    learning_rate: float = setting(0.002, "Step size of Adam.")
    patience: int = setting(3, "Epochs without better validation before training stops.")
    seed: int = setting(0, "Fixes weights, order and what is held out.")

    def __post_init__(self) -> None:
        _require_positive(self, "num_epochs", "batch_size", "patience")
        _require_learning_rate(self.learning_rate)
        _require_seed(self.seed)


#: Settings that go together, by name: `paper` is as published, and as the authors' program where the text is
#: silent.
PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
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

#: The same for questions in words (section 4.4).
QUESTION_PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {"default": {}, "paper": {"encoder": "mean", "num_steps": 2}}
)


def configure(preset: str = "default", **settings: Any) -> tuple[ModelConfig, TrainingConfig]:
    """Return both configurations: the preset's settings, replaced by those given (None means not given).

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
    """Return the same for questions in words.

    >>> configure_questions("paper")[0].encoder
    'mean'
    """
    chosen = _with_preset(QUESTION_PRESETS, preset, settings)
    require_known(chosen, QuestionConfig, QuestionTrainingConfig)
    return choose(QuestionConfig, chosen), choose(QuestionTrainingConfig, chosen)


def _with_preset(
    presets: Mapping[str, Mapping[str, Any]], preset: str, settings: Mapping[str, Any]
) -> dict[str, Any]:
    if preset not in presets:
        raise ConfigError(f"Unknown preset {preset!r}. There are: {', '.join(presets)}.")
    return {**presets[preset], **{name: value for name, value in settings.items() if value is not None}}


def choose(config: type[C], settings: Mapping[str, Any]) -> C:
    """Return a configuration with those of the settings that it has."""
    return config(**{name: settings[name] for name in _names(config) if name in settings})


def require_known(settings: Mapping[str, Any], *configs: type) -> None:
    """Raise where a setting is in none of the configurations."""
    unknown = sorted(settings.keys() - {name for config in configs for name in _names(config)})
    if unknown:
        known = " and ".join(config.__name__ for config in configs)
        raise ConfigError(f"Unknown setting {unknown[0]!r}. See {known}.")


def _names(config: type) -> list[str]:
    return [each.name for each in fields(config)]
