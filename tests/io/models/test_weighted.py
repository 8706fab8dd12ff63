import json
import subprocess
import sys

import numpy as np
import pytest
from model_folders import rewrite
from weighted_samples import every_kind

from neurallp import KnowledgeBase, ModelError, load_model
from neurallp.config import KINDS, WeightingConfig
from neurallp.datasets.family import family_knowledge_base
from neurallp.graph.knowledge_base import split_triples
from neurallp.io.models.folders import dump_arrays, read_arrays
from neurallp.io.models.store import WEIGHTED, read_files, write_files
from neurallp.io.models.weighted import read_weighted, weighted_files
from neurallp.pipeline.learn import weigh_rules
from neurallp.weighting.kinds.base import Candidate
from neurallp.weighting.weighted_rules import WeightedQuery, WeightedRules

ALL = 10**6
ONE = np.array([[1.0, 0.0, 0.0]])
QUICK = WeightingConfig(
    max_length=2, num_candidates=20, num_pairs=40, min_steps=40, max_questions=200, kinds=tuple(KINDS)
)


@pytest.fixture(scope="module")
def program(split):
    with every_kind():
        return weigh_rules(split, QUICK)


@pytest.fixture
def kb():
    return KnowledgeBase.from_triples([("a", "r", "b"), ("b", "s", "c")])


def arrays_of(weighted):
    """Return all that weighted rules hold, to be compared bit for bit."""
    return weighted.reflexive.tobytes(), {
        query: (each.rules, each.weights.tobytes(), each.confidences.tobytes())
        for query, each in weighted.queries.items()
        if len(each)
    }


@pytest.fixture
def folder(program, tmp_path):
    program.save(tmp_path / "weighted", {"test": {"mrr": 0.5}})
    return tmp_path / "weighted"


def test_weighted_rules_are_read_as_they_were_written(split, program, folder):
    weighted, config = read_weighted(read_files(folder))
    assert arrays_of(weighted) == arrays_of(program.weighted_rules)
    assert (weighted.relations, config) == (program.weighted_rules.relations, QUICK)
    loaded = load_model(folder)
    assert loaded.rules(kb=split.known) == program.rules()
    assert loaded.evaluate(split) == program.evaluate(split)
    assert json.loads((folder / "metrics.json").read_text()) == {"test": {"mrr": 0.5}}


@pytest.mark.parametrize("name", ["weighted.safetensors", "weighting.json", "relations.json"])
def test_a_truncated_file_is_an_error(folder, name):
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelError, match="is missing or damaged"):
        load_model(folder)


def test_settings_and_relations_that_do_not_fit_are_errors(folder):
    settings = json.loads((folder / "weighting.json").read_text())
    for damage in (
        {"weighting": {}},
        {"weighting": settings["weighting"] | {"no": 1}},
        {"weighting": settings["weighting"] | {"max_length": 10**9}},
        {"kinds": "chain"},
        {"unrefined": ["nobody"]},
        {"excludes_linked": 1},
    ):
        rewrite(folder, "weighting.json", json.dumps(settings | damage))
        with pytest.raises(ModelError):
            load_model(folder)
    rewrite(folder, "weighting.json", json.dumps(settings))
    rewrite(folder, "relations.json", '["uncle"]')
    with pytest.raises(ModelError, match="other relations"):
        load_model(folder)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("queries", lambda array: array + 10**6),
        ("queries", lambda array: array[:-1]),
        ("kinds", lambda array: array - 1),
        ("operators", lambda array: array[0]),
        ("operators", lambda array: array.astype(np.float64)),
        ("constants", lambda array: array + 10**6),
        ("weights", lambda array: array[:, :2].copy()),
        ("weights", lambda array: array * np.nan),
        ("confidences", lambda array: array * np.inf),
        ("reflexive", lambda array: array.astype(np.int64)),
    ],
)
def test_arrays_that_stand_for_no_rules_are_errors(folder, name, damage):
    arrays = read_arrays(read_files(folder), WEIGHTED)
    with np.errstate(all="ignore"):
        changed = damage(arrays[name])
    rewrite(folder, WEIGHTED, dump_arrays({**arrays, name: changed}))
    with pytest.raises(ModelError, match="is missing or damaged"):
        load_model(folder)


def test_operators_that_the_relations_do_not_have_are_an_error(kb, tmp_path):
    rules = (Candidate("chain", (99,)),)
    wrong = WeightedRules(kb.relations, kb.reflexive_relations, {0: WeightedQuery(rules, ONE, np.ones(1))})
    write_files(tmp_path, "rules", weighted_files(wrong, QUICK))
    with pytest.raises(ModelError, match="is missing or damaged"):
        read_weighted(read_files(tmp_path))


@pytest.mark.parametrize("kind", ["near", "linked"])
def test_a_rule_that_names_no_relation_with_parts_or_twice_in_a_query_is_an_error(kb, kind, tmp_path):
    one = Candidate(kind, ())
    for wrong in ([one, one], [one._replace(operators=(1,))], [one._replace(constant="anna")]):
        own = WeightedQuery(tuple(wrong), np.ones((len(wrong), 3)), np.ones(len(wrong)))
        rules = WeightedRules(kb.relations, kb.reflexive_relations, {0: own})
        write_files(tmp_path, "rules", weighted_files(rules, QUICK))
        with pytest.raises(ModelError, match=f"the kind {kind}"):
            read_weighted(read_files(tmp_path))


def test_a_rule_is_kept_with_the_source_and_start_that_it_names_and_refused_without(kb, tmp_path):
    rule = Candidate("sourced", (1,), "c", "a")
    for own in (rule, rule._replace(constant=None), rule._replace(end=None), rule._replace(operators=(0, 1))):
        query = WeightedQuery((own,), ONE, np.ones(1))
        rules = WeightedRules(kb.relations, kb.reflexive_relations, {0: query})
        write_files(tmp_path, "rules", weighted_files(rules, QUICK))
        if own is rule:
            assert arrays_of(read_weighted(read_files(tmp_path))[0]) == arrays_of(rules)
        else:
            with pytest.raises(ModelError, match="the kind sourced"):
                read_weighted(read_files(tmp_path))


def test_rules_weighted_on_one_family_answer_for_another(program, folder):
    other = split_triples(family_knowledge_base(num_people=50, num_generations=3, seed=7), seed=3)
    loaded = load_model(folder)
    assert loaded.evaluate(other).mrr > 0.6
    head, relation, tail = next(other.known.named_facts())
    assert loaded.ask(head=head, relation=relation, kb=other.known)
    proof = loaded.explain(head, relation, tail, k=ALL, kb=other.known)
    assert proof.remainder == pytest.approx(0, abs=1e-9)


def test_kinds_and_constants_are_stored_by_name(program, folder):
    settings = json.loads((folder / "weighting.json").read_text())
    rules = [rule for each in program.weighted_rules.queries.values() for rule in each.rules]
    assert set(settings["kinds"]) == {rule.kind for rule in rules} == set(KINDS)
    assert set(settings["constants"]) == {name for rule in rules for name in rule[2:]} - {None}


@pytest.fixture
def registry():
    """The registry of kinds, which is as it was after the test, in its order too."""
    kinds = dict(KINDS)
    yield KINDS
    KINDS.clear()
    KINDS.update(kinds)


def test_the_order_of_the_registry_does_not_matter(program, folder, registry):
    for name in reversed(list(registry)):
        registry[name] = registry.pop(name)
    assert arrays_of(read_weighted(read_files(folder))[0]) == arrays_of(program.weighted_rules)


def test_a_kind_that_is_not_registered_is_named(folder, registry):
    del registry["mirrored"]
    with pytest.raises(ModelError, match="mirrored"):
        read_weighted(read_files(folder))


def test_weighted_rules_are_read_without_torch(folder):
    code = (
        "import sys; from neurallp.io.models.weighted import read_weighted; "
        f"from neurallp.io.models.store import read_files; read_weighted(read_files({str(folder)!r}))"
    )
    subprocess.run([sys.executable, "-c", f"{code}; assert 'torch' not in sys.modules"], check=True)


def test_no_rules_at_all_are_written_and_read(kb, tmp_path):
    none = WeightedRules(kb.relations, kb.reflexive_relations, {})
    write_files(tmp_path, "rules", weighted_files(none, QUICK))
    assert len(read_weighted(read_files(tmp_path))[0]) == 0
