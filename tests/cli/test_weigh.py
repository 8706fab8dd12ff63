import io
import json
import os
import shutil
import signal
from contextlib import redirect_stdout
from dataclasses import replace

import pytest
from samples import weighted_program
from typer.main import get_command
from weighted_samples import every_kind

from neurallp import ConfigError, KnowledgeBase, Rule, load_model
from neurallp.cli import app
from neurallp.cli.callbacks import LearningProgress, ShownProgress
from neurallp.datasets.family import family_triples
from neurallp.io.rules import export_rules
from neurallp.io.rules.table import read_rules, write_rules
from neurallp.io.triples import write_triples
from neurallp.pipeline.learn import rules_to_weigh
from neurallp.rules.support import measure

FEW = ("--epochs", 1, "--learning-rate", 0.01)
CHEAP = ("--candidates", 50, "--kinds", "chain,prior", "--length", 2, "--masking", "fact")
RULES = [Rule("uncle", ("father", "brother"), 0.9), Rule("uncle", ("mother", "brother"), 0.8)]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "family.tsv"
    write_triples(path, family_triples(num_people=40, num_generations=3))
    return path


@pytest.fixture
def rules(tmp_path):
    write_rules(tmp_path / "rules.tsv", RULES)
    return tmp_path / "rules.tsv"


def as_json(run, *arguments):
    code, out, err = run(*arguments, "--json")
    assert (code, "Error" in err) == (0, False)
    return json.loads(out)


def bodies(folder, query):
    rules = load_model(folder).rules(query, limit=1000, min_share=0.0)
    return {rule.body for rule in rules if rule.kind == "chain"}


def kinds_in(listing):
    return [rule["kind"] for side in ("reasons", "against") for rule in listing[side]]


def rules_in(folder):
    return {(rule.target, str(rule)) for rule in rules_to_weigh(load_model(folder), 0)}


# weigh


def test_the_rules_of_a_file_are_weighted_both_ways(run, data, rules, tmp_path):
    found = as_json(run, "weigh", rules, data, "--out", tmp_path / "out")
    assert (found["model"], found["kinds"]["chain"]) == (str(tmp_path / "out"), 4)
    assert set(found) == {"model", "rules", "kinds", "valid"}
    assert bodies(tmp_path / "out", "uncle") == {rule.body for rule in RULES}
    assert bodies(tmp_path / "out", "~uncle") == {("~brother", "~father"), ("~brother", "~mother")}
    assert json.loads((tmp_path / "out" / "metrics.json").read_text()) == {"valid": found["valid"]}


def test_a_model_is_weighted_again_with_its_own_settings_unless_others_are_given(run, data, tmp_path):
    first, again, other = (tmp_path / name for name in ("first", "again", "other"))
    chosen = ("--length", 2, "--penalties", "1.0", "--masking", "pair", "--max-rules", 3)
    as_json(run, "weigh", "-", data, "--out", first, "--mine", 20, *chosen)
    as_json(run, "weigh", first, data, "--out", again)
    as_json(run, "weigh", first, data, "--out", other, "--penalties", "0.5")
    config = load_model(again).plan.weighting
    assert (config.penalties, config.masking, config.max_rules, config.num_candidates) == (
        (1.0,),
        "pair",
        3,
        0,
    )
    assert load_model(other).plan.weighting == replace(config, penalties=(0.5,))


def test_more_rules_are_mined_and_at_most_max_rules_kept(run, data, rules, tmp_path):
    more = as_json(run, "weigh", rules, data, "--out", tmp_path / "more", "--mine", 20, "--length", 2)
    least = as_json(
        run, "weigh", "-", data, "--out", tmp_path / "least", "--mine", 20, "--length", 2, "--max-rules", 1
    )
    assert more["rules"] > 100
    assert least["kinds"]["chain"] == len(read_rules(tmp_path / "least" / "rules.tsv").targets)
    assert more["valid"]["mrr"] > least["valid"]["mrr"]


def test_weigh_prints_measures_and_the_folder(run, data, rules, tmp_path):
    code, out, err = run("weigh", rules, data, "--out", tmp_path / "out", "--kinds", "chain")
    assert (code, "Error" in err) == (0, False)
    assert "realistic" in out
    assert f"Weighted rules in {tmp_path / 'out'}: 4 chain." in out.replace("\n", "")
    assert set(load_model(tmp_path / "out").weighted_rules.num_of_kinds) == {"chain"}


def test_without_validation_and_test_weigh_prints_no_table(run, data, rules, tmp_path):
    (tmp_path / "split").mkdir()
    shutil.copy(data, tmp_path / "split" / "train.tsv")
    code, out, _ = run("weigh", rules, tmp_path / "split", "--out", tmp_path / "out")
    assert (code, out.count("\n")) == (0, 1)
    assert out.startswith(f"Weighted rules in {tmp_path / 'out'}: 4 chain, ")


def test_other_lengths_are_refused_without_mining(run, refuse, data, rules, tmp_path):
    message = refuse("weigh", rules, data, "--out", tmp_path / "out", "--or-length", 1)
    assert "--candidates" in message
    found = as_json(
        run, "weigh", "-", data, "--out", tmp_path / "out", "--mine", 9, "--length", 1, "--or-length", 2
    )
    assert found["valid"]["mrr"] > 0.5
    assert max(len(rule.body) for rule in load_model(tmp_path / "out").rules()) == 2


def test_weigh_refuses_data_without_a_matching_rule(refuse, data, tmp_path):
    write_rules(tmp_path / "other.tsv", [Rule("bigger", ("smaller",), 0.9)])
    for path in ("-", tmp_path / "other.tsv"):
        message = refuse("weigh", path, data, "--out", tmp_path / "out")
        assert "--candidates" in message
    assert not (tmp_path / "out").exists()


def test_non_chain_kinds_need_no_given_rules_and_are_printed(run, data, tmp_path):
    with every_kind():
        made = as_json(run, "weigh", "-", data, "--out", tmp_path, "--kinds", "unary,anchored, mirrored")
    assert made["rules"] > 0
    listings = as_json(run, "rules", tmp_path, "--limit", 1000, "--min-share", 0)
    assert {kind for listing in listings for kind in kinds_in(listing)} == {"unary", "anchored", "mirrored"}
    code, out, _ = run("rules", tmp_path, data)
    assert code == 0
    assert "uncle(X, Y): X is given, Y is sought\n" in out
    assert " Y = " in out


def test_the_prior_can_be_weighted_alone(run, data, tmp_path):
    made = as_json(run, "weigh", "-", data, "--out", tmp_path, "--kinds", "prior")
    assert made["kinds"] == {"prior": len(load_model(tmp_path).weighted_rules.queries)}
    _, out, _ = run("weigh", "-", data, "--out", tmp_path, "--kinds", "prior", "--force")
    assert out.endswith(f": {made['kinds']['prior']} prior.\n")
    (listing,) = as_json(run, "rules", tmp_path, "--relation", "uncle", "--min-share", 0)
    assert kinds_in(listing) == ["prior"]


def test_given_rules_are_not_left_out_silently(refuse, data, rules, tmp_path):
    assert "chain" in refuse("weigh", rules, data, "--out", tmp_path / "out", "--kinds", "unary")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("verb", [("weigh", "-"), ("learn",)])
def test_an_unknown_kind_is_refused_before_anything_is_written(refuse, data, tmp_path, verb):
    message = refuse(*verb, data, "--out", tmp_path / "out", "--kinds", "chain,anchord")
    assert "Did you mean 'anchored'?" in message
    assert not (tmp_path / "out").exists()


# learn


@pytest.fixture(scope="module")
def learned(data, tmp_path_factory):
    """Model folders that the command made: by default, and as published."""
    made = {}
    for name, options in {"default": CHEAP, "paper": ("--preset", "paper"), "bare": ("--no-weigh",)}.items():
        made[name] = tmp_path_factory.mktemp(name) / "model"
        arguments = ["learn", data, "--out", made[name], "--json", *FEW, *options]
        with redirect_stdout(io.StringIO()):
            get_command(app).main(list(map(str, arguments)), standalone_mode=False)
    return made


def test_learn_weighs_by_default_but_not_with_the_preset_paper_or_no_weigh(learned):
    weighted = {name: load_model(folder).weighted_rules is not None for name, folder in learned.items()}
    assert weighted == {"default": True, "paper": False, "bare": False}
    assert not (learned["paper"] / "weighted.safetensors").exists()


def test_weighted_models_rank_better(learned):
    found = {name: json.loads((folder / "metrics.json").read_text()) for name, folder in learned.items()}
    assert found["default"]["valid"]["mrr"] > found["bare"]["valid"]["mrr"] + 0.1


def test_a_model_s_most_confident_rules_can_be_weighted(run, data, learned, tmp_path):
    found = as_json(run, "weigh", learned["bare"], data, "--out", tmp_path / "out")
    assert not load_model(tmp_path / "out").has_model
    again = as_json(run, "weigh", tmp_path / "out", data, "--out", tmp_path / "again")
    assert again["valid"]["mrr"] == pytest.approx(found["valid"]["mrr"], abs=0.03)
    new = rules_in(tmp_path / "again") - rules_in(tmp_path / "out")  # some may lose a weight near 0
    assert all(text.startswith("not ") for _, text in new)  # a query that had none may get rules against


def test_weighted_rules_are_weighted_again_with_all_their_kinds(run, data, tmp_path):
    kinds = "chain,prior,unary,anchored,mirrored"
    few = ("--mine", 5, "--length", 2, "--max-rules", 12)
    with every_kind():
        first = as_json(run, "weigh", "-", data, "--out", tmp_path / "first", "--kinds", kinds, *few)
    again = as_json(run, "weigh", tmp_path / "first", data, "--out", tmp_path / "again")
    assert set(first["kinds"]) == set(again["kinds"]) == set(kinds.split(","))
    assert rules_in(tmp_path / "again") <= rules_in(tmp_path / "first")
    some = as_json(
        run, "weigh", tmp_path / "first", data, "--out", tmp_path / "some", "--kinds", "chain,anchored"
    )
    assert set(some["kinds"]) == {"chain", "anchored"}
    assert rules_in(tmp_path / "some") <= rules_in(tmp_path / "first")
    write_rules(tmp_path / "all.tsv", rules_to_weigh(load_model(tmp_path / "first"), 0))
    settings = ("--kinds", kinds, *few[2:], "--mine", 0)
    read = as_json(run, "weigh", tmp_path / "all.tsv", data, "--out", tmp_path / "read", *settings)
    assert read == {**again, "model": str(tmp_path / "read")}


def test_weigh_takes_the_weighted_rules_of_a_learned_model(run, data, learned, tmp_path):
    found = as_json(run, "weigh", learned["default"], data, "--out", tmp_path / "out")
    assert found["kinds"].keys() == load_model(learned["default"]).weighted_rules.num_of_kinds.keys()
    assert rules_in(tmp_path / "out") <= rules_in(learned["default"])


def test_a_model_is_not_written_over_by_weighted_rules(refuse, data, learned):
    assert "Give another folder" in refuse("weigh", learned["bare"], data, "--out", learned["bare"])
    program = load_model(learned["default"])
    bare = weighted_program(program.weighted_rules, program.plan.weighting)
    with pytest.raises(ConfigError, match="holds a neural model"):
        bare.save(learned["bare"])
    assert load_model(learned["bare"]).weighted_rules is None


def test_a_model_saved_over_a_weighted_one_removes_the_weighted_rules(learned, tmp_path):
    folder = shutil.copytree(learned["default"], tmp_path / "model")
    load_model(learned["bare"]).save(folder)
    assert load_model(folder).weighted_rules is None
    assert {path.name for path in folder.iterdir()} == {path.name for path in learned["bare"].iterdir()}


@pytest.mark.parametrize("form", ["anyburl", "prolog"])
def test_only_deductive_rules_are_exported(run, data, learned, tmp_path, form):
    saved = [rule for rule in read_rules(learned["default"] / "rules.tsv") if rule.weight > 0]
    against, *kept = saved
    prior = Rule("uncle", ("uncle",), 0.0, weight=2.0, kind="prior")
    unary = Rule("uncle", ("uncle",), 0.5, weight=2.0, kind="unary", answer="bob")
    anchored = Rule("uncle", ("aunt", "~aunt", "uncle"), 0.5, weight=2.0, kind="anchored")
    others = [prior, unary, anchored]
    write_rules(tmp_path / "rules.tsv", [replace(against, weight=-1.0), *others, *kept])
    expected, found = tmp_path / "expected", tmp_path / "found"
    export_rules(expected, measure(kept, KnowledgeBase.from_triples(family_triples(40, 3))), form)
    options = "--format", form, "--out", found, "--min-share", 0
    code, _, err = run("export", tmp_path / "rules.tsv", data, *options)
    assert (code, "Error" in err) == (0, False)
    assert found.read_text() == expected.read_text()


def test_ask_and_explain_work_on_a_weighted_model(run, learned, data):
    head, relation, tail = next(triple for triple in family_triples(40, 3) if triple[1] == "uncle")
    answers = as_json(run, "ask", learned["default"], data, "--relation", relation, "--head", head)
    assert tail in {answer["entity"] for answer in answers}
    proof = as_json(run, "explain", learned["default"], data, head, relation, tail, "-k", 1000)
    assert sum(term["contribution"] for term in proof["terms"]) == pytest.approx(proof["score"])
    code, out, _ = run("rules", learned["default"], "--relation", "uncle")
    assert code == 0
    assert out.startswith("uncle(X, Y): X is given, Y is sought\nweight ")


def test_ctrl_c_while_weighting_exits_130_with_a_complete_model(run, data, tmp_path, monkeypatch):
    interrupted = []

    def on_stage(self, stage, *counts):
        ShownProgress.on_stage(self, stage, *counts)
        if stage == "weigh":
            interrupted.append(True)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(LearningProgress, "on_stage", on_stage)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code, _, _ = run("learn", data, "--out", tmp_path, *FEW, *CHEAP)
    finally:
        signal.signal(signal.SIGINT, before)
    assert (code, interrupted) == (130, [True])
    program = load_model(tmp_path)
    assert program.has_model
    assert program.weighted_rules is None  # no query was fitted yet: priors alone would answer
    assert (tmp_path / "rules.tsv").exists()
