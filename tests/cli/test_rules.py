import json

from neurallp import load_model
from neurallp.io.triples import load


def test_rules_prints_the_rules_of_a_query_under_a_heading(run, model):
    code, out, _ = run("rules", model, "--relation", "uncle", "--limit", 3, "--min-share", 0)
    assert code == 0
    heading, header, _, *lines = out.splitlines()
    assert heading == "uncle(X, Y): X is given, Y is sought"
    assert header.split() == ["confidence", "rule"]
    assert sum(line[:1] in " 0" and "(" in line for line in lines) >= 3
    assert lines[-1].startswith("Confidence, support and examples: neurallp rules")


def test_rules_counts_support_on_data(run, model, data):
    for given in ((data,), ("--data", data)):
        _, header, *_ = run("rules", model, *given, "--relation", "uncle")[1].splitlines()
        assert header.split() == ["confidence", "PCA", "support", "rule"]


def test_every_query_and_its_inverse_has_a_heading(run, model, data):
    out = run("rules", model, data, "--limit", 1)[1]
    assert "uncle(X, Y): X is given, Y is sought\n" in out
    assert "uncle(Y, X): X is given, Y is sought (inverse)\n" in out


def test_rules_as_json_are_those_of_the_library(run, model, data):
    (found,) = json.loads(run("rules", model, data, "--json", "--relation", "~uncle", "--limit", 4)[1])
    kb = load(data)
    (expected,) = load_model(model).listings("~uncle", limit=4, kb=kb)
    assert found == json.loads(json.dumps(expected.as_dict()))
    assert found["reasons"][0]["rule"].startswith("uncle(Y, X) <= ")


def test_rules_are_filtered_by_what_is_counted(run, model, data):
    wide, narrow = (
        json.loads(run("rules", model, data, "--json", "--relation", "uncle", *options)[1])
        for options in ((), ("--min-confidence", 0.5, "--min-support", 2))
    )
    kept = [rule for listing in narrow for rule in listing["reasons"]]
    assert len(kept) < len(wide[0]["reasons"])
    assert all(rule["confidence"] >= 0.5 and rule["support"] >= 2 for rule in kept)


def test_rules_can_be_narrowed_down_to_none(run, model):
    narrow = ("--relation", "uncle", "--allow", "wife", "--deny", "wife")
    said = "No rule passes the filters. Lower --min-share, or allow more.\n"
    assert run("rules", model, *narrow) == (0, said, "")
    assert run("rules", model, "--json", *narrow) == (0, "[]\n", "")


def test_few_rules_need_data(refuse, model):
    assert refuse("rules", model, "--few", 3).startswith("--few fits weights to facts.")


def test_an_unknown_relation_is_reported_with_the_nearest(refuse, model):
    for flag in ("--relation", "--allow", "--deny"):
        assert refuse("rules", model, flag, "uncel").startswith(
            "Unknown relation 'uncel'. Did you mean 'uncle'?"
        )


def test_the_message_for_a_damaged_model_names_the_file(refuse, model):
    (model / "weights.safetensors").write_bytes(b"")
    assert refuse("rules", model).startswith(f"{model / 'weights.safetensors'} is missing or damaged")


def test_examples_are_printed_with_labels(run, model, data, tmp_path):
    kb = load(data)
    (tmp_path / "labels.tsv").write_text("".join(f"{name}\tDr {name}\n" for name in kb.entities))
    asked = ("rules", model, data, "--relation", "father", "--json", "--labels", tmp_path / "labels.tsv")
    (listing,) = json.loads(run(*asked)[1])
    examples = [rule["example"] for rule in listing["reasons"] if rule["example"]]
    assert examples
    assert all("(Dr " in example for example in examples)


def test_a_data_folder_is_not_taken_for_a_model(run, tmp_path):
    (tmp_path / "train.tsv").write_text("a\tr\tb\n")
    code, _, err = run("rules", tmp_path)
    assert code != 0
    assert "is a folder of data, not of a model" in err
    assert f"neurallp learn {tmp_path} --out MODEL" in " ".join(err.split())
