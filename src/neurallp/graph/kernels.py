"""Functions that kernels of several packages call."""

from .compilation import kernel_function


@kernel_function()
def inverse_in_kernel(operator: int, num_relations: int) -> int:
    """Return the inverse of an operator, as `vocabulary.inverse_operator` does, without a division."""
    return operator - num_relations if operator >= num_relations else operator + num_relations
