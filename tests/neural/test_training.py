import json
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from samples import edges, finite_differences

from neurallp import ConfigError, ModelError, learn
from neurallp.config import TrainingConfig, configure
from neurallp.datasets.family import family_knowledge_base
from neurallp.graph.knowledge_base import KnowledgeBase, Split, name_parts, separate_facts, split_triples
from neurallp.io.models import neural as models
from neurallp.neural.examples import TrainingExamples
from neurallp.neural.gradients import score_with_backward
from neurallp.neural.loop import Epoch
from neurallp.pipeline.callbacks import Callbacks
from neurallp.pipeline.learn import finish, prepare

SMALL = {"embedding_size": 8, "hidden_size": 8, "learning_rate": 0.01}
NO_TRIPLES = np.empty((0, 3), dtype=np.int64)


@pytest.fixture(scope="module")
def family():
    return split_triples(family_knowledge_base(num_people=40, num_generations=3))


def train(split, engine="auto", **settings):
    training = prepare(split, *configure(**SMALL | {"num_epochs": 2} | settings), engine=engine)
    return training, list(training.epochs())


def same(weights, others):
    return weights.keys() == others.keys() and all(torch.equal(weights[k], others[k]) for k in weights)


def validated(monkeypatch, training, *mrrs):
    """Let the epochs of a run validate as given, whatever they learn."""
    given = iter(mrrs)
    monkeypatch.setattr(training.validator, "validate", lambda model: {"mrr": next(given)})
    return training


# Epochs


def test_every_epoch_is_a_record_of_what_it_gave(family):
    seen = []

    class Seen(Callbacks):
        def on_epoch(self, training):
            seen.append(training.history[-1])

    program = learn(family, weigh=False, **SMALL, num_epochs=3, patience=3, callbacks=Seen())
    assert seen == program.history
    assert [epoch.number for epoch in seen] == [1, 2, 3]
    assert all(epoch.loss > 0 and 0 < epoch.valid_mrr <= 1 and epoch.seconds > 0 for epoch in seen)


def test_learning_lowers_the_loss(family):
    _, history = train(family, num_epochs=4, patience=4)
    assert history[-1].loss < history[0].loss


def test_an_epoch_asks_every_known_fact_once_both_ways(family):
    examples = TrainingExamples.of(family, TrainingConfig(batch_size=50))
    batches = list(examples.batches(np.random.default_rng(0)))
    asked = [
        (source, query, answer)
        for batch in batches
        for source, query, answer in zip(*vars(batch.questions).values(), strict=True)
    ]
    assert len(batches) == examples.num_batches
    assert sorted(asked) == sorted(edges(family.known))


def test_progress_is_told_after_every_step(family):
    training, _ = train(family, num_epochs=1)
    steps = []
    training.on_step = lambda: steps.append(1)
    training.config = replace(training.config, num_epochs=2)
    list(training.epochs())
    assert len(steps) == training.examples.num_batches


def test_the_same_seed_gives_the_same_weights_bit_for_bit(family):
    (one, history), (other, others) = train(family, seed=3), train(family, seed=3)
    assert same(one.model.state_dict(), other.model.state_dict())
    assert [replace(epoch, seconds=0) for epoch in history] == [replace(epoch, seconds=0) for epoch in others]


def test_another_seed_gives_other_weights(family):
    (one, _), (other, _) = train(family, seed=3), train(family, seed=4)
    assert not same(one.model.state_dict(), other.model.state_dict())


def test_training_leaves_the_number_of_torch_threads_as_it_was(family):
    before = torch.get_num_threads()
    train(family, num_epochs=1)
    assert torch.get_num_threads() == before


# The best epoch


def test_training_stops_when_validation_has_not_improved_for_patience_epochs(family, monkeypatch):
    training = prepare(family, *configure(**SMALL, num_epochs=9, patience=2))
    history = list(validated(monkeypatch, training, 0.1, 0.3, 0.3, 0.2, 0.9).epochs())
    assert [epoch.is_best for epoch in history] == [True, True, False, False]


def test_the_weights_kept_are_those_of_the_best_epoch_and_not_of_the_last(family, monkeypatch):
    training = prepare(family, *configure(**SMALL, num_epochs=4, patience=4))
    validated(monkeypatch, training, 0.1, 0.3, 0.2, 0.2)
    weights = [{k: v.clone() for k, v in training.model.state_dict().items()} for _ in training.epochs()]
    kept = finish(training).model.state_dict()
    assert same(kept, weights[1])
    assert not same(kept, weights[3])


def test_without_validation_training_runs_to_the_end_and_keeps_the_last_epoch(family):
    split = Split(family.entities, family.relations, NO_TRIPLES, family.train, NO_TRIPLES, NO_TRIPLES)
    training, history = train(split, num_epochs=4, patience=2)
    assert [(epoch.valid_mrr, epoch.is_best) for epoch in history] == [(None, True)] * 4
    assert same(training.best_weights, training.model.state_dict())


def test_validation_never_looks_at_test(family):
    none = Split(family.entities, family.relations, NO_TRIPLES, family.train, family.valid, NO_TRIPLES)
    _, history = train(family, num_epochs=1)
    _, others = train(none, num_epochs=1)
    assert history[0].valid_mrr == others[0].valid_mrr


@pytest.mark.parametrize("objective", ["log-score", "normalized"])
def test_weights_that_are_no_numbers_end_training_with_advice(family, objective):
    with pytest.raises(ConfigError, match=r"diverged in epoch 1: .* Try a learning_rate below 1e\+38"):
        train(family, learning_rate=1e38, objective=objective)


@pytest.mark.parametrize(
    "setting",
    [
        {"num_epochs": 0},
        {"batch_size": 0},
        {"patience": 0},
        {"learning_rate": 0.0},
        {"learning_rate": float("nan")},
        {"learning_rate": float("inf")},
        {"objective": "foo"},
        {"training_masking": "foo"},
        {"facts_apart": "foo"},
        {"seed": -1},
        {"seed": 2**63},
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_by_name(setting):
    with pytest.raises(ConfigError, match=next(iter(setting))):
        TrainingConfig(**setting)


# What is hidden


@pytest.fixture
def lonely():
    """Facts of which none follows from the others: an asked fact has only itself to be found by."""
    return name_parts({"train": [(f"a{i}", "r", f"b{i}") for i in range(4)]})


def examples_of(split, **settings):
    return TrainingExamples.of(split, TrainingConfig(**settings))


def hidden_from_each(examples, batch):
    """Return for each question the (source, operator, target) of the edges its walk may not use."""
    walks, operators = batch.queries, examples.operators
    rows = zip(operators.sources, operators.operators, operators.targets, strict=True)
    edges_by_number = [tuple(map(int, row)) for row in rows]
    hidden_from, hidden = walks.masked_pairs
    return [{edges_by_number[e] for e in hidden[hidden_from == w]} for w in range(len(walks))]


def both_edges(fact, num_relations):
    head, relation, tail = map(int, fact)
    return {(head, relation, tail), (tail, relation + num_relations, head)}


def walked_facts(examples):
    forward = examples.operators.operators < examples.operators.num_relations
    columns = (examples.operators.sources, examples.operators.operators, examples.operators.targets)
    return {tuple(map(int, row)) for row in np.stack(columns, axis=1)[forward]}


def as_set(triples):
    return {tuple(map(int, triple)) for triple in triples}


def test_hiding_the_fact_hides_both_its_edges_from_both_its_questions(family):
    examples = examples_of(family, training_masking="fact")
    facts = family.train[:5]
    hidden = hidden_from_each(examples, examples.batch(facts))
    for place, fact in enumerate(facts):
        own = both_edges(fact, len(family.relations))
        assert hidden[2 * place] == hidden[2 * place + 1] == own


def test_hiding_the_batch_hides_both_edges_of_all_its_facts_from_every_question(family):
    examples = examples_of(family, training_masking="batch")
    facts = examples.asked[:5]
    whole = set().union(*(both_edges(fact, len(family.relations)) for fact in facts))
    assert hidden_from_each(examples, examples.batch(facts)) == [whole] * 10


def test_hiding_train_walks_on_facts_alone_and_hides_nothing_more(family):
    split = separate_facts(family)
    examples = examples_of(split, training_masking="train")
    assert walked_facts(examples) == as_set(split.facts)
    assert as_set(examples.asked) == as_set(split.train)
    assert hidden_from_each(examples, examples.batch(split.train[:5])) == [set()] * 10


@pytest.mark.parametrize("masking", ["fact", "batch"])
def test_otherwise_everything_known_is_walked_on(family, masking):
    assert walked_facts(examples_of(separate_facts(family), training_masking=masking)) == as_set(family.train)


@pytest.mark.parametrize("masking", ["fact", "batch", "train"])
def test_a_fact_that_only_itself_would_prove_scores_exactly_0(lonely, masking):
    training = prepare(lonely, *configure(**SMALL, training_masking=masking, batch_size=2))
    batch = training.examples.batch(training.examples.asked[:1])
    followed = score_with_backward(
        training.model, training.engine, batch.queries, np.arange(2), batch.questions.answers
    )
    assert followed.scores.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("inequalities", "masking"), [("relation", "train"), ("relation", "batch"), ("unlinked", "train")]
)
def test_where_there_is_no_facts_part_a_quarter_of_train_is_asked(family, inequalities, masking):
    examples = examples_of(family, training_masking=masking, facts_apart=inequalities)
    num_relations = len(np.unique(family.train[:, 1]))
    assert abs(len(examples.asked) - len(family.train) / 4) <= num_relations
    assert as_set(examples.asked) <= as_set(family.train)
    if masking == "train":
        assert walked_facts(examples) == as_set(family.train) - as_set(examples.asked)


def test_every_relation_gives_up_a_quarter_of_its_facts_and_at_least_one(family):
    asked = examples_of(family, training_masking="train").asked
    for relation in np.unique(family.train[:, 1]):
        have = np.count_nonzero(family.train[:, 1] == relation)
        assert np.count_nonzero(asked[:, 1] == relation) == max(1, have // 4)


def test_a_facts_part_that_is_given_stays_as_it_is(family):
    given = Split(
        family.entities, family.relations, family.train[:9], family.train[9:], family.valid, family.test
    )
    examples = examples_of(given, training_masking="train")
    assert walked_facts(examples) == as_set(family.train[:9])
    assert as_set(examples.asked) == as_set(family.train[9:])


# What is minimised


@pytest.mark.parametrize("objective", ["log-score", "normalized"])
def test_the_gradient_of_the_loss_is_what_it_should_be_for_every_weight(objective):
    ring = [(f"e{i}", "r", f"e{(i + 1) % 4}") for i in range(4)] + [("e0", "s", "e2"), ("e1", "s", "e3")]
    settings = {"embedding_size": 3, "hidden_size": 3, "objective": objective}
    training = prepare(name_parts({"train": ring}), *configure(**settings), engine="reference")
    training.model.double()
    batch = training.examples.batch(training.examples.asked)
    gradients = training.loss_and_gradients(batch)[1]
    for (name, weight), gradient in zip(training.model.named_parameters(), gradients, strict=True):
        expected = finite_differences(lambda: training.loss_and_gradients(batch)[0], weight.data)
        torch.testing.assert_close(gradient, expected, rtol=1e-5, atol=1e-7, msg=name)


def test_the_share_leaves_out_other_known_answers_and_the_source():
    triples = [("x", "r", "y"), ("x", "r", "z"), ("x", "s", "y"), ("x", "s", "z"), ("x", "s", "w")]
    training = prepare(
        name_parts({"train": triples}), *configure(**SMALL, objective="normalized", num_steps=1)
    )
    batch = training.examples.batch(training.examples.asked[:1])  # of its rivals z is known and x the source
    names = training.split.entities
    assert [names[int(s)] for s in batch.questions.sources] == ["x", "y"]
    scores = [dense_scores(training, batch, walk) for walk in (0, 1)]
    wanted = [scores[0]["y"] / (scores[0]["y"] + scores[0]["w"]), 1.0]
    assert training.loss_and_gradients(batch)[0].exp().item() ** -2 == pytest.approx(
        np.prod(wanted), rel=1e-5
    )


def test_an_answer_without_rivals_costs_nothing_and_teaches_nothing_however_sums_are_rounded():
    triples = [("x", relation, f"y{i}") for relation in "rs" for i in range(12)]
    without = []
    for seed in range(12):
        settings = SMALL | {"objective": "normalized", "num_steps": 1, "seed": seed}
        training = prepare(name_parts({"train": triples}), *configure(**settings))
        loss, gradients = training.loss_and_gradients(training.examples.batch(training.examples.asked[:1]))
        assert 0 <= loss < 1e-4
        without += [gradients] if loss == 0 else []
    assert without
    assert not any(each.any() for gradients in without for each in gradients)


def test_no_gradient_counts_for_more_than_5(family, monkeypatch):
    training = prepare(family, *configure(**SMALL))
    batch = training.examples.batch(training.examples.asked[:4])
    loss, gradients = training.loss_and_gradients(batch)
    steep = tuple(1e6 * each for each in gradients)
    monkeypatch.setattr(training, "loss_and_gradients", lambda _: (loss, steep))
    training.step(batch)
    expected = torch.cat([each.flatten() for each in steep]).clamp(-5, 5)
    torch.testing.assert_close(training.optimizer.moments["mean"], 0.1 * expected)


def dense_scores(training, batch, walk):
    names = training.split.entities
    rows, entities = np.full(len(names), walk), np.arange(len(names))
    followed = score_with_backward(training.model, training.engine, batch.queries, rows, entities)
    return dict(zip(names, followed.scores.tolist(), strict=True))


# Abilities


def planted_split(seed, size=60):
    """Return a split whose target is the chain a, b, c; d and e are noise."""
    rng = random.Random(seed)
    names = [f"e{i}" for i in range(size)]
    to = {r: dict(zip(names, rng.sample(names, size), strict=True)) for r in "abcde"}
    facts = [(head, r, tail) for r in to for head, tail in to[r].items()]
    target = [(x, "target", to["c"][to["b"][to["a"][x]]]) for x in names]
    cut = size * 3 // 4
    return name_parts({"facts": facts, "train": target[:cut], "valid": target[cut:]})


@pytest.mark.parametrize("seed", [0, 3])
def test_a_planted_rule_of_length_3_is_the_first_that_is_recovered(seed):
    settings = {"embedding_size": 32, "hidden_size": 32, "learning_rate": 0.01, "batch_size": 16}
    program = learn(
        planted_split(seed),
        weigh=False,
        **settings,
        num_steps=3,
        num_epochs=20,
        patience=20,
        training_masking="batch",
        seed=seed,
    )
    best = program.rules("target")[0]
    assert best.body == ("a", "b", "c")
    assert (best.support, best.num_predictions) == (60, 60)  # counted on all facts that are given
    assert max(epoch.valid_mrr for epoch in program.history) > 0.9


def test_what_is_learned_on_one_family_ranks_the_people_of_another():
    program = learn(family_knowledge_base(80, 3, seed=0), num_epochs=6, learning_rate=0.01)
    others = [
        (f"other {head}", relation, f"other {tail}")
        for head, relation, tail in named(family_knowledge_base(80, 3, seed=1))
    ]
    split = split_triples(KnowledgeBase.from_triples(others))
    assert not set(program.kb.entities) & set(split.entities)
    assert program.evaluate(split).mrr > 0.85


def named(kb):
    return [(kb.entities[h], kb.relations[r], kb.entities[t]) for h, r, t in kb.facts]


def test_answers_that_no_chain_reaches_teach_nothing_but_do_no_harm(lonely):
    training, history = train(lonely, num_epochs=2)
    assert history[0].loss == history[1].loss
    assert all(torch.isfinite(weight).all() for weight in training.model.parameters())


# Resuming


def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(family, tmp_path):
    whole, history = train(family, num_epochs=4, patience=4)
    interrupt(family, tmp_path, num_epochs=4, patience=4)
    again = prepare(family, *configure(**SMALL, num_epochs=4, patience=4))
    models.resume(tmp_path, again)
    list(again.epochs())
    assert same(again.state(), whole.state())
    assert [replace(e, seconds=0) for e in again.history] == [replace(e, seconds=0) for e in history]


def interrupt(split, folder, after=2, engine="auto", **settings):
    """Train for some epochs of a longer run, with a checkpoint after each."""
    training = prepare(split, *configure(**SMALL, **settings), engine=engine)
    for epoch in training.epochs():
        models.write_checkpoint(folder, training)
        if epoch.number == after:
            return


def test_another_process_resumes_to_the_same_weights(family, tmp_path):
    whole, _ = train(family, num_epochs=3, patience=3, engine="reference")
    interrupt(family, tmp_path, num_epochs=3, patience=3, engine="reference")
    script = f"""
from neurallp.datasets.family import family_knowledge_base
from neurallp.io.models import neural as models
from neurallp.graph.knowledge_base import split_triples
from neurallp.config import configure
from neurallp.pipeline.learn import prepare
split = split_triples(family_knowledge_base(num_people=40, num_generations=3))
training = prepare(split, *configure(**{SMALL}, num_epochs=3, patience=3), engine="reference")
models.resume({str(tmp_path)!r}, training)
for _ in training.epochs():
    models.write_checkpoint({str(tmp_path)!r}, training)
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    again = prepare(family, *configure(**SMALL, num_epochs=3, patience=3))
    models.resume(tmp_path, again)
    assert again.is_over
    assert same(again.state(), whole.state())


def test_a_resumed_run_remembers_its_best_epoch(family, tmp_path, monkeypatch):
    training = prepare(family, *configure(**SMALL, num_epochs=3, patience=3))
    for _ in validated(monkeypatch, training, 0.9, 0.1).epochs():
        models.write_checkpoint(tmp_path, training)
        if len(training.history) == 2:
            break
    again = prepare(family, *configure(**SMALL, num_epochs=3, patience=3))
    models.resume(tmp_path, again)
    list(validated(monkeypatch, again, 0.2).epochs())
    assert [epoch.is_best for epoch in again.history] == [True, False, False]
    assert same(finish(again).model.state_dict(), training.best_weights)


def test_a_run_that_is_over_can_go_on_for_longer(family, tmp_path):
    whole, _ = train(family, num_epochs=3, patience=3)
    interrupt(family, tmp_path, num_epochs=2, patience=2)
    longer = prepare(family, *configure(**SMALL, num_epochs=3, patience=3))
    models.resume(tmp_path, longer)
    assert [epoch.number for epoch in longer.epochs()] == [3]
    assert same(longer.model.state_dict(), whole.model.state_dict())


def test_a_program_taken_between_steps_can_be_changed_like_any_other(family):
    training, programs = prepare(family, *configure(**SMALL, num_epochs=1)), []
    training.on_step = lambda: programs.append(finish(training))
    list(training.epochs())
    programs[0].model.load_state_dict(training.best_weights)
    assert same(programs[0].model.state_dict(), training.best_weights)


def test_training_goes_on_after_its_program_was_taken(family):
    one, two = (prepare(family, *configure(**SMALL, num_epochs=3, patience=3)) for _ in range(2))
    for _ in two.epochs():
        finish(two)
    list(one.epochs())
    assert same(one.state(), two.state())


def test_moments_of_other_weights_cannot_be_resumed(family):
    training, _ = train(family, num_epochs=1)
    inequalities = {key: value for key, value in training.state().items() if not key.startswith("moments.")}
    for place, weights in enumerate(training.optimizer.weights):
        inequalities[f"optimizer.{place}.exp_avg"] = torch.zeros_like(weights)
    with pytest.raises(ModelError, match="another version"):
        training.restore(inequalities, [])


@pytest.mark.parametrize(
    ("setting", "value"),
    [("num_steps", 3), ("seed", 1), ("training_masking", "batch"), ("learning_rate", 0.5)],
)
def test_other_settings_cannot_be_resumed(family, tmp_path, setting, value):
    interrupt(family, tmp_path, num_epochs=2)
    other = prepare(family, *configure(**SMALL | {setting: value}))
    with pytest.raises(ModelError, match=f"has {setting} .*, not {value}"):
        models.resume(tmp_path, other)


def test_data_with_other_relations_cannot_be_resumed(family, tmp_path):
    interrupt(family, tmp_path, num_epochs=2)
    other = prepare(planted_split(0), *configure(**SMALL))
    with pytest.raises(ModelError, match="other relations"):
        models.resume(tmp_path, other)


def test_a_folder_without_a_checkpoint_cannot_be_resumed(family, tmp_path):
    training = prepare(family, *configure(**SMALL))
    with pytest.raises(ModelError, match=r"checkpoint\.safetensors: nothing to resume"):
        models.resume(tmp_path, training)


@pytest.mark.parametrize("size", [0, 4, 100, 10_000])
def test_a_damaged_checkpoint_is_told_by_name(family, tmp_path, size):
    interrupt(family, tmp_path, num_epochs=2)
    path = Path(tmp_path / models.CHECKPOINT)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ModelError, match=r"checkpoint\.safetensors is missing or damaged"):
        models.resume(tmp_path, prepare(family, *configure(**SMALL)))


def test_history_is_a_line_of_json_for_each_epoch(family, tmp_path):
    program = learn(family, weigh=False, **SMALL, num_epochs=2)
    program.save(tmp_path)
    lines = (tmp_path / models.HISTORY).read_text().splitlines()
    assert [Epoch(**json.loads(line), seconds=0.0) for line in lines] == program.history
