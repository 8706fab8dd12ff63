"""Every experiment before it is measured: distinct rows, settings that exist, the published figures."""

import inspect
import json

import pytest

from neurallp.config import PRESETS, ModelConfig, TrainingConfig, WeightingConfig
from neurallp.datasets.registry import SETS
from neurallp.errors import ConfigError
from neurallp.experiments import EXPERIMENTS, baselines, completion, find_experiment, inductive, srl

each_experiment = pytest.mark.parametrize("name", EXPERIMENTS)
SETTINGS = {
    name
    for config in (ModelConfig, TrainingConfig, WeightingConfig)
    for name in config.__dataclass_fields__
}  # fmt: skip


def rows_of(name, quick=False):
    return find_experiment(name, quick=quick).rows()


def all_rows(name):
    return [row for table in find_experiment(name).tables for row in table.rows]


@each_experiment
def test_rows_of_one_name_are_the_same_measurement(name):
    seen = {}
    for row in all_rows(name):
        if row.measure is not None:
            assert seen.setdefault(row.name, row).arguments == row.arguments


@each_experiment
def test_labels_tell_the_rows_of_a_table_apart(name):
    for table in find_experiment(name).tables:
        labels = [tuple(row.labels.items()) for row in table.rows]
        assert len(set(labels)) == len(labels)
        assert table.title
        assert table.measures


@each_experiment
def test_a_quick_run_never_takes_the_place_of_a_complete_one(name):
    complete, quick = ({row.name for row in rows_of(name, quick)} for quick in (False, True))
    assert complete.isdisjoint(quick)


@each_experiment
def test_arguments_are_plain_json_that_the_measure_takes(name):
    for row in rows_of(name):
        json.dumps(row.arguments)
        inspect.signature(row.measure).bind(seed=0, **row.arguments)


@each_experiment
def test_published_figures_are_shares_of_measures_of_their_table(name):
    for table in find_experiment(name).tables:
        measures = {measure for other in find_experiment(name).tables for measure in other.measures}
        for row in table.rows:
            assert row.published.keys() <= measures
            assert all(0 <= value <= 1 for value in row.published.values() if isinstance(value, float))


@each_experiment
def test_the_settings_of_a_row_exist(name):
    for row in rows_of(name):
        assert set(row.arguments.get("settings", {})) <= SETTINGS
        assert row.arguments.get("preset", "paper") in PRESETS


@pytest.mark.parametrize("name", ["srl", "completion", "inductive"])
def test_the_data_of_a_row_is_a_public_set(name):
    for row in rows_of(name):
        data = row.arguments["data"]
        assert data in SETS or {f"grail/{data}", f"grail/{data}_ind"} <= SETS.keys()


@pytest.mark.parametrize("name", ["srl", "completion", "inductive"])
def test_the_baseline_of_a_row_can_be_found(name):
    for row in rows_of(name):
        if "baseline" in row.arguments:
            assert callable(getattr(baselines, f"fit_{row.arguments['baseline']}"))


def published(name, table=0):
    """Return {labels: published figures} of a table's rows that have any."""
    rows = find_experiment(name).tables[table].rows
    return {tuple(row.labels.values()): dict(row.published) for row in rows if row.published}


def test_the_table_of_relational_learning_has_the_paper_s_figures():
    found = published("srl")
    assert len(found) == 2 * len(srl.PUBLISHED)
    assert found["UMLS", "2", "paper"] == {"Hits@10": 0.92}
    assert found["UMLS", "3", "ISG"] == {"Hits@10": 0.433}
    assert found["Kinship", "2", "ISG"] == {"Hits@10": 0.592}
    assert found["Kinship", "3", "paper"] == {"Hits@10": 0.901}


def test_the_table_of_completion_has_the_paper_s_figures():
    found = published("completion")
    assert found["WN18", "paper"] == {"MRR": 0.94, "Hits@10": 0.945}
    assert found["FB15K", "paper"] == {"MRR": 0.76, "Hits@10": 0.837}
    assert found["FB15K-237", "paper"] == {"MRR": 0.24, "Hits@10": 0.362}
    assert found["FB15K-237", "DistMult"] == {"MRR": 0.25, "Hits@10": 0.408}
    assert found["WN18", "Implicit ReasoNets"] == {"Hits@10": 0.953}
    assert sum(map(len, completion.PUBLISHED.values())) == len(found)


def test_the_table_of_unseen_entities_has_the_paper_s_figures():
    found = published("inductive")
    assert found["WN18", "paper"] == {"Hits@10": 0.9449}
    assert found["FB15K", "TransE"] == {"Hits@10": 0.0048}
    assert found["FB15K-237", "paper"] == {"Hits@10": 0.2797}
    assert len(found) == 6


def test_the_table_of_grail_has_the_figures_of_its_authors():
    found = published("inductive", table=1)
    assert found["WN18RR v1", "paper"] == {inductive.SAMPLED: 0.744}
    assert found["fb237 v4", "paper"] == {inductive.SAMPLED: 0.559}
    assert found["fb237 v2", "NBFNet"] == {inductive.SAMPLED: 0.949}
    assert len(found) == 16


def test_figures_of_two_regimes_are_never_in_one_table():
    _, sampled, everywhere = find_experiment("inductive").tables
    assert set(sampled.measures).isdisjoint(everywhere.measures)
    assert "50 negatives" in " ".join(sampled.measures)


def test_the_figure_of_the_grid_covers_the_paper_s_lengths():
    lengths = {int(row.labels["path length"]) for row in rows_of("grid")}
    assert set(range(2, 11)) <= lengths
    assert {row.labels["model"] for row in rows_of("grid")} == {"ours", "plain", "ISG"}


def test_the_device_reaches_the_rows_that_learn():
    for name in ("srl", "completion", "inductive"):
        rows = find_experiment(name, device="cuda").rows()
        learned = [row for row in rows if "settings" in row.arguments]
        assert learned
        assert {row.arguments["device"] for row in learned} == {"cuda"}


def test_an_unknown_experiment_is_refused_with_the_nearest_name():
    with pytest.raises(ConfigError, match="Did you mean 'completion'"):
        find_experiment("completon")


def test_the_help_names_every_experiment(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = run("experiment", "--help")
    assert code == 0
    (line,) = [line for line in out.splitlines() if "Which:" in line]
    assert all(name in line for name in EXPERIMENTS)
