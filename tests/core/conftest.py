"""Settings of hypothesis for these tests."""

from __future__ import annotations

from hypothesis import settings

# a busy machine is no failure
settings.register_profile('tooleval', deadline=None)
settings.load_profile('tooleval')
