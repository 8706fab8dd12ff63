from collections import Counter, defaultdict
from itertools import combinations

import pytest

from neurallp import ConfigError
from neurallp.datasets.movies import (
    ASKED,
    WHICH,
    follow,
    movie_questions,
    movie_triples,
    movies_knowledge_base,
)


def test_the_same_seed_gives_the_same_films_and_questions():
    assert movie_triples(50, seed=2) == movie_triples(50, seed=2) != movie_triples(50, seed=3)
    kb = movies_knowledge_base(50)
    assert movie_questions(kb, 20, seed=1) == movie_questions(kb, 20, seed=1)


def test_questions_of_one_to_three_hops_are_asked():
    kinds = {question.kind for question in movie_questions(movies_knowledge_base(), 500)}
    assert {len(kind.split()) for kind in kinds} == {1, 2, 3}


def test_every_answer_is_where_the_chain_leads_and_never_the_source():
    facts = movie_triples(50)
    for question in movie_questions(movies_knowledge_base(50), 100):
        source = question.text.split("[")[1].split("]")[0]
        reached = {source}
        for name in question.kind.split():
            inverse = name.startswith("~")
            pairs = {(t, h) if inverse else (h, t) for h, r, t in facts if r == name.lstrip("~")}
            reached = {end for start, end in pairs if start in reached and end != source}
        assert set(question.answers) == reached


@pytest.mark.parametrize("size", [1, 100_000])
def test_an_impossible_size_is_refused(size):
    with pytest.raises(ConfigError, match="num_films must be 2 to 1,500"):
        movies_knowledge_base(size)


# What every film has


@pytest.mark.parametrize(("size", "seed"), [(2, 0), (30, 1), (200, 2)])
def test_every_film_has_what_films_have_in_the_right_numbers(size, seed):
    facts = movie_triples(size, seed)
    films = {head for head, _, _ in facts}
    assert len(films) == size
    assert len(set(facts)) == len(facts)
    for film in films:
        counts = Counter(relation for head, relation, _ in facts if head == film)
        assert counts["release_year"] == counts["has_genre"] == counts["in_language"] == 1
        assert counts["directed_by"] in (1, 2)
        assert counts["written_by"] in (1, 2)
        assert 2 <= counts["starred_actors"] <= 4


def test_nobody_has_two_trades_and_no_person_is_a_film():
    facts = movie_triples(100)
    trades = [
        {t for _, r, t in facts if r == name} for name in ("directed_by", "written_by", "starred_actors")
    ]
    films = {head for head, _, _ in facts}
    for one, other in combinations([*trades, films], 2):
        assert one.isdisjoint(other)


def test_years_are_of_the_last_century():
    years = {tail for _, relation, tail in movie_triples(300) if relation == "release_year"}
    assert all(1950 <= int(year) <= 1999 for year in years)


def test_every_question_has_one_marked_entity_and_sorted_answers_that_exist():
    kb = movies_knowledge_base(40)
    for question in movie_questions(kb, 200, seed=5):
        assert question.text.count("[") == question.text.count("]") == 1
        assert question.text.split("[")[1].split("]")[0] in kb.entities
        assert question.answers
        assert list(question.answers) == sorted(set(question.answers))
        assert all(answer in kb.entities for answer in question.answers)


def test_the_wording_of_a_question_fits_its_chain():
    for question in movie_questions(movies_knowledge_base(40), 200):
        last = question.kind.split()[-1]
        asked = [text.split("{}")[0] for text in ASKED.get(last, ())]
        which = [text.split("{}")[0] for text in WHICH]
        assert question.text.startswith(tuple(which if last.startswith("~") else asked))


def test_no_questions_can_be_asked_for():
    assert movie_questions(movies_knowledge_base(5), 0) == []


def test_a_chain_that_returns_ends_with_everybody_but_its_source():
    links = defaultdict(lambda: defaultdict(list))
    links["by"].update({"a": ["x"], "b": ["x"], "c": ["x", "y"]})
    links["~by"].update({"x": ["a", "b", "c"], "y": ["c"]})
    assert follow(links, "a", ("by", "~by")) == ["b", "c"]
    assert follow(links, "a", ("by", "~by", "by")) == ["x", "y"]
    assert follow(links, "a", ("~by",)) == []
    assert follow(links, "a", ()) == ["a"]
