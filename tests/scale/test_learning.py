"""Weighting on Spark's executors gives the bytes of one process, also where a worker is lost."""

import os
from pathlib import Path

import pytest

from neurallp.config import WeightingConfig
from neurallp.datasets.family import family_knowledge_base
from neurallp.errors import ConfigError, DataError
from neurallp.graph.knowledge_base import split_triples
from neurallp.scale.learning import spark_workers
from neurallp.weighting.fitting import Weighting
from neurallp.weighting.workers import DistributedWeighting

# Spark leaves the connection of each thread to Java to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")

CONFIG = WeightingConfig(num_candidates=10, num_pairs=10, max_questions=20, max_length=2)


@pytest.fixture(scope="module")
def split():
    return split_triples(family_knowledge_base(num_people=20, num_generations=2))


@pytest.fixture
def weighting(split, spark, tmp_path):
    with spark_workers("local[1]", tmp_path / "model") as workers:
        yield DistributedWeighting(split, CONFIG, workers=workers)
    assert list(tmp_path.iterdir()) == []


def test_executors_give_the_bytes_of_one_process(split, weighting):
    one, many = Weighting(split, CONFIG).run(), weighting.run()
    assert list(one.queries) == list(many.queries)
    for query, own in one.queries.items():
        assert own.rules == many.queries[query].rules
        assert own.weights.tobytes() == many.queries[query].weights.tobytes()


def square(number, marker):
    """Square a number; the first process that is asked for 3 is lost."""
    if number == 3 and not Path(marker).exists():
        Path(marker).touch()
        os._exit(1)
    return number * number


def refuse(number):
    raise DataError(f"{number} is refused.")


def test_the_work_of_a_lost_worker_is_done_again_and_an_error_is_raised(weighting, tmp_path_factory):
    marker = tmp_path_factory.mktemp("lost") / "marker"
    tasks = [(number, str(marker)) for number in range(5)]
    assert list(weighting.distribute(square, tasks)) == [0, 1, 4, 9, 16]
    assert marker.exists()
    with pytest.raises(DataError, match="7 is refused"):
        list(weighting.distribute(refuse, [(7,)]))


def test_a_stopped_run_begins_nothing_more(weighting):
    weighting.should_stop = lambda: True
    assert list(weighting.distribute(square, [(number, "") for number in range(40)]))[-1] is None


def test_spark_connect_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="master"), spark_workers("sc://host", tmp_path / "model"):
        pass
