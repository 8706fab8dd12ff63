"""Learning never sees the test part, and equal runs write equal files."""

import numpy as np
import pytest

from neurallp import learn, load
from neurallp.datasets.family import family_knowledge_base
from neurallp.graph.knowledge_base import split_triples
from neurallp.io.triples import write_triples
from neurallp.reasoning.scorers import weighted
from neurallp.weighting import fitting

#: Everything is decided by trials; only sizes are kept small.
SIZES = {"num_candidates": 20, "num_pairs": 20, "max_questions": 60, "num_mined": 50, "num_counted": 20}

#: The neural model is trained, and nothing is left to trials.
NEURAL = {
    "num_epochs": 2,
    "embedding_size": 8,
    "hidden_size": 8,
    "max_length": 2,
    "kinds": "chain,prior",
    "masking": "fact",
}


@pytest.fixture(scope="module")
def parts():
    split = split_triples(family_knowledge_base(num_people=40, num_generations=3))
    name = lambda triples: [  # noqa: E731
        (split.entities[h], split.relations[r], split.entities[t]) for h, r, t in triples.tolist()
    ]
    return {part: name(getattr(split, part)) for part in ("train", "valid", "test")}


def write_folder(folder, parts):
    folder.mkdir()
    for part, triples in parts.items():
        write_triples(folder / f"{part}.tsv", triples)
    return folder


def scrambled(triples):
    """Return triples with other tails, some of which no other part has."""
    order = np.random.default_rng(0).permutation(len(triples))
    tails = [triples[i][2] if i % 3 else f"someone new {i}" for i in order]
    return [(head, relation, tail) for (head, relation, _), tail in zip(triples, tails, strict=True)]


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.filterwarnings("ignore::neurallp.errors.DataWarning")
@pytest.mark.parametrize("settings", [{}, NEURAL])
def test_the_test_part_changes_no_byte_of_the_model(run, parts, tmp_path, settings):
    given = {
        "present": parts,
        "absent": {part: triples for part, triples in parts.items() if part != "test"},
        "scrambled": {**parts, "test": scrambled(parts["test"])},
    }
    flags = [part for name, value in (SIZES | settings).items() for part in (FLAGS[name], value)]
    for name, triples in given.items():
        data = write_folder(tmp_path / name, triples)
        assert run("learn", data, "--out", tmp_path / f"{name}.model", "--json", *flags)[0] == 0
    present, absent, other = (files_of(tmp_path / f"{name}.model") for name in given)
    assert "metrics.json" in present
    assert "plan.json" in present
    assert present == absent == other


FLAGS = {
    "num_candidates": "--candidates",
    "num_pairs": "--pairs",
    "max_questions": "--questions",
    "num_mined": "--mined",
    "num_counted": "--num-counted",
    "num_epochs": "--epochs",
    "embedding_size": "--embedding-size",
    "hidden_size": "--hidden-size",
    "max_length": "--length",
    "kinds": "--kinds",
    "masking": "--masking",
}


def test_equal_runs_write_equal_files_on_any_number_of_threads(parts, tmp_path, monkeypatch):
    data = load(write_folder(tmp_path / "data", parts))
    for threads in (1, 3):
        monkeypatch.setattr(fitting, "num_cores", lambda threads=threads: threads)
        monkeypatch.setattr(weighted, "num_cores", lambda threads=threads: threads)
        learn(data, **SIZES).save(tmp_path / str(threads))
    assert files_of(tmp_path / "1") == files_of(tmp_path / "3")


def test_another_seed_writes_other_files(parts, tmp_path):
    data = load(write_folder(tmp_path / "data", parts))
    for seed in (0, 1):
        learn(data, **SIZES, kinds=("chain", "prior"), max_length=2, masking="fact", seed=seed).save(
            tmp_path / str(seed)
        )
    assert files_of(tmp_path / "0") != files_of(tmp_path / "1")


def test_a_program_answers_from_all_facts_it_is_given(parts, tmp_path):
    data = load(write_folder(tmp_path / "data", parts))
    program = learn(data, **SIZES, kinds=("chain", "prior"), max_length=2, masking="fact")
    assert program.kb is data.given
    assert len(program.kb.entities) == len(data.entities)
