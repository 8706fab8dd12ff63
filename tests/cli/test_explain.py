import json

import pytest

from neurallp.datasets.family import family_triples


def test_explain_says_because_and_its_reasons_add_up(run, model, data):
    head, relation, tail = family_triples(num_people=40, num_generations=3)[0]
    code, out, _ = run("explain", model, data, head, relation, tail)
    assert code == 0
    assert out.startswith(f"{relation}({head}, {tail})")
    assert "because" in out
    assert "e-1" not in out
    for k in (1, 1000):
        proof = json.loads(run("explain", model, data, head, relation, tail, "-k", k, "--json")[1])
        shown = sum(reason["contribution"] for reason in (*proof["reasons"], *proof["against"]))
        rest = proof["more_reasons"]["contribution"] + proof["more_against"]["contribution"]
        assert shown + rest == pytest.approx(proof["score"], rel=1e-5)


def test_explain_draws(run, uncles, tmp_path):
    assert run("explain", *uncles, "zoe", "uncle", "xan", "--svg", tmp_path / "proof.svg")[0] == 0
    assert (tmp_path / "proof.svg").read_text().startswith("<svg")
