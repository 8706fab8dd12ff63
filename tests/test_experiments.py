import gzip
import json

import pytest

from neurallp.experiments import Table
from neurallp.experiments.questions import TRIALS, chain_of, split_questions, tables
from neurallp.formats import write_triples

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


def test_a_table_has_a_line_for_each_trial_with_the_published_figure_beside_it(folder):
    *_, table = tables(seeds=1, quick=True)
    assert [row["set"] for row in table.rows] == [f"{trial.name} (quick)" for trial in TRIALS]
    assert all(row["published"] for row in table.rows)
    assert "| MetaQA 3 hop (quick) |" in table.as_markdown()
    json.dumps(table.as_dict())


def test_what_is_held_out_is_not_fitted_on(folder):
    train, test = split_questions(TRIALS[-1], folder, seed=0)
    everything, _ = split_questions(TRIALS[0], folder, seed=0)
    assert len(test) == len(everything) // 10
    assert len(train) + len(test) == len(everything)


def test_a_type_names_its_chain():
    assert chain_of("writer_to_movie_to_year") == ("~written_by", "release_year")


def test_nothing_shows_as_nothing():
    assert "| 0.500 |  |" in Table("t", ("a", "b"), [{"a": 0.5, "b": None}]).as_markdown()


def test_the_picture_shows_questions_by_their_rule(cinema, tmp_path):
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    from neurallp.experiments.question_picture import draw_questions, lay_out

    places, rules = lay_out(cinema.program, cinema.kb, cinema.test[:40])
    assert places.shape == (40, 2)
    assert len(rules) == 40
    draw_questions(cinema.program, cinema.kb, cinema.test[:40], tmp_path / "new" / "picture.png")
    assert (tmp_path / "new" / "picture.png").stat().st_size > 1000
