"""Kinds of variants that several benchmarks have."""

from __future__ import annotations

from opencompass_tooleval.core.variants import VariantKind

FUNCTION_CALLING = VariantKind('-fc', 'prompt', 'calling', 'native calls', 'Function calling', 'what native calls gain')
"""A data set `X` whose prompt documents the tools and asks for calls to be written, `X-fc` with native calls."""
