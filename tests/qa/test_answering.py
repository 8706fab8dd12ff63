import foreign
import numpy as np
import pytest
from hypothesis import given, settings
from samples import attentions

from neurallp import KnowledgeBase, QuestionError, QuestionProgram
from neurallp.qa.rules import DegreeExtension, extract_by_degree
from neurallp.rules.extraction import extract_all

pytestmark = pytest.mark.filterwarnings("error")


def question(cinema, kind):
    return next(each for each in cinema.test if each.kind == kind)


@pytest.mark.parametrize("kind", ["release_year", "~written_by has_genre", "directed_by ~directed_by"])
def test_an_answer_comes_with_the_chain_that_was_asked_for(cinema, kind):
    asked = question(cinema, kind)
    found = cinema.program.ask_words(asked.unmarked.text, k=100)
    assert {answer.entity for answer in found.answers} == set(asked.answers)
    assert " ".join(found[0].rule.body) == kind


@pytest.mark.parametrize("derive", [foreign.by_duckdb, foreign.by_sparql, foreign.by_prolog])
def test_the_rule_of_a_question_derives_its_answers_in_another_program(cinema, derive, tmp_path):
    asked = question(cinema, "directed_by ~directed_by")
    found = cinema.program.ask_words(asked.text, k=100)
    derived = derive([found[0].rule], list(cinema.kb.named_facts()), tmp_path)
    assert {tail for head, _, tail in derived if head == found.source} == set(asked.answers)


def test_every_answer_has_a_path_of_facts(cinema):
    facts = {
        (cinema.kb.entities[h], cinema.kb.relations[r], cinema.kb.entities[t]) for h, r, t in cinema.kb.facts
    }
    for asked in cinema.test[:40]:
        for answer in cinema.program.ask_words(asked.text).answers:
            assert (answer.path[0], answer.path[-1]) == (
                asked.text.split("[")[1].split("]")[0],
                answer.entity,
            )
            assert answer.path[0] not in answer.path[1:]
            for name, start, end in zip(answer.rule.body, answer.path, answer.path[1:], strict=False):
                fact = (end, name[1:], start) if name.startswith("~") else (start, name, end)
                assert fact in facts


def test_the_rule_is_told_in_logic_and_in_words(cinema):
    told = cinema.program.ask_words(question(cinema, "directed_by ~directed_by").text)[0].as_dict()
    assert told["rule"] == "answer(X, Y) <= directed_by(X, A), directed_by(Y, A), X != A, X != Y"
    assert told["in_words"].endswith(f"; never back to {told['path'][0]}.")
    assert told["because"].count("directed_by(") == 2


def test_a_question_without_an_answer_in_the_facts_says_so_rather_than_guess(cinema):
    title = next(name for name in cinema.kb.entities if name.startswith("The "))
    facts = [
        (cinema.kb.entities[h], cinema.kb.relations[r], cinema.kb.entities[t])
        for h, r, t in cinema.kb.facts
        if not (cinema.kb.entities[h] == title and cinema.kb.relations[r] == "release_year")
    ]
    kb = KnowledgeBase.from_triples(facts)
    with pytest.raises(QuestionError, match=r"no answer: no facts lead from .* release_year\(X, Y\)"):
        cinema.program.ask_words(f"what is the release year of {title}", kb=kb)


def test_a_name_that_is_several_entities_says_which(cinema):
    names = cinema.kb.entities
    title = next(name for name in names if name.startswith("The "))
    facts = [(names[h], cinema.kb.relations[r], names[t]) for h, r, t in cinema.kb.facts]
    kb = KnowledgeBase.from_triples([*facts, (title.upper(), "has_genre", "Opera")])
    found = cinema.program.ask_words(f"who directed {title}", kb=kb)
    assert found.source == title
    assert f"also fits {title.upper()!r}" in found.note
    assert "[name]" in found.note
    assert cinema.program.ask_words(f"who directed [{title}]", kb=kb).note == ""


def test_words_of_another_language_are_refused(cinema):
    title = next(name for name in cinema.kb.entities if name.startswith("The "))
    with pytest.raises(QuestionError, match="No word of the question"):
        cinema.program.ask_words(f"кто снял {title}")


def test_new_entities_are_answered_about(cinema):
    kb = KnowledgeBase.from_triples(
        [("Alien", "directed_by", "Scott"), ("Gladiator", "directed_by", "Scott")]
    )
    found = cinema.program.ask_words("which films are there by the director of Alien", kb=kb)
    assert [answer.entity for answer in found.answers] == ["Gladiator"]


@settings(max_examples=40, deadline=None)
@given(attentions(most_steps=3))
def test_where_everything_is_usual_bodies_weigh_what_algorithm_1_says(drawn):
    operator, memory = drawn
    size = operator.shape[2]
    want = {body: c for body, c in extract_all(operator, memory).items() if body and c > 0}
    extension = DegreeExtension(np.ones(size), np.ones((size, size)), normalize=False)
    found = dict(extract_by_degree(operator, memory, extension))
    total = sum(want.values())
    assert found == pytest.approx({body: c / total for body, c in want.items()})


def test_a_program_without_facts_asks_for_them(cinema):
    bare = QuestionProgram(cinema.program.model, cinema.program.training_config, cinema.program.threshold)
    with pytest.raises(Exception, match="Give the knowledge base"):
        bare.ask_words("who directed Alien")
