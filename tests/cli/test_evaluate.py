import json

from neurallp import load_model
from neurallp.cli.options import load_split

MEASURES = {"mrr", "hits@1", "hits@3", "hits@10", "mean_rank"}


def test_evaluate_prints_the_measures_under_all_readings_of_a_tie(run, model, data):
    code, out, _ = run("evaluate", model, data)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    for word in ("realistic", "optimistic", "pessimistic", "Hits@10", "mean rank", "questions"):
        assert word in out


def test_evaluate_as_json_has_all_measures(run, model, data):
    code, out, err = run("evaluate", model, data, "--json")
    assert (code, "Error" in err) == (0, False)
    result = json.loads(out)
    assert result.keys() == MEASURES | {"queries", "optimistic", "pessimistic"}
    assert result["optimistic"].keys() == result["pessimistic"].keys() == MEASURES
    assert result == load_model(model).evaluate(load_split(data, 0), "test").as_dict()


def test_a_learned_model_has_measures_of_the_validation_part_only(model, data):
    """Answers that only the test part knows count as wrong: `evaluate` leaves them out."""
    program = load_model(model)
    blind = load_split(data, program.seed).without_test()
    saved = json.loads((model / "metrics.json").read_text())
    assert saved == {"valid": program.evaluate(blind, "valid").as_dict()}


def test_evaluate_can_tell_each_relation_apart(run, model, data):
    result = json.loads(run("evaluate", model, data, "--json", "--per-relation")[1])
    assert sum(found["queries"] for found in result["relations"].values()) == result["queries"]
    assert "grandmother" in run("evaluate", model, data, "--per-relation")[1]


def test_the_rules_of_a_model_are_judged_like_the_model(run, model, data):
    code, out, _ = run("evaluate", model / "rules.tsv", data, "--json")
    assert code == 0
    assert json.loads(out)["mrr"] > 0.1
