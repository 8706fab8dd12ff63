import gzip
import json

import pytest

from neurallp import WordQuestion
from neurallp.experiments.qa import TRIALS, chain_of, compare_chains, experiment, measure, split_questions
from neurallp.experiments.specification import Results
from neurallp.io.triples import write_triples

TYPES = {"directed_by": "movie_to_director", "~written_by": "writer_to_movie"}


@pytest.fixture
def folder(cinema, tmp_path, monkeypatch):
    """The invented films as files in the layout of the public data sets."""
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


def test_each_trial_is_a_row_with_its_published_figure(folder):
    (table,) = experiment(quick=True, device="cpu").tables
    assert [row.labels["set"] for row in table.rows] == [f"{trial.name} (quick)" for trial in TRIALS]
    assert all(row.published for row in table.rows)


def test_a_trial_has_all_measures_and_a_figure(folder, tmp_path):
    pytest.importorskip("sklearn")
    (table,) = (wanted := experiment(quick=True, device="cpu")).tables
    outcome = measure(seed=0, **table.rows[-1].arguments)
    assert set(table.measures) <= set(outcome)
    results = Results()
    results.add(table.rows[-1], 0, json.loads(json.dumps(outcome)))
    wanted.draw(results, tmp_path / "pictures")
    assert (tmp_path / "pictures" / "questions-metaqa-3-hop.png").stat().st_size > 1000


def test_held_out_questions_are_not_trained_on(folder):
    train, test = split_questions(TRIALS[-1], seed=0)
    everything, _ = split_questions(TRIALS[0], seed=0)
    assert len(test) == len(everything) // 10
    assert len(train) + len(test) == len(everything)


def test_the_name_of_a_type_describes_its_chain():
    assert chain_of("writer_to_movie_to_year") == ("~written_by", "release_year")


def test_every_question_has_a_position_and_a_rule_in_the_figure(cinema):
    pytest.importorskip("sklearn")
    from neurallp.experiments.question_picture import project_questions

    positions, rules = project_questions(cinema.program, cinema.kb, cinema.test[:40])
    assert positions.shape == (40, 2)
    assert len(rules) == 40


def test_rows_of_the_table_name_their_files_encoder_and_steps(folder):
    (table,) = experiment(quick=False, device="cpu").tables
    first, *_, last = table.rows
    assert dict(first.labels) == {
        "set": "WikiMovies",
        "fitted on": "wikimovies/train10k_1hop",
        "scored on": "wikimovies/test_1hop",
        "encoder": "the paper's",
        "T": "2",
    }
    assert last.labels["scored on"] == "a tenth of it, held out"


def test_chains_are_compared_for_right_answers_of_known_type_only(cinema):
    known = [WordQuestion(q.text, q.answers, TYPES[q.kind]) for q in cinema.test if q.kind in TYPES]
    share, milliseconds = compare_chains(cinema.program, cinema.kb, known)
    assert share > 0.8
    assert milliseconds > 0
    untyped = [WordQuestion(question.text, question.answers) for question in known]
    unanswered = [WordQuestion("who directed nobody", ("nobody",), "movie_to_director")]
    assert compare_chains(cinema.program, cinema.kb, [*untyped, *unanswered])[0] is None
