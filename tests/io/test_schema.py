from dataclasses import dataclass

import pytest

from neurallp.errors import FormatError, ModelError
from neurallp.io.schema import as_error, convert, decode_json, parse_json, to_json


@dataclass(frozen=True)
class Point:
    x: int
    name: str = "origin"
    marks: tuple[float, ...] = ()


WHOLE = '{"x": 1, "name": "a", "marks": [1, 2.5]}'


def test_json_becomes_a_value_of_the_type():
    assert parse_json(WHOLE, Point) == Point(1, "a", (1.0, 2.5))


@pytest.mark.parametrize(
    "text",
    [
        '{"x": 1}',
        WHOLE.replace("}", ', "more": 1}'),
        WHOLE.replace("1,", "true,", 1),
        WHOLE.replace("1,", "1.5,", 1),
        WHOLE.replace("2.5", "NaN"),
        WHOLE.replace("2.5", "1e999"),
        WHOLE.replace('"a"', "null"),
        "[]",
        "",
        "{",
    ],
)
def test_other_fields_and_types_are_refused(text):
    with pytest.raises(ValueError, match=r"."):
        parse_json(text, Point)


def test_a_converted_value_has_its_defaults_and_ignores_what_it_does_not_know():
    assert vars(convert({"x": 1, "more": 2}, Point)) == {"x": 1, "name": "origin", "marks": ()}
    with pytest.raises(ValueError, match="Expected `int`"):
        convert({"x": "1"}, Point)


def told(work, *passing):
    with pytest.raises(Exception) as caught, as_error(lambda why: FormatError(f"a.json: {why}."), *passing):  # noqa: PT011
        work()
    return caught.value


def test_what_libraries_raise_becomes_one_short_line_with_the_cause():
    error = told(lambda: decode_json("[" * 100_000))
    assert str(error) == "a.json: it is nested too deeply."
    assert str(told(lambda: bytearray(1 << 62))) == "a.json: it needs more memory than there is."
    long = told(lambda: int("x" * 1000))
    assert isinstance(long.__cause__, ValueError)
    assert len(str(long)) < 250


def test_errors_that_pass_are_raised_as_they_are():
    assert isinstance(told(lambda: 1 / 0, ZeroDivisionError), ZeroDivisionError)

    def refuse():
        raise FormatError("ours")

    assert str(told(refuse)) == "ours"

    def other():
        raise ModelError("another of ours.")

    assert str(told(other)) == "a.json: another of ours."


def test_json_is_indented_and_keeps_all_letters():
    assert to_json({"é": [1]}) == '{\n  "é": [\n    1\n  ]\n}\n'


@pytest.mark.parametrize("text", ['{"x": 1}', WHOLE.replace("}", ', "more": 1}')])
def test_a_missing_and_an_unknown_field_are_told(text):
    with pytest.raises(ValueError, match=r"^a field is missing or unknown$"):
        parse_json(text, Point)


def test_values_that_are_no_dataclasses_are_converted_too():
    assert convert([1, 2], tuple[int, ...]) == (1, 2)
