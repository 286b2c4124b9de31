"""Tests of `opencompass_tooleval.work_dir`."""
