"""The command line derives its options from the configurations."""

from dataclasses import dataclass, fields
from typing import Literal

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from neurallp.cli import app
from neurallp.cli.options import with_settings
from neurallp.config import (
    KINDS,
    ModelConfig,
    TrainingConfig,
    WeightingConfig,
    make_plan,
    setting,
)


@dataclass(frozen=True)
class Sample:
    size: int = setting(3, "Size.")
    limit: int | None = setting(None, "Limit.", flag="--at-most", unset="all")
    color: Literal["red", "blue"] = setting("red", "Color.")
    is_open: bool = setting(False, "Open.", flag="--open/--closed")
    numbers: tuple[float, ...] = setting((0.5, 1.0), "Numbers.")
    secret: int = 7


@pytest.fixture
def settings_of():
    """Return a function that runs a command with derived options, and returns the settings it was given."""
    seen = []

    @with_settings(Sample, defaults={"size": "as many as there are"})
    def command(name: str, *, settings: dict, loud: bool = False) -> None:
        """Do it."""
        seen.append(settings)

    sample = typer.Typer(rich_markup_mode=None)
    sample.command()(command)

    def run(*arguments):
        result = CliRunner().invoke(sample, ["name", *arguments])
        return seen[-1] if result.exit_code == 0 and "--help" not in arguments else result.output

    return run


def test_settings_that_are_not_given_are_left_out(settings_of):
    assert settings_of() == {}
    assert settings_of("--loud") == {}


def test_every_type_of_setting_reaches_the_command(settings_of):
    given = settings_of("--size", "4", "--at-most", "2", "--color", "blue", "--open", "--numbers", "1, 2.5")
    assert given == {"size": 4, "limit": 2, "color": "blue", "is_open": True, "numbers": (1.0, 2.5)}
    assert settings_of("--closed") == {"is_open": False}


def test_help_shows_defaults_and_choices_and_hides_expert_settings(settings_of):
    text = " ".join(settings_of("--help").split())
    for part in ("(as many as there are)", "(all)", "<red|blue>", "(red)", "(closed)", "(0.5,1.0)"):
        assert part in text
    assert "secret" not in text


def test_a_value_outside_the_choices_is_refused(settings_of):
    assert "is not one of 'red', 'blue'" in settings_of("--color", "green")


def options_of(command):
    return {option.name: option for option in get_command(app).commands[command].params}


@pytest.mark.parametrize("config", [ModelConfig, TrainingConfig, WeightingConfig])
def test_learn_has_an_option_for_every_setting_with_a_help_text(config):
    shown = {each.name for each in fields(config) if each.metadata.get("help")}
    assert shown <= options_of("learn").keys()


def test_the_defaults_in_the_help_of_learn_are_the_ones_used():
    plan, options = make_plan(), options_of("learn")
    for stage in (plan.model, plan.training, plan.weighting):
        for name, value in vars(stage).items():
            is_shown = name not in ("batch_size", "learning_rate") or stage is plan.training
            is_plain = isinstance(value, int | float | str) and not isinstance(value, bool)
            if name in options and is_shown and is_plain:
                # `learn` chooses some settings by trials on validation.
                assert options[name].show_default in (str(value), "chosen")
    assert options["max_length"].show_default == options["kinds"].show_default == "chosen"
    assert options["max_rules"].show_default == options["operators_per_query"].show_default == "all"
    assert (options["normalize"].show_default, plan.model.normalize) == ("normalize", True)
    assert (options["exclude_source"].show_default, plan.model.exclude_source) == ("exclude-source", True)


def test_help_names_every_kind_of_rules():
    assert all(kind in options_of("weigh")["kinds"].help for kind in KINDS)
