"""Other programs that run our exports: each takes rules and named triples, and gives the triples it derives.

A tool that is not installed skips the test that asks for it.
"""

import json
import shutil
import subprocess
import sys
import warnings

import pytest

from neurallp.graph.iris import shorten
from neurallp.graph.knowledge_base import KnowledgeBase
from neurallp.graph.operators import Operators
from neurallp.io.rules import export_rules
from neurallp.io.rules.logic import quote_atom
from neurallp.io.triples import write_triples
from neurallp.rules.support import derive

# Code lists survive any name, but are slow to print; plain names are for those that are.
PRINT_CODES = """
:- forall(distinct([H, R, T], derived(H, R, T, _)),
          (maplist(atom_codes, [H, R, T], Codes), print(Codes), nl)).
"""
PRINT_PLAIN = r"""
:- forall(distinct([H, R, T], derived(H, R, T, _)), format("~w\t~w\t~w\n", [H, R, T])).
"""


def by_engine(rules, triples, folder=None):
    kb = KnowledgeBase.from_triples(triples)
    operators, names = Operators.of(kb), kb.entities.names
    return {
        (names[head], rule.target.removeprefix("~"), names[tail])
        for rule in rules
        for head, tail in derive(rule, kb, operators).tolist()
    }


def by_prolog(rules, triples, folder, plain=False):
    if shutil.which("swipl") is None:
        pytest.skip("SWI-Prolog is not installed: make system")
    export_rules(folder / "rules.pl", rules, "prolog")
    write_triples(folder / "facts.pl", triples)
    (folder / "print.pl").write_text(PRINT_PLAIN if plain else PRINT_CODES)
    files = [str(folder / name) for name in ("rules.pl", "facts.pl", "print.pl")]
    limits = ["--stack-limit=4g", "--table-space=4g"]
    done = subprocess.run(["swipl", "-q", *limits, "-g", "halt", *files], capture_output=True, check=True)
    assert not done.stderr, done.stderr.decode()
    lines = done.stdout.decode().splitlines()
    if plain:
        return {tuple(line.split("\t")) for line in lines}
    return {tuple("".join(map(chr, codes)) for codes in json.loads(line)) for line in lines}


def by_problog(rules, triples, folder):
    export_rules(folder / "rules.problog", rules, "problog")
    write_triples(folder / "facts.problog", triples)
    program = "".join((folder / f"{name}.problog").read_text() for name in ("rules", "facts"))
    found = _evaluate_problog(program + "query(derived(_, _, _)).\n")
    names = {name for triple in triples for name in triple} | {
        rule.target.removeprefix("~") for rule in rules
    }
    atoms = {quote_atom(name): name for name in names}
    return {tuple(atoms[str(term)] for term in derived.args) for derived in found if derived.args}


def _evaluate_problog(program):
    limit = sys.getrecursionlimit()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it brings an old pyparsing
        problog = pytest.importorskip("problog", reason="ProbLog is not installed: pip install problog")
        from problog.program import PrologString

        found = problog.get_evaluatable().create_from(PrologString(program)).evaluate()
    sys.setrecursionlimit(limit)  # it raises the limit for everybody
    return found


def by_sparql(rules, triples, folder):
    ox = pytest.importorskip(
        "pyoxigraph", reason="pyoxigraph is not installed: pip install 'neurallp[formats]'"
    )
    export_rules(folder / "rules.rq", rules, "sparql")
    write_triples(folder / "facts.nt", triples)
    store = ox.Store()
    store.load(path=folder / "facts.nt")
    found = store.query((folder / "rules.rq").read_text())
    return {tuple(shorten(term.value) for term in (t.subject, t.predicate, t.object)) for t in found}


def by_duckdb(rules, triples, folder):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install 'neurallp[sql]'")
    export_rules(folder / "rules.sql", rules, "sql")
    write_triples(folder / "facts.parquet", triples)
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE facts AS FROM '{folder / 'facts.parquet'}'")
        connection.execute((folder / "rules.sql").read_bytes().decode())  # \r is no line end
        return set(connection.execute("SELECT DISTINCT head, relation, tail FROM derived").fetchall())


def by_souffle(rules, triples, folder):
    if shutil.which("souffle") is None:
        pytest.skip("Soufflé is not installed, and Debian has no package of it")
    export_rules(folder / "rules.dl", rules, "souffle")
    write_triples(folder / "fact.tsv", triples)
    (folder / "fact.tsv").rename(folder / "fact.facts")
    command = ["souffle", "-F", str(folder), "-D", str(folder), str(folder / "rules.dl")]
    subprocess.run(command, capture_output=True, check=True)
    lines = (folder / "derived.csv").read_text().split("\n")
    return {tuple(line.split("\t")[:3]) for line in lines if line}
