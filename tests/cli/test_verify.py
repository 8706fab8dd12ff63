import json

import pytest
from learned_family import learned

from neurallp.io.triples import write_triples


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verify")
    learned()[2].save(folder / "model")
    write_triples(folder / "data.tsv", learned()[0].named_facts())
    return folder / "model", folder / "data.tsv"


def fact():
    return next(fact for fact in learned()[0].named_facts() if fact[1] == "uncle")


def test_a_known_fact_is_true_with_what_the_rules_would_say(run, given):
    code, out, _ = run("verify", *given, *fact())
    head, _, tail = fact()
    assert code == 0
    assert out.startswith(f"True: uncle({head}, {tail}). It is a known fact. Without it, its probability is ")
    assert "because" in out


def test_a_claim_is_unlikely_below_the_threshold(run, given, tmp_path):
    rest = [each for each in learned()[0].named_facts() if each != fact()]
    write_triples(tmp_path / "rest.tsv", rest)
    asked = given[0], tmp_path / "rest.tsv", *fact()
    assert run("verify", *asked)[1].startswith("Likely: ")
    _, out, _ = run("verify", *asked, "--threshold", 1)
    assert out.startswith("Unlikely: ")
    assert "; likely from > 99.9 % on." in out


def test_an_unknown_name_is_reported_and_no_error(run, given):
    head, relation, _ = fact()
    code, out, _ = run("verify", *given, head, relation, "zz zz")
    assert (code, out.startswith(f"Unknown: uncle({head}, zz zz). Unknown entity 'zz zz'.")) == (0, True)


def test_json_is_the_librarys_verdict(run, given):
    _, out, _ = run("verify", *given, *fact(), "--json")
    found = learned()[2].verify(*fact(), kb=learned()[0])
    told = json.loads(out)
    assert (told["verdict"], told["claim"]) == ("true", found.claim)
    assert told["probability"] == pytest.approx(found.probability)
