import json

import pytest

from neurallp.datasets.family import family_triples


def test_explain_prints_terms_that_add_up_to_the_score(run, model, data):
    head, relation, tail = family_triples(num_people=40, num_generations=3)[0]
    code, out, _ = run("explain", model, data, head, relation, tail)
    assert code == 0
    assert f"{relation}({head}, {tail}) because" in out
    _, out, _ = run("explain", model, data, head, relation, tail, "-k", 1000, "--json")
    proof = json.loads(out)
    assert sum(term["contribution"] for term in proof["terms"]) == pytest.approx(proof["score"], rel=1e-5)


def test_explain_draws(run, uncles, tmp_path):
    assert run("explain", *uncles, "zoe", "uncle", "xan", "--svg", tmp_path / "proof.svg")[0] == 0
    assert (tmp_path / "proof.svg").read_text().startswith("<svg")
