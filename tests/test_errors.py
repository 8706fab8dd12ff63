import re

import pytest

from neurallp.errors import (
    ConfigError,
    FormatError,
    UnknownNameError,
    brief,
    import_extra,
    listed,
    quoted,
    require_choice,
    require_positive,
)


def message(function, *arguments):
    with pytest.raises(ConfigError) as caught:
        function(*arguments)
    return str(caught.value)


@pytest.mark.parametrize(
    ("reason", "limit", "expected"),
    [
        ("it broke.", 200, "it broke"),
        ("a\n b\tc", 200, "a b c"),
        ("12345", 5, "12345"),
        ("123456", 5, "1234…"),
        ("123 56", 5, "123…"),
        (ValueError(), 200, "ValueError"),
        (ValueError("why"), 200, "why"),
    ],
)
def test_a_reason_is_brief_and_on_one_line(reason, limit, expected):
    assert brief(reason, limit) == expected


def test_a_reason_has_at_most_two_hundred_characters():
    assert brief("x" * 200) == "x" * 200
    assert brief("x" * 201) == "x" * 199 + "…"


def test_an_unknown_name_is_told_with_the_nearest_known_one():
    error = UnknownNameError.among("entity", "ana", ["anna", "bob"], "The knowledge base")
    assert str(error) == "Unknown entity 'ana'. Did you mean 'anna'? The knowledge base has 2 entities."
    error = UnknownNameError.among("relation", "zzz", ["r"] * 1000, "The model")
    assert str(error) == "Unknown relation 'zzz'. The model has 1,000 relations."


def test_of_a_long_name_the_beginning_is_shown():
    error = UnknownNameError.among("entity", "x" * 200, ["x" * 199], "It")
    assert str(error) == f"Unknown entity {'x' * 200!r}. Did you mean {'x' * 199!r}? It has 1 entities."
    error = UnknownNameError.among("entity", "x" * 201, ["x" * 200], "It")
    assert str(error) == f"Unknown entity {'x' * 200!r}…. It has 1 entities."


@pytest.mark.parametrize(("num", "is_suggested"), [(200_000, True), (200_001, False)])
def test_very_many_names_are_not_searched_for_a_near_one(num, is_suggested):
    known = ["anna", *["x" * 50] * (num - 1)]
    assert ("Did you mean" in str(UnknownNameError.among("entity", "ana", known, "It"))) == is_suggested


@pytest.mark.parametrize(
    ("num", "rest"), [(10, None), (11, "… and 1 more faults."), (1011, "… and 1,001 more faults.")]
)
def test_ten_faults_are_spelled_out_and_the_rest_is_counted(num, rest):
    lines = str(FormatError.collected([f"fault {i}" for i in range(num)])).split("\n")
    assert lines[:10] == [f"fault {i}" for i in range(10)]
    assert lines[10:] == ([] if rest is None else [rest])


def test_a_number_has_to_be_positive_and_within_its_limit():
    require_positive("size", 1)
    require_positive("size", 5, 5)
    assert message(require_positive, "size", 0) == "size must be at least 1, got 0."
    assert message(require_positive, "size", 6, 5) == "size must be at most 5, got 6."


def test_a_choice_is_one_of_those_there_are():
    require_choice("--engine", "cpu", ["cpu", "cuda"])
    assert message(require_choice, "--engine", "cud", ["cpu", "cuda"]) == (
        "--engine must be one of cpu, cuda, got 'cud'. Did you mean 'cuda'?"
    )
    assert message(require_choice, "--engine", "xyz", ["cpu", "cuda"]) == (
        "--engine must be one of cpu, cuda, got 'xyz'."
    )


def test_a_library_that_is_missing_is_told_with_the_command_that_installs_it():
    assert import_extra("re", "formats") is re
    assert message(import_extra, "no_such_library", "formats") == (
        "This needs no_such_library, which is not there: pip install 'neurallp[formats]'"
    )


@pytest.mark.parametrize(
    ("name", "limit", "expected"),
    [
        ("anna", 4, "'anna'"),
        ("anna!", 4, "'anna'…"),
        ("it's", 4, '"it\'s"'),
        ("it's long", 4, '"it\'s"…'),
        ("\x1b\x1b\x1b", 8, r"'\x1b\x1b'…"),  # escapes count as they are shown
        ("a\tbc", 4, r"'a\tb'…"),
        ("", 4, "''"),
    ],
)
def test_a_name_is_quoted_and_of_a_long_one_the_beginning_is_shown(name, limit, expected):
    assert quoted(name, limit) == expected
    assert len(quoted(name, limit)) <= limit + 3


def test_a_quoted_name_has_at_most_two_hundred_characters_and_a_listed_one_sixty():
    assert quoted("x" * 200) == repr("x" * 200)
    assert quoted("x" * 201) == repr("x" * 200) + "…"
    assert listed(["a", "x" * 61]) == f"'a', {'x' * 60!r}…"


@pytest.mark.parametrize(("num", "more"), [(2, ""), (3, ""), (4, " and 1 more"), (1203, " and 1,200 more")])
def test_a_short_name_of_several_is_told_with_the_first_three(num, more):
    found = [f"http://ex.org/{i}/anna" for i in range(num)]
    error = UnknownNameError.ambiguous("entity", "anna", found)
    assert str(error) == (
        f"'anna' may be any of {num:,} entities: {', '.join(found[:3])}{more}. Give one in full."
    )
    assert "any of 2 relations: a, b." in str(UnknownNameError.ambiguous("relation", "r", ["a", "b"]))


def test_of_several_near_names_the_nearest_is_suggested():
    known = ["annab", "annabel", "annabell"]
    assert "Did you mean 'annabell'?" in str(UnknownNameError.among("entity", "annabella", known, "It"))
    assert message(require_choice, "It", "annabella", known).endswith("Did you mean 'annabell'?")


@pytest.mark.parametrize(
    "error",
    [
        UnknownNameError.among("entity", "x" * 10**5, ["x" * 10**5], "It"),
        UnknownNameError.among("entity", "x" * 150, ["x" * 300], "It"),
        UnknownNameError.ambiguous("entity", "x" * 10**5, ["x" * 10**5] * 5),
    ],
)
def test_no_name_makes_a_message_long(error):
    assert len(str(error)) < 1000
