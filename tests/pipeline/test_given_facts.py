"""One behaviour in Python and on the command line: what is given is known when a program answers."""

import pytest

import neurallp
from neurallp import Split
from neurallp.datasets.family import family_knowledge_base
from neurallp.io.triples.tables import to_pandas
from neurallp.pipeline.program import load_model

#: Nothing is left to trials.
SETTINGS = {
    "train": False,
    "num_candidates": 20,
    "max_length": 2,
    "kinds": ("chain", "prior"),
    "masking": "fact",
}


@pytest.fixture(scope="module")
def kb():
    return family_knowledge_base(num_people=60, num_generations=3)


@pytest.fixture(scope="module")
def data(kb, tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "family.tsv"
    path.write_text("".join("\t".join(fact) + "\n" for fact in kb.named_facts()))
    return path


@pytest.fixture(scope="module")
def program(kb):
    return neurallp.learn(kb, **SETTINGS)


def test_no_given_fact_is_predicted_as_new(program, kb):
    facts = set(kb.named_facts())
    assert set(program.kb.named_facts()) == facts
    for batch in program.predict():
        heads, tails = batch.ends
        found = {(kb.entities[h], batch.relation, kb.entities[t]) for h, t in zip(heads, tails, strict=True)}
        assert not found & facts


def test_a_learned_program_answers_as_the_saved_one_does_on_the_same_facts(program, kb, tmp_path):
    program.save(tmp_path)
    loaded = load_model(tmp_path)
    for person in kb.entities[:10]:
        question = {"head": person, "relation": "uncle"}
        assert program.ask(**question) == loaded.ask(**question, kb=kb)


def test_the_command_answers_as_the_library_does(program, kb, data, run, tmp_path):
    import json

    program.save(tmp_path / "model")
    person = kb.entities[0]
    code, out, _ = run("ask", tmp_path / "model", data, "--head", person, "--relation", "uncle", "--json")
    assert code == 0
    assert json.loads(out) == [vars(answer) for answer in program.ask(head=person, relation="uncle")]


def test_learn_takes_a_path_a_table_or_a_knowledge_base(program, kb, data):
    pytest.importorskip("pandas")
    for given in (data, str(data), to_pandas(kb)):
        learned = neurallp.learn(given, **SETTINGS)
        assert set(learned.kb.named_facts()) == set(kb.named_facts())
        assert learned.calibration == program.calibration


def test_load_takes_a_path_a_table_or_a_knowledge_base(kb, data):
    pytest.importorskip("pandas")
    assert neurallp.load(kb) is kb
    for given in (data, to_pandas(kb)):
        assert set(neurallp.load(given).named_facts()) == set(kb.named_facts())


def test_of_a_folder_all_but_the_test_part_is_known(kb, tmp_path):
    facts = list(kb.named_facts())
    for i, part in enumerate(("test", "valid", "train")):
        of_part = facts[i * 20 : (i + 1) * 20] if part != "train" else facts[40:]
        (tmp_path / f"{part}.tsv").write_text("".join("\t".join(fact) + "\n" for fact in of_part))
    split = neurallp.load(tmp_path)
    assert isinstance(split, Split)
    learned = neurallp.learn(tmp_path, **SETTINGS)
    assert set(learned.kb.named_facts()) == set(facts[20:])
    assert learned.evaluate(split).num_questions == 40
