"""Tests of `opencompass_tooleval.embedding`."""
