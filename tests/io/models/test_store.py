import multiprocessing
import os
import shutil
import threading
import time
from functools import cache

import pytest
from faults import outcomes
from model_folders import contents
from samples import untrained

from neurallp import KnowledgeBase, ModelError
from neurallp.config import TrainingConfig, WeightingConfig
from neurallp.io.files import atomic_write
from neurallp.io.models.calibration import write_calibration
from neurallp.io.models.neural import model_files, write_model
from neurallp.io.models.store import (
    MANIFEST,
    NEXT,
    STAGING,
    holds_model,
    locked,
    read_files,
    require_writable,
    update_files,
    write_files,
)
from neurallp.io.models.weighted import weighted_files
from neurallp.io.triples import read_triples, write_triples
from neurallp.reasoning.calibration import Calibration
from neurallp.weighting.weighted_rules import WeightedRules

#: The whole loop takes minutes: `make torture` runs it.
WHOLE = bool(os.environ.get("NEURALLP_TORTURE"))
FAULTS = ["kill", "broken", "full", "read-only"] if WHOLE else ["kill", "broken"]

KB = KnowledgeBase.from_triples([("a", "r", "b"), ("b", "s", "c")])
CALIBRATION = Calibration((0.0, 1.0), (1.0,) * 5, {}, (0.0, -1.0, -2.0))


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Do not wait for the disk: the order of operations matters here, and thousands are made."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@cache
def neural(seed):
    return model_files(untrained(KB, seed), TrainingConfig(seed=seed), [])


@cache
def weighted(seed):
    none = WeightedRules(KB.relations, KB.reflexive_relations, {})
    return weighted_files(none, WeightingConfig(seed=seed))


def save_neural(folder):
    write_model(folder, neural(1) | {"rules.tsv": "new", "metrics.json": "{}"})


def save_both(folder):
    write_model(folder, neural(1) | weighted(1))


def save_weighted(folder):
    write_files(folder, "rules", weighted(2) | {"rules.tsv": "weighted"})


def save_checkpoint(folder):
    write_files(folder, "rules", neural(3) | {"checkpoint.safetensors": b"run"})


def save_questions(folder):
    write_files(folder, "questions", neural(4) | {"words.json": "{}", "metrics.json": "{}"})


def calibrate(folder):
    write_calibration(folder, CALIBRATION)


def nothing(folder):
    folder.mkdir()


def old_neural(folder):
    full = neural(1) | weighted(1) | {"calibration.json": "{}", "rules.tsv": "old", "plan.json": "{}"}
    write_files(folder, "rules", full | {"checkpoint.safetensors": b"run"})


def old_questions(folder):
    write_files(folder, "questions", neural(5) | {"words.json": '{"a": 1}', "metrics.json": "{}"})


def state(folder):
    """Return the model that a folder holds, checkpoint included, or None."""
    if not holds_model(folder):
        return None
    found = read_files(folder, without=())
    return found.kind, dict(found.contents)


SAVES = [save_neural, save_both, save_weighted, save_checkpoint, save_questions]
OLD = [nothing, old_neural, old_questions]
FEW = [(nothing, save_neural), (old_questions, save_questions), *((old_neural, save) for save in SAVES)]
CASES = [(old, save) for old in OLD for save in SAVES] if WHOLE else FEW
CASES += [(old_neural, calibrate)]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("old", "save"), CASES, ids=lambda each: each.__name__)
def test_a_save_that_fails_anywhere_leaves_the_old_model_or_the_new_one(tmp_path, fault, old, save):
    folder = tmp_path / "model"

    def prepare():
        shutil.rmtree(folder, ignore_errors=True)
        old(folder)

    prepare()
    before = state(folder)
    save(folder)
    after = state(folder)
    assert before != after
    for told in outcomes(fault, prepare, lambda: save(folder)):
        left = state(folder)
        assert left in (before, after)
        if fault != "kill":
            assert left == (before if told else after)
        save(folder)  # nothing that was left is in the way
        assert state(folder) == after
        assert set(contents(folder)) == {MANIFEST, *after[1]}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_second_fault_while_the_first_is_mended_changes_nothing_either(tmp_path, fault):
    folder = tmp_path / "model"
    old_neural(folder)
    save_weighted(folder)
    (folder / NEXT).mkdir()
    for path in [path for path in folder.iterdir() if path.is_file()]:
        path.rename(folder / NEXT / path.name)  # cut short just after the step
    cut, start = state(folder), tmp_path / "start"
    shutil.copytree(folder, start)

    def prepare():
        shutil.rmtree(folder)
        shutil.copytree(start, folder)

    save_questions(folder)
    after = state(folder)
    for _ in outcomes(fault, prepare, lambda: save_questions(folder)):
        assert state(folder) in (cut, after)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_that_is_replaced_is_the_old_one_or_the_new_one(tmp_path, fault):
    old, new = [("a", "r", "b")], [("c", "r", "d")]
    path = tmp_path / "facts.tsv.gz"
    for _ in outcomes(fault, lambda: write_triples(path, old), lambda: write_triples(path, new)):
        assert read_triples(path) in (old, new)
    write_triples(path, new)
    assert list(tmp_path.iterdir()) == [path]


def test_files_of_other_people_in_the_folder_stay(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    old_neural(tmp_path)
    save_questions(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert not (tmp_path / "weighting.json").exists()


def test_remains_of_a_write_that_was_killed_are_removed_but_not_those_of_a_running_one(tmp_path):
    (tmp_path / ".mine.tmp").touch()
    for _ in outcomes("kill", lambda: None, lambda: atomic_write(tmp_path / "a", "text")):
        pass
    atomic_write(tmp_path / "a", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".mine.tmp", "a"]


def hold(folder, ready, done):
    with locked(folder):
        ready.set()
        done.wait(60)


def test_two_runs_into_one_folder_are_refused_and_a_killed_run_leaves_no_lock(tmp_path):
    context = multiprocessing.get_context("fork")
    ready, done = context.Event(), context.Event()
    other = context.Process(target=hold, args=(tmp_path, ready, done))
    other.start()
    assert ready.wait(60)
    with pytest.raises(ModelError, match=r"Another run is writing to .*another --out"):
        save_weighted(tmp_path)
    other.kill()
    other.join()
    save_weighted(tmp_path)
    assert not (tmp_path / STAGING).exists()


def test_a_thread_may_lock_a_folder_again_and_another_thread_may_not(tmp_path):
    refused = []

    def save():
        try:
            save_weighted(tmp_path)
        except ModelError:
            refused.append(True)

    with locked(tmp_path):
        save_weighted(tmp_path)
        thread = threading.Thread(target=save)
        thread.start()
        thread.join()
    assert refused == [True]
    save_weighted(tmp_path)


def test_a_reader_beside_a_writer_sees_one_model_or_the_other(tmp_path):
    save_weighted(tmp_path)
    first = state(tmp_path)
    save_questions(tmp_path)
    second, until = state(tmp_path), time.monotonic() + 1

    def write():
        while time.monotonic() < until:
            save_weighted(tmp_path)
            save_questions(tmp_path)

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        assert state(tmp_path) in (first, second)
    writer.join()


@pytest.mark.parametrize(
    "manifest",
    [
        "",
        "[]",
        "{",
        '{"format_version": 5}',
        '{"format_version": 5, "kind": "other", "files": {}}',
        '{"format_version": 5, "kind": "rules", "files": {"../secret": "00"}}',
        '{"format_version": 5, "kind": "rules", "files": [1]}',
        '{"a":' * 9999,
    ],
)
def test_a_damaged_manifest_is_one_line_with_its_path_and_learning_again_mends_it(tmp_path, manifest):
    old_neural(tmp_path)
    (tmp_path / MANIFEST).write_text(manifest)
    with pytest.raises(ModelError) as caught:
        read_files(tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    save_weighted(tmp_path)
    assert read_files(tmp_path).contents["rules.tsv"] == b"weighted"


def test_some_files_can_be_replaced_alone(tmp_path):
    old_neural(tmp_path)
    update_files(tmp_path, {"rules.tsv": "newer"})
    assert read_files(tmp_path, without=()).contents["rules.tsv"] == b"newer"
    assert read_files(tmp_path, without=()).contents["checkpoint.safetensors"] == b"run"


def test_a_folder_without_a_model_is_told_apart_from_a_damaged_one(tmp_path):
    assert not holds_model(tmp_path)
    with pytest.raises(ModelError, match=r"holds no model.*neurallp learn DATA --out"):
        read_files(tmp_path)


def test_a_place_that_cannot_be_written_is_reported_before_anything_is_made(tmp_path):
    require_writable(tmp_path / "a" / "b")
    assert not (tmp_path / "a").exists()
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match=r"Cannot make the folder .*it is a file"):
        require_writable(tmp_path / "file" / "model")
