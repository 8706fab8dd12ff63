import json

from neurallp.datasets.family import family_triples


def test_ask_ranks_answers_and_marks_what_is_known(run, model, data):
    source = family_triples(num_people=40, num_generations=3)[0][0]
    code, out, _ = run("ask", model, data, "--head", source, "--relation", "father", "-k", 3)
    assert code == 0
    assert "probability" in out
    assert "known" in out
    assert "rank" not in out
    assert "rank" in run("ask", model, data, "--head", source, "--relation", "father", "--scores")[1]
    code, out, _ = run("ask", model, data, "--head", source, "--relation", "father", "-k", 3, "--json")
    answers = json.loads(out)
    assert 0 < len(answers) <= 3
    assert [answer["score"] for answer in answers] == sorted((a["score"] for a in answers), reverse=True)


def test_ask_says_where_no_new_answer_is_likely(run, model, data):
    """Who has a father has no second one; of a sister there may be more."""
    source = next(head for head, relation, _ in family_triples(40, 3) if relation == "father")
    asked = "ask", model, data, "--head", source, "--relation", "father"
    answers = json.loads(run(*asked, "--json")[1])
    new = [answer["probability"] for answer in answers if not answer["is_known"]]
    assert max(new) < 0.05
    assert "No new answer above 5 %; the best are:" in run(*asked)[1]


def test_a_question_about_nobody_is_reported_with_the_nearest_name(refuse, model, data):
    source = family_triples(num_people=40, num_generations=3)[0][0]
    assert "Did you mean" in refuse("ask", model, data, "--head", source + "x", "--relation", "father")
    assert "head or the tail" in refuse("ask", model, data, "--relation", "father")


def test_a_file_of_rules_answers_in_the_place_of_a_model(run, uncles):
    code, out, _ = run("ask", *uncles, "--head", "zoe", "--relation", "uncle", "--json")
    assert code == 0
    assert [(answer["entity"], answer["score"]) for answer in json.loads(out)] == [("xan", 0.9)]
    _, out, _ = run("explain", *uncles, "zoe", "uncle", "xan")
    assert out.startswith("uncle(zoe, xan) because father(zoe, yan) and brother(yan, xan)\nScore 0.9, rank 1")


def test_only_answers_that_no_fact_links_yet_are_shown_where_that_is_asked(run, uncles, tmp_path):
    rules, data = uncles
    asked = "--head", "zoe", "--relation", "uncle"
    known = tmp_path / "known.tsv"
    known.write_text(data.read_text() + "xan\temploys\tzoe\n")
    for facts, found in ((data, ["xan"]), (known, [])):
        out = run("ask", rules, facts, *asked, "--unlinked", "--json")[1]
        assert [answer["entity"] for answer in json.loads(out)] == found
        code, out, _ = run("predict", rules, facts, "--out", tmp_path / "new.tsv", "--unlinked", "--json")
        assert (code, json.loads(out)["answers"]) == (0, len(found))
    assert run("ask", rules, known, *asked, "--unlinked")[1].strip() == (
        "No rule leads to an answer that no fact links yet."
    )


def test_answers_are_called_by_their_labels_and_asked_for_by_them(run, uncles, tmp_path):
    (tmp_path / "labels.tsv").write_text("zoe\tZoe Smith\nxan\tXan Jones\n")
    asked = ("--head", "Zoe Smith", "--relation", "uncle", "--labels", tmp_path / "labels.tsv")
    code, out, _ = run("ask", *uncles, *asked)
    assert code == 0
    assert "Xan Jones" in out
    (answer,) = json.loads(run("ask", *uncles, *asked, "--json")[1])
    assert (answer["source"], answer["entity"], answer["label"]) == ("zoe", "xan", "Xan Jones")


def test_proofs_are_printed_with_labels(run, uncles, tmp_path):
    (tmp_path / "labels.tsv").write_text("zoe\tZoe Smith\nyan\tYan Brown\nxan\tXan Jones\n")
    fact = ("Zoe Smith", "uncle", "xan", "--labels", tmp_path / "labels.tsv")
    _, out, _ = run("explain", *uncles, *fact)
    assert "uncle(Zoe Smith, Xan Jones)" in out
    assert "brother(Yan Brown, Xan Jones)" in out
    told = json.loads(run("explain", *uncles, *fact, "--json")[1])
    assert told["labels"] == {"xan": "Xan Jones", "yan": "Yan Brown", "zoe": "Zoe Smith"}
    assert told["reasons"][0]["path"] == ["zoe", "yan", "xan"]
