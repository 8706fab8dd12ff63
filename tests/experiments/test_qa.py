import gzip
import json

import pytest
from neurallp.experiments.cells import Results

from neurallp.experiments.qa import TRIALS, chain_of, experiment, measure, split_questions
from neurallp.io.triples import write_triples

TYPES = {"directed_by": "movie_to_director", "~written_by": "writer_to_movie"}


@pytest.fixture
def folder(cinema, tmp_path, monkeypatch):
    """The made-up films, laid out as the public data sets are."""
    names, relations = cinema.kb.entities, cinema.kb.relations
    questions = [q for q in cinema.train if q.kind in TYPES] * 3
    for trial in TRIALS:
        for name in filter(None, (trial.train, trial.test)):
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            lines = ("\t".join([q.text, "|".join(q.answers), TYPES[q.kind]]) for q in questions)
            path.write_bytes(gzip.compress("\n".join(lines).encode()))
    write_triples(
        tmp_path / "metaqa" / "kb.tsv.gz", [(names[h], relations[r], names[t]) for h, r, t in cinema.kb.facts]
    )
    monkeypatch.setenv("NEURALLP_DATA", str(tmp_path))
    return tmp_path


def test_each_trial_is_a_line_with_the_published_figure_beside_it(folder):
    (plan,) = experiment(quick=True, device="cpu").plans
    assert [cell.labels["set"] for cell in plan.cells] == [f"{trial.name} (quick)" for trial in TRIALS]
    assert all(cell.published for cell in plan.cells)


def test_a_trial_is_measured_and_laid_out(folder, tmp_path):
    pytest.importorskip("sklearn")
    (plan,) = (wanted := experiment(quick=True, device="cpu")).plans
    outcome = measure(seed=0, **plan.cells[-1].arguments)
    assert set(plan.measures) <= set(outcome)
    results = Results()
    results.add(plan.cells[-1], 0, json.loads(json.dumps(outcome)))
    wanted.draw(results, tmp_path / "pictures")
    assert (tmp_path / "pictures" / "questions-metaqa-3-hop.png").stat().st_size > 1000


def test_what_is_held_out_is_not_fitted_on(folder):
    train, test = split_questions(TRIALS[-1], seed=0)
    everything, _ = split_questions(TRIALS[0], seed=0)
    assert len(test) == len(everything) // 10
    assert len(train) + len(test) == len(everything)


def test_a_type_names_its_chain():
    assert chain_of("writer_to_movie_to_year") == ("~written_by", "release_year")


def test_questions_are_laid_out_with_their_rules(cinema):
    pytest.importorskip("sklearn")
    from neurallp.experiments.question_picture import lay_out

    places, rules = lay_out(cinema.program, cinema.kb, cinema.test[:40])
    assert places.shape == (40, 2)
    assert len(rules) == 40
