"""The overview."""


def test_it_counts_what_is_there_and_shows_the_measures_with_ties(read, explorer, split, program):
    told = read("/")
    assert told["num_facts"] == len(split.given.facts)
    assert told["num_rules"] == len(program.weighted_rules) == sum(told["kinds"].values())
    measures = program.evaluate(split).as_dict()
    rows = {row["ties"]: row for row in told["rows"]}
    assert rows["realistic"]["mrr"] == measures["mrr"]
    assert rows["pessimistic"]["mrr"] <= rows["realistic"]["mrr"] <= rows["optimistic"]["mrr"]
    assert rows["realistic"]["num_questions"] == 2 * len(split.test)


def test_it_says_how_the_model_was_made_and_where_to_begin(read, look, program):
    told = read("/")
    assert told["settings"]["kinds of rules"] == ", ".join(program.plan.weighting.kinds)
    assert len(told["examples"]) == 6
    assert told["examples"][0].keys() == {"entity", "relation"}  # the answer is not told
    assert f"{told['examples'][0]['relation']}</bdi>(" in look("/")


def test_reliability_is_drawn_once_it_is_measured(read, look, explorer):
    rows = read("/calibration")["rows"]
    assert {row["source"] for row in rows} == {"no known answer", "known answers"}
    assert len(read("/")["calibration"]) == 2
    assert "Predicted probability against" in look("/")


def test_training_is_drawn_for_a_neural_model(split):
    from samples import neural_program, untrained

    from neurallp.neural.loop import Epoch
    from neurallp.web.explorer import Explorer
    from neurallp.web.pages.overview import overview

    program = neural_program(untrained(split.known))
    program._history = [Epoch(n, 2.0 / n, {"mrr": 0.1 * n}, 0.0, is_best=n == 2) for n in (1, 2)]
    loss, mrr = overview(Explorer(program, split)).training
    assert [point.y for point in loss.points] == [1.0, 0.5]
    assert [point.y for point in mrr.points] == [0.1, 0.2]
