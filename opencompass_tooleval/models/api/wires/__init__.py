"""The request formats that :class:`~opencompass_tooleval.models.openai_model.ToolEvalOpenAI` speaks."""

from __future__ import annotations

from collections.abc import Mapping

from opencompass_tooleval.models.api.wires.chat import CHAT
from opencompass_tooleval.models.api.wires.messages import MESSAGES
from opencompass_tooleval.models.api.wires.responses import RESPONSES
from opencompass_tooleval.models.api.wires.wire import Wire

WIRES: Mapping[str, Wire] = {'chat': CHAT, 'responses': RESPONSES, 'messages': MESSAGES}
"""Value of ``wire`` in a model's config -> the format."""
