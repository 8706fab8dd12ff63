import inspect

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import finite_differences

from neurallp.controller.controller import Controller, RelationController

few = settings(max_examples=30, deadline=None)
NUM_OPERATORS, EMBEDDING_SIZE, HIDDEN_SIZE = 6, 5, 4

shapes = st.fixed_dictionaries(
    {
        "num_steps": st.integers(1, 4),
        "num_controllers": st.integers(1, 3),
        "memory_keys": st.sampled_from(["previous", "present"]),
    }
)


def controller(num_steps=3, num_controllers=2, memory_keys="previous", allowed=None, seed=0):
    torch.manual_seed(seed)
    return RelationController(
        NUM_OPERATORS,
        num_steps=num_steps,
        num_controllers=num_controllers,
        embedding_size=EMBEDDING_SIZE,
        hidden_size=HIDDEN_SIZE,
        memory_keys=memory_keys,
        allowed=allowed,
    ).double()


def attend(relation_controller, queries=range(NUM_OPERATORS)):
    attention = relation_controller(torch.tensor(list(queries)))
    return tuple(each.detach().numpy() for each in attention.pair)


def torch_lstm(ours):
    """Return torch's LSTM with the weights of ours, whose gates come in another order."""
    theirs = torch.nn.LSTM(EMBEDDING_SIZE, HIDDEN_SIZE, batch_first=True).double()
    with torch.no_grad():
        bias = ours.input_bias + ours.recurrent_bias
        _copy_gates(theirs.weight_ih_l0, ours.input.T)
        _copy_gates(theirs.weight_hh_l0, ours.recurrent.T)
        _copy_gates(theirs.bias_ih_l0, bias)
        theirs.bias_hh_l0.zero_()
    return theirs


def _copy_gates(theirs, ours):
    forget, input_gate, output_gate, candidate = ours.chunk(4)
    theirs.copy_(torch.cat([input_gate, forget, candidate, output_gate]))


def hidden_states(relation_controller, rank, query):
    """Return h_0 … h_{T+1}: zero, then an LSTM's states for T times the query and END (eq. 9)."""
    one = relation_controller.controllers[rank]
    asked = relation_controller.embedding(torch.tensor([query]))
    read = torch.cat([asked] * one.num_steps + [one.end.unsqueeze(0)])
    hidden = torch_lstm(one.lstm)(read.unsqueeze(0))[0][0]
    return [torch.zeros_like(hidden[0]), *hidden]


# Shape and sums


@few
@given(shape=shapes)
def test_attentions_sum_to_1_at_every_step(shape):
    for each in attend(controller(**shape)):
        assert (each >= 0).all()
        np.testing.assert_allclose(each.sum(-1), 1)


@few
@given(shape=shapes)
def test_slots_that_do_not_exist_yet_hold_exactly_0(shape):
    memory = attend(controller(**shape))[1]
    size = shape["num_steps"] + 1
    assert memory.shape[2:] == (size, size)
    assert (memory[:, :, ~np.tri(size, dtype=bool)] == 0).all()
    assert (memory[:, :, np.tri(size, dtype=bool)] > 0).all()


@few
@given(shape=shapes)
def test_ranks_are_the_first_axis_and_each_has_its_own_mind(shape):
    attention = controller(**shape)(torch.tensor([2, 4]))
    assert attention.operator.shape == (shape["num_controllers"], 2, shape["num_steps"], NUM_OPERATORS)
    assert (attention.num_controllers, attention.num_steps) == (shape["num_controllers"], shape["num_steps"])
    operator = attention.operator.detach()
    assert len(operator.flatten(1).unique(dim=0)) == shape["num_controllers"]


def test_the_attention_of_a_query_does_not_depend_on_the_other_queries():
    relation_controller = controller()
    together, alone = attend(relation_controller), attend(relation_controller, [3])
    for all_queries, one_query in zip(together, alone, strict=True):
        np.testing.assert_allclose(all_queries[:, [3]], one_query)


# The equations


@few
@given(shape=shapes, query=st.integers(0, NUM_OPERATORS - 1), seed=st.integers(0, 99))
def test_operator_attention_is_a_softmax_of_the_hidden_state(shape, query, seed):
    relation_controller = controller(**shape, seed=seed)
    operator = attend(relation_controller)[0]
    for rank, one in enumerate(relation_controller.controllers):
        hidden = hidden_states(relation_controller, rank, query)
        for t in range(1, one.num_steps + 1):
            expected = one.operator(hidden[t]).softmax(0).detach()
            np.testing.assert_allclose(operator[rank, query, t - 1], expected)


@pytest.mark.parametrize(("memory_keys", "first"), [("previous", 0), ("present", 1)])
@few
@given(num_steps=st.integers(1, 4), query=st.integers(0, NUM_OPERATORS - 1), seed=st.integers(0, 99))
def test_previous_keys_read_h0_to_the_last_and_present_keys_h1_to_this(
    memory_keys, first, num_steps, query, seed
):
    relation_controller = controller(num_steps, 1, memory_keys, seed=seed)
    memory = attend(relation_controller)[1][0, query]
    hidden = hidden_states(relation_controller, 0, query)
    for t in range(1, num_steps + 2):
        keys = torch.stack(hidden[first : first + t])
        expected = (keys @ hidden[t]).softmax(0).detach()
        np.testing.assert_allclose(memory[t - 1, :t], expected)


@pytest.mark.parametrize("memory_keys", ["previous", "present"])
@pytest.mark.parametrize(("num_steps", "num_controllers"), [(1, 2), (3, 1)])
def test_the_gradients_of_every_weight_equal_finite_differences(num_steps, num_controllers, memory_keys):
    allowed = torch.ones(NUM_OPERATORS, NUM_OPERATORS, dtype=torch.bool)
    allowed[2, 3:] = False
    relation_controller = controller(num_steps, num_controllers, memory_keys, allowed)
    queries = torch.tensor([4, 2])
    pair = relation_controller(queries).pair
    gradients = [torch.randn(each.shape, dtype=torch.float64) for each in pair]

    def weighted_sum():
        with torch.no_grad():
            pairs = zip(relation_controller(queries).pair, gradients, strict=True)
            return sum((each * gradient).sum() for each, gradient in pairs)

    found = torch.autograd.grad(pair, [*relation_controller.parameters()], gradients)
    for (name, weight), gradient in zip(relation_controller.named_parameters(), found, strict=True):
        expected = finite_differences(weighted_sum, weight.data)
        torch.testing.assert_close(gradient, expected, rtol=1e-5, atol=1e-8, msg=name)


@pytest.mark.parametrize("memory_keys", ["previous", "present"])
def test_a_controller_of_given_vectors_carries_gradients_to_them_and_its_weights(memory_keys):
    torch.manual_seed(0)
    one = Controller(EMBEDDING_SIZE, HIDDEN_SIZE, NUM_OPERATORS, num_steps=2).double()
    names, weights = zip(*one.named_parameters(), strict=True)

    def attention(query, *given):
        changed = dict(zip(names, given, strict=True))
        return torch.func.functional_call(one, changed, (query, None, memory_keys))

    query = torch.randn(2, EMBEDDING_SIZE, dtype=torch.float64)
    assert torch.autograd.gradcheck(attention, [each.detach().requires_grad_() for each in (query, *weights)])


def test_the_forget_bias_starts_at_1_and_the_others_at_0():
    for one in controller().controllers:
        input_gate, forget, candidate, output_gate = torch_lstm(one.lstm).bias_ih_l0.chunk(4)
        assert (forget == 1).all()
        assert not torch.cat([input_gate, candidate, output_gate]).any()


def test_the_first_memory_has_logit_0_under_previous_keys():
    relation_controller = controller(num_steps=1, num_controllers=1)
    memory = attend(relation_controller)[1][0, 2, -1]
    _, before, last = hidden_states(relation_controller, 0, 2)
    assert np.log(memory[1] / memory[0]) == pytest.approx((before @ last).item())


@pytest.mark.parametrize("memory_keys", ["previous", "present"])
def test_end_is_read_last(memory_keys):
    relation_controller = controller(memory_keys=memory_keys)
    operator, memory = attend(relation_controller)
    with torch.no_grad():
        for one in relation_controller.controllers:
            one.end.neg_()
    other_operator, other_memory = attend(relation_controller)
    np.testing.assert_array_equal(operator, other_operator)
    np.testing.assert_array_equal(memory[:, :, :-1], other_memory[:, :, :-1])
    assert (memory[:, :, -1] != other_memory[:, :, -1]).any(-1).all()


# Restrictions


@few
@given(
    flags=st.lists(
        st.lists(st.booleans(), min_size=NUM_OPERATORS, max_size=NUM_OPERATORS).filter(any),
        min_size=NUM_OPERATORS,
        max_size=NUM_OPERATORS,
    ),
    queries=st.lists(st.integers(0, NUM_OPERATORS - 1), min_size=1, max_size=4),
)
def test_operators_that_are_not_allowed_get_exactly_0_and_the_others_sum_to_1(flags, queries):
    allowed = torch.tensor(flags)
    operator = attend(controller(allowed=allowed), queries)[0]
    for place, query in enumerate(queries):
        assert ((operator[:, place] > 0) == allowed[query].numpy()).all()
    np.testing.assert_allclose(operator.sum(-1), 1)


def test_a_restriction_keeps_the_proportions_of_what_is_left():
    free = attend(controller())[0]
    allowed = torch.zeros(NUM_OPERATORS, NUM_OPERATORS, dtype=torch.bool)
    allowed[:, 1:3] = True
    restricted = attend(controller(allowed=allowed))[0]
    kept = free[..., 1:3]
    np.testing.assert_allclose(restricted[..., 1:3], kept / kept.sum(-1, keepdims=True))


# The inductive claim


def test_the_controller_never_sees_an_entity():
    assert list(inspect.signature(RelationController.forward).parameters) == ["self", "queries"]
    assert list(inspect.signature(Controller.forward).parameters) == ["self", "query", "allowed", "keys"]
    for seen in (RelationController, Controller):
        assert not [name for name in inspect.signature(seen).parameters if "entit" in name]
