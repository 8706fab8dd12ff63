import pytest

from neurallp import ConfigError
from neurallp.pipeline.callbacks import Clock


class Time:
    """A clock that moves when told."""

    seconds = 100.0

    def __call__(self):
        return self.seconds


def test_without_a_limit_time_never_ends():
    time = Time()
    clock = Clock(None, time)
    time.seconds += 10**9
    assert not clock.is_over
    assert not clock.part(0.1).is_over
    assert not clock.is_limited


def test_a_limit_ends_after_its_minutes():
    time = Time()
    clock = Clock(2, time)
    time.seconds += 119
    assert (clock.is_over, clock.seconds_left) == (False, 1)
    time.seconds += 2
    assert (clock.is_over, clock.seconds_left) == (True, 0)


def test_a_part_ends_after_a_share_of_what_is_left_and_knows_the_whole_limit():
    time = Time()
    clock = Clock(2, time)
    time.seconds += 60
    part = clock.part(0.5)
    assert (part.seconds_left, part.minutes) == (30, 2)


@pytest.mark.parametrize("minutes", [0, -1, float("nan"), float("inf")])
def test_a_limit_must_be_above_zero_and_finite(minutes):
    with pytest.raises(ConfigError, match="minutes must be above 0 and finite"):
        Clock(minutes)
