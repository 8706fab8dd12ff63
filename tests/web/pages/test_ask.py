"""Ask, proof, why not, find and entity: equal to what the library says."""

import pytest


def test_answers_are_those_of_the_library(read, explorer, fact):
    head, relation, tail = fact
    for asked, given in (("tail", {"head": head}), ("head", {"tail": tail})):
        entity = next(iter(given.values()))
        told = read("/ask", entity=entity, relation=relation, asked=asked, k=7)["answers"]
        expected = explorer.reasoner.ask(**given, relation=relation, k=7)
        assert [row["entity"] for row in told] == [answer.entity for answer in expected]
        assert [row["probability"] for row in told] == pytest.approx([each.probability for each in expected])
        assert [row["known"] for row in told] == [answer.is_known for answer in expected]


def test_half_a_question_is_a_form(read, look, fact):
    assert read("/ask", entity=fact[0])["answers"] == []
    assert "Begin to type a name" in look("/ask")


def test_reasons_add_up_to_the_score(read, explorer, fact):
    told = read("/proof", head=fact[0], relation=fact[1], tail=fact[2], k=2)
    shown = [row["contribution"] for row in told["reasons"] + told["against"]]
    assert sum(shown) + told["rest_for"] + told["rest_against"] == pytest.approx(told["score"])
    assert len(told["reasons"]) <= 2
    assert told["known"]
    assert told["probability"] is None
    verdict = explorer.reasoner.verify(*fact)
    assert told["probability_if_unknown"] == pytest.approx(verdict.probability)


def test_the_reasons_that_are_not_shown_are_said_to_be_a_sum_and_have_no_bar(look, explorer, fact):
    page = look("/proof", head=fact[0], relation=fact[1], tail=fact[2], k=1)
    rests = [rest for rest in explorer.reasoner.explain(*fact, 1, without_itself=True).rests if rest.num]
    assert any("together, the largest" in str(rest) for rest in rests)
    rows = [row for row in page.split("<li") if row.startswith(' class="muted"')]
    assert len(rows) == len(rests)
    for row, rest in zip(rows, rests, strict=True):
        assert str(rest) in row
        assert "<svg" not in row


def test_a_fact_that_does_not_follow_names_what_is_missing(client, explorer, given_rules, split):
    from neurallp.web.explorer import Explorer
    from neurallp.web.pages.proof import proof

    served = Explorer(given_rules, split)
    heads = [head for head, relation, _ in served.kb.named_facts() if relation == "father"]
    page = next(
        page
        for head in heads
        for tail in served.kb.entities
        if (page := proof(served, head, "uncle", tail)).missing
    )
    expected = served.reasoner.why_not(page.fact.head, "uncle", page.fact.tail, 8)
    assert not page.follows
    assert [str(each.missing_facts[0].rule) for each in [expected]] == [page.missing[0].rule]
    assert (page.missing[0].missing.head, page.missing[0].missing.tail) != ("", "")


def test_an_entity_shows_all_its_facts_in_pages_and_by_search(read, explorer, fact):
    name = fact[0]
    own = [each for each in explorer.kb.named_facts() if name in (each[0], each[2])]
    told = read("/entity", name=name)
    assert told["facts"]["total"] == told["num_in"] + told["num_out"] == len(own)
    found = read("/entity", name=name, search=f"uncle {fact[2]}")["facts"]["rows"]
    assert {(row["head"], row["relation"], row["tail"]) for row in found} >= {fact}
    assert len(read("/entity", name=name, page=10_000)["facts"]["rows"]) > 0


def test_what_is_missing_and_doubtful_is_judged_as_the_library_does(read, explorer):
    for name in explorer.kb.entities[:5]:
        told = read("/entity", name=name)
        assert all(row["probability"] >= 0.2 for row in told["missing"])
        assert all(row["probability"] < 0.5 for row in told["doubtful"])
    doubts = explorer.reasoner.audit(entity=name, limit=5, k=1).doubts
    assert [row["probability"] for row in told["doubtful"]] == pytest.approx(
        [each.probability for each in doubts if each.probability < 0.5]
    )


@pytest.mark.parametrize("change", [str, str.upper, lambda name: name[:-1], lambda name: name[0] + name[2:]])
def test_names_are_found_by_beginning_case_and_typos(read, fact, change):
    assert fact[0] in [row["name"] for row in read("/find", text=change(fact[0]))["entities"]]
    assert read("/find", text="uncle")["relations"] == ["uncle"]
    assert read("/find", text="  ")["entities"] == []
