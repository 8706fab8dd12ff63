from dataclasses import replace

import numpy as np
import pytest
from rule_features import chain_rules, oracle_features
from samples import edges, weighted_program

from neurallp import (
    ConfigError,
    DataError,
    KnowledgeBase,
    Reasoner,
    Rule,
    RuleProgram,
)
from neurallp.config import WeightingConfig
from neurallp.graph.knowledge_base import name_parts
from neurallp.graph.vocabulary import Relations
from neurallp.pipeline.learn import weigh_rules
from neurallp.weighting.choice import choose_settings
from neurallp.weighting.fitting import Weighting
from neurallp.weighting.graph_index import GraphIndex
from neurallp.weighting.kinds import get_kind, rules_as_candidates
from neurallp.weighting.kinds.base import Candidate
from neurallp.weighting.query_fit import QueryFit, Setting
from neurallp.weighting.thread_worker import StoppedError, Worker
from neurallp.weighting.weighted_rules import WeightedQuery, WeightedRules

ALL = 10**6
QUICK = WeightingConfig(max_length=2, num_candidates=30, num_pairs=40, min_steps=40, max_questions=300)


@pytest.fixture(scope="module")
def program(split):
    return weigh_rules(split, QUICK)


def arrays_of(weighted):
    """Return all that weighted rules hold, to be compared bit for bit."""
    return weighted.reflexive.tobytes(), {
        query: (each.rules, each.weights.tobytes(), each.confidences.tobytes())
        for query, each in weighted.queries.items()
        if len(each)
    }


def bodies_of(weighted):
    return [rule.operators for rule in weighted.rules if rule.kind == "chain"]


def prior_term(kb, weighted, query):
    """Return the prior's term of each entity's score."""
    prior = weighted.queries[query].weights[-1, 0]
    return prior * get_kind("prior").values(GraphIndex.of(kb), query)


# Scores and proofs

FACTS = [
    ("anna", "father", "bob"),
    ("anna", "father", "dan"),
    ("bob", "brother", "carl"),
    ("dan", "brother", "carl"),
    ("bob", "brother", "emil"),
    ("zoe", "uncle", "carl"),
    ("anna", "friend", "carl"),
    ("emil", "friend", "emil"),
]


@pytest.fixture
def kb():
    return KnowledgeBase.from_triples(FACTS)


@pytest.fixture
def weighted(kb):
    """Rules for uncle, one of them against, and for friend, which is reflexive."""
    k = kb.relations.operator_id
    bodies = (k("father"), k("brother")), (k("friend"),), (k("father"), k("~father"))
    uncle = WeightedQuery(
        (*chain_rules(*bodies), Candidate("prior", (k("uncle"),))),
        np.array([[0.5, 1.0, 0.25], [-0.3, -0.4, 0.1], [3.0, 0.0, 0.0], [0.7, 0.0, 0.0]]),
        np.array([0.5, 0.25, 0.0, 0.0]),
    )
    friend = chain_rules((k("brother"), k("~brother")))
    friend = WeightedQuery(tuple(friend), np.array([[1.0, 0.0, 0.0]]), np.ones(1))
    return WeightedRules(kb.relations, kb.reflexive_relations, {k("uncle"): uncle, k("friend"): friend})


def test_a_score_is_the_sum_of_weights_times_features_and_the_prior(kb, weighted):
    query = kb.relations.id("uncle")
    sources = np.arange(len(kb.entities))
    found = Reasoner(kb, weighted).scores(sources, np.full(len(sources), query)).dense()
    each = weighted.queries[query]
    priors = prior_term(kb, weighted, query)
    for source in sources.tolist():
        expected = priors.copy()
        for (rule, entity), pair in oracle_features(kb, edges(kb), source, query, each.rules[:-1]).items():
            expected[entity] += each.weights[rule] @ [1, *pair]
        expected[source] = -np.inf
        np.testing.assert_allclose(found[source], expected, rtol=1e-6)


def test_many_questions_of_many_queries_score_as_each_by_itself(split, program):
    reasoner = program.reasoner()
    rng = np.random.default_rng(0)
    sources = rng.integers(0, len(split.entities), 300)
    queries = rng.integers(0, split.relations.num_operators, 300)
    together = reasoner.scores(sources, queries).dense()
    for i in range(0, 300, 7):
        alone = reasoner.scores(sources[i : i + 1], queries[i : i + 1]).dense()
        np.testing.assert_allclose(together[i], alone[0], rtol=1e-6)  # one may be scored in numpy


def test_the_terms_of_a_proof_add_up_largest_first(split, program):
    reasoner = program.reasoner()
    for source, relation in [(0, 0), (3, 1), (20, 5), (33, 8)]:
        head, name = split.entities[source], split.relations.operator_name(relation)
        for tail in split.entities[:25]:
            proof = reasoner.explain(head, name, tail, k=ALL)
            assert proof.remainder == pytest.approx(0, abs=1e-9)
            contributions = [abs(term.contribution) for term in proof.terms]
            assert contributions == sorted(contributions, reverse=True)


def test_a_proof_shows_each_path_and_the_rules_against_the_answer(kb, weighted):
    proof = Reasoner(kb, weighted).explain("anna", "uncle", "carl", k=ALL)
    text = str(proof)
    reasons, against = text.split("friend(anna, carl)")[0], text[text.index("friend(anna, carl)") - 30 :]
    assert text.startswith("uncle(anna, carl)\n  because ")
    assert "father(anna, dan) and brother(dan, carl)  (and 1 more path)" in reasons
    assert "-" in against
    # Of dan's brothers all are carl, of bob's one half.
    by_path = {term.path: term.contribution for term in proof.terms}
    assert by_path["anna", "dan", "carl"] == pytest.approx(2 * by_path["anna", "bob", "carl"])
    assert by_path["zoe", "carl"] == pytest.approx(0.7 * np.log(2))


def test_an_excluded_source_has_no_terms(kb, weighted):
    reasoner = Reasoner(kb, weighted)
    proof = reasoner.explain("anna", "uncle", "anna", k=ALL)
    assert (proof.answer.score, proof.terms) == (0, ())
    assert "anna" not in [answer.entity for answer in reasoner.ask(head="anna", relation="uncle")]
    assert [answer.entity for answer in reasoner.ask(head="bob", relation="friend")] == ["bob", "dan"]
    assert reasoner.explain("bob", "friend", "bob", k=ALL).terms


def test_the_prior_is_a_rule_of_its_own_kind(kb, weighted):
    rules = weighted_program(weighted, QUICK, kb).rules("uncle")
    [prior] = [rule for rule in rules if rule.kind == "prior"]
    assert str(prior) == "uncle(X, Y) <= uncle(A, Y)"
    assert (prior.weight, prior.support, prior.num_predictions) == (0.7, None, None)
    assert [rule.weight for rule in rules] == pytest.approx([3.0, 1.75, 0.7, -0.6])
    assert [rule.kind for rule in rules] == ["chain", "chain", "prior", "chain"]


def test_only_answers_that_a_rule_supports_are_predicted(weighted):
    kb = KnowledgeBase.from_triples([*FACTS, ("bob", "friend", "carl")])
    uncle = kb.relations.id("uncle")
    weights = weighted.queries[uncle].weights.copy()
    weights[-1, 0] = 3.0
    frequent = replace(weighted, queries={uncle: replace(weighted.queries[uncle], weights=weights)})
    reasoner = Reasoner(kb, frequent)
    for head in ("bob", "dan"):  # only the prior supports these; a rule is against the first
        assert [answer.entity for answer in reasoner.ask(head=head, relation="uncle")] == ["carl"]
    (found,) = reasoner.predict(["uncle"])
    named = {(kb.entities[s], kb.entities[e]) for s, e in zip(found.sources, found.entities, strict=True)}
    assert named == {("anna", "carl"), ("anna", "emil")}
    assert sum(map(len, reasoner.predict(["brother"]))) == 0  # no rules at all


def test_predictions_are_answers_with_their_scores(split, program):
    reasoner = program.reasoner()
    for query in ("uncle", "~mother"):
        (found,) = reasoner.predict([query], k=5)
        operator = split.relations.operator_id(query)
        scores = reasoner.scores(found.sources, np.full(len(found), operator))
        np.testing.assert_array_equal(scores.at(np.arange(len(found)), found.entities), found.scores)
        priors = prior_term(split.known, program.weighted_rules, operator)
        every = reasoner.scores(
            np.arange(len(split.entities)), np.full(len(split.entities), operator)
        ).dense()
        known = reasoner.kb.facts[reasoner.kb.facts[:, 1] == split.relations.id(query.removeprefix("~"))]
        every[(known[:, 0], known[:, 2]) if query == "uncle" else (known[:, 2], known[:, 0])] = -np.inf
        supported = (every > 0) & (every > priors + 1e-12)
        assert (
            np.bincount(found.sources, minlength=len(every)).tolist()
            == np.minimum(supported.sum(1), 5).tolist()
        )


def test_a_query_without_rules_has_no_answers(kb, weighted):
    assert Reasoner(kb, weighted).ask(head="anna", relation="brother") == []
    assert Reasoner(kb, weighted).explain("anna", "brother", "bob").terms == ()


def test_what_only_a_prior_supports_does_not_follow(kb, weighted):
    reasoner = Reasoner(kb, weighted)
    only_prior, supported = (
        reasoner.why_not("emil", "uncle", "carl"),
        reasoner.why_not("zoe", "uncle", "carl"),
    )
    assert only_prior.answer.score > 0
    assert not only_prior.follows
    assert "does not follow" in str(only_prior)
    assert not supported.follows
    assert reasoner.why_not("anna", "uncle", "emil").follows


def test_a_fact_does_not_prove_itself_by_its_prior(weighted):
    kb = KnowledgeBase.from_triples([*FACTS, ("emil", "uncle", "carl")])
    for source in ("zoe", "emil"):
        [term] = Reasoner(kb, weighted).explain(source, "uncle", "carl").terms
        assert term.path[0] != source


def test_a_rule_of_negative_weight_is_never_a_missing_fact(kb, weighted):
    missing = Reasoner(kb, weighted).why_not("zoe", "uncle", "emil", k=ALL)
    assert missing.missing_facts
    assert all(gap.rule.weight > 0 for gap in missing.missing_facts)


def test_given_rules_of_negative_weight_predict_nothing(kb):
    rule = Rule("uncle", ("friend",), 0.5, weight=-1.0)
    assert RuleProgram([rule]).ask(head="anna", relation="uncle", kb=kb) == []
    assert RuleProgram([replace(rule, weight=1.0)]).ask(head="anna", relation="uncle", kb=kb)


# Learning


def test_weights_make_better_answers_of_the_same_rules(split, program):
    rules = program.rules(limit=ALL, min_share=0)
    bare = RuleProgram(Rule(rule.target, rule.body, 1.0) for rule in rules if rule.kind == "chain")
    assert program.evaluate(split).mrr > bare.evaluate(split).mrr + 0.02
    assert program.evaluate(split).mrr > 0.8


@pytest.mark.parametrize("num_threads", [1, 3])
def test_a_seed_gives_the_same_weights_to_the_last_bit_on_any_number_of_threads(split, program, num_threads):
    again = Weighting(split, QUICK, num_threads=num_threads).run()
    assert arrays_of(again) == arrays_of(program.weighted_rules)


def test_another_seed_gives_other_weights(split, program):
    other = weigh_rules(split, replace(QUICK, seed=1))
    assert arrays_of(other.weighted_rules) != arrays_of(program.weighted_rules)


def test_no_more_rules_are_kept_than_wanted(split, program):
    fewer = weigh_rules(split, replace(QUICK, max_rules=4)).weighted_rules
    numbers = []
    for query, each in fewer.queries.items():
        whole = bodies_of(program.weighted_rules.queries[query])
        numbers.append((len(bodies_of(each)), min(4, len(whole))))
        assert set(bodies_of(each)) <= set(whole)
    assert all(found <= limit for found, limit in numbers)
    assert np.mean([found == limit for found, limit in numbers]) > 0.8  # some end with a weight of 0


def test_given_bodies_are_weighted_but_a_fact_does_not_imply_itself(split):
    k = split.relations.operator_id
    given = {
        k("uncle"): chain_rules((k("uncle"),), (), (k("father"), k("brother")), (k("father"), k("brother")))
    }
    config = replace(QUICK, num_candidates=0, kinds=("chain", "prior"))
    weighted = weigh_rules(split, config, given).weighted_rules
    assert bodies_of(weighted.queries[k("uncle")]) == [(k("father"), k("brother"))]
    assert weighted.queries[k("uncle")].totals[0] > 0
    assert weighted.num_of_kinds == {"chain": 1, "prior": len(weighted.queries)}


def test_given_bodies_may_be_longer_than_those_found(split):
    k = split.relations.operator_id
    long = (k("father"), k("father"), k("~father"))
    config = replace(QUICK, num_candidates=0)
    weighted = weigh_rules(split, config, {k("uncle"): chain_rules(long)}).weighted_rules
    assert long in bodies_of(weighted.queries[k("uncle")])


def test_all_known_answers_of_a_question_are_right():
    """Two uncles each: saying the one not asked for is no mistake."""
    facts = [
        fact
        for i in range(4)
        for j in range(2)
        for fact in (
            (f"a{i}", "uncle", f"c{i}{j}"),
            (f"b{i}", "brother", f"c{i}{j}"),
            (f"a{i}", "son", f"b{i}"),
        )
    ]
    split = name_parts({"train": facts})
    k = split.relations.operator_id
    rule = (k("son"), k("brother"))
    weighted = weigh_rules(
        split, replace(QUICK, num_candidates=0), {k("uncle"): chain_rules(rule)}
    ).weighted_rules
    assert weighted.queries[k("uncle")].confidences.tolist() == [1.0, 0.0]


def test_without_a_prior_none_is_learned(split):
    weighted = weigh_rules(split, replace(QUICK, kinds=("chain",), num_candidates=5)).weighted_rules
    assert weighted.num_of_kinds.keys() == {"chain"}


def test_progress_counts_the_facts_of_every_query(split):
    done = []
    weigh_rules(split, replace(QUICK, num_candidates=0), on_done=done.append)
    assert sum(done) == 2 * len(split.known.facts)


def test_weights_are_learned_without_validation(split):
    none = np.zeros((0, 3), dtype=np.int64)
    weighted = weigh_rules(replace(split, valid=none), replace(QUICK, num_candidates=5)).weighted_rules
    assert len(weighted) > 0


def test_without_facts_there_is_nothing_to_weigh():
    with pytest.raises(DataError, match="nothing to learn from"):
        Weighting(name_parts({"train": []}), QUICK)


def test_a_smaller_limit_on_paths_finds_fewer_bodies(split):
    config = replace(QUICK, thinning=False)
    few, all_ = (weigh_rules(split, replace(config, max_paths=paths)).weighted_rules for paths in (1, 10**9))
    assert 0 < few.num_of_kinds["chain"] < all_.num_of_kinds["chain"]


def with_all_true(split):
    """Return a split whose test part has every entity as an answer of every validation question."""
    tails = np.arange(len(split.entities))
    return replace(
        split,
        test=np.concatenate(
            [np.array([(head, relation, tail) for tail in tails]) for head, relation, _ in split.valid]
        ),
    )


def scrambled(split):
    """Return a split whose test triples have other heads."""
    heads = (split.test[:, :1] + 7) % len(split.entities)
    return replace(split, test=np.hstack([heads, split.test[:, 1:]]))


@pytest.mark.parametrize(
    "change", [scrambled, with_all_true, lambda split: replace(split, test=split.test[:0])]
)
def test_the_test_part_has_no_influence_on_what_is_learned(split, change):
    # If test answers were filtered out, all penalties would tie in the second split and the first would win.
    config = replace(QUICK, penalties=(5.0, *QUICK.penalties))
    expected, found = (weigh_rules(each, config).weighted_rules for each in (split, change(split)))
    assert arrays_of(found) == arrays_of(expected)


def test_known_answers_of_validation_are_filtered_out_of_its_ranks(split):
    weighting = Weighting(split, QUICK)
    head, relation, tail = split.valid[0].tolist()
    asked = np.array([head]), np.array([relation])
    assert tail in weighting.validation_answers.pairs(*asked)[1]
    head, relation, tail = split.known.facts[0].tolist()
    assert tail in weighting.validation_answers.pairs(np.array([head]), np.array([relation]))[1]


def test_lengths_are_tried_side_by_side(split):
    weighting = Weighting(split, replace(QUICK, max_length=1, other_lengths=(2,)))
    with weighting._worker() as worker:
        fits = worker.first_fits(weighting.queries[0])
    assert [max(map(len, bodies_of(fit))) for fit in fits] == [1, 2]
    found = weighting.run().queries.values()
    assert max(len(body) for each in found for body in bodies_of(each)) == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_length": 0}, "max_length"),
        ({"other_lengths": (0,)}, "other_lengths"),
        ({"max_rules": -1}, "max_rules"),
        ({"masking": "batch"}, "masking"),
        ({"signs": "negative"}, "signs"),
        ({"linked": "maybe"}, "linked"),
        ({"max_entries": 0}, "max_entries"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
        ({"dropout": -0.1}, "dropout must be at least 0"),
        ({"penalties": ()}, "at least one penalty"),
        ({"kinds": ()}, "one kind"),
    ],
)
def test_invalid_settings_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        WeightingConfig(**settings)


def test_a_query_without_rules_is_given_the_inverted_rules_of_its_inverse():
    relations = Relations(["uncle", "father", "brother"])
    rules = [
        Rule("uncle", ("father", "brother"), 0.9),
        Rule("uncle", ("uncle",), 0.0, kind="prior"),
        Rule("uncle", ("neighbour",), 0.9),
        Rule("father", ("~brother",), 0.9),
        Rule("~father", ("brother",), 0.1),
    ]
    expected = {0: [(1, 2)], 3: [(5, 4)], 1: [(5,)], 4: [(2,)]}
    assert rules_as_candidates(rules, relations) == {
        query: chain_rules(*bodies) for query, bodies in expected.items()
    }


# Stopping, and trials


def stop_after(num):
    """Return a function that says to stop once it was called `num` times."""
    calls = iter(range(num))
    return lambda: next(calls, None) is None


@pytest.mark.parametrize("num_checks", [0, 1, 30, 200])
def test_a_run_that_is_stopped_returns_complete_rules_and_says_what_was_not_refined(split, num_checks):
    weighting = Weighting(split, QUICK, num_threads=1)
    weighted = weighting.run(should_stop=stop_after(num_checks))
    assert weighted.queries.keys() == set(weighting.queries)
    assert all(len(each) for each in weighted.queries.values())
    assert weighted.unrefined
    assert set(weighted.unrefined) <= set(weighting.queries)
    assert np.isfinite(weighted_program(weighted, QUICK, split.known).evaluate(split).mrr)


def test_the_longer_a_run_the_more_is_refined_and_the_better_it_answers(split, program):
    runs = [
        Weighting(split, QUICK, num_threads=1).run(should_stop=stop_after(num)) for num in (0, 1500, 10**9)
    ]
    assert len(runs[0].unrefined) > len(runs[1].unrefined) > len(runs[2].unrefined) == 0
    assert arrays_of(runs[2]) == arrays_of(program.weighted_rules)
    none, _, whole = (weighted_program(each, QUICK, split.known).evaluate(split).mrr for each in runs)
    assert whole > none + 0.1


def test_a_run_that_is_stopped_while_it_thins_says_for_how_many_queries_that_is_missing(split):
    runs = []
    for num_facts in (1.4 * len(split.train), np.inf):
        weighting, done = Weighting(split, QUICK, num_threads=1), []
        weighted = weighting.run(done.append, should_stop=lambda done=done, num=num_facts: sum(done) > num)
        assert weighted.unrefined == ()
        runs.append(weighting.num_unthinned)
    assert 0 < runs[0] < len(split.relations) * 2
    assert runs[1] == 0


def test_confidences_are_the_same_where_a_query_has_as_few_rules_as_wanted_already(split):
    whole = Weighting(split, replace(QUICK, thinning=False)).run()
    sizes = {sum(rule.kind != "prior" for rule in each.rules) for each in whole.queries.values()}
    limit = max(sizes)
    few = Weighting(split, replace(QUICK, max_rules=limit)).run()
    query = next(
        q for q, each in whole.queries.items() if sum(r.kind != "prior" for r in each.rules) == limit
    )
    np.testing.assert_array_equal(few.queries[query].confidences, whole.queries[query].confidences)
    assert few.queries[query].confidences.any()


def test_a_trial_returns_the_validation_ranks_of_some_queries_with_other_settings(split):
    weighting = Weighting(split, QUICK)
    queries = weighting.queries[:4]
    trial = weighting.trial(queries)
    expected = {query: len(weighting.valid.get(query, ())) for query in queries}
    assert {query: len(ranks) for query, ranks in trial.reciprocal_ranks.items()} == expected
    assert 0 < trial.mrr <= 1
    assert trial.num_entries > 0
    short = weighting.trial(queries, replace(QUICK, max_length=1))
    assert short.mrr < trial.mrr
    assert weighting.trial(queries).pooled.tolist() == trial.pooled.tolist()


def test_the_cost_of_a_trial_is_what_the_fit_gathers(split):
    weighting = Weighting(split, replace(QUICK, num_pilot=10**6, thinning=False))
    query = weighting.queries[0]
    trial = weighting.trial([query])
    assert trial.num_questions[query] == len(weighting.questions[query]) + len(weighting.valid[query])


def test_weights_are_non_negative_by_default(split, program):
    for each in program.weighted_rules.queries.values():
        kinds = np.array([rule.kind for rule in each.rules])
        assert (each.weights[kinds == "chain"] >= 0).all()
        assert (each.weights[kinds == "against"] <= 0).all()
        assert each.weights.any(axis=1).all()  # no rule without a weight
    free = weigh_rules(split, replace(QUICK, signs="any")).weighted_rules
    assert any((each.weights < 0).any() for each in free.queries.values())


def test_a_source_gives_no_more_questions_than_its_share():
    facts = [("hub", "r", f"e{i}") for i in range(50)] + [(f"s{i}", "r", f"e{i}") for i in range(9)]
    weighting = Weighting(name_parts({"train": facts}), replace(QUICK, max_per_source=5))
    with weighting._worker() as worker:
        counts = np.unique(worker.learning_questions(0).sources, return_counts=True)[1]
    assert sorted(counts.tolist()) == [1] * 9 + [5]
    assert weighting.num_questions(0) == 14


@pytest.mark.parametrize("num_pilot", [40, 10**6])
def test_rules_that_a_first_fit_gives_up_are_not_missed_by_the_weights_of_the_others(split, num_pilot):
    """Also where the first fit saw all questions, weights are fitted anew for the rules that are left."""
    config = replace(QUICK, num_pilot=num_pilot, max_entries=10**6, thinning=False)
    wide, narrow = Weighting(split, config), Weighting(split, replace(config, max_entries=4))
    query = wide.queries[0]
    with wide._worker() as first, narrow._worker() as second:
        pilots = first.pilot(query, first.candidates(query))
        choice = choose_settings({query: pilots})[query]
        every, few = (worker.refine(query, choice) for worker in (first, second))
    assert 0 < few.num_predicted.sum() <= 4 * 1.5 < every.num_predicted.sum()
    kept, left = (each.weighted(0) for each in (every, few))
    both = [(kept.rules.index(rule), left.rules.index(rule)) for rule in left.rules if rule in kept.rules]
    assert any(not np.allclose(kept.weights[i], left.weights[j]) for i, j in both)


@pytest.fixture(scope="module")
def shops():
    """What a shop sells follows from its kind, and one in ten shops lacks the fact: a rule for each kind."""
    facts, held_out = [], []
    for number in range(240):
        shop, kind = f"s{number}", number % 6
        facts += [(shop, "is_a", f"kind{kind}"), (shop, "in", f"town{number % 7}")]
        (held_out if number % 10 == 0 else facts).append((shop, "sells", f"goods{kind}"))
    return name_parts({"train": facts, "valid": held_out})


FEW_QUESTIONS = replace(QUICK, kinds=("prior", "unary"), num_pilot=4, thinning=False)


def unary_of(weighted, query):
    return {rule.end for rule in weighted.queries[query].rules if rule.kind == "unary"}


def test_rules_with_constants_are_judged_by_refined_fits_not_by_the_few_questions_of_first_ones(shops):
    weighting, query = Weighting(shops, FEW_QUESTIONS), shops.relations.id("sells")
    with weighting._worker() as worker:
        pilots = worker.first_fits(query)
        choice = choose_settings({query: pilots})[query]
        fit = worker.refine(query, choice)
    assert not any(setting.left_out for setting in pilots[0].settings)
    assert {rule.end for rule in choice.weighted.rules if rule.end} < {f"kind{kind}" for kind in range(6)}
    assert [setting.left_out for setting in fit.settings] == [frozenset(), {"unary"}]
    rare = np.array([rule.kind == "unary" for rule in fit.rules])
    assert fit.weights[rare, 0, 0].any()
    assert not fit.weights[rare, :, 1].any()
    assert fit.reciprocal_ranks.mean(axis=0)[0] > fit.reciprocal_ranks.mean(axis=0)[1] + 0.3
    assert unary_of(weighting.run(), query) >= {f"kind{kind}" for kind in range(6)}


def test_where_no_fact_is_left_to_validate_facts_held_out_judge_rules_with_constants(shops):
    """Here the facts held out contradict what the others suggest."""
    query, blind = shops.relations.id("sells"), replace(shops, valid=shops.valid[:0])
    contrary = shops.valid.copy()
    contrary[:, 2] = np.roll(contrary[:, 2], 1)
    validator, seen = Weighting(replace(shops, valid=contrary), FEW_QUESTIONS), []
    alone, validated = (
        Weighting(blind, FEW_QUESTIONS).run(seen.append, validator=each) for each in (None, validator)
    )
    assert sum(seen) == 2 * (2 * len(shops.train))
    assert unary_of(alone, query)
    assert not unary_of(validated, query)


class RecordingFit(QueryFit):
    """A fit that keeps the weights after each few batches."""

    def _fit_batches(self, examples, order, total):
        super()._fit_batches(examples, order, total)
        self.seen = [*getattr(self, "seen", []), (self.num_steps / total, self.values.copy())]


def test_fitted_weights_are_the_mean_over_the_last_half_of_the_steps(split):
    weighting = Weighting(split, QUICK)
    query = weighting.queries[0]
    worker = Worker(weighting)
    (rules,) = worker.candidates(query)
    fit = RecordingFit(worker, query, rules, (Setting(0.0),))
    fit.learn(weighting.questions[query])
    last = [values for share, values in fit.seen if share > 0.5]
    assert 1 < len(last) < len(fit.seen)
    expected = np.where(last[-1] == 0, 0.0, np.mean(last, axis=0))
    np.testing.assert_allclose(fit.values, expected, rtol=1e-12)
    assert (fit.values != last[-1]).any()


def test_dropout_is_less_the_more_questions_a_query_has(split):
    weighting = Weighting(split, replace(QUICK, dropout=0.4, num_pilot=20))
    query = weighting.queries[0]
    with weighting._worker() as worker:
        [first] = worker.first_fits(query)
        questions = worker.learning_questions(query)
        choice = choose_settings({query: [first]})[query]
        assert worker._refined(query, choice, questions).dropout == pytest.approx(0.4 * 20 / len(questions))
        assert worker._refined(query, choice, questions[:10]).dropout == 0.4


def test_dropout_changes_weights_and_the_search_for_rules_is_not_repeated(split):
    weighting = Weighting(split, QUICK)
    dropped = weighting.with_config(replace(QUICK, dropout=0.4))
    weights = []
    for each in (weighting, dropped):
        with each._worker() as worker:
            [fit] = worker.first_fits(weighting.queries[0])
        weights.append(fit.weights)
        num_found = len(weighting._found)
    assert not np.allclose(*weights)
    assert len(dropped._found) == num_found == len({key[1] for key in dropped._found})


def test_a_trial_of_refined_fits_has_their_ranks(split):
    weighting = Weighting(split, replace(QUICK, thinning=False))
    queries = weighting.queries[:4]
    with weighting._worker() as worker:
        choices = choose_settings({query: worker.first_fits(query) for query in queries})
        expected = [worker.refine(query, choices[query]).reciprocal_ranks[:, 0] for query in queries]
    found = weighting.trial(queries, refined=True)
    np.testing.assert_array_equal(found.pooled, np.concatenate(expected))


def test_nearness_needs_no_long_bodies(split):
    weighted = Weighting(split, replace(QUICK, max_length=1, kinds=("near",))).run()
    assert set(weighted.num_of_kinds) == {"near"}


def test_a_trial_of_refined_fits_has_no_ranks_of_queries_that_it_was_stopped_in(split, monkeypatch):
    def stop(worker, query, choice):
        raise StoppedError

    monkeypatch.setattr(Worker, "refine", stop)
    weighting = Weighting(split.without_test(), QUICK)
    assert weighting.trial(weighting.queries).reciprocal_ranks
    assert not weighting.trial(weighting.queries, refined=True).reciprocal_ranks
