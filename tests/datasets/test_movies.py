import pytest

from neurallp import ConfigError
from neurallp.datasets.movies import movie_questions, movie_triples, movies_knowledge_base


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
