import json
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from model_folders import change, contents, rewrite
from safetensors.torch import load as parse_tensors

from neurallp import DataError, KnowledgeBase, ModelError, learn, load_model
from neurallp.config import configure
from neurallp.datasets.family import family_knowledge_base
from neurallp.graph.knowledge_base import split_triples
from neurallp.io.models import neural as models
from neurallp.io.models.checkpoints import dump_tensors
from neurallp.io.models.store import FORMAT_VERSION
from neurallp.io.rules.table import read_rules
from neurallp.pipeline.learn import finish, prepare
from neurallp.rules.rule import RuleSet

SMALL = {"embedding_size": 8, "hidden_size": 8, "num_epochs": 1, "learning_rate": 0.01}
FILES = {
    "manifest.json",
    "weights.safetensors",
    "config.json",
    "relations.json",
    "rules.tsv",
    "metrics.json",
    "history.jsonl",
}
NEEDED = FILES - {"manifest.json", "rules.tsv", "metrics.json"}


@pytest.fixture(scope="module")
def split():
    return split_triples(family_knowledge_base(num_people=40, num_generations=3))


@pytest.fixture(scope="module")
def program(split):
    return learn(split, weigh=False, **SMALL)


@pytest.fixture
def folder(program, tmp_path):
    program.save(tmp_path / "model", {"test": {"mrr": 0.5}})
    return tmp_path / "model"


def message_of(folder):
    with pytest.raises(ModelError) as caught:
        load_model(folder)
    return str(caught.value)


def all_scores(program, split):
    sources = np.arange(len(split.entities))
    reasoner = program.reasoner(split.known)
    return [
        reasoner.scores(sources, np.full(len(sources), query)).dense()
        for query in range(split.relations.num_operators)
    ]


# What is kept


def test_a_model_folder_has_these_files_and_no_others(folder):
    assert set(contents(folder)) == FILES | {"calibration.json"}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"num_steps": 3, "num_controllers": 2, "memory_keys": "present", "normalize": False},
        {"operators_per_query": 4, "exclude_source": False, "training_masking": "train"},
    ],
)
def test_a_saved_model_has_the_same_scores_rules_and_measures(split, tmp_path, settings):
    program = learn(split, weigh=False, **SMALL | settings)
    program.save(tmp_path)
    loaded = load_model(tmp_path)
    for scores, others in zip(all_scores(program, split), all_scores(loaded, split), strict=True):
        np.testing.assert_array_equal(scores, others)
    assert loaded.rules(kb=split.given) == program.rules()
    assert loaded.model.config == program.model.config
    assert loaded.plan == program.plan
    assert loaded.history == program.history
    assert loaded.evaluate(split) == program.evaluate(split)


def test_the_rules_and_measures_in_the_folder_are_those_of_the_model(program, folder):
    counted = program.rules()
    assert all(rule.support is not None for rule in counted)
    nothing = dict.fromkeys(("support", "num_predictions", "num_answerable", "num_paths"))
    uncounted = [replace(rule, **nothing) for rule in counted]
    assert read_rules(folder / "rules.tsv") == RuleSet(uncounted)  # counting long rules may take minutes
    assert json.loads((folder / "metrics.json").read_text()) == {"test": {"mrr": 0.5}}
    assert json.loads((folder / "relations.json").read_text()) == list(program.model.relations)


def test_equal_models_give_equal_files(program, folder, tmp_path):
    program.save(tmp_path / "again", {"test": {"mrr": 0.5}})
    assert contents(folder) == contents(tmp_path / "again")


def test_a_folder_of_any_depth_is_made(program, tmp_path):
    program.save(tmp_path / "a" / "b" / "c")
    assert load_model(tmp_path / "a" / "b" / "c").history == program.history


def test_any_name_of_a_relation_survives(tmp_path):
    names = ["a\tb", "a\nb", 'q"', "日本 😀", "a\u2028b", "[bold]", " "]
    kb = KnowledgeBase.from_triples(
        (f"e{i % 4}", name, f"e{(i + 1) % 4}") for i, name in enumerate(names * 2)
    )
    program = learn(kb, weigh=False, **SMALL)
    program.save(tmp_path)
    assert list(load_model(tmp_path).model.relations) == names


def test_nothing_is_pickled(folder, monkeypatch):
    for content in contents(folder).values():
        assert not content.startswith((b"\x80", b"PK"))
    for owner, name in ((pickle, "load"), (pickle, "loads"), (pickle, "Unpickler"), (torch, "load")):
        monkeypatch.setattr(owner, name, None)
    load_model(folder)


def test_every_file_can_be_read_without_this_package(folder):
    assert "controller.embedding.weight" in parse_tensors((folder / "weights.safetensors").read_bytes())
    config = json.loads((folder / "config.json").read_text())
    assert config["model"]["num_steps"] == 2
    assert config["training"]["training_masking"] == "fact"


# What is refused


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_the_error_names_a_missing_file(folder, name):
    (folder / name).unlink()
    assert message_of(folder).startswith(f"{folder / name} is missing or damaged")


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_the_error_names_a_truncated_file(folder, name):
    whole = (folder / name).read_bytes()
    for size in {len(whole) // 2, len(whole) - 3}:
        (folder / name).write_bytes(whole[:size])
        assert message_of(folder).startswith(f"{folder / name} is missing or damaged")


@pytest.mark.parametrize("name", sorted(NEEDED - {"history.jsonl"}))
@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"null", b"7", b"[]", b"{}", b"[[1], 2]", b'["a", "a"]', b"[" * 9999]
)
def test_nonsense_in_a_file_is_a_model_error_that_names_it(folder, name, content):
    rewrite(folder, name, content)
    assert str(folder / name) in message_of(folder)


@pytest.mark.parametrize("content", [b"\xff\xfe\n", b"7\n", b"{}\n", b'{"number": 1, "rubbish": 2}\n'])
def test_the_error_names_a_history_with_nonsense(folder, content):
    rewrite(folder, "history.jsonl", content)
    assert message_of(folder).startswith(f"{folder / 'history.jsonl'} is missing or damaged")


@pytest.mark.parametrize("name", ["rules.tsv", "metrics.json"])
def test_a_model_loads_without_its_rules_and_measures(program, folder, name):
    (folder / name).unlink()
    assert load_model(folder).history == program.history


@pytest.mark.parametrize(
    ("version", "advice"),
    [
        (FORMAT_VERSION - 1, "Learn the model again"),
        (FORMAT_VERSION + 1, "Update neurallp"),
        (None, "Learn the model again"),
        ("4", "Learn the model again"),
    ],
)
def test_another_format_version_is_refused_in_one_sentence_with_advice(folder, version, advice):
    change(folder, "manifest.json", format_version=version)
    message = message_of(folder)
    assert (
        f"has format version {version!r}, but this neurallp reads version {FORMAT_VERSION}. {advice}"
        in message
    )
    assert "\n" not in message


def test_the_error_for_a_folder_without_manifest_names_its_version(folder):
    (folder / "manifest.json").unlink()
    assert f"has format version 3 or older, but this neurallp reads version {FORMAT_VERSION}" in message_of(
        folder
    )


@pytest.mark.parametrize(
    "values",
    [
        {"model__num_steps": 0},
        {"model__num_steps": "two"},
        {"training__training_masking": "foo"},
        {"model__rubbish": 1},
        {"model__num_steps": 2.5},
        {"model__num_controllers": 3_000_000},
    ],
)
def test_the_error_names_a_configuration_with_wrong_values(folder, values):
    change(folder, "config.json", **values)
    assert message_of(folder).startswith(f"{folder / 'config.json'} is missing or damaged")


def test_weights_that_do_not_fit_are_refused_in_one_line(folder):
    change(folder, "config.json", model__embedding_size=9)
    message = message_of(folder)
    assert re.search(r"weights\.safetensors does not fit config\.json", message)
    assert "\n" not in message


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(folder, value):
    tensors = parse_tensors((folder / "weights.safetensors").read_bytes())
    next(each for each in tensors.values() if each.is_floating_point()).view(-1)[0] = value
    rewrite(folder, "weights.safetensors", dump_tensors(tensors))
    assert "weights.safetensors is missing or damaged (it holds numbers that are not finite)" in message_of(
        folder
    )


def test_sizes_that_no_memory_could_hold_are_refused_without_taking_any(folder):
    change(folder, "config.json", model__embedding_size=10**9, model__hidden_size=10**9)
    assert "does not fit" in message_of(folder)


def test_weights_of_other_relations_are_refused(folder, program):
    rewrite(folder, "relations.json", json.dumps([*program.model.relations, "more"]))
    assert "does not fit" in message_of(folder)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float64, torch.int8])
def test_weights_of_another_type_are_refused(folder, kind):
    tensors = parse_tensors((folder / "weights.safetensors").read_bytes())
    rewrite(
        folder, "weights.safetensors", dump_tensors({name: each.to(kind) for name, each in tensors.items()})
    )
    assert "does not fit" in message_of(folder)


def test_the_error_for_a_missing_folder_names_the_command_that_makes_it(tmp_path):
    assert f"neurallp learn DATA --out {tmp_path / 'none'}" in message_of(tmp_path / "none")
    (tmp_path / "file").write_text("")
    assert "is a file, not a model folder. `neurallp weigh` makes one" in message_of(tmp_path / "file")


def test_a_file_in_place_of_the_folder_is_an_error(program, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelError, match="Cannot make the folder"):
        program.save(tmp_path / "file")


# What a failure leaves behind


@pytest.mark.parametrize("files_that_fit", range(6))
def test_a_full_disk_leaves_the_folder_as_it_was(program, folder, monkeypatch, files_that_fit):
    before = contents(folder)
    room = iter(range(files_that_fit))

    def fsync(_):
        if next(room, None) is None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fsync)
    with pytest.raises(DataError, match="No space left on device"):
        program.save(folder, {"test": {"mrr": 0.75}})
    assert contents(folder) == before


def test_a_checkpoint_is_a_model_that_can_be_used(split, tmp_path):
    training = prepare(split, *configure(**SMALL | {"num_epochs": 2}))
    for _ in training.epochs():
        models.write_checkpoint(tmp_path, training)
        loaded = load_model(tmp_path)
        assert loaded.history == training.history
        assert same(loaded.model.state_dict(), training.best_weights)


def same(weights, others):
    return weights.keys() == others.keys() and all(torch.equal(weights[k], others[k]) for k in weights)


def test_a_checkpoint_removes_the_rules_and_measures_of_the_model_before(split, folder):
    training = prepare(split, *configure(**SMALL, num_steps=3))
    list(training.epochs())
    models.write_checkpoint(folder, training)
    assert set(contents(folder)) == NEEDED | {"manifest.json", "checkpoint.safetensors"}
    assert load_model(folder).model.config.num_steps == 3


def test_the_best_of_a_checkpoint_is_not_its_last(split, tmp_path):
    training = prepare(split, *configure(**SMALL | {"num_epochs": 2}))
    list(training.epochs())
    first = {name: value + 1.0 for name, value in training.best_weights.items() if value.is_floating_point()}
    training.best_weights = training.best_weights | first
    training.history[-1] = replace(training.history[-1], is_best=False)
    models.write_checkpoint(tmp_path, training)
    assert same(load_model(tmp_path).model.state_dict(), training.best_weights)


def test_a_checkpoint_stays_beside_the_model_of_its_run_only(split, program, tmp_path):
    training = prepare(split, *configure(**SMALL))
    list(training.epochs())
    models.write_checkpoint(tmp_path, training)
    finish(training).save(tmp_path)
    assert "checkpoint.safetensors" in contents(tmp_path)
    learn(split, weigh=False, **SMALL, seed=1).save(tmp_path)
    assert "checkpoint.safetensors" not in contents(tmp_path)
