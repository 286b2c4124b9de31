"""Tests of `opencompass_tooleval.cli`."""
