import pytest

from neurallp.datasets.grid import grid_split
from neurallp.experiments import find_experiment
from neurallp.experiments.grid_training import evaluate_queries, learn_paths
from neurallp.experiments.run import jobs_of, run
from neurallp.experiments.specification import Results
from neurallp.experiments.tabulating import tabulate


def test_restarts_stop_when_every_training_pair_is_right():
    split = grid_split(3, 3, 8, seed=0)
    starts = learn_paths(split, num_steps=3, seed=0, max_starts=6)
    assert not starts.unsolved
    assert starts.num < 6
    found = evaluate_queries(starts, split, split.test)
    assert len(found) == 6
    assert all(evaluation.realistic.hits_at_1 == 1.0 for evaluation in found.values())


def test_a_query_uses_its_best_model():
    split = grid_split(3, 3, 8, seed=0)
    one, three = (learn_paths(split, 3, 0, max_starts=num, plain=True) for num in (1, 3))
    first, best = (evaluate_queries(starts, split, split.train) for starts in (one, three))
    assert all(best[query].mrr >= first[query].mrr for query in first)


def test_the_experiment_measures_every_model_draws_the_figure_and_shows_rules(tmp_path):
    pytest.importorskip("matplotlib")
    experiment = find_experiment("grid", quick=True)
    results = Results()
    for job, outcome in run(jobs_of(experiment, 1, tmp_path)):
        results.add(job.row, job.seed, outcome)
    table = tabulate(experiment.tables[0], results)
    assert all(row["accuracy"].mean == 1.0 for row in table.rows if row["model"] != "plain")
    (rules,) = experiment.more_tables(results)
    assert all(row["pairs found"] == row["of"] for row in rules.rows)
    experiment.draw(results, tmp_path)
    assert "path length" in (tmp_path / "grid.svg").read_text()
