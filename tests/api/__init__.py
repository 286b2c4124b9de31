"""Tests of `opencompass_tooleval.api`."""
