"""Tests of `opencompass_tooleval.core`."""
