import numpy as np
import pytest

from neurallp.graph.knowledge_base import KnowledgeBase, split_triples
from neurallp.graph.numbers import Bins, Numbers, find_numeric, parse_value


def people(num=80):
    """Return facts about people with years of birth, heights, and names of friends."""
    rows = [(f"p{i}", "born", str(1900 + i)) for i in range(num)]
    rows += [(f"p{i}", "height", f"{1.5 + i / 200}") for i in range(num)]
    return KnowledgeBase.from_triples(rows + [(f"p{i}", "friend", f"p{(i * 7) % num}") for i in range(num)])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-1.5e3", -1500),
        (".5", 0.5),
        ("1950-07", 1950.5),
        ("2020-01-01T12:00:00Z", 2020),
        ("1950-13-01", None),
        ("12 km", None),
        ("", None),
        ("nan", None),
        ("P31", None),
    ],
)
def test_numbers_and_dates_are_recognised(text, value):
    assert parse_value(text) == value


def test_bins_hold_equally_many_values_and_are_named_by_their_range():
    bins = Bins.of(np.arange(1900.0, 1980.0))
    assert bins.names[:3] == ("< 1910", "1910-1919", "1920-1929")
    assert bins.names[-1] == ">= 1970"
    assert [bins.names[bins.find(value)] for value in (1800, 1910, 1919, 1920, 2020)] == [
        "< 1910",
        "1910-1919",
        "1910-1919",
        "1920-1929",
        ">= 1970",
    ]


def test_dates_are_named_by_year_or_by_month():
    years = np.linspace(1950, 1999.9, 100)
    assert Bins.of(years, are_dates=True).names[1] == "1956-1961"
    months = 2020 + np.arange(96) / 96
    assert Bins.of(months, are_dates=True).names[:2] == ("< 2020-02", "2020-02 to 2020-04")


def test_many_equal_values_give_fewer_bins():
    assert Bins.of(np.array([0.0] * 90 + [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])).names == ("any",)


def test_only_properties_with_many_numbers_are_numeric():
    assert find_numeric(people()).keys() == {"born", "height"}
    ids = [(str(i), "r", str((i * 7) % 50)) for i in range(50)]
    assert not find_numeric(KnowledgeBase.from_triples(ids))
    few = [(f"p{i}", "grade", str(i % 5)) for i in range(50)]
    assert not find_numeric(KnowledgeBase.from_triples(few))


def test_numbers_become_bins_with_an_order():
    kb = people()
    numbers = Numbers.fit(kb)
    found = set(numbers.apply(kb).named_facts())
    assert ("p15", "born", "1910-1919") in found
    assert ("1910-1919", "next", "1920-1929") in found
    assert ("p15", "friend", "p25") in found
    assert not any(name == "1915" for row in found for name in row)


def test_bins_apply_to_new_values_and_once_only():
    numbers = Numbers.fit(people())
    other = KnowledgeBase.from_triples([("zoe", "born", "2024"), ("yan", "born", "unknown")])
    once = numbers.apply(other)
    assert ("zoe", "born", ">= 1970") in set(once.named_facts())
    assert ("yan", "born", "unknown") in set(once.named_facts())
    assert set(numbers.apply(once).named_facts()) == set(once.named_facts())
    assert list(numbers.apply(people()).relations) == ["born", "height", "friend", "next"]


def test_every_part_of_a_split_has_the_same_bins():
    split = split_triples(people())
    found = Numbers.fit(split.known).apply(split)
    assert len(found.test) == len(split.test)
    tails = {
        found.entities[t] for part in (found.train, found.valid, found.test) for _, r, t in part if r == 0
    }
    assert len(tails) == 8


def test_a_relation_of_the_same_name_keeps_it_and_equal_ranges_stay_apart():
    rows = [(f"p{i}", name, str(i)) for i in range(50) for name in ("age", "size")] + [("p1", "next", "p2")]
    kb = KnowledgeBase.from_triples(rows)
    numbers = Numbers.fit(kb)
    assert numbers.order == "next bin"
    names = [name for bins in numbers.bins.values() for name in bins.names]
    assert len(names) == len(set(names))
    assert "size < 7" in names
