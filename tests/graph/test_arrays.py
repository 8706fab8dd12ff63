import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from neurallp.graph.arrays import (
    concatenate_ranges,
    distinct,
    group_by,
    group_offsets,
    group_rows,
    offsets_of,
)

few = settings(max_examples=50, deadline=None)
lengths = st.lists(st.integers(0, 4), max_size=8)
keys = st.lists(st.integers(0, 5), max_size=20)


def ids(values):
    return np.array(values, dtype=np.int64)


@few
@given(ranges=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), max_size=8))
def test_ranges_are_concatenated_in_order(ranges):
    starts, sizes = ids([start for start, _ in ranges]), ids([size for _, size in ranges])
    expected = [i for start, size in ranges for i in range(start, start + size)]
    assert concatenate_ranges(starts, starts + sizes).tolist() == expected


@few
@given(lengths=lengths)
def test_offsets_are_the_sums_of_all_lengths_before(lengths):
    expected = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    assert offsets_of(lengths).tolist() == expected
    assert offsets_of(ids(lengths)).dtype == np.int64


@few
@given(lengths=lengths)
def test_every_entry_has_the_row_of_its_group(lengths):
    expected = [row for row, length in enumerate(lengths) for _ in range(length)]
    assert group_rows(offsets_of(lengths)).tolist() == expected


@few
@given(keys=keys)
def test_grouping_keeps_the_order_within_a_group_and_counts_empty_groups(keys):
    order, offsets = group_by(ids(keys), 6)
    for group in range(6):
        members = order[offsets[group] : offsets[group + 1]].tolist()
        assert members == [place for place, key in enumerate(keys) if key == group]
    assert offsets.tolist() == group_offsets(np.sort(ids(keys)), 6).tolist()


@few
@given(rows=st.lists(st.tuples(*[st.integers(0, 2)] * 3), max_size=20))
def test_distinct_triples_keep_the_order_of_their_first_appearance(rows):
    assert list(map(tuple, distinct(ids(rows).reshape(-1, 3)).tolist())) == list(dict.fromkeys(rows))
