"""Weighting in processes gives the bytes of one process, also where a process is lost."""

import os
from pathlib import Path

import pytest

from neurallp.config import WeightingConfig
from neurallp.datasets.family import family_knowledge_base
from neurallp.graph.knowledge_base import split_triples
from neurallp.weighting.fitting import Weighting
from neurallp.weighting.workers import DistributedWeighting, LostWorkersError

CONFIG = WeightingConfig(num_candidates=20, num_pairs=20, max_questions=50, max_length=2)


@pytest.fixture(scope="module")
def split():
    return split_triples(family_knowledge_base(num_people=40, num_generations=3))


def test_two_processes_give_the_bytes_of_one(split):
    one = Weighting(split, CONFIG).run()
    done = []
    two = DistributedWeighting(split, CONFIG, workers=2).run(done.append)
    assert list(one.queries) == list(two.queries)
    for query, own in one.queries.items():
        assert own.rules == two.queries[query].rules
        assert own.weights.tobytes() == two.queries[query].weights.tobytes()
        assert own.confidences.tobytes() == two.queries[query].confidences.tobytes()
    assert sum(done) == 2 * len(split.known.facts)


def square(number, marker):
    """Square a number; the first process that is asked for 3 is lost."""
    if number == 3 and not Path(marker).exists():
        Path(marker).touch()
        os._exit(1)
    return number * number


def test_the_work_of_a_lost_process_is_done_again(split, tmp_path):
    weighting = DistributedWeighting(split, CONFIG, workers=1)
    tasks = [(number, str(tmp_path / "lost")) for number in range(6)]
    assert list(weighting.distribute(square, tasks)) == [0, 1, 4, 9, 16, 25]
    assert (tmp_path / "lost").exists()


def vanish():
    os._exit(1)


def test_a_run_whose_processes_are_always_lost_ends(split, monkeypatch):
    monkeypatch.setattr("neurallp.weighting.workers.MAX_RESTARTS", 1)
    with pytest.raises(LostWorkersError, match="lost 2 times"):
        list(DistributedWeighting(split, CONFIG, workers=1).distribute(vanish, [()]))


def test_a_stopped_run_begins_nothing_more(split):
    weighting = DistributedWeighting(split, CONFIG, workers=1)
    weighting.should_stop = lambda: True
    found = list(weighting.distribute(abs, [(-number,) for number in range(200)]))
    assert found == [None] * 200
