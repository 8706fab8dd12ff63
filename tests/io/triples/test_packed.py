"""Packed folders answer as the triples that they were made from."""

import gzip
import json
from itertools import product

import numpy as np
import pytest
import weighted_samples

from neurallp import KnowledgeBase, load
from neurallp.errors import DataError, DataWarning, FormatError, UnknownNameError
from neurallp.graph.operators import Operators
from neurallp.graph.vocabulary import Relations
from neurallp.io.triples import write_triples
from neurallp.io.triples.packed import is_packed, open_packed, pack
from neurallp.reasoning.reasoner import Reasoner

pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install 'neurallp[sql]'")

TRIPLES = [
    ("anna", "father", "bob"),
    ("bob", "brother", "carl"),
    ("Ümit", "father", "anna"),
    ("anna", "likes", "anna"),
    ("anna", "father", "bob"),
]


def packed(folder, triples, suffix=".tsv", **options):
    write_triples(folder / f"facts{suffix}", triples)
    pack(folder / f"facts{suffix}", folder / "packed", **options)
    return open_packed(folder / "packed")


@pytest.mark.parametrize("suffix", [".tsv", ".parquet", ".nt", ".csv", ".tsv.gz", ".nt.gz"])
def test_every_format_gives_the_same_facts_once_each(tmp_path, suffix):
    kb = packed(tmp_path, TRIPLES, suffix)
    assert sorted(kb.named_facts()) == sorted(set(TRIPLES))
    assert (kb.num_facts, kb.num_duplicates) == (4, 1)
    assert list(kb.entities) == ["anna", "bob", "carl", "Ümit"]


def test_load_opens_a_packed_folder_and_every_array_is_mapped(tmp_path):
    packed(tmp_path, TRIPLES)
    assert is_packed(tmp_path / "packed")
    kb = load(tmp_path / "packed")
    assert repr(kb) == "PackedKnowledgeBase(4 entities, 3 relations, 4 facts)"
    mapped = [*kb.operators.csr, kb.entities.text, kb.entities.offsets]
    assert all(isinstance(each.base, np.memmap) for each in mapped)


def test_the_order_of_triples_does_not_matter(tmp_path):
    contents = []
    for number, triples in enumerate([TRIPLES, TRIPLES[::-1]]):
        folder = tmp_path / str(number)
        folder.mkdir()
        packed(folder, triples)
        contents.append({file.name: file.read_bytes() for file in (folder / "packed").iterdir()})
    assert contents[0] == contents[1]


def test_names_are_found_and_a_wrong_one_gets_the_nearest(tmp_path):
    names = packed(tmp_path, TRIPLES).entities
    assert [names.find(name) for name in ("anna", "Ümit", "dora", "")] == [0, 3, -1, -1]
    assert "bob" in names
    assert "bo" not in names
    assert names[1:3] == ("bob", "carl")
    assert names[-1] == "Ümit"
    with pytest.raises(UnknownNameError, match="Did you mean 'carl'"):
        names.id("karl")
    with pytest.raises(IndexError):
        names[4]


@pytest.mark.parametrize("seed", range(3))
def test_operators_look_up_what_those_in_memory_do(tmp_path, seed):
    kb = packed(tmp_path, weighted_samples.random_kb(seed, 40).named_facts())
    plain = KnowledgeBase(kb.entities, kb.relations, kb.facts)
    ours, theirs = kb.operators, Operators.of(plain)
    everyone, edges = np.arange(len(kb.entities)), np.arange(theirs.num_edges)
    for name in ("sources", "operators", "targets"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name))
        assert np.array_equal(getattr(ours, f"{name}_at")(edges), getattr(theirs, name))
    for k in range(theirs.num_operators):
        assert np.array_equal(ours.edges_by_operator(k), theirs.edges_by_operator(k))
        sizes = [np.subtract(*each.spans(everyone, k)) for each in (ours, theirs)]
        assert np.array_equal(*sizes)
    assert np.array_equal(ours.edges_out_of(everyone[1:4]), theirs.edges_out_of(everyone[1:4]))
    triples = np.array(list(product(range(8), range(3), range(8))))
    assert np.array_equal(ours.edges_of(triples), theirs.edges_of(triples))
    assert np.array_equal(kb.reflexive_relations, plain.reflexive_relations)


def answers(reasoner, kb):
    found = {}
    for name, relation in product(kb.entities, kb.relations):
        for end in ("head", "tail"):
            for answer in reasoner.ask(**{end: name}, relation=relation, k=20):
                found[end, name, relation, answer.entity] = (
                    round(answer.score, 9),
                    answer.rank,
                    answer.is_known,
                )
    return found


@pytest.mark.parametrize(("seed", "excludes_linked"), [(0, False), (1, True)])
def test_a_reasoner_answers_and_explains_from_a_packed_folder_as_from_memory(tmp_path, seed, excludes_linked):
    plain = weighted_samples.random_kb(seed)
    rules = weighted_samples.random_rules(plain, seed, excludes_linked)
    kb = packed(tmp_path, plain.named_facts())
    one, other = Reasoner(plain, rules), Reasoner(kb, rules)
    assert answers(one, plain) == answers(other, plain)
    for head, relation, tail in list(plain.named_facts())[:6]:
        proofs = [each.explain(head, relation, tail) for each in (one, other)]
        totals = [sum(reason.contribution for reason in proof.reasons) for proof in proofs]
        assert totals[0] == pytest.approx(totals[1])
        assert one.why_not(head, relation, tail).follows == other.why_not(head, relation, tail).follows


def test_relations_can_be_numbered_as_a_model_numbers_them(tmp_path):
    given = Relations(["likes", "knows", "father", "brother"])
    kb = packed(tmp_path, TRIPLES, relations=given)
    assert kb.relations == given
    assert kb.with_relations(given) is kb
    fewer = kb.with_relations(Relations(["brother", "likes"]))
    assert sorted(fewer.named_facts()) == [("anna", "likes", "anna"), ("bob", "brother", "carl")]
    assert fewer.reflexive_relations.tolist() == [False, True]


def test_a_folder_with_parts_is_packed_without_its_test_part(tmp_path):
    write_triples(tmp_path / "train.tsv", TRIPLES[:2])
    write_triples(tmp_path / "valid.tsv", TRIPLES[2:3])
    write_triples(tmp_path / "test.tsv", TRIPLES[3:4])
    pack(tmp_path, tmp_path / "packed")
    assert sorted(open_packed(tmp_path / "packed").named_facts()) == sorted(TRIPLES[:3])


def test_literals_are_skipped_and_counted_and_names_are_shortened(tmp_path):
    lines = [
        "<http://www.wikidata.org/entity/Q1> <http://www.wikidata.org/prop/direct/P31> <http://ex.org/b> .",
        "# a comment",
        "",
        r'<http://ex.org/b> <http://ex.org/p> "a \"word\" ." .',
        "_:x <http://ex.org/p> <urn:neurallp:it%27s%20s> .",
    ]
    (tmp_path / "facts.nt").write_text("\n".join(lines))
    found = pack(tmp_path / "facts.nt", tmp_path / "packed")
    assert found.num_literals == 1
    with pytest.warns(DataWarning, match="literal"):
        read = load(tmp_path / "facts.nt")
    assert sorted(open_packed(tmp_path / "packed").named_facts()) == sorted(read.named_facts())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\tr\tb\nc\t~r\td\n", "starts with '~'"),
        ("a\tr\tb\nc\t\td\n", "empty name"),
        ("a\tr\tb\nc\tr\td\0\n", "a NUL character"),
        ("a\tr\tb\tc\nd\tr\te\tf\n", "4"),
        ("a\tr\tb\nc\td\n", "2"),
        ("", "no triples"),
        ("a\tr\ta\n", "at least two"),
    ],
)
def test_faults_are_reported_and_nothing_is_left_behind(tmp_path, content, message):
    (tmp_path / "facts.tsv").write_text(content)
    with pytest.raises((FormatError, DataError), match=message):
        pack(tmp_path / "facts.tsv", tmp_path / "packed")
    assert [file.name for file in tmp_path.iterdir()] == ["facts.tsv"]


def test_a_header_is_skipped_and_a_damaged_folder_is_refused(tmp_path):
    (tmp_path / "facts.tsv").write_text("subject\tpredicate\tobject\na\tr\tb\n")
    pack(tmp_path / "facts.tsv", tmp_path / "packed")
    assert list(open_packed(tmp_path / "packed").named_facts()) == [("a", "r", "b")]
    with (tmp_path / "packed" / "targets.npy").open("ab") as file:
        file.write(b"more")
    with pytest.raises(DataError, match=r"targets\.npy has another size"):
        open_packed(tmp_path / "packed")


def test_a_folder_of_something_else_is_not_overwritten(tmp_path):
    write_triples(tmp_path / "facts.tsv", TRIPLES)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one.jpg").touch()
    with pytest.raises(DataError, match="no packed folder"):
        pack(tmp_path / "facts.tsv", tmp_path / "photos")
    for _ in range(2):  # packing again replaces
        pack(tmp_path / "facts.tsv", tmp_path / "packed")


def test_a_description_of_another_version_is_refused(tmp_path):
    packed(tmp_path, TRIPLES)
    path = tmp_path / "packed" / "packed.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": "other"}))
    with pytest.raises(DataError, match="another version"):
        open_packed(tmp_path / "packed")


def test_compressed_triples_are_streamed(tmp_path):
    with gzip.open(tmp_path / "facts.tsv.gz", "wt") as file:
        file.writelines(f"e{i}\tnext\te{i + 1}\n" for i in range(3000))
    assert pack(tmp_path / "facts.tsv.gz", tmp_path / "packed", memory="200MB").num_facts == 3000


def test_the_name_of_a_column_is_no_sql(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "secret.txt").write_text("secret")
    stolen = f"""x" AS VARCHAR) || (SELECT content FROM read_text('{tmp_path}/secret.txt')) || CAST("x"""
    table = {stolen: ["a", "b"], 'r"': ["r", "r"], "t": ["b", "c"]}
    parquet.write_table(pa.table(table), tmp_path / "facts.parquet")
    pack(tmp_path / "facts.parquet", tmp_path / "packed")
    assert list(open_packed(tmp_path / "packed").entities) == ["a", "b", "c"]
