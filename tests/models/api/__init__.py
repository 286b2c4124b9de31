"""Tests of `opencompass_tooleval.models.api`."""
