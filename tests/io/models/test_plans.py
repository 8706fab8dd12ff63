import pytest

from neurallp import ModelError
from neurallp.config.plan_log import Comparison, PlanLog
from neurallp.io.models.plans import PLAN, read_plan_log, write_plan_log

LOG = PlanLog(
    {"walks": [1.5, 2.0]}, (Comparison("bodies up to 3", 0.4, 0.1, 0.05, True),), 1.5, ("training",)
)


def test_the_log_of_a_plan_survives_its_file(tmp_path):
    write_plan_log(tmp_path, LOG)
    assert read_plan_log(tmp_path) == LOG


def test_an_empty_log_removes_that_of_an_earlier_model(tmp_path):
    write_plan_log(tmp_path, LOG)
    write_plan_log(tmp_path, PlanLog())
    assert not (tmp_path / PLAN).exists()
    assert read_plan_log(tmp_path) == PlanLog()


@pytest.mark.parametrize("content", ["[]", '{"format_version": 3}', '{"format_version": 3, "trials": [{}]}'])
def test_a_damaged_file_is_named(tmp_path, content):
    (tmp_path / PLAN).write_text(content)
    with pytest.raises(ModelError, match=PLAN):
        read_plan_log(tmp_path)


def test_a_comparison_says_what_was_gained_and_whether_it_was_chosen():
    assert str(LOG.trials[0]) == "bodies up to 3: MRR 0.400 (+0.100 ± 0.050), chosen"
