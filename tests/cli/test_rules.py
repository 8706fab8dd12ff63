import json

from neurallp import Rule, load_model


def test_rules_prints_the_rules_of_a_query(run, model):
    code, out, _ = run("rules", model, "--query", "uncle", "--limit", 3, "--min-confidence", 0)
    assert code == 0
    header, _, *lines = out.splitlines()
    assert header.split() == ["confidence", "normalized", "rule"]
    assert sum("uncle(X, Y) <= " in line for line in lines) == 3


def test_rules_counts_support_on_data(run, model, data):
    header = run("rules", model, "--query", "uncle", "--data", data)[1].splitlines()[0]
    assert header.split() == ["confidence", "normalized", "support", "measured", "rule"]


def test_rules_as_json_are_the_same_rules(run, model):
    rules = json.loads(run("rules", model, "--json", "--query", "~uncle", "--limit", 4)[1])
    assert [Rule(**known(rule)) for rule in rules] == list(load_model(model).rules("~uncle", limit=4))
    assert rules[0]["rule"].startswith("uncle(Y, X) <= ")


def known(rule):
    fields = {name: value for name, value in rule.items() if name in Rule.__dataclass_fields__}
    return fields | {"body": tuple(rule["body"]), "inequalities": tuple(map(tuple, rule["inequalities"]))}


def test_rules_can_be_narrowed_down_to_none(run, model):
    narrow = ("--query", "uncle", "--allow", "wife", "--deny", "wife")
    said = "No rule passes. Lower --min-confidence, or allow more.\n"
    assert run("rules", model, *narrow) == (0, said, "")
    assert run("rules", model, "--json", *narrow) == (0, "[]\n", "")


def test_an_unknown_relation_is_told_with_the_nearest(refuse, model):
    for flag in ("--query", "--allow", "--deny"):
        assert refuse("rules", model, flag, "uncel").startswith(
            "Unknown relation 'uncel'. Did you mean 'uncle'?"
        )


def test_a_damaged_model_is_told_by_the_file(refuse, model):
    (model / "weights.safetensors").write_bytes(b"")
    assert refuse("rules", model).startswith(f"{model / 'weights.safetensors'} is missing or damaged")
