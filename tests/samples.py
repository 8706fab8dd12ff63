"""Random things to hold promises against: attention, knowledge bases, and models nobody has trained."""

from itertools import combinations

import numpy as np
import torch
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from neurallp import KnowledgeBase, LearnedProgram, ModelConfig, NeuralLP, Plan, Rule, TrainingConfig


def shares(weights):
    """Return integer weights as shares of 1 along the last axis; where all are 0 the first takes it all."""
    weights = weights.astype(float)
    weights[..., 0] += weights.sum(-1) == 0
    return weights / weights.sum(-1, keepdims=True)


@st.composite
def attentions(draw, most_steps=4, num_operators=None):
    """Draw (rank, step, operator) and (rank, step + 1, slot) attention, with zeros and ties in plenty."""
    num_controllers, num_steps = draw(st.integers(1, 2)), draw(st.integers(1, most_steps))
    num_operators = num_operators or draw(st.integers(1, 3))
    few = st.integers(0, 3)
    operator = draw(arrays(np.int64, (num_controllers, num_steps, num_operators), elements=few))
    memory = draw(arrays(np.int64, (num_controllers, num_steps + 1, num_steps + 1), elements=few))
    return shares(operator), shares(np.tril(memory))


@st.composite
def knowledge_bases(draw, num_entities=5, num_relations=2, most_facts=8, reflexive=True):
    """Draw a knowledge base in which every relation has a fact and ids follow no order of names."""
    entity = st.integers(0, num_entities - 1)
    pair = st.tuples(entity, entity).filter(lambda ends: reflexive or ends[0] != ends[1])
    fact = st.tuples(pair, st.integers(0, num_relations - 1))
    facts = [(draw(pair), r) for r in range(num_relations)] + draw(st.lists(fact, max_size=most_facts))
    return KnowledgeBase.from_triples((f"e{head}", f"r{r}", f"e{tail}") for (head, tail), r in facts)


@st.composite
def rules_over(draw, *relations, most_steps=3):
    """Draw a rule, some of whose variables must stand for different entities."""
    operator = st.sampled_from([mark + name for name in relations for mark in ("", "~")])
    body = draw(st.lists(operator, max_size=most_steps))
    pairs = list(combinations(range(len(body) + 1), 2))
    inequalities = draw(st.sets(st.sampled_from(pairs))) if pairs else ()
    confidence = draw(st.sampled_from([0.25, 0.5, 1.0]))
    ends = draw(st.booleans())
    return Rule(
        draw(operator), tuple(body), confidence, distinct_ends=ends, inequalities=tuple(sorted(inequalities))
    )


def untrained(kb, seed=0, **settings):
    """Return a small model with random weights, in double precision so that sums can be compared closely."""
    torch.manual_seed(seed)
    sizes = {"embedding_size": 5, "hidden_size": 4}
    return NeuralLP.for_knowledge(kb, ModelConfig(**sizes | settings)).double()


model_settings = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 99),
        "num_steps": st.integers(1, 3),
        "num_controllers": st.integers(1, 2),
        "normalize": st.booleans(),
        "memory_keys": st.sampled_from(["previous", "present"]),
        "exclude_source": st.booleans(),
        "operators_per_query": st.sampled_from([None, 2]),
    }
)


def edges(kb):
    """Return every (source, operator, target), read off the facts without the package's help."""
    num_relations = len(kb.relations)
    forward = [tuple(fact) for fact in kb.facts.tolist()]
    return forward + [(tail, relation + num_relations, head) for head, relation, tail in forward]


def attention_of(model, query):
    """Return both attentions of one query as nested lists, a pair for each rank."""
    operator, memory = (each[:, 0].tolist() for each in model.attend(np.array([query])).pair)
    return list(zip(operator, memory, strict=True))


def finite_differences(function, weights, step=1e-6):
    """Return the slope of a number along each of the weights, which are moved in place and put back."""
    gradients = torch.zeros_like(weights)
    for place in np.ndindex(*weights.shape):
        before = weights[place].item()
        ends = []
        for by in (step, -step):
            weights[place] = before + by
            ends.append(float(function()))
        weights[place] = before
        gradients[place] = (ends[0] - ends[1]) / (2 * step)
    return gradients


def neural_program(model, kb=None):
    """Return the program of a neural model."""
    return LearnedProgram(Plan(model.config, TrainingConfig(), None), model=model, kb=kb)


def weighted_program(rules, config, kb=None):
    """Return the program of weighted rules without a neural model."""
    return LearnedProgram(Plan(None, None, config), weighted_rules=rules, kb=kb)


#: A program that compiles a kernel of its own and runs it.
KERNEL_PROGRAM = """
import numpy as np
from neurallp.graph.compilation import kernel

@kernel()
def double(values):
    for i in range(len(values)):
        values[i] *= 2

values = np.arange(3)
double(values)
"""
