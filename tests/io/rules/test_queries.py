import pytest

from neurallp.io.rules import sparql, sql
from neurallp.io.triples import write_triples
from neurallp.rules.rule import Rule

UNCLE = Rule("uncle", ("father", "~brother"), 0.25, distinct_ends=True)


def test_sql_joins_facts_along_the_chain():
    assert sql.render([UNCLE], {}).splitlines()[-1] == (
        "SELECT DISTINCT f0.head AS head, 'uncle' AS relation, f1.head AS tail, 0.25 AS confidence "
        "FROM facts AS f0, facts AS f1 "
        "WHERE f0.relation = 'father' AND f1.relation = 'brother' "
        "AND f0.tail = f1.tail AND f0.head <> f1.head;"
    )


def test_the_view_has_the_confidence_of_each_rule(tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install 'neurallp[sql]'")
    write_triples(tmp_path / "facts.csv", [("a", "r", "b"), ("b", "r", "a"), ("a", "s", "b")])
    with duckdb.connect() as connection:
        connection.execute(
            f"CREATE TABLE facts AS FROM read_csv('{tmp_path / 'facts.csv'}', "
            "header = false, names = ['head', 'relation', 'tail'])"
        )
        connection.execute(
            sql.render([Rule("s", ("r",), 0.5), Rule("s", ("r", "r"), 0.25, distinct_ends=True)], {})
        )
        found = connection.execute("SELECT * FROM derived ORDER BY ALL").fetchall()
    assert [(head, relation, tail, float(confidence)) for head, relation, tail, confidence in found] == [
        ("a", "s", "b", 0.5),
        ("b", "s", "a", 0.5),
    ]


def test_sparql_is_one_query_of_full_iris():
    assert sparql.render([UNCLE], {"": "unused:"}) == (
        "CONSTRUCT { ?X ?relation ?Y } WHERE {\n"
        "  { ?X <urn:neurallp:father> ?A . ?Y <urn:neurallp:brother> ?A . FILTER(!isLiteral(?A)) "
        "FILTER(?X != ?Y) BIND(<urn:neurallp:uncle> AS ?relation) }\n"
        "}\n"
    )


def test_prefixes_are_expanded_to_iris():
    rule = Rule("ex:uncle", ("rdf:type",), 1.0)
    text = sparql.render([rule], {"ex": "http://ex.org/"})
    assert "<http://ex.org/uncle>" in text
    assert "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>" in text


def test_literals_are_not_entities_in_sparql():
    ox = pytest.importorskip(
        "pyoxigraph", reason="pyoxigraph is not installed: pip install 'neurallp[formats]'"
    )
    store = ox.Store()
    store.load(b"<x:a> <x:age> 4 . <x:b> <x:age> 4 . <x:a> <x:knows> <x:c> .", format=ox.RdfFormat.TURTLE)
    rules = [
        Rule("x:peer", ("x:age", "~x:age"), 1.0),
        Rule("x:has", ("x:age",), 1.0),
        Rule("x:same", (), 1.0),
    ]
    found = {
        (t.subject.value, t.predicate.value, t.object.value) for t in store.query(sparql.render(rules, {}))
    }
    assert found == {("x:a", "x:same", "x:a"), ("x:c", "x:same", "x:c")}
