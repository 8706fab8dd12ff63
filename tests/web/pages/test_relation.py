"""Relations, one relation and one rule: their numbers are those of the library."""

import pytest

from neurallp.rules.support import measure


def test_relations_are_counted_searched_and_sorted(read, explorer):
    rows = read("/relations")["relations"]["rows"]
    assert len(rows) == len(explorer.kb.relations)
    assert [row["num_facts"] for row in rows] == sorted((row["num_facts"] for row in rows), reverse=True)
    assert sum(row["num_facts"] for row in rows) == len(explorer.kb.facts)
    names = [row["name"] for row in read("/relations", sort="name")["relations"]["rows"]]
    assert names == sorted(names)
    found = read("/relations", search="GRAND mother")["relations"]["rows"]
    assert [row["name"] for row in found] == ["grandmother"]


def test_a_relation_shows_all_its_rules_with_weights_and_counts(read, program, explorer):
    rows = read("/relation", name="uncle")["rules"]["rows"]
    query = program.relations.operator_id("uncle")
    rules = {str(rule): rule for rule in measure(program.weighted_rules.rules(query), explorer.reasoner.kb)}
    assert {row["logic"] for row in rows} == set(rules)
    for row in rows:
        rule = rules[row["logic"]]
        assert row["weight"] == rule.weight
        assert row["support"] == rule.support
        assert row["confidence"] == rule.measured_confidence


@pytest.mark.parametrize(
    ("sort", "key"),
    [
        ("weight", lambda row: -abs(row["weight"])),
        ("support", lambda row: -(row["support"] or 0)),
        ("length", lambda row: row["length"]),
    ],
)
def test_rules_are_sorted(read, sort, key):
    rows = read("/relation", name="uncle", sort=sort)["rules"]["rows"]
    assert rows == sorted(rows, key=key)


def test_rules_are_searched_and_filtered(read):
    every = read("/relation", name="uncle")["rules"]
    for filters, keeps in [
        ({"search": "father"}, lambda row: "father" in row["logic"]),
        ({"kind": "prior"}, lambda row: row["kind"] == "prior"),
        ({"side": "against"}, lambda row: row["weight"] < 0),
    ]:
        found = read("/relation", name="uncle", **filters)["rules"]["rows"]
        assert found == [row for row in every["rows"] if keeps(row)]


def test_an_inverse_has_rules_of_its_own(read):
    told = read("/relation", name="~uncle")
    assert told["asks"] == "uncle(?, X)"
    assert all(row["id"].startswith("~uncle:") for row in told["rules"]["rows"])


def test_a_veto_marks_its_rule_and_measures_what_it_costs(read):
    told = read("/relation", name="cousin", veto="cousin:0")
    assert [row["id"] for row in told["rules"]["rows"] if row["vetoed"]] == ["cousin:0"]
    assert told["effect"]["num_questions"] > 0
    assert read("/relation", name="uncle", veto="cousin:0")["effect"] is None


def test_a_rule_shows_every_pair_it_predicts_right_and_wrong(read, explorer):
    query = explorer.reasoner.relations.operator_id("uncle")
    for number, rule in enumerate(explorer.rules(query)):
        counted = explorer.counted(query, number)
        if rule.kind == "prior":
            continue
        pairs, page, more = [], 1, True
        while more:
            told = read("/rule", name=f"uncle:{number}", page=page)
            pairs, page, more = pairs + told["pairs"], page + 1, told["has_more"]
        assert len(pairs) == counted.num_predictions
        assert sum(pair["right"] for pair in pairs) == counted.support
        assert all(pair["because"] for pair in pairs)
        return


def test_the_pairs_of_a_rule_are_right_or_wrong_as_asked(read):
    right = read("/rule", name="uncle:0", which="right")["pairs"]
    wrong = read("/rule", name="uncle:0", which="wrong")["pairs"]
    assert all(pair["right"] for pair in right)
    assert not any(pair["right"] for pair in wrong)
