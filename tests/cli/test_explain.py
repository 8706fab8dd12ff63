import json

import pytest

from neurallp.datasets.family import family_triples


def test_explain_says_because_and_its_parts_add_up(run, model, data):
    head, relation, tail = family_triples(num_people=40, num_generations=3)[0]
    code, out, _ = run("explain", model, data, head, relation, tail)
    assert code == 0
    assert f"{relation}({head}, {tail}) because" in out
    _, out, _ = run("explain", model, data, head, relation, tail, "-k", 1000, "--json")
    proof = json.loads(out)
    assert sum(part["amount"] for part in proof["parts"]) == pytest.approx(proof["score"], rel=1e-5)


def test_explain_draws(run, uncles, tmp_path):
    assert run("explain", *uncles, "zoe", "uncle", "xan", "--svg", tmp_path / "proof.svg")[0] == 0
    assert (tmp_path / "proof.svg").read_text().startswith("<svg")
