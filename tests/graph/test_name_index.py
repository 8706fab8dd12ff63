import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neurallp.graph.name_index import NameIndex, count_typos, fold, split_words

NAMES = [
    "Ada Lovelace",
    "Ada",
    "ada lovelace's mother",
    "Countess of Lovelace",
    "Alan_Turing",
    "Alan Kay",
    "/m/027rn",
    "Île-de-France",
    "two\nlines",
    "東京",
    "+",
]


def found(text, limit=20, names=NAMES, weights=None):
    return [(names[each.id], each.match) for each in NameIndex(names, weights).find(text, limit)]


def first(text, **settings_):
    return found(text, **settings_)[0]


def test_the_same_name_comes_before_longer_ones():
    assert found("Ada")[:3] == [
        ("Ada", "exact"),
        ("Ada Lovelace", "beginning"),
        ("ada lovelace's mother", "beginning"),
    ]


@pytest.mark.parametrize(
    ("text", "name", "match"),
    [
        ("ADA LOVELACE", "Ada Lovelace", "same letters"),
        ("ile-de", "Île-de-France", "beginning"),
        ("turing", "Alan_Turing", "word"),
        ("027", "/m/027rn", "word"),
        ("/m/0", "/m/027rn", "beginning"),
        ("kay al", "Alan Kay", "words"),
        ("lovelace countess", "Countess of Lovelace", "words"),
        ("Turign", "Alan_Turing", "typo"),  # two letters swapped
        ("Aln Turing", "Alan_Turing", "typo"),  # one less
        ("cuontesss", "Countess of Lovelace", "typo"),  # two typos in a long word
        ("東京", "東京", "exact"),
        ("two lines", "two\nlines", "same letters"),
        ("+", "+", "exact"),
    ],
)
def test_names_are_found_by_beginnings_words_and_typos(text, name, match):
    assert first(text) == (name, match)


def test_short_words_and_other_words_are_no_typos():
    assert found("xy") == []
    assert found("Adb") == [("Ada", "typo"), ("Ada Lovelace", "typo"), ("ada lovelace's mother", "typo")]
    assert found("Turing Lovelace") == []


def test_of_equal_matches_the_weightier_comes_first_and_then_the_shorter():
    names = ["smith jones", "smith b", "smith a"]
    assert [name for name, _ in found("smith", names=names)] == ["smith a", "smith b", "smith jones"]
    weights = np.array([5, 0, 1])
    assert [name for name, _ in found("smith", names=names, weights=weights)] == [
        "smith jones",
        "smith a",
        "smith b",
    ]


def test_no_more_names_are_returned_than_asked_for():
    assert len(found("a", limit=2)) == 2
    assert len(found("", limit=3)) == 3
    assert NameIndex([]).find("a") == []


texts = st.text("ab _é\n", max_size=12)


@settings(max_examples=100, deadline=None)
@given(names=st.lists(texts, unique=True, min_size=1, max_size=12), text=st.text("ab é", max_size=10))
def test_a_beginning_of_any_word_is_found_whatever_its_length(names, text):
    wanted = fold(text.strip())
    lines = [fold(name.replace("\n", " ")) for name in names]
    starts = [
        {
            i
            for i in range(len(line) + 1)
            if i == 0 or (line[i : i + 1].isalnum() and not line[i - 1].isalnum())
        }
        for line in lines
    ]
    expected = {
        name
        for name, line, own in zip(names, lines, starts, strict=True)
        if any(line.startswith(wanted, i) for i in own)
    }
    got = {name for name, match in found(text, limit=50, names=names) if match not in ("words", "typo")}
    assert got == expected


def edits(a, b):
    """Return the least number of bytes to add, drop, replace or swap with the next, from a to b."""
    table = {(i, 0): i for i in range(len(a) + 1)} | {(0, j): j for j in range(len(b) + 1)}
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            ways = [table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (a[i - 1] != b[j - 1])]
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                ways.append(table[i - 2, j - 2] + 1)
            table[i, j] = min(ways)
    return table[len(a), len(b)]


words = st.text("abc", min_size=1, max_size=9).map(str.encode)


@settings(max_examples=200, deadline=None)
@given(word=words, others=st.lists(words, min_size=1, max_size=6))
def test_typos_are_counted_as_edits(word, others):
    data = np.frombuffer(b" ".join(others) + b"\n", np.uint8)
    lengths = np.array([len(other) for other in others])
    starts = np.cumsum(lengths + 1) - lengths - 1
    assert count_typos(word, data, starts, lengths).tolist() == [edits(word, other) for other in others]


def test_words_are_divided_by_everything_but_letters_and_digits():
    assert split_words("alan_m. turing's 3rd") == [b"alan", b"m", b"turing", b"s", b"3rd"]
    assert split_words("") == []


def test_very_long_names_and_texts_are_compared_without_typos():
    long = "x" * 200
    assert first(long, names=[long, "y"]) == (long, "exact")
    assert found(long + "z", names=[long, "y"]) == []
