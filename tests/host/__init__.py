"""Tests of `opencompass_tooleval.host`."""
