"""The one kernel behind the CUDA engine: sums of products over lists of edges. Needs triton."""

import triton
import triton.language as tl


def _sum_products(
    out: tl.tensor,  # (row, walk)
    left: tl.tensor,  # (left id, walk)
    right: tl.tensor,  # (right id, walk)
    rows: tl.tensor,  # the rows to do
    offsets: tl.tensor,  # (row + 1,): where each row's places begin
    left_ids: tl.tensor,  # (place,)
    right_ids: tl.tensor,  # (place,)
    edge_ids: tl.tensor,  # (place,)
    hidden: tl.tensor,  # (slot, walk): the edges each walk hides, -1 for none; or None
    flags: tl.tensor,  # (block, edge): whether a walk of the block hides the edge; None to compare all
    num_slots: tl.tensor,
    num_edges: tl.tensor,
    num_walks: tl.tensor,  # a multiple of block_walks
    tile_edges: tl.constexpr,
    block_walks: tl.constexpr,
) -> None:
    """Write out[row, w] = sum of left[l, w] right[r, w] over the row's places whose edge walk w may use.

    A program owns one row and one block of walks, so nothing is added in another order the next time.
    Programs of one block follow one another, so what a block gathers stays in the L2 cache.
    """
    row = tl.load(rows + tl.program_id(0))
    block = tl.program_id(1)
    walks = block * block_walks + tl.arange(0, block_walks)
    end = tl.load(offsets + row + 1)
    total = tl.zeros((tile_edges, block_walks), out.dtype.element_ty)
    for start in range(tl.load(offsets + row), end, tile_edges):
        places = start + tl.arange(0, tile_edges)
        listed = places < end
        left_id = tl.load(left_ids + places, listed, 0).to(tl.int64)
        right_id = tl.load(right_ids + places, listed, 0).to(tl.int64)
        here = left_id[:, None] * num_walks + walks[None, :]
        there = right_id[:, None] * num_walks + walks[None, :]
        product = tl.load(left + here, listed[:, None], 0.0) * tl.load(right + there, listed[:, None], 0.0)
        if hidden is not None:
            edge = tl.load(edge_ids + places, listed, 0)
            checks = num_slots
            if flags is not None:
                checks *= tl.max(tl.load(flags + block.to(tl.int64) * num_edges + edge, listed, 0), 0)
            for slot in range(checks):
                # Set to zero rather than subtracted: a difference would leave rounding noise behind.
                gone = tl.load(hidden + slot * num_walks + walks)
                product = tl.where(edge[:, None] == gone[None, :], 0.0, product)
        total += product
    tl.store(out + row.to(tl.int64) * num_walks + walks, tl.sum(total, 0))


sum_products = triton.jit(_sum_products)
