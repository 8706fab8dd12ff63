import json
import os
import signal
import sys
from pathlib import Path
from subprocess import DEVNULL, Popen
from time import monotonic, sleep

import numpy as np
import pytest

from neurallp import DataError
from neurallp.datasets.family import family_triples
from neurallp.errors import ConfigError
from neurallp.experiments import EXPERIMENTS, find_experiment
from neurallp.experiments.inductive import GRAIL, hide_entities, rank_among_sampled, sample_negatives
from neurallp.experiments.measuring import load_set
from neurallp.experiments.run import finished, jobs_of, run
from neurallp.experiments.specification import FAILED, Experiment, Results, TableRow, TableSpec
from neurallp.experiments.tables import Figure, Table
from neurallp.experiments.tabulating import tabulate
from neurallp.graph.questions import KnownAnswers, ask_both_ways
from neurallp.graph.scores import Scores
from neurallp.io.triples import write_triples


class Given:
    """Scores from a (source, query, answer) table."""

    def __init__(self, table):
        self.table = table

    def scores(self, sources, queries):
        return Scores.of_dense(self.table[sources, queries])


def guess(seed, base):
    """A measure that takes no time, and leaves a trace that it was taken."""
    with Path(os.environ["TRACE"]).open("a", encoding="utf-8") as file:
        file.write(f"{base} {seed}\n")
    if base == "impossible":
        raise DataError("There is no such thing.")
    return {"MRR": len(base) / 10 + seed / 100, "optimistic": {"MRR": 1.0}}


def loiter(seed, seconds, started):
    Path(started).touch()
    sleep(seconds)
    return {"MRR": 0.5}


@pytest.fixture
def trace(tmp_path, monkeypatch):
    monkeypatch.setenv("TRACE", str(tmp_path / "trace"))
    return lambda: (tmp_path / "trace").read_text(encoding="utf-8").split("\n")[:-1]


def spec_of(*bases, measures=("MRR",)):
    rows = tuple(TableRow({"name": base}, {"MRR": 0.25}, guess, {"base": base}) for base in bases)
    return TableSpec("Guesses", measures, (*rows, TableRow({"name": "theirs"}, {"MRR": 0.75})))


def results_of(jobs, num_processes=1):
    results = Results()
    for job, outcome in run(jobs, num_processes):
        results.add(job.row, job.seed, outcome)
    return results


def test_a_table_shows_published_and_ours_over_seeds_with_optimistic_beside(trace, tmp_path):
    table = spec_of("abc")
    results = results_of(jobs_of(Experiment((table,)), 3, tmp_path))
    table = tabulate(table, results)
    assert table.columns == ("name", "MRR, published", "MRR", "MRR, optimistic", "seconds")
    assert "| abc | 0.250 | 0.310 ± 0.010 | 1.000 ± 0.000 | 0 |" in table.as_markdown()
    assert "| theirs | 0.750 |  |  |  |" in table.as_markdown()
    found = json.loads(json.dumps(table.as_dict()))["rows"][0]["MRR"]
    assert found["by_seed"] == [0.3, 0.31, 0.32]


def test_one_run_has_no_deviation():
    assert str(Figure((0.5,))) == "0.500"
    assert Figure((0.5,)).deviation is None


def test_nothing_shows_as_nothing():
    assert "| 0.500 |  |" in Table("t", ("a", "b"), [{"a": 0.5, "b": None}]).as_markdown()


def test_a_run_goes_on_where_it_was(trace, tmp_path):
    experiment = Experiment((spec_of("abc", "abcd"),))
    first = jobs_of(experiment, 2, tmp_path)
    next(run(first))
    again = results_of(jobs_of(experiment, 2, tmp_path))
    assert trace() == ["abc 0", "abc 1", "abcd 0", "abcd 1"]
    assert [outcome["MRR"] for outcome in again.of(first[0].row)] == [0.3, 0.31]


def test_what_another_command_measured_is_found(trace, tmp_path):
    jobs = jobs_of(Experiment((spec_of("abc", "abcd"),)), 2, tmp_path)
    results_of([jobs[-1]])
    found = finished(jobs)
    assert [outcome["MRR"] for outcome in found.of(jobs[-1].row)] == [pytest.approx(0.41)]
    assert found.of(jobs[0].row) == []


def test_a_cell_with_other_settings_is_another_cell(trace, tmp_path):
    def row(**arguments):
        return TableRow({"name": "x"}, {}, guess, arguments)

    assert row(base="a").name != row(base="b").name
    assert row(base="a", device="cuda").name == row(base="a", device="cpu").name


def test_a_cell_in_two_tables_is_measured_once(trace, tmp_path):
    experiment = Experiment((spec_of("abc"), spec_of("abc", measures=("Hits@10",))))
    results_of(jobs_of(experiment, 1, tmp_path))
    assert trace() == ["abc 0"]


def test_what_cannot_be_measured_says_why_and_is_tried_again(trace, tmp_path):
    table = spec_of("abc", "impossible")
    for _ in range(2):
        results = results_of(jobs_of(Experiment((table,)), 1, tmp_path))
    assert trace() == ["abc 0", "impossible 0", "impossible 0"]
    page = tabulate(table, results).as_markdown()
    assert "| impossible | 0.250 | not measured |" in page
    assert "Not measured: impossible. There is no such thing." in page


def test_processes_find_what_one_finds(trace, tmp_path):
    experiment = Experiment((spec_of("abc", "impossible"),))
    many = results_of(jobs_of(experiment, 2, tmp_path / "many"), num_processes=2)
    alone = results_of(jobs_of(experiment, 2, tmp_path / "alone"))
    for row in experiment.rows():
        assert [found["MRR"] for found in many.of(row)] == [found["MRR"] for found in alone.of(row)]
    assert len(list((tmp_path / "many" / "rows").iterdir())) == 2


STOPPED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # as at a terminal, also where Ctrl-C is ignored
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_experiments import TableRow, Experiment, TableSpec, jobs_of, loiter, run
if __name__ == "__main__":
    out = Path({out!r})
    arguments = ({{"seconds": s, "started": str(out / f"started {{s}}")}} for s in (0, 60))
    rows = tuple(TableRow({{"n": str(each["seconds"])}}, {{}}, loiter, each) for each in arguments)
    for job, outcome in run(jobs_of(Experiment((TableSpec("t", (), rows),)), 1, out), 2):
        (out / "ready").touch()
"""


def test_ctrl_c_ends_all_processes_and_leaves_what_is_finished(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(STOPPED.format(tests=str(Path(__file__).parent), out=str(tmp_path)), encoding="utf-8")
    process = Popen([sys.executable, script], stderr=DEVNULL, start_new_session=True)
    for name in ("ready", "started 60"):  # a process that is still starting dies before it can ignore Ctrl-C
        assert until((tmp_path / name).exists, 120)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(120) != 0
    assert [path.name[:2] for path in (tmp_path / "rows").iterdir()] == ["0-"]
    assert until(lambda: not is_alive(process.pid), 60)


def until(true, seconds):
    deadline = monotonic() + seconds
    while not (done := true()) and monotonic() < deadline:
        sleep(0.05)
    return done


def is_alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


# The paper's experiments, quick, on a family


@pytest.fixture(scope="module")
def families(tmp_path_factory):
    """Small families, laid out as the public data sets are."""
    folder = tmp_path_factory.mktemp("data")
    known, new = (family_triples(num_people=40 + 40 * seed, num_generations=3, seed=seed) for seed in (0, 1))
    for name in ("umls", "kinship", "wn18", "fb15k", "fb15k-237", "wn18rr"):
        _write_split(folder / name, known)
    for base in ("WN18RR", "fb237"):
        _write_split(folder / "grail" / f"{base}_v1", known)
        _write_split(folder / "grail" / f"{base}_v1_ind", new)
    return folder


def _write_split(folder, triples):
    folder.mkdir(parents=True)
    for name, part in (("valid", triples[::10]), ("test", triples[1::10])):
        write_triples(folder / f"{name}.tsv", part)
    write_triples(folder / "train.tsv", [row for n, row in enumerate(triples) if n % 10 > 1])


@pytest.mark.parametrize("name", ["srl", "completion", "inductive"])
def test_an_experiment_runs_quickly_on_small_data(run, families, monkeypatch, tmp_path, name):
    monkeypatch.setenv("NEURALLP_DATA", str(families))
    monkeypatch.setattr("neurallp.experiments.measuring.QUICK", {"num_epochs": 1, "num_controllers": 1})
    monkeypatch.setattr("neurallp.experiments.measuring.QUICK_TRIPLES", 20)
    monkeypatch.setattr("neurallp.experiments.measuring.fit_baseline", no_baseline)
    monkeypatch.setattr("neurallp.experiments.inductive.fit_baseline", no_baseline)
    first = {base: tuple(row[:1] for row in published) for base, published in GRAIL.items()}
    monkeypatch.setattr("neurallp.experiments.inductive.GRAIL", first)  # its four versions are alike
    code, out, _ = run("experiment", name, "--quick", "--seeds", "1", "--out", tmp_path, "--json")
    assert code == 0
    tables = json.loads(out)
    assert json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8")) == tables
    assert tables[0]["title"] in (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    for row in tables[0]["rows"]:
        if row.get("model", "").startswith(("paper", "ours", "weighted")):
            assert 0 <= row["Hits@10"]["mean"] <= 1, row
    check = {"completion": check_rules, "inductive": check_regimes}.get(name)
    if check:
        check(tables)


def no_baseline(*_, **__):
    raise ConfigError("Not here.")


def check_rules(tables):
    """Hold that FB15K's options run from end to end, and that examples of rules are looked for."""
    (fb15k,) = [row for row in tables[0]["rows"] if (row["data"], row["model"]) == ("FB15K", "paper")]
    assert fb15k["MRR, published"] == 0.76
    assert "MRR" in fb15k
    assert tables[1]["title"] == "Rules learned"


def check_regimes(tables):
    paper, sampled, everywhere = tables
    assert {row["data"] for row in paper["rows"] if row["model"] == "weighted"} == {
        "WN18",
        "FB15K",
        "FB15K-237",
    }
    assert not set(sampled["columns"]) & set(everywhere["columns"]) - {"data", "model", "seconds"}


def test_every_experiment_can_be_found():
    for name in EXPERIMENTS:
        assert find_experiment(name).rows()


def test_no_line_of_that_name_is_an_error(refuse):
    assert "No line" in refuse("experiment", "srl", "--only", "alchemy")


def test_rules_are_learned_without_the_entities_of_the_test(families, monkeypatch):
    monkeypatch.setenv("NEURALLP_DATA", str(families))
    split = load_set("wn18")
    seen = hide_entities(split, seed=0, share=0.05)
    hidden = set(seen.test[:, [0, 2]].reshape(-1).tolist())
    assert 0 < len(seen.test) < len(split.test)
    assert len(seen.train)
    assert hidden.isdisjoint(seen.train[:, [0, 2]].reshape(-1).tolist())
    assert hidden.isdisjoint(seen.valid[:, [0, 2]].reshape(-1).tolist())
    assert not np.array_equal(seen.test, hide_entities(split, seed=1, share=0.05).test)


def test_sampled_ranks_count_fifty_and_the_answer():
    triples = np.array([[0, 0, 1], [0, 0, 2], [3, 0, 4]])
    questions, known = ask_both_ways(triples, 1), KnownAnswers(triples, 1)
    negatives = sample_negatives(questions, known, 60, seed=0)
    assert all(len(set(row)) == 50 for row in negatives.tolist())
    assert not {0, 1, 2} & set(negatives[0].tolist())
    flat = Given(np.ones((60, 2, 60)))
    assert set(rank_among_sampled(flat, questions, known, 60, 0).ties) == {51}
    sharp = np.zeros((60, 2, 60))
    sharp[questions.sources, questions.queries, questions.answers] = 1
    assert set(rank_among_sampled(Given(sharp), questions, known, 60, 0).realistic) == {1}


def test_failures_are_no_outcomes():
    row = TableRow({"name": "x"}, {}, guess, {"base": "x"})
    results = Results()
    results.add(row, 0, {FAILED: "why"})
    assert results.of(row) == []
    assert results.why_not(row) == "why"
