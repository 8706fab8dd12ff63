import foreign
import pytest

from neurallp import ConfigError, KnowledgeBase, QuestionError, QuestionProgram, learn_questions
from neurallp.qa import answering

pytestmark = pytest.mark.filterwarnings("error")


def question(cinema, kind):
    return next(each for each in cinema.test if each.kind == kind)


@pytest.mark.parametrize("kind", ["release_year", "~written_by has_genre", "directed_by ~directed_by"])
def test_the_rule_of_an_answer_is_the_chain_that_the_question_asks_for(cinema, kind):
    asked = question(cinema, kind)
    found = cinema.program.ask_words(asked.unmarked.text, k=100)
    assert {answer.entity for answer in found.answers} == set(asked.answers)
    assert " ".join(found[0].rule.body) == kind


@pytest.mark.parametrize("derive", [foreign.by_duckdb, foreign.by_sparql, foreign.by_prolog])
def test_other_programs_derive_the_same_answers_from_the_rule(cinema, derive, tmp_path):
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


def test_an_answer_has_its_rule_in_logic_and_in_words(cinema):
    found = cinema.program.ask_words(question(cinema, "directed_by ~directed_by").text)[0].as_dict()
    assert found["rule"] == "answer(X, Y) <= directed_by(X, A), directed_by(Y, A), X != A, X != Y"
    assert found["in_words"].endswith(f"; never back to {found['path'][0]}.")
    assert found["because"].count("directed_by(") == 2


def test_a_question_without_an_answer_in_the_facts_is_refused_with_its_rule(cinema):
    title = next(name for name in cinema.kb.entities if name.startswith("The "))
    facts = [
        (cinema.kb.entities[h], cinema.kb.relations[r], cinema.kb.entities[t])
        for h, r, t in cinema.kb.facts
        if not (cinema.kb.entities[h] == title and cinema.kb.relations[r] == "release_year")
    ]
    kb = KnowledgeBase.from_triples(facts)
    with pytest.raises(QuestionError, match=r"no answer: no facts lead from .* release_year\(X, Y\)"):
        cinema.program.ask_words(f"what is the release year of {title}", kb=kb)


def test_a_name_of_several_entities_is_noted_unless_it_is_marked(cinema):
    names = cinema.kb.entities
    title = next(name for name in names if name.startswith("The "))
    facts = [(names[h], cinema.kb.relations[r], names[t]) for h, r, t in cinema.kb.facts]
    kb = KnowledgeBase.from_triples([*facts, (title.upper(), "has_genre", "Opera")])
    found = cinema.program.ask_words(f"who directed {title.lower()}", kb=kb)
    assert found.source == title
    assert f"also fits {title.upper()!r}" in found.note
    assert "[name]" in found.note
    assert cinema.program.ask_words(f"who directed [{title}]", kb=kb).note == ""
    assert cinema.program.ask_words(f"who directed {title}", kb=kb).note == ""  # its capitals decide


def test_a_question_of_unknown_words_is_refused(cinema):
    title = next(name for name in cinema.kb.entities if name.startswith("The "))
    with pytest.raises(QuestionError, match="No word of the question"):
        cinema.program.ask_words(f"кто снял {title}")


def test_questions_about_entities_that_were_not_trained_on_have_answers(cinema):
    kb = KnowledgeBase.from_triples(
        [("Alien", "directed_by", "Scott"), ("Gladiator", "directed_by", "Scott")]
    )
    found = cinema.program.ask_words("which films are there by the director of Alien", kb=kb)
    assert [answer.entity for answer in found.answers] == ["Gladiator"]


def test_a_program_without_facts_asks_for_a_knowledge_base(cinema):
    bare = QuestionProgram(cinema.program.model, cinema.program.training_config, cinema.program.threshold)
    with pytest.raises(ConfigError, match="Give the knowledge base"):
        bare.ask_words("who directed Alien")


def paths_between(kb, source, rule):
    """Return every path along a rule from a source, walked one fact at a time."""
    facts = {(kb.entities[h], kb.relations[r], kb.entities[t]) for h, r, t in kb.facts}
    edges = [(h, r, t) for h, r, t in facts] + [(t, f"~{r}", h) for h, r, t in facts]
    paths = [(source,)]
    for name in rule.body:
        paths = [(*path, t) for path in paths for h, r, t in edges if (h, r) == (path[-1], name)]
    return [path for path in paths if rule.satisfies_inequalities(path)]


def test_the_number_of_paths_is_that_of_a_walk_over_all_facts(cinema):
    for kind in ("directed_by ~directed_by", "~starred_actors has_genre"):
        for answer in cinema.program.ask_words(question(cinema, kind).text, k=5).answers:
            paths = [
                path
                for path in paths_between(cinema.kb, answer.path[0], answer.rule)
                if path[-1] == answer.entity
            ]
            assert answer.num_paths == len(paths)
            assert answer.path in paths


def test_at_most_k_answers_are_given_best_first_and_above_the_threshold(cinema):
    asked = next(each for each in cinema.test if len(each.answers) > 3)
    every = cinema.program.ask_words(asked.text, k=100)
    scores = [answer.score for answer in every.answers]
    assert scores == sorted(scores, reverse=True)
    assert min(scores) >= cinema.program.threshold * scores[0]
    assert cinema.program.ask_words(asked.text, k=2).answers == every.answers[:2]
    with pytest.raises(ConfigError, match="k must be"):
        cinema.program.ask_words(asked.text, k=0)


def test_rules_far_below_the_best_are_not_followed(cinema, monkeypatch):
    reasoner = cinema.program.reasoner()
    asked = reasoner.parser.interpreter.interpret(question(cinema, "directed_by").text)[0]
    best, *others = reasoner.rules(asked.source, asked.phrase)
    assert all(rule.confidence >= answering.MIN_SHARE_OF_BEST * best.confidence for rule in others)
    monkeypatch.setattr(answering, "MIN_SHARE_OF_BEST", 0.0)
    assert len(reasoner.rules(asked.source, asked.phrase)) > 1 + len(others)


def test_the_source_may_be_its_own_answer_where_paths_may_return(cinema):
    program = learn_questions(
        cinema.kb, cinema.train[:400], may_return=True, num_epochs=3, embedding_size=32, hidden_size=32
    )
    reasoner = program.reasoner()
    text = question(cinema, "directed_by ~directed_by").text
    asked = reasoner.parser.interpreter.interpret(text)[0]
    assert all(rule.all_inequalities == [] for rule in reasoner.rules(asked.source, asked.phrase))
