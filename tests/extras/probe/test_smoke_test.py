from __future__ import annotations

import logging

from opencompass.utils import get_logger

from opencompass_tooleval.extras.probe.smoke_test import run_trial
from opencompass_tooleval.tasks.first_prompts import quiet


def test_it_runs_here_and_the_process_logs_again_what_goes_wrong() -> None:
    with quiet('INFO'):  # whatever level an earlier test has left
        assert run_trial() > 0
        assert all(get_logger().isEnabledFor(level) for level in (logging.INFO, logging.WARNING, logging.ERROR))
