import gzip
import os
import subprocess
import sys
import textwrap
import warnings
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neurallp.errors import DataError, DataWarning, FormatError
from neurallp.graph.knowledge_base import KnowledgeBase, Split
from neurallp.io.files import atomic_write, read_bytes, replacing
from neurallp.io.triples import load, read_triples, write_triples

ANNA = ("anna", "mother", "eve")
BOB = ("bob", "uncle", "carl")
TSV = "anna\tmother\teve\nbob\tuncle\tcarl\n"


@pytest.fixture
def write(tmp_path):
    def write(name, content=TSV):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def message_of(call, *arguments, error=DataError):
    with pytest.raises(error) as caught:
        call(*arguments)
    return str(caught.value)


# What is read


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("kb.tsv", TSV),
        ("kb.TSV", TSV),
        ("kb.csv", "anna,mother,eve\nbob,uncle,carl\n"),
        ("kb.csv", '"anna", "mother", "eve"\nbob,uncle,carl'),
        ("kb.txt", TSV),
        ("kb.txt", "anna mother   eve\nbob\tuncle carl\n"),
        ("kb.txt", "anna, mother, eve\nbob, uncle, carl\n"),
        ("kb.tsv.gz", gzip.compress(TSV.encode(), mtime=0)),
        ("kb.csv.gz", gzip.compress(b"anna,mother,eve\nbob,uncle,carl\n", mtime=0)),
        ("kb.tsv", "\ufeff" + TSV),
        ("kb.tsv", TSV.replace("\n", "\r\n")),
        ("kb.csv", "anna,mother,eve\r\n\r\nbob,uncle,carl\r\n"),
        ("kb.tsv", TSV.removesuffix("\n")),
        ("kb.tsv", "\n" + TSV.replace("\n", "\n  \n\n")),
        ("kb.tsv", " anna \t mother\teve\u3000\n" + TSV.split("\n")[1]),
    ],
)
def test_the_same_two_triples_are_read_from_every_form(write, name, content):
    assert read_triples(write(name, content)) == [ANNA, BOB]


@pytest.mark.parametrize(
    "header", ["head\trelation\ttail", "Subject\tPredicate\tObject", "h\tr\tt", "SOURCE\tRelation\tTarget"]
)
def test_a_header_is_left_out(write, header):
    assert read_triples(write("kb.tsv", f"{header}\n{TSV}")) == [ANNA, BOB]
    assert read_triples(write("kb.csv", f"\ufeff{header}\n{TSV}".replace("\t", ","))) == [ANNA, BOB]


def test_only_the_first_row_can_be_a_header(write):
    assert read_triples(write("kb.tsv", f"{TSV}head\trelation\ttail\n"))[2] == ("head", "relation", "tail")


@pytest.mark.parametrize(
    "content",
    [
        "Source,Target,Label\nanna,eve,mother\nbob,carl,uncle\n",
        "id;subject;predicate;object;weight\n1;anna;mother;eve;0.5\n2;bob;uncle;carl;1\n",
    ],
)
def test_a_header_tells_which_columns_to_read(write, content):
    assert read_triples(write("kb.csv", content)) == [ANNA, BOB]


def test_names_may_hold_any_character_that_does_not_separate(write):
    names = ('"New" York, NY', "it's\u2028\x0b\x0c\x1c\x85in", "Æ\u00a0中\rb")
    assert read_triples(write("kb.tsv", "\t".join(names))) == [names]


def test_csv_quotes_hold_commas_quotes_and_line_ends(write):
    path = write("kb.csv", '"a, b","say ""r""","c\r\nd"\n\nx,y,z\n')
    assert read_triples(path) == [("a, b", 'say "r"', "c\r\nd"), ("x", "y", "z")]


def test_one_file_is_a_knowledge_base_without_repetitions(write):
    kb = load(write("kb.tsv", TSV + TSV))
    assert isinstance(kb, KnowledgeBase)
    assert repr(kb) == "KnowledgeBase(4 entities, 2 relations, 2 facts)"
    assert kb.num_duplicates == 2


# A folder


def test_a_folder_is_a_split_with_shared_names(write):
    write("set/facts.tsv")
    write("set/train.csv", "eve,mother,dora\n")
    write("set/dev.txt", "dora uncle carl\n")
    write("set/README.md", "not triples")
    split = load(write("set/test.tsv.gz", gzip.compress(b"anna\tmother\tdora\n", mtime=0)).parent)
    assert isinstance(split, Split)
    assert repr(split) == "Split(facts 2, train 1, valid 1, test 1; 5 entities, 2 relations)"
    assert split.entities.names == ("anna", "eve", "bob", "carl", "dora")
    assert split.valid.tolist() == [[4, 1, 3]]


def test_valid_and_test_may_be_missing(write):
    split = load(write("set/train.tsv").parent)
    assert (len(split.train), len(split.valid), len(split.test)) == (2, 0, 0)


def test_a_model_folder_is_no_data(write):
    folder = write("model/relations.json").parent
    assert (
        message_of(load, folder) == f"{folder} is a model folder, not data. In Python, load_program loads it."
    )


def test_a_folder_without_train_is_refused_with_what_it_has(write):
    folder = write("set/valid.tsv").parent
    write("set/notes.md")
    assert message_of(load, folder) == (
        f"{folder} has no train file (train.tsv, .csv, .txt, .parquet, .nt, .ttl, .rdf, .nq or .trig, also "
        ".gz). It has notes.md, valid.tsv."
    )


def test_an_empty_folder_is_refused(tmp_path):
    assert message_of(load, tmp_path).endswith("It is empty.")


@pytest.mark.parametrize(
    ("first", "second", "part"),
    [
        ("train.csv", "train.tsv", "train"),
        ("train.tsv", "train.tsv.gz", "train"),
        ("valid.tsv", "dev.tsv", "valid"),
    ],
)
def test_two_files_for_one_part_are_refused(write, first, second, part):
    write("set/train.tsv")
    write(f"set/{first}")
    folder = write(f"set/{second}").parent
    assert message_of(load, folder) == f"{folder} has two files for {part}: {first} and {second}. Keep one."


def test_relations_that_only_valid_or_test_show_are_refused_with_their_first_place(write):
    folder = write("set/train.tsv").parent
    valid = write(
        "set/valid.tsv", "head\trelation\ttail\nbob\tuncle\teve\n\nbob\taunt\teve\nbob\taunt\tanna\n"
    )
    test = write("set/test.tsv", "bob\taunt\tcarl\nbob\twife\teve\n")
    assert message_of(load, folder).split("\n") == [
        f"{valid}:4: relation 'aunt' has no fact to learn from. Add some to train or remove the line.",
        f"{test}:2: relation 'wife' has no fact to learn from. Add some to train or remove the line.",
    ]


def test_entities_that_only_valid_or_test_show_are_warned_of(write):
    write("set/train.tsv")
    write("set/valid.tsv", "dora\tuncle\tfred\n")
    folder = write("set/test.tsv", "anna\tuncle\tdora\n").parent
    with pytest.warns(
        DataWarning, match="2 of the entities in valid and test have no fact.*'dora'"
    ) as caught:
        split = load(folder)
    assert len(split.entities) == 6
    assert caught[0].filename == __file__


def test_facts_about_one_entity_are_refused(write):
    path = write("kb.tsv", "anna\tknows\tanna\n")
    assert message_of(load, path) == (
        f"{path}: 'anna' is the only entity with facts; there must be at least two."
    )


# What is wrong with a file


EXPECTED = "-separated fields (head, relation, tail), got"


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("kb.tsv", TSV + "anna\tmother", rf"3: expected 3 tab{EXPECTED} 2: 'anna\tmother'."),
        ("kb.tsv", TSV + "a b c", f"3: expected 3 tab{EXPECTED} 1: 'a b c'."),
        ("kb.csv", "\na,b,c,d", f"2: expected 3 comma{EXPECTED} 4: 'a,b,c,d'."),
        ("kb.txt", TSV + "a b c", f"3: expected 3 tab{EXPECTED} 1: 'a b c'."),
        ("kb.txt", "a b c\nd e f\ng,h,i\n", f"3: expected 3 whitespace{EXPECTED} 1: 'g,h,i'."),
        ("kb.txt", "a, b, c\nd, e, f\ng h i\n", f"3: expected 3 comma{EXPECTED} 1: 'g h i'."),
        ("kb.tsv", TSV + "a\t \tb", r"3: the relation is empty: 'a\t\tb'. Fill it in or delete the line."),
        ("kb.csv", ",,", "1: the head is empty: ',,'. Fill it in or delete the line."),
        ("kb.tsv", TSV + "a\t~r\tb", "3: relation '~r' starts with '~', which marks an inverse. Rename it."),
        ("kb.tsv", b"a\tr\tb\nann\xe9\tr\tb", "2: byte 4 of the line (0xe9) is not UTF-8. Save as UTF-8."),
    ],
)
def test_a_fault_is_reported_with_its_line_and_what_was_expected(write, name, content, fault):
    path = write(name, content)
    assert message_of(read_triples, path, error=FormatError) == f"{path}:{fault}"


def test_a_quote_that_is_never_closed_is_reported_where_it_opens(write):
    path = write("kb.csv", 'a,"b\nc",d\n"open,b,c\nd,e,f')
    assert message_of(read_triples, path).startswith(f"{path}:3: not CSV (unexpected end of data). ")


def test_all_faults_of_a_file_are_reported_at_once_in_order(write):
    path = write("kb.tsv", b"a\tb\n\xff\tr\tb\na\tr\tb\n\tr\tb\n" + 20 * b"x\n")
    lines = message_of(load, path).split("\n")
    assert [line.split(":")[1] for line in lines[:4]] == ["1", "2", "4", "5"]
    assert len(lines) == 11
    assert lines[10] == "… and 13 more faults."


def test_a_very_long_line_is_not_repeated_in_full(write):
    assert len(message_of(load, write("kb.tsv", "x" * 10_000)).split("got 1:")[1]) < 100


@pytest.mark.parametrize("content", ["", "\n \n", "\ufeff", "head\trelation\ttail\n"])
def test_a_file_without_triples_is_refused(write, content):
    path = write("kb.tsv", content)
    assert message_of(load, path) == f"{path}: no triples. Give one on each line: head, relation, tail."


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-9], lambda data: b"no" + data, lambda data: data[:12] + b"!" + data[13:]]
)
def test_a_damaged_gzip_is_refused(write, damage):
    path = write("kb.tsv.gz", damage(gzip.compress(TSV.encode() * 99, mtime=0)))
    assert message_of(load, path, error=FormatError).startswith(f"{path}: damaged gzip (")


@pytest.mark.parametrize("name", ["kb.abc", "kb", "kb.gz"])
def test_an_unknown_format_is_refused_with_those_that_are_known(write, name):
    message = message_of(load, write(name), error=FormatError)
    assert "Use .tsv, .csv, .txt, .parquet, .nt, .ttl, .rdf, .nq or .trig, each also as .gz." in message


def test_a_path_that_is_not_there_is_answered_with_the_nearest_name(write):
    path = write("family.tsv")
    wrong = path.with_name("famly.tsv")
    for read in (load, read_triples, read_bytes):
        assert message_of(read, wrong) == f"There is no {wrong}. Did you mean '{path}'?"
    assert (
        message_of(load, path.with_name("family"))
        == f"There is no {path.with_name('family')}. Did you mean '{path}'?"
    )
    assert message_of(load, path.with_name("xyz.tsv")).endswith("xyz.tsv. Check the path.")
    assert message_of(load, path.with_name("no") / "kb.tsv").endswith("does not exist.")


def test_a_folder_is_not_a_file_of_triples(tmp_path):
    path = tmp_path / "kb.tsv"
    path.mkdir()
    assert message_of(read_triples, path) == f"Cannot read {path}: Is a directory."


# Written and read again

suffixes = st.sampled_from([".tsv", ".csv", ".txt", ".tsv.gz", ".csv.gz"])
name = st.text(min_size=1, max_size=6) | st.sampled_from(
    ["head", "relation", "tail", 'a "b", c', "a\r\nb", "\ufeffx"]
)
triples = st.lists(st.tuples(name, name, name), min_size=1, max_size=9)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("written")


@settings(max_examples=150, deadline=None)
@given(suffix=suffixes, triples=triples)
def test_what_is_written_is_read_again_or_refused(folder, suffix, triples):
    path = folder / f"kb{suffix}"
    try:
        write_triples(path, triples)
    except DataError:
        return
    assert read_triples(path) == triples


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".txt"])
@pytest.mark.parametrize(
    "first",
    [
        ("head", "relation", "tail"),
        ("Object", "predicate", "Subject"),
        ("\ufeffanna", "mother", "eve"),
        ('"', 'a"b', '""'),
        ("a b", ",", "\x01"),
    ],
)
def test_a_first_triple_that_looks_like_something_else_is_read_again(tmp_path, suffix, first):
    write_triples(tmp_path / f"kb{suffix}", [first, ANNA])
    assert read_triples(tmp_path / f"kb{suffix}") == [first, ANNA]


plain = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1).filter(lambda name: name[0] != "~")


@settings(max_examples=50, deadline=None)
@given(suffix=suffixes, triples=st.lists(st.tuples(plain, plain, plain), min_size=1, max_size=9))
def test_names_of_visible_characters_are_never_refused(folder, suffix, triples):
    write_triples(folder / f"kb{suffix}", triples)
    assert read_triples(folder / f"kb{suffix}") == triples


def test_csv_holds_the_line_ends_and_tabs_that_tsv_refuses(tmp_path):
    awkward = [("a\tb", "r", "c\nd"), ("a\r\nb", "r", "c\rd")]
    write_triples(tmp_path / "kb.csv", awkward)
    assert read_triples(tmp_path / "kb.csv") == awkward
    assert message_of(write_triples, tmp_path / "kb.tsv", awkward).split("\n")[0] == (
        rf"{tmp_path}/kb.tsv: name 'a\tb' contains a tab or a line end, which only .csv can hold. Rename it."
    )


@pytest.mark.parametrize("bad", [("", "r", "b"), ("a ", "r", "b"), ("a", "~r", "b"), ("\ud800", "r", "b")])
@pytest.mark.parametrize("suffix", [".tsv", ".csv"])
def test_a_name_that_would_not_be_read_again_is_named_and_nothing_is_written(tmp_path, suffix, bad):
    path = tmp_path / f"kb{suffix}"
    culprit = next(name for name in bad if name not in ("a", "r", "b"))
    assert repr(culprit) in message_of(write_triples, path, [ANNA, bad])
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_write_is_refused(tmp_path):
    assert message_of(write_triples, tmp_path / "kb.tsv", []).endswith("there are no triples to write.")


def test_a_compressed_file_has_no_time_stamp_so_equal_triples_give_equal_files(tmp_path):
    write_triples(tmp_path / "kb.tsv.gz", [ANNA, BOB])
    assert (tmp_path / "kb.tsv.gz").read_bytes()[4:8] == bytes(4)


# Whole or not at all


def test_a_file_is_replaced_whole(write):
    path = write("kb.tsv", "old")
    with path.open() as reader:
        atomic_write(path, "näw")
        assert reader.read() == "old"
    assert path.read_text(encoding="utf-8") == "näw"
    assert [file.name for file in path.parent.iterdir()] == ["kb.tsv"]


def write_half(path):
    with replacing(path) as file:
        file.write(b"half")
        raise KeyError


def test_a_block_that_fails_leaves_what_was_there(write):
    path = write("kb.tsv", "old")
    with pytest.raises(KeyError):
        write_half(path)
    assert path.read_text() == "old"
    assert [file.name for file in path.parent.iterdir()] == ["kb.tsv"]


def test_a_link_keeps_pointing_at_what_is_written(write):
    path = write("kb.tsv", "old")
    link = path.with_name("link.tsv")
    link.symlink_to(path)
    atomic_write(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"


def test_a_folder_or_pipe_is_never_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        assert (
            message_of(atomic_write, path, "x")
            == f"Cannot write {path}: it exists and is not a regular file."
        )


def test_a_missing_folder_is_reported(tmp_path):
    path = tmp_path / "no" / "kb.tsv"
    assert message_of(atomic_write, path, "x") == (
        f"Cannot write {path}: No such file or directory. Nothing was changed."
    )


@contextmanager
def tiny_disk(folder):
    """Mount a disk of 64 KiB at `folder`; only root may."""
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("mounting is not permitted here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_leaves_what_was_there(tmp_path):
    path = tmp_path / "kb.tsv"
    with tiny_disk(tmp_path):
        write_triples(path, [ANNA])
        assert message_of(write_triples, path, [("a", f"r{i}", "b") for i in range(20_000)]) == (
            f"Cannot write {path}: No space left on device. Nothing was changed."
        )
        assert read_triples(path) == [ANNA]
        assert list(tmp_path.iterdir()) == [path]


def test_a_limit_on_file_size_leaves_what_was_there(write):
    path = write("kb.tsv", "old")
    program = """
        import resource, sys
        from neurallp.errors import DataError
        from neurallp.io.files import atomic_write
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
        try:
            atomic_write(sys.argv[1], "x" * 20_000)
        except DataError as error:
            sys.stdout.write(str(error))
    """
    pytest.importorskip("resource")
    command = [sys.executable, "-c", textwrap.dedent(program), str(path)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert told == f"Cannot write {path}: File too large. Nothing was changed."
    assert path.read_text() == "old"
    assert [file.name for file in path.parent.iterdir()] == ["kb.tsv"]


def test_a_clean_folder_is_loaded_without_warnings(write):
    write("set/test.tsv", "eve\tuncle\tbob\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(write("set/train.tsv").parent)
