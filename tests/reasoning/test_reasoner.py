import json
from dataclasses import replace

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reasoning_samples import (
    BIG_FAMILY,
    FAMILY,
    OTHER_FAMILY,
    UNCLES,
    family,
    questions,
    reason,
    rule_sets,
)
from samples import (
    attention_of,
    edges,
    knowledge_bases,
    model_settings,
    neural_program,
    untrained,
)

from neurallp import (
    ConfigError,
    DataError,
    KnowledgeBase,
    Reasoner,
    Rule,
    UnknownNameError,
    load_model,
)
from neurallp.errors import DataWarning
from neurallp.graph.knowledge_base import name_parts
from neurallp.reasoning.reasoner import require_relations

few = settings(max_examples=25, deadline=None)
ALL = 10**6


def oracle_terms(kb, model, source, query, answer):
    """Return {(body, path): contribution} behind one answer, every chain enumerated."""
    terms = {}
    for operator, memory in attention_of(model, query):
        norms = [1.0] * (len(operator) + 1)
        if model.config.normalize:
            norms = oracle.memory_norms(edges(kb), operator, memory, source)
        for steps, body, confidence in oracle.enumerate_rules(operator, memory):
            contribution = confidence / np.prod([norms[step] for step in steps])
            for path in oracle.enumerate_paths(edges(kb), source, body):
                if path[-1] == answer and contribution > 0:
                    terms[body, path] = terms.get((body, path), 0) + contribution
    return terms


# Proofs


@few
@given(kb=knowledge_bases(), settings_=model_settings)
def test_the_terms_of_a_proof_add_up_to_the_engine_s_score(kb, settings_):
    model = untrained(kb, **settings_)
    reasoner = reason(kb, model)
    head, relation = kb.entities[0], "r0"
    scores = reasoner.scores(np.array([0]), np.array([0])).dense()[0]
    for tail, score in zip(kb.entities, scores, strict=True):
        proof = reasoner.explain(head, relation, tail, k=ALL)
        assert proof.answer.score == max(score, 0)
        assert sum(term.contribution for term in proof.terms) == pytest.approx(max(score, 0), rel=1e-6)
        assert proof.remainder == pytest.approx(0, abs=1e-9)


def test_terms_add_up_exactly_whatever_the_weights_are_in():
    kb = KnowledgeBase.from_triples(FAMILY)
    reasoner = reason(kb, family(num_steps=3, num_controllers=2).float())
    for answer in reasoner.ask(head="anna", relation="uncle"):
        proof = reasoner.explain("anna", "uncle", answer.entity, ALL)
        assert sum(term.contribution for term in proof.terms) == pytest.approx(answer.score, rel=1e-12)


@few
@given(kb=knowledge_bases(most_facts=5), settings_=model_settings, data=st.data())
def test_a_proof_holds_every_rule_and_path_with_what_it_adds(kb, settings_, data):
    model = untrained(kb, **settings_ | {"exclude_source": False})
    source, answer = (data.draw(st.integers(0, len(kb.entities) - 1)) for _ in range(2))
    relation = data.draw(st.sampled_from(["r0", "~r1"]))
    proof = reason(kb, model).explain(kb.entities[source], relation, kb.entities[answer], k=ALL)
    found = {
        (
            tuple(map(kb.relations.operator_id, term.rule.body)),
            tuple(map(kb.entities.id, term.path)),
        ): term.contribution
        for term in proof.terms
    }
    assert len(found) == len(proof.terms)
    query = kb.relations.operator_id(relation)
    assert found == pytest.approx(oracle_terms(kb, model, source, query, answer), rel=1e-9)


@few
@given(kb=knowledge_bases(), settings_=model_settings)
def test_terms_come_largest_first_and_every_link_is_a_fact(kb, settings_):
    facts = {(kb.entities[h], kb.relations[r], kb.entities[t]) for h, r, t in kb.facts}
    reasoner = reason(kb, untrained(kb, **settings_))
    for answer in reasoner.ask(head=kb.entities[0], relation="~r0"):
        terms = reasoner.explain(answer.source, answer.query, answer.entity, k=ALL).terms
        contributions = np.array([term.contribution for term in terms])
        assert (np.diff(contributions) <= 1e-15).all()
        for term in terms:
            assert (term.path[0], term.path[-1]) == (answer.source, answer.entity)
            assert len(term.path) == len(term.rule.body) + 1
            for operator, here, there in zip(term.rule.body, term.path, term.path[1:], strict=False):
                link = (there, operator[1:], here) if operator[0] == "~" else (here, operator, there)
                assert link in facts


@few
@given(kb=knowledge_bases(), settings_=model_settings, k=st.integers(0, 6))
def test_fewer_terms_are_the_largest_and_the_remainder_tells_what_is_missing(kb, settings_, k):
    reasoner = reason(kb, untrained(kb, **settings_))
    for answer in reasoner.ask(head=kb.entities[0], relation="r0", k=2):
        proof = reasoner.explain(answer.source, answer.query, answer.entity, k=k)
        everything = reasoner.explain(answer.source, answer.query, answer.entity, k=ALL)
        assert proof.terms == everything.terms[:k]
        missing = sum(term.contribution for term in everything.terms[k:])
        assert proof.remainder == pytest.approx(missing, abs=1e-9)


def test_an_unreachable_answer_has_no_proof():
    kb = KnowledgeBase.from_triples([*FAMILY, ("zoe", "father", "yan")])
    proof = reason(kb, family()).explain("anna", "uncle", "zoe")
    assert (proof.answer.score, proof.terms) == (0, ())
    assert proof.answer.rank == 3.5  # behind bob and carl, level with yan
    assert str(proof) == "uncle(anna, zoe) has no proof."


# Answers


@few
@given(kb=knowledge_bases(), settings_=model_settings)
def test_asking_and_explaining_agree(kb, settings_):
    reasoner = reason(kb, untrained(kb, **settings_))
    for head, relation in questions(kb)[1::4]:
        for answer in reasoner.ask(head=head, relation=relation):
            assert reasoner.explain(answer.source, answer.query, answer.entity).answer == answer


@few
@given(kb=knowledge_bases(), settings_=model_settings)
def test_answers_are_all_that_score_above_0_best_first_and_ranked_realistically(kb, settings_):
    reasoner = reason(kb, untrained(kb, **settings_))
    for head, relation in questions(kb)[:4]:
        answers = reasoner.ask(head=head, relation=relation, k=ALL)
        question = np.array([kb.entities.id(head)]), np.array([kb.relations.operator_id(relation)])
        scores = reasoner.scores(*question).dense()[0]
        assert {kb.entities.id(answer.entity): answer.score for answer in answers} == {
            entity: score for entity, score in enumerate(scores) if score > 0
        }
        assert [answer.score for answer in answers] == sorted(scores[scores > 0], reverse=True)
        for answer in answers:
            ties = (scores == answer.score).sum()
            assert answer.rank == (scores > answer.score).sum() + (ties + 1) / 2
            assert answer.num_candidates == np.isfinite(scores).sum()
        assert reasoner.ask(head=head, relation=relation, k=2) == answers[:2]


def test_tied_answers_share_the_mean_of_their_places():
    kb = KnowledgeBase.from_triples([*OTHER_FAMILY, ("yan", "brother", "will")])
    answers = reason(kb, family()).ask(head="zoe", relation="uncle")
    assert {a.entity: a.rank for a in answers} in (
        {"xan": 1.5, "will": 1.5, "yan": 3},
        {"xan": 2.5, "will": 2.5, "yan": 1},
    )


@few
@given(kb=knowledge_bases(), settings_=model_settings)
def test_asking_for_the_head_is_asking_the_inverse_from_the_tail(kb, settings_):
    reasoner = reason(kb, untrained(kb, **settings_))
    for entity in kb.entities:
        assert reasoner.ask(tail=entity, relation="r1") == reasoner.ask(head=entity, relation="~r1")
        assert reasoner.ask(tail=entity, relation="~r1") == reasoner.ask(head=entity, relation="r1")


@few
@given(kb=knowledge_bases(), settings_=model_settings)
def test_the_source_answers_itself_only_where_the_relation_has_a_reflexive_fact(kb, settings_):
    reasoner = reason(kb, untrained(kb, **settings_ | {"exclude_source": True}))
    reflexive = {kb.relations[r] for h, r, t in kb.facts if h == t}
    for head, relation in questions(kb):
        if relation.removeprefix("~") not in reflexive:
            assert head not in [a.entity for a in reasoner.ask(head=head, relation=relation, k=ALL)]
            assert reasoner.explain(head, relation, head).terms == ()


@few
@given(kb=knowledge_bases(), settings_=model_settings)
def test_an_answer_says_whether_it_is_a_fact(kb, settings_):
    reasoner = reason(kb, untrained(kb, **settings_))
    facts = {(kb.entities[h], kb.relations[r], kb.entities[t]) for h, r, t in kb.facts}
    for head in kb.entities:
        for answer in reasoner.ask(head=head, relation="r0", k=ALL):
            assert answer.is_known == ((head, "r0", answer.entity) in facts)
        for answer in reasoner.ask(tail=head, relation="r0", k=ALL):
            assert answer.is_known == ((answer.entity, "r0", head) in facts)


@few
@given(kb=knowledge_bases(), settings_=model_settings, order=st.randoms(use_true_random=False))
def test_renaming_entities_changes_nothing_but_the_names(kb, settings_, order):
    names = list(kb.entities)
    order.shuffle(names)
    new = dict(zip(kb.entities, names, strict=True))
    facts = [(kb.entities[h], kb.relations[r], kb.entities[t]) for h, r, t in kb.facts]
    # Told in another order, the facts also give every entity another id.
    last_first = sorted(facts, key=lambda fact: (fact[1], new[fact[0]], new[fact[2]]))
    renamed = KnowledgeBase.from_triples((new[h], r, new[t]) for h, r, t in last_first)
    one, other = (reason(each, untrained(each, **settings_)) for each in (kb, renamed))
    for head, relation in questions(kb)[:6]:
        before = {new[a.entity]: a.score for a in one.ask(head=head, relation=relation, k=ALL)}
        after = {a.entity: a.score for a in other.ask(head=new[head], relation=relation, k=ALL)}
        assert after == pytest.approx(before)


# Other knowledge bases


def test_a_model_answers_about_people_it_has_never_met():
    answers = reason(KnowledgeBase.from_triples(OTHER_FAMILY), family()).ask(head="zoe", relation="uncle")
    assert {answer.entity for answer in answers} == {"yan", "xan"}


def test_scores_depend_on_the_facts_and_not_on_the_numbers_of_the_relations():
    model = family(num_steps=3)
    one = KnowledgeBase.from_triples(FAMILY)
    other = KnowledgeBase.from_triples(reversed(FAMILY))
    assert one.relations != other.relations
    for head, relation in questions(one):
        before, after = (reason(kb, model).ask(head=head, relation=relation) for kb in (one, other))
        assert {a.entity: a.score for a in after} == pytest.approx({a.entity: a.score for a in before})


def test_relations_the_model_does_not_know_are_ignored():
    model = family(num_steps=3)
    plain = KnowledgeBase.from_triples(OTHER_FAMILY)
    surplus = KnowledgeBase.from_triples([*OTHER_FAMILY, ("zoe", "likes", "will"), ("will", "likes", "xan")])
    assert require_relations(surplus, model) == ["likes"]
    before, after = (reason(kb, model).ask(head="zoe", relation="uncle") for kb in (plain, surplus))
    assert [replace(a, num_candidates=0) for a in after] == [replace(a, num_candidates=0) for a in before]


def test_a_knowledge_base_that_shares_no_relation_is_refused():
    strangers = KnowledgeBase.from_triples([("a", "likes", "b")])
    for refuse in (reason, lambda kb, model: neural_program(model).reasoner(kb)):
        with pytest.raises(DataError, match=r"share no relation\. The model knows 'father', 'brother'"):
            refuse(strangers, family())


# Mistakes


def test_an_unknown_name_comes_with_a_suggestion():
    reasoner = reason(KnowledgeBase.from_triples(FAMILY), family())
    with pytest.raises(UnknownNameError, match=r"Unknown entity 'ana'\. Did you mean 'anna'\?"):
        reasoner.ask(head="ana", relation="uncle")
    with pytest.raises(UnknownNameError, match=r"Unknown entity 'karl'\. Did you mean 'carl'\?"):
        reasoner.explain("anna", "uncle", "karl")
    with pytest.raises(UnknownNameError, match=r"Unknown relation 'uncel'\. Did you mean 'uncle'\?"):
        reasoner.ask(tail="carl", relation="uncel")


@pytest.mark.parametrize("ends", [{}, {"head": "anna", "tail": "carl"}])
def test_a_question_has_exactly_one_end(ends):
    with pytest.raises(ConfigError, match="Give the head or the tail"):
        reason(KnowledgeBase.from_triples(FAMILY), family()).ask(relation="uncle", **ends)


# Why not


def test_why_not_names_the_fact_that_is_missing():
    kb = KnowledgeBase.from_triples([("zoe", "father", "yan"), ("uma", "brother", "will")])
    with pytest.warns(DataWarning, match="no facts of 'mother'"):
        reasoner = Reasoner(kb, UNCLES, "reference")
    found = reasoner.why_not("zoe", "uncle", "will")
    assert [fact.missing for fact in found.missing_facts] == ["brother(yan, will)", "mother(zoe, uma)"]
    assert str(found) == (
        "uncle(zoe, will) does not follow:\n"
        "  father(zoe, yan), but brother(yan, will) is missing\n"
        "  brother(uma, will), but mother(zoe, uma) is missing"
    )
    described = json.loads(json.dumps(found.as_dict()))
    assert described["missing_facts"][0]["known"] == ["father(zoe, yan)"]
    assert described["missing_facts"][0]["confidence"] == 0.9


def test_why_not_is_silent_where_an_answer_follows_or_much_is_missing():
    kb = KnowledgeBase.from_triples([*BIG_FAMILY, ("tom", "likes", "sue")])
    reasoner = Reasoner(kb, UNCLES, "reference")
    said = "follows already (rank 1 of 6); explain prints why."
    assert str(reasoner.why_not("zoe", "uncle", "xan")).endswith(said)
    assert "no rule is just one fact short" in str(reasoner.why_not("tom", "uncle", "sue"))
    assert reasoner.why_not("zoe", "uncle", "zoe").missing_facts == ()


@few
@given(kb=knowledge_bases(), rules=rule_sets())
def test_adding_a_missing_fact_makes_the_answer_follow(kb, rules):
    reasoner = reason(kb, rules)
    facts = list(kb.named_facts())
    for head, relation in questions(kb)[:6]:
        for fact in reasoner.why_not(head, relation, kb.entities[-1], k=ALL).missing_facts:
            operator, ends = fact.rule.body[fact.position], fact.path[fact.position : fact.position + 2]
            here, there = reversed(ends) if operator[0] == "~" else ends
            link = here, operator.removeprefix("~"), there
            assert link not in facts
            richer = reason(KnowledgeBase.from_triples([*facts, link]), [fact.rule])
            assert richer.explain(head, relation, kb.entities[-1]).answer.score > 0


def test_what_is_asked_is_not_named_as_missing_for_itself():
    kb = KnowledgeBase.from_triples([("b", "near", "b"), ("b", "likes", "a")])
    rules = [Rule("likes", ("likes", "near"), 1.0)]
    assert reason(kb, rules).why_not("a", "likes", "b").missing_facts == ()


def test_a_model_says_why_not_too():
    kb = KnowledgeBase.from_triples([("zoe", "father", "yan"), ("xan", "uncle", "will")])
    found = reason(kb, family()).why_not("zoe", "uncle", "will", k=ALL)
    assert "father(zoe, yan), but brother(yan, will) is missing" in str(found)
    assert not any(fact.missing == "uncle(zoe, will)" for fact in found.missing_facts)


# Predictions


@few
@given(kb=knowledge_bases(), settings_=model_settings, k=st.integers(1, 3), known=st.booleans())
def test_predictions_are_the_best_answers_to_every_question(kb, settings_, k, known):
    reasoner = reason(kb, untrained(kb, **settings_))
    found = {}
    for batch in reasoner.predict(["r0", "~r1"], k, known=known):
        for source, entity, score in zip(batch.sources, batch.entities, batch.scores, strict=True):
            found.setdefault((kb.entities[source], batch.query), []).append((kb.entities[entity], score))
    for head in kb.entities:
        for relation in ("r0", "~r1"):
            answers = reasoner.ask(head=head, relation=relation, k=ALL)
            wanted = [(a.entity, a.score) for a in answers if known or not a.is_known][:k]
            assert found.get((head, relation), []) == wanted


@few
@given(kb=knowledge_bases(), settings_=model_settings, known=st.booleans())
def test_unlinked_answers_are_those_that_no_fact_links_with_the_same_ranks(kb, settings_, known):
    reasoner = reason(kb, untrained(kb, **settings_))
    links = {(kb.entities[a], kb.entities[b]) for a, _, b in edges(kb)}
    predicted = {
        (kb.entities[source], kb.entities[entity])
        for batch in reasoner.predict(["r0"], ALL, known=known, unlinked=True)
        for source, entity in zip(batch.sources, batch.entities, strict=True)
    }
    wanted = set()
    for head in kb.entities:
        answers = reasoner.ask(head=head, relation="r0", k=ALL)
        unlinked = [answer for answer in answers if (head, answer.entity) not in links]
        assert list(reasoner.ask(head=head, relation="r0", k=ALL, unlinked=True)) == unlinked
        assert list(reasoner.ask(head=head, relation="r0", k=1, unlinked=True)) == unlinked[:1]
        wanted |= {(head, answer.entity) for answer in unlinked}
    assert predicted == wanted


def test_facts_that_are_also_known_link_their_ends():
    reasoner = reason(KnowledgeBase.from_triples(BIG_FAMILY), UNCLES)
    (first, *_), *_ = [
        list(zip(each.sources, each.entities, strict=True))
        for each in reasoner.predict()
        if len(each.sources)
    ]
    source, entity = first
    also = replace(reasoner.kb, facts=np.array([[entity, 0, source]]))
    found = {
        pair
        for each in reasoner.predict(unlinked=True, also_known=also)
        for pair in zip(each.sources, each.entities, strict=True)
    }
    without = {
        pair
        for each in reasoner.predict(unlinked=True)
        for pair in zip(each.sources, each.entities, strict=True)
    }
    assert without - found == {(source, entity)}


def test_predictions_come_in_batches_that_cover_every_source(monkeypatch):
    monkeypatch.setattr("neurallp.reasoning.reasoner.QUESTIONS_AT_ONCE", 2)
    reasoner = reason(KnowledgeBase.from_triples(BIG_FAMILY), UNCLES)
    batches = list(reasoner.predict())
    assert sum(batch.num_questions for batch in batches) == 4 * 5
    (batch,) = [batch for batch in batches if len(batch)]
    heads, tails = batch.ends
    names = reasoner.kb.entities
    assert [(names[h], batch.relation, names[t]) for h, t in zip(heads, tails, strict=True)] == [
        ("zoe", "uncle", "xan"),
        ("zoe", "uncle", "will"),
    ]


# After saving and loading


def test_a_saved_model_reasons_about_new_entities_with_relations_missing_and_to_spare(tmp_path):
    neural_program(family(num_steps=2).float()).save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    kb = KnowledgeBase.from_triples([*OTHER_FAMILY, ("zoe", "likes", "tom")])
    with pytest.warns(DataWarning) as notes:
        reasoner = loaded.reasoner(kb)
    assert [str(note.message) for note in notes] == [
        "Left out: the model does not know 'likes'.",
        "Nothing follows from them: the knowledge base has no facts of 'uncle'.",
    ]
    assert loaded.reasoner(kb) is reasoner
    answers = loaded.ask(head="zoe", relation="uncle", kb=kb)
    assert {answer.entity for answer in answers} == {"yan", "xan"}
    assert "father(zoe, yan) and brother(yan, xan)" in str(loaded.explain("zoe", "uncle", "xan", kb=kb))
    split = name_parts({"train": [*OTHER_FAMILY, ("a", "uncle", "b")], "test": [("zoe", "uncle", "xan")]})
    assert loaded.evaluate(split).num_questions == 2
