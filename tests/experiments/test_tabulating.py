"""From outcomes to tables: which columns there are, their order, and what stands where nothing was found."""

import json

import pytest

from neurallp.experiments.specification import FAILED, Experiment, Results, TableRow, TableSpec
from neurallp.experiments.tables import Figure, Table, show
from neurallp.experiments.tabulating import tabulate


def measure(seed, size=1, device="cpu"):
    return {"MRR": 0.5, "seconds": 1}


def row_of(model, published=None, **arguments):
    return TableRow({"data": "toy", "model": model}, published or {}, measure, arguments)


def filled(*found):
    """Return results from (row, outcome, outcome of the next seed, …)."""
    results = Results()
    for row, *outcomes in found:
        for seed, outcome in enumerate(outcomes):
            results.add(row, seed, outcome)
    return results


# Figures


def test_a_figure_is_the_mean_and_the_sample_deviation():
    figure = Figure((0.1, 0.2, 0.6))
    assert figure.mean == pytest.approx(0.3)
    assert figure.deviation == pytest.approx(0.07**0.5)  # the squares add up to .14, divided by 3 - 1
    assert str(figure) == "0.300 ± 0.265"


def test_a_figure_keeps_what_each_seed_gave():
    assert Figure((0.25, 0.75)).as_dict() == {
        "mean": 0.5,
        "deviation": pytest.approx(0.125**0.5),
        "by_seed": [0.25, 0.75],
    }
    assert Figure((0.25,)).as_dict()["deviation"] is None


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.12345, "0.123"), (3, "3"), ("not measured", "not measured"), (None, ""), (Figure((1.0,)), "1.000")],
)
def test_a_cell_shows_three_decimals_of_a_share_and_everything_else_as_it_is(value, text):
    assert show(value) == text


def test_a_table_is_written_as_markdown_with_its_notes_below():
    table = Table("Title", ("a", "b"), [{"a": "x", "b": 0.5}, {"a": "y"}], ("A note.", "Another."))
    assert table.as_markdown() == (
        "## Title\n\n| a | b |\n| --- | --- |\n| x | 0.500 |\n| y |  |\n\nA note.\n\nAnother.\n"
    )


def test_the_json_twin_of_a_table_has_the_same_rows():
    table = Table("Title", ("a", "b"), [{"a": "x", "b": Figure((0.5, 0.7))}], ("A note.",))
    twin = json.loads(json.dumps(table.as_dict()))
    assert (twin["title"], twin["columns"], twin["notes"]) == ("Title", ["a", "b"], ["A note."])
    assert twin["rows"][0]["a"] == "x"
    assert twin["rows"][0]["b"]["by_seed"] == [0.5, 0.7]


# Columns


def test_columns_are_labels_then_each_measure_with_published_ours_and_optimistic_then_the_rest():
    ours = row_of("ours", {"Hits@10": 0.9})
    results = filled((ours, {"MRR": 0.5, "Hits@10": 0.8, "optimistic": {"Hits@10": 0.85}, "seconds": 2.4}))
    table = tabulate(TableSpec("t", ("MRR", "Hits@10"), (ours,)), results)
    assert table.columns == (
        "data",
        "model",
        "MRR",
        "Hits@10, published",
        "Hits@10",
        "Hits@10, optimistic",
        "seconds",
    )
    assert "| toy | ours | 0.500 | 0.900 | 0.800 | 0.850 | 2 |" in table.as_markdown()


def test_a_measure_that_no_row_has_is_no_column():
    ours = row_of("ours")
    table = tabulate(TableSpec("t", ("MRR", "Hits@1"), (ours,)), filled((ours, {"MRR": 0.5, "seconds": 1})))
    assert table.columns == ("data", "model", "MRR", "seconds")


def test_rows_with_other_labels_share_a_table():
    rows = (TableRow({"data": "toy"}, {"MRR": 0.1}), TableRow({"data": "toy", "T": "3"}, {"MRR": 0.2}))
    table = tabulate(TableSpec("t", ("MRR",), rows), Results())
    assert table.columns == ("data", "T", "MRR, published")
    assert "| toy |  | 0.100 |" in table.as_markdown()


def test_seconds_are_those_of_the_slowest_seed():
    ours = row_of("ours")
    results = filled((ours, {"MRR": 0.5, "seconds": 2.0}, {"MRR": 0.7, "seconds": 9.6}))
    (fields,) = tabulate(TableSpec("t", ("MRR",), (ours,)), results).rows
    assert fields["seconds"] == 10
    assert fields["MRR"].by_seed == (0.5, 0.7)


def test_a_figure_that_some_seeds_lack_is_that_of_the_others():
    ours = row_of("ours")
    results = filled((ours, {"MRR": None, "seconds": 1}, {"MRR": 0.7, "seconds": 1}))
    (fields,) = tabulate(TableSpec("t", ("MRR",), (ours,)), results).rows
    assert fields["MRR"].by_seed == (0.7,)


def test_what_is_no_share_is_shown_as_the_first_seed_gave_it():
    ours = row_of("ours")
    results = filled((ours, {"MRR": "n/a", "seconds": 1}, {"MRR": "other", "seconds": 1}))
    (fields,) = tabulate(TableSpec("t", ("MRR",), (ours,)), results).rows
    assert fields["MRR"] == "n/a"


# What was not measured


def test_a_row_that_was_not_tried_says_so_without_a_reason():
    table = tabulate(TableSpec("t", ("MRR",), (row_of("ours"),), ("A note.",)), Results())
    assert "| toy | ours | not measured |" in table.as_markdown()
    assert table.notes == ("A note.",)


def test_rows_that_failed_for_one_reason_share_a_note():
    rows = tuple(row_of(model) for model in ("a", "b", "c"))
    why = {FAILED: "No such data."}
    results = filled((rows[0], why), (rows[1], why), (rows[2], {FAILED: "No memory."}))
    table = tabulate(TableSpec("t", ("MRR",), rows, ("First.",)), results)
    assert table.notes == (
        "First.",
        "Not measured: toy, a; toy, b. No such data.",
        "Not measured: toy, c. No memory.",
    )


def test_a_row_of_which_one_seed_failed_shows_the_others_and_the_reason():
    ours = row_of("ours")
    results = filled((ours, {FAILED: "Diverged."}, {"MRR": 0.7, "seconds": 1}))
    table = tabulate(TableSpec("t", ("MRR",), (ours,)), results)
    assert "| toy | ours | 0.700 | 1 |" in table.as_markdown()
    assert table.notes == ("Not measured: toy, ours. Diverged.",)


# Rows


def test_the_name_of_a_row_can_be_a_file_name():
    row = TableRow({"data": "FB15K-237", "model": "ours, T = 3/4"}, {}, measure, {"size": 2})
    assert row.name.startswith("fb15k-237-ours-t-3-4-")
    assert all(letter.isalnum() or letter == "-" for letter in row.name)


def test_outcomes_come_in_the_order_of_their_seeds_and_the_last_one_given_counts():
    row, results = row_of("ours"), Results()
    for seed, mrr in ((2, 0.2), (0, 0.0), (1, 0.9), (1, 0.1)):
        results.add(row, seed, {"MRR": mrr})
    assert [outcome["MRR"] for outcome in results.of(row)] == [0.0, 0.1, 0.2]
    assert results.why_not(row) is None
    assert results.of(row_of("theirs", size=2)) == []


def test_rows_without_a_measure_are_not_measured():
    published = TableRow({"model": "theirs"}, {"MRR": 0.5})
    ours = row_of("ours")
    assert Experiment((TableSpec("t", ("MRR",), (published, ours)),)).rows() == [ours]
