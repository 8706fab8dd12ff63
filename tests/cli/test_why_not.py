import json
import re

import pytest
from learned_family import learned

from neurallp.io.triples import write_triples


@pytest.fixture(scope="module")
def given_family(tmp_path_factory):
    folder = tmp_path_factory.mktemp("family")
    kb, _, program = learned()
    program.save(folder / "model")
    write_triples(folder / "data.tsv", kb.named_facts())
    fact = next(fact for fact in kb.named_facts() if fact[1] == "uncle")
    answers = program.reasoner(kb).ask(head=fact[0], relation="uncle", k=30)
    unknown = next(answer for answer in answers if not answer.is_known)
    return folder / "model", folder / "data.tsv", (fact[0], "uncle", unknown.entity), fact


def test_why_not_names_what_is_missing(run, uncles):
    code, out, _ = run("why-not", *uncles, "zoe", "uncle", "vic")
    assert code == 0
    assert out == (
        "uncle(zoe, vic) does not follow:\n"
        "  father(zoe, yan), but brother(yan, vic) is missing (one of 2 facts that would do)\n"
    )
    _, out, _ = run("why-not", *uncles, "zoe", "uncle", "vic", "--json")
    assert json.loads(out)["missing_facts"][0]["missing"] == "brother(yan, vic)"


def test_what_follows_has_its_probability_and_a_fact_is_called_one(run, given_family):
    model, data, unknown, fact = given_family
    out = run("why-not", model, data, *unknown)[1]
    assert "follows already" in out
    assert re.search(r"\nIts probability is [\d.<> ]+ %\.\n$", out)
    out = run("why-not", model, data, *fact)[1]
    assert "is a known fact already (rank " in out
    assert "probability" not in out
