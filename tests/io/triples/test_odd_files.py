"""Files as people have them: each gives the right triples, or one sentence that says what to do."""

import gzip
import warnings

import pytest

from neurallp.errors import DataError, DataWarning
from neurallp.io.triples import load, read_file

ANNA, BOB = ("anna", "mother", "eve"), ("bob", "uncle", "carl")
TSV = "anna\tmother\teve\nbob\tuncle\tcarl\n"
CSV = TSV.replace("\t", ",")
NQ_PLAIN = "".join(" ".join(f"<urn:neurallp:{name}>" for name in row) + " .\n" for row in (ANNA, BOB))
NQ = NQ_PLAIN.replace(" .", " <urn:neurallp:g> .", 1)
NT = "<http://ex.org/anna> <http://ex.org/mother> <http://ex.org/eve> .\n"

#: Entities with four properties each.
WIDE = "person,age,city,job,born\n" + "".join(f"p{i},{20 + i},rome,judge,1970\n" for i in range(5))

#: Files that are read: name, content, triples.
SOUND = {
    "byte order mark of UTF-8": ("kb.tsv", "\ufeff" + TSV),
    "UTF-16 with its mark, as Excel saves text": ("kb.txt", TSV.encode("utf-16")),
    "UTF-16, big end first": ("kb.tsv", b"\xfe\xff" + TSV.encode("utf-16-be")),
    "UTF-16 without a mark": ("kb.tsv", TSV.encode("utf-16-le")),
    "UTF-32 with its mark": ("kb.csv", CSV.encode("utf-32")),
    "line ends of Windows": ("kb.tsv", TSV.replace("\n", "\r\n")),
    "line ends of old Macs": ("kb.tsv", TSV.replace("\n", "\r")),
    "semicolons, as Excel writes CSV in Europe": ("kb.csv", CSV.replace(",", ";")),
    "bars": ("kb.txt", CSV.replace(",", " | ")),
    "tabs in a .csv": ("kb.csv", TSV),
    "commas in a .tsv": ("kb.tsv", CSV),
    "spaces": ("kb.txt", TSV.replace("\t", "  ")),
    "tabs at the ends of lines": ("kb.tsv", TSV.replace("\n", "\t\t\n")),
    "commas at the ends of lines": ("kb.csv", CSV.replace("\n", ",\n")),
    "quoted fields": ("kb.csv", '"anna","mother","eve"\n"bob","uncle","carl"\n'),
    "a header": ("kb.csv", "Subject,Predicate,Object\n" + CSV),
    "a header in another order": ("kb.csv", "object,subject,predicate\neve,anna,mother\ncarl,bob,uncle\n"),
    "a header with more columns": ("kb.tsv", "h\tr\tt\tyear\nanna\tmother\teve\t1\nbob\tuncle\tcarl\t2\n"),
    "blank lines": ("kb.tsv", "\n" + TSV.replace("\n", "\n\n  \n")),
    "no line end at the end": ("kb.tsv", TSV.rstrip()),
    "gzip": ("kb.tsv.gz", gzip.compress(TSV.encode(), mtime=0)),
    "a suffix in capitals": ("KB.CSV", CSV),
    "comments": ("kb.tsv", "# my family\n" + TSV.replace("\n", "\n# more\n")),
    "comments between spaces": ("kb.txt", "# my family\n" + TSV.replace("\t", " ")),
    "the separator in the first line, as Excel wants it": ("kb.csv", "sep=;\n" + CSV.replace(",", ";")),
    "a decimal comma, a mark and semicolons": (
        "kb.csv",
        "\ufeffsubject;predicate;object;share\r\nanna;mother;eve;1,5\r\nbob;uncle;carl;0,5\r\n",
    ),
    "a header in Spanish": ("kb.csv", "sujeto,predicado,objeto\n" + CSV),
    "a header of Neo4j": ("kb.csv", ":START_ID,:END_ID,:TYPE\nanna,eve,mother\nbob,carl,uncle\n"),
    "the index of a data frame": ("kb.csv", ",head,relation,tail\n0,anna,mother,eve\n1,bob,uncle,carl\n"),
    "an edge list with types": ("kb.csv", "source,target,type\nanna,eve,mother\nbob,carl,uncle\n"),
    "columns without a name at the end": ("kb.csv", "head,relation,tail,,\n" + CSV.replace("\n", ",,\n")),
    "spaces that do not break": ("kb.csv", CSV.replace(",", "\u00a0,")),
    "UTF-16 with semicolons": ("kb.csv", CSV.replace(",", ";").replace("\n", "\r\n").encode("utf-16")),
    "semicolons in gzip": ("kb.csv.gz", gzip.compress(CSV.replace(",", ";").encode(), mtime=0)),
    "tabs and spaces mixed": ("kb.txt", "anna\tmother eve\nbob uncle\tcarl\n"),
    "N-Quads": ("kb.nq", NQ),
    "TriG": ("kb.trig", f"<urn:neurallp:g> {{ {NQ_PLAIN} }}"),
    "fields with spaces around": ("kb.csv", CSV.replace(",", " , ")),
}

#: Files that are refused: name, content, what is told after the path.
REFUSED = {
    "Latin-1": ("kb.tsv", "andré\tmother\teve\n".encode("latin-1"), ":1: byte 5 of the line (0xe9) is not"),
    "nothing": ("kb.tsv", "", ": no triples. Give one on each line: head, relation, tail."),
    "a header alone": ("kb.csv", "head,relation,tail\n", ": no triples. Give one"),
    "four columns without a header": ("kb.csv", CSV.replace("\n", ",1\n"), "as in --columns 1,2,3."),
    "a row for each entity, a column for each property": (
        "kb.csv",
        WIDE,
        ": rows have 5 columns (person | age | city | job | born), not head, relation and tail. If three of "
        "the columns are these, say which, by name or number, as in --columns 1,2,3. If each row describes "
        "one entity, write a line for each cell instead: p0, age, 20.",
    ),
    "the same with tabs": (
        "kb.tsv",
        WIDE.replace(",", "\t"),
        "write a line for each cell instead: p0, age, 20.",
    ),
    "the same with cells that are empty at the end": (
        "kb.csv",
        WIDE.replace("1970", "").replace("judge", ""),
        ": rows have 5 columns (person",
    ),
    "the same with lists in cells": (
        "kb.csv",
        WIDE.replace("1970", "Drama|Comedy|War"),
        ": rows have 5 columns (person",
    ),
    "a NUL character in a name": (
        "kb.tsv",
        TSV.replace("eve", "e\0ve"),
        ":1: the tail has a NUL character (code 0): 'anna\\tmother\\te\\x00ve'. Remove it, or save",
    ),
    "a NUL character in quotes": ("kb.csv", '"an\0na",mother,eve\n', ":1: the head has a NUL character"),
    "a NUL character in an IRI": ("kb.nt", NQ_PLAIN.replace("eve", "%00"), ": the tail has a NUL character"),
    "two columns": (
        "kb.tsv",
        "anna\teve\nbob\tcarl\n",
        ": rows have 2 columns (anna | eve), and none is the relation. Write on each line what links the "
        "two, between them: anna, RELATION, eve.",
    ),
    "two columns and a row of one": ("kb.tsv", "anna\teve\nbob\n", ":1: expected 3 tab-separated fields"),
    "gzip without .gz": (
        "kb.tsv",
        gzip.compress(TSV.encode(), mtime=0),
        " is compressed with gzip. Add .gz to its name.",
    ),
    "damaged gzip": ("kb.tsv.gz", gzip.compress(TSV.encode(), mtime=0)[:-9], ": damaged gzip"),
    "an Excel sheet": ("kb.csv", b"PK\x03\x04\x14\x00", " is a zip archive or an Excel sheet."),
    "a web page": ("kb.csv", "<!DOCTYPE html><html></html>", " is a web page. Download the file itself."),
    "JSON": ("kb.txt", '[{"head": "anna"}]', " is JSON."),
    "N-Triples in a .txt": ("kb.txt", NT, " is N-Triples. Name it .nt."),
    "Turtle in a .tsv": ("kb.tsv", "@prefix ex: <http://ex.org/> .\n", " is Turtle. Name it .ttl."),
    "RDF/XML in a .txt": ("kb.txt", "<?xml version='1.0'?><a/>", " is XML. If it is RDF, name it .rdf."),
    "triples in a .nt": ("kb.nt", TSV, ":1: "),
    "text in a .parquet": ("kb.parquet", TSV, ": not Parquet"),
    "literals alone": ("kb.nt", '<a:b> <a:c> "x" .\n<a:b> <a:d> "4" .\n', ": all 2 triples end in a literal"),
    "one entity": ("kb.tsv", "anna\tknows\tanna\n", ": 'anna' is the only entity with facts"),
    "a quote that stays open": ("kb.csv", '"anna,mother,eve\n', ":1: not CSV (unexpected end of data)."),
    "a zip archive": ("kb.zip", b"PK\x03\x04\x14\x00", ": unknown format: .zip. Unpack it."),
    "an Excel sheet by its name": ("kb.xlsx", b"PK\x03\x04", ".xlsx. Save the sheet as CSV UTF-8."),
    "JSON lines": (
        "kb.jsonl",
        '{"head": "anna"}',
        ".jsonl. Write its triples as .tsv or .csv: head, relation",
    ),
    "JSON-LD": ("kb.jsonld", "{}", ".jsonld. Convert it to .nt or .ttl."),
    "curly quotes of Windows": (
        "kb.tsv",
        "anna\tsaid\t\u201chi\u201d\n".encode("cp1252"),
        ":1: byte 11 of the line (0x93)",
    ),
    "an empty head": ("kb.tsv", TSV + "\tuncle\tcarl\n", ":3: the head is empty"),
    "a relation like an inverse": (
        "kb.tsv",
        "anna\t~mother\teve\n",
        ":1: relation '~mother' starts with '~'",
    ),
    "no suffix": ("kb", TSV, ": unknown format: a name without suffix."),
}


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("what", SOUND)
def test_the_triples_are_read_from(what, tmp_path):
    if SOUND[what][0].endswith((".nq", ".trig")):
        pytest.importorskip("pyoxigraph", reason="neurallp[formats]")
    assert read_file(write(tmp_path, *SOUND[what])).triples == [ANNA, BOB]


@pytest.mark.parametrize("what", REFUSED)
def test_one_sentence_says_what_is_wrong_with(what, tmp_path):
    name, content, told = REFUSED[what]
    if name.endswith((".nt", ".parquet")):
        pytest.importorskip("pyoxigraph" if name.endswith(".nt") else "pyarrow", reason="neurallp[formats]")
    path = write(tmp_path, name, content)
    with pytest.raises(DataError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert told in message
    assert len(message.split("\n")) <= 2


def test_columns_in_another_order_are_reported_with_the_order_that_is_likely(tmp_path):
    rows = [(f"p{i}", f"q{i * 7 % 160}", ("knows", "likes")[i % 2]) for i in range(160)]
    for name, places, likely in (("a.tsv", (0, 1, 2), "1,3,2"), ("b.tsv", (2, 0, 1), "2,1,3")):
        lines = "".join("\t".join(row[place] for place in places) + "\n" for row in rows)
        with pytest.warns(DataWarning, match=f"column 2 has 160 different relations .* --columns {likely}"):
            load(write(tmp_path, name, lines))


@pytest.mark.parametrize("num", [5, 40])
def test_entities_with_two_properties_that_were_read_as_triples_are_noted(tmp_path, num):
    rows = [(f"p{i}", str(20 + i % 30), f"city{i % 7}") for i in range(num)]
    lines = "person,age,city\n" + "".join(",".join(row) + "\n" for row in rows)
    with pytest.warns(DataWarning) as noted:
        load(write(tmp_path, "kb.csv", lines))
    (note,) = (str(each.message) for each in noted)
    assert "kb.csv: column 2 was read as the relation, as in 20(p0, city0)." in note
    assert "write a line for each cell instead: entity, column name, value" in note
    pa = pytest.importorskip("pyarrow", reason="neurallp[formats]")
    with pytest.warns(
        DataWarning, match=r"The table: column 2 was read as the relation, as in 20\(p0, city0\)"
    ):
        load(pa.table(dict(zip("abc", zip(*rows, strict=True), strict=True))))


def test_triples_of_many_heads_are_not_taken_for_entities_with_properties(tmp_path):
    triples = {
        "one relation": [(f"p{i}", "lives_in", f"city{i}") for i in range(40)],
        "many relations": [(f"p{i}", f"r{i % 15}", f"city{i}") for i in range(40)],
        "relations by number": [(f"p{i}", str(i % 5), f"p{i + 1}") for i in range(40)],
        "few facts": [(f"p{i}", f"r{i}", f"q{i}") for i in range(8)],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, rows in triples.items():
            load(write(tmp_path, f"{name}.tsv", "".join("\t".join(row) + "\n" for row in rows)))


def test_nodes_without_a_label_have_the_same_names_whenever_a_file_is_read(tmp_path):
    pytest.importorskip("pyoxigraph", reason="neurallp[formats]")
    path = write(
        tmp_path, "kb.ttl", "@prefix e: <http://e.org/> . e:a e:knows [ e:lives e:rome ; e:likes e:b ] ."
    )
    for _ in range(60):  # a drawn label may begin with zeros, which are not written
        assert {row[0] for row in read_file(path).triples} == {"_:kb-1", "http://e.org/a"}


def test_one_fact_is_a_knowledge_base(tmp_path):
    assert len(load(write(tmp_path, "kb.tsv", "anna\tmother\teve\n")).facts) == 1


def test_a_hundred_thousand_facts_with_semicolons_are_read(tmp_path):
    lines = "".join(f"e{i};r{i % 7};e{(i * 31) % 5000}\n" for i in range(100_000))
    assert len(load(write(tmp_path, "kb.csv", lines)).facts) == 100_000


@pytest.mark.parametrize("name", ["kb.csv", "kb.tsv", "kb.parquet"])
@pytest.mark.parametrize("columns", [("who", "how", "whom"), ("2", "4", "1"), ("Who", "HOW", "whom")])
def test_columns_that_are_asked_for_are_read(tmp_path, name, columns):
    rows = [("whom", "who", "year", "how"), ("eve", "anna", "1950", "mother"), ("carl", "bob", "x", "uncle")]
    if name.endswith(".parquet"):
        pa = pytest.importorskip("pyarrow", reason="neurallp[formats]")
        parquet = pytest.importorskip("pyarrow.parquet", reason="neurallp[formats]")
        path = tmp_path / name
        parquet.write_table(pa.table(dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))), path)
    else:
        numbered = columns[0].isdecimal()
        separator = "\t" if name.endswith(".tsv") else ","
        path = write(tmp_path, name, "".join(separator.join(row) + "\n" for row in rows[numbered:]))
    assert read_file(path, columns).triples == [ANNA, BOB]


def test_a_column_that_is_not_there_is_reported_with_those_that_are(tmp_path):
    path = write(tmp_path, "kb.csv", "a,b,c\nanna,mother,eve\n")
    with pytest.raises(DataError, match=r"has no column 'who'\. It has a, b, c\."):
        read_file(path, ("who", "b", "c"))
    with pytest.raises(DataError, match="has 3 columns, not --columns 1,2,4"):
        read_file(path, ("1", "2", "4"))


def test_a_first_line_like_no_other_is_reported_as_a_header_and_others_are_not(tmp_path):
    family = "anna,mother,eve\nbob,mother,eve\nanna,brother,bob\neve,son,bob\n"
    path = write(tmp_path, "kb.csv", "person,kinship,relative\n" + family)
    with pytest.warns(
        DataWarning, match="kb.csv:1: person, kinship, relative may be a header.*--columns person"
    ):
        load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(load(path, ("person", "kinship", "relative")).facts) == 4
        load(write(tmp_path, "plain.csv", family))
        load(write(tmp_path, "unique.csv", "a,b,c\nd,e,f\ng,h,i\nj,k,l\nm,n,o\n"))


LONG = "x" * 5000
ROWS = "".join(f"h{i}\tr\tt{i % 2}\n" for i in range(6))


@pytest.mark.parametrize(
    "text",
    [
        f"anna\t~{LONG}\tbob\n",  # a relation like an inverse
        f"{LONG}\tr\t{LONG}\n",  # a single entity
        f"anna\t{LONG}\n",  # two fields
        f"{LONG}\t\tbob\n",
        f"{LONG}1\t{LONG}2\t{LONG}3\n{ROWS}",  # a header
        "".join(f"{LONG}{i}\t{1950 + i}\tw{i}\n" for i in range(9)),  # a table of entities
        "".join(f"{LONG}{i}\t{LONG}\ta\tb{i}\n" for i in range(9)),  # four columns
    ],
)
def test_no_name_makes_a_message_or_a_warning_long(tmp_path, text):
    (tmp_path / "facts.tsv").write_text(text)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            load(tmp_path / "facts.tsv")
        except DataError as error:
            told = [str(error)]
        else:
            told = [str(warning.message) for warning in warned]
    assert told
    assert max(map(len, told)) < 500
