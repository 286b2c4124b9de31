"""Where `SlurmArrayRunner` was until it moved to `slurm/runner.py`; configs in older work directories name it here."""

from opencompass_tooleval.slurm.runner import SlurmArrayRunner as SlurmArrayRunner
