"""The processes that torchrun starts train the model that one process would."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from neurallp import learn
from neurallp.datasets.family import family_knowledge_base
from neurallp.io.triples import write_triples
from neurallp.neural.processes import Processes, is_follower

#: Settings under which the parts of a batch depend on each other: its facts are masked together, and the loss
#: is the mean over the answers that can be reached.
SETTINGS = {
    "preset": "paper",
    "objective": "normalized",
    "embedding_size": 8,
    "hidden_size": 8,
    "num_epochs": 2,
    "batch_size": 50,
}


@pytest.mark.parametrize("num", [0, 1, 5, 64])
def test_every_question_has_one_process(num):
    taken = [np.arange(num)[Processes(rank, 3).part(num)] for rank in range(3)]
    assert np.concatenate(taken).tolist() == list(range(num))
    assert max(map(len, taken)) - min(map(len, taken)) <= 1


def test_a_process_without_torchrun_is_alone():
    alone = Processes.join()
    assert (alone.num, alone.of_leader("mine"), is_follower()) == (1, "mine", False)


def test_two_processes_have_the_losses_of_one_and_the_first_writes_and_prints(tmp_path):
    data, model = tmp_path / "data.tsv", tmp_path / "model"
    write_triples(data, family_knowledge_base(num_people=20, num_generations=2).named_facts())
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--no-python"]
    command = [sys.executable, "-c", "from neurallp.cli import main; main()", "learn", str(data)]
    options = [f"--{name.removeprefix('num_').replace('_', '-')}={value}" for name, value in SETTINGS.items()]
    done = subprocess.run(
        [*torchrun, *command, *options, f"--out={model}", "--json"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["epochs"] == 2
    losses = [json.loads(line)["loss"] for line in (model / "history.jsonl").read_text().splitlines()]
    alone = [epoch.loss for epoch in learn(data, **SETTINGS).history]
    assert losses == pytest.approx(alone, abs=1e-5)
