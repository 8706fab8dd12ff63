from neurallp.cli.plan_lines import describe_plan
from neurallp.config import Plan, WeightingConfig
from neurallp.config.plan_log import Comparison, PlanLog

SURVEY = {"walks": [3.4, 9.0], "reached": [0.5, 1.0], "held_out": True, "num_relations": 9}
TRIALS = (
    Comparison("bodies up to 2", 0.5, 0.0, 0.0, True),
    Comparison("dropout 0.3", 0.51, 0.01, 0.02, False),
)


def lines(survey, trials=TRIALS):
    return describe_plan(Plan(None, None, WeightingConfig(), log=PlanLog(survey, trials))).splitlines()[:-1]


def asked(relations, questions=1234, refined=False):
    return {**SURVEY, "tried_on": {"relations": relations, "questions": questions, "refined": refined}}


def test_a_plan_says_on_which_relations_and_on_how_many_questions_its_trials_were_made():
    assert lines(asked(["aunt", "new\nline"]))[1] == (
        "Each trial: 1,234 validation questions about 2 of 9 relations (aunt, new\\nline), in both "
        "directions; rules fitted on few questions each. MRR (gain ± its standard error):"
    )
    told = lines(asked([f"r{i}" for i in range(9)], refined=True))[1]
    assert "about all 9 relations, in both directions; rules fitted as in the run." in told
    assert "about 7 of 9 relations, in" in lines(asked([f"r{i}" for i in range(7)]))[1]


def test_the_first_trial_has_no_gain_and_the_others_have():
    assert lines(SURVEY)[1:] == [
        "  tried bodies up to 2: MRR 0.500, to begin with",
        "  tried dropout 0.3: MRR 0.510 (+0.010 ± 0.020), left out",
    ]


def test_a_plan_of_an_earlier_model_or_without_trials_says_nothing_of_questions():
    assert not any("Each trial" in line for line in [*lines(SURVEY), *lines(asked(["a"]), ())])


def test_without_validation_facts_no_steps_are_told():
    assert lines({**SURVEY, "reached": []}, ()) == ["3 edges leave the end of a fact on average."]
    assert lines(SURVEY, ()) == [
        "3 edges leave the end of a fact on average; "
        "facts held out of train: 50% within 1, 100% within 2 steps."
    ]
