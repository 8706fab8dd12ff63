"""How a program comes about: settings, training, and weighting what was found."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from itertools import chain, islice
from typing import Any

import torch

from ..config import ModelConfig, TrainingConfig, WeightingConfig, configure
from ..errors import DataError
from ..graph.knowledge_base import KnowledgeBase, Split, split_triples
from ..graph.vocabulary import Relations
from ..neural.model import NeuralLP
from ..neural.rules import extract_rules
from ..neural.training import Epoch, Training, require_device
from ..rules.rule import Rule
from ..weighting.fitting import Candidates, Weighting
from ..weighting.kinds import as_candidates, get_kind
from ..weighting.kinds.base import Candidate
from .program import AnyProgram, Program, RuleProgram, WeightedProgram


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
    weighting: WeightingConfig | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
    **settings: Any,
) -> Program:
    """Return a program learned from a knowledge base or a split; settings are those of both configurations.

    Its rules are weighted unless `weigh` is false, or the preset is the paper's.

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
    config = weighting or weighting_config(program)
    program.weighted = weigh_rules(
        training.split, config, candidates_of(program.model, config), device=device
    )
    return program


def finish(training: Training) -> Program:
    """Return the program of the best epoch so far."""
    model = deepcopy(training.model)  # training may go on with its own
    model.load_state_dict(training.best_weights)
    return Program(model.cpu(), training.config, training.split.known, training.history)


def weighting_config(program: Program, **settings: Any) -> WeightingConfig:
    """Return how to weigh what a program learned: bodies as long, the same seed, but for what is given."""
    chosen = {"max_length": program.model.config.num_steps, "seed": program.training_config.seed}
    return WeightingConfig(**chosen | {name: value for name, value in settings.items() if value is not None})


def candidates_of(model: NeuralLP, config: WeightingConfig) -> Candidates:
    """Return the bodies of the most confident rules that a model learned, for each query."""
    return rules_as_candidates(learned_rules(model, config.num_learned), model.relations)


def offered_rules(program: AnyProgram, num_learned: int) -> Iterator[Rule]:
    """Yield the rules of a program that can be weighted anew; of what a model learned, the most confident."""
    if isinstance(program, RuleProgram):
        return iter(program.rules)
    if isinstance(program, WeightedProgram):
        return chain.from_iterable(map(program.weighted.rules, program.weighted.queries))
    if program.weighted is not None:
        return offered_rules(program.weighted, num_learned)
    return learned_rules(program.model, num_learned)


def learned_rules(model: NeuralLP, num: int) -> Iterator[Rule]:
    """Yield the most confident rules that a model learned, so many of each query."""
    for query in range(model.relations.num_operators):
        yield from islice(extract_rules(model, query), num)


def rules_as_candidates(rules: Iterable[Rule], relations: Relations) -> dict[int, list[Candidate]]:
    """Return rules as candidates, by query, without those of other relations.

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
    given: Candidates | None = None,
    on_done: Callable[[int], None] = lambda num: None,
    device: str = "cpu",
) -> WeightedProgram:
    """Return rules found on a split, and those `given`, with weights learned on a device."""
    require_device(device)
    if device == "cpu":
        weighting = Weighting(split, config, given)
    else:
        from ..weighting.fitting_gpu import GpuWeighting

        weighting = GpuWeighting(split, config, given, device=device)
    return WeightedProgram(weighting.run(on_done), config, split.known)
