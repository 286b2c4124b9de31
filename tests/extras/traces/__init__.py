"""Tests of the readers of recorded conversations."""
