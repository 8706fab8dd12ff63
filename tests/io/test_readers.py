import os

import pytest
from fuzzing import READERS, fuzz

#: Inputs of each reader; `make fuzz` takes many more.
NUM = int(os.environ.get("NEURALLP_FUZZ", "60"))


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_an_error_of_this_package_and_no_traceback(name):
    found = fuzz(name, NUM)
    assert not found.failures
    assert found.num_inputs > found.num_refused  # the inputs that were not mutated are accepted
