import pytest

from neurallp import ModelError
from neurallp.config.plan_log import Comparison, PlanLog
from neurallp.io.models.plans import plan_file, read_plan_log
from neurallp.io.models.store import PLAN, read_files, write_files

LOG = PlanLog(
    {"walks": [1.5, 2.0]}, (Comparison("bodies up to 3", 0.4, 0.1, 0.05, True),), 1.5, ("training",)
)


def test_the_log_of_a_plan_survives_its_file(tmp_path):
    write_files(tmp_path, "rules", plan_file(LOG))
    assert read_plan_log(read_files(tmp_path)) == LOG


def test_an_empty_log_has_no_file(tmp_path):
    write_files(tmp_path, "rules", plan_file(LOG))
    write_files(tmp_path, "rules", plan_file(PlanLog()))
    assert not (tmp_path / PLAN).exists()
    assert read_plan_log(read_files(tmp_path)) == PlanLog()


@pytest.mark.parametrize(
    "content", ["[]", "{}", '{"trials": [{}]}', '{"survey": {}, "trials": 3}', "[" * 9999]
)
def test_a_damaged_file_is_named(tmp_path, content):
    write_files(tmp_path, "rules", {PLAN: content})
    with pytest.raises(ModelError, match=PLAN):
        read_plan_log(read_files(tmp_path))


def test_a_comparison_says_what_was_gained_and_whether_it_was_chosen():
    assert str(LOG.trials[0]) == "bodies up to 3: MRR 0.400 (+0.100 ± 0.050), chosen"
