import json


def test_why_not_names_what_is_missing(run, uncles):
    code, out, _ = run("why-not", *uncles, "zoe", "uncle", "vic")
    assert code == 0
    assert out == (
        "uncle(zoe, vic) does not follow:\n"
        "  father(zoe, yan), but brother(yan, vic) is missing (one of 2 facts that would do)\n"
    )
    _, out, _ = run("why-not", *uncles, "zoe", "uncle", "vic", "--json")
    assert json.loads(out)["missing_facts"][0]["missing"] == "brother(yan, vic)"
