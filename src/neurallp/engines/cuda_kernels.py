"""The kernel of the CUDA engine: sums of products over lists of edges. Needs triton."""

import triton
import triton.language as tl


def _sum_products(
    out: tl.tensor,  # (row, query)
    left: tl.tensor,  # (left id, query)
    right: tl.tensor,  # (right id, query)
    rows: tl.tensor,  # the rows to do
    offsets: tl.tensor,  # (row + 1,): where the places of each row begin
    left_ids: tl.tensor,  # (place,)
    right_ids: tl.tensor,  # (place,)
    edge_ids: tl.tensor,  # (place,)
    masks: tl.tensor,  # (slot, query): the masked edges of each query, -1 for none; or None
    flags: tl.tensor,  # (block, edge): whether a query of the block masks the edge; None to compare all
    num_slots: tl.tensor,
    num_edges: tl.tensor,
    num_queries: tl.tensor,  # a multiple of block_queries
    tile_edges: tl.constexpr,
    block_queries: tl.constexpr,
) -> None:
    """Write out[row, w] = sum of left[l, w] right[r, w] over the row's places whose edge query w may use.

    A program owns one row and one block of queries, so the order of the sum is always the same.
    Programs of one block run one after another, so the rows that a block reads stay in the L2 cache.
    """
    row = tl.load(rows + tl.program_id(0))
    block = tl.program_id(1)
    queries = block * block_queries + tl.arange(0, block_queries)
    end = tl.load(offsets + row + 1)
    total = tl.zeros((tile_edges, block_queries), out.dtype.element_ty)
    for start in range(tl.load(offsets + row), end, tile_edges):
        places = start + tl.arange(0, tile_edges)
        listed = places < end
        left_id = tl.load(left_ids + places, listed, 0).to(tl.int64)
        right_id = tl.load(right_ids + places, listed, 0).to(tl.int64)
        here = left_id[:, None] * num_queries + queries[None, :]
        there = right_id[:, None] * num_queries + queries[None, :]
        product = tl.load(left + here, listed[:, None], 0.0) * tl.load(right + there, listed[:, None], 0.0)
        if masks is not None:
            edge = tl.load(edge_ids + places, listed, 0)
            checks = num_slots
            if flags is not None:
                checks *= tl.max(tl.load(flags + block.to(tl.int64) * num_edges + edge, listed, 0), 0)
            for slot in range(checks):
                # Set to zero rather than subtracted: a difference would leave rounding noise behind.
                gone = tl.load(masks + slot * num_queries + queries)
                product = tl.where(edge[:, None] == gone[None, :], 0.0, product)
        total += product
    tl.store(out + row.to(tl.int64) * num_queries + queries, tl.sum(total, 0))


sum_products = triton.jit(_sum_products)
