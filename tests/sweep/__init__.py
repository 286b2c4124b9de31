"""Tests of `opencompass_tooleval.sweep`."""
