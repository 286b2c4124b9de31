"""Comparisons with published outcomes: tests with the mark ``official``, which ``tools/check_official.py`` counts.

Such a test is one case, or as many as it records with ``record_property('cases', ...)``. If it passes, all of them are
equal, or as many as it records as ``equal``; the mark then names the differences.
"""

from __future__ import annotations

from collections.abc import Callable

Recorder = Callable[[str, object], None]
"""Pytest's ``record_property``."""
