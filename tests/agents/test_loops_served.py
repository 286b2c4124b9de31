"""Native calls over the real ``transformers serve``, with ``tools``."""

from __future__ import annotations

from pathlib import Path

from opencompass_tooleval.agents.loops.function_calling import FunctionCalling
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from tests.agents.test_loops_on_real_models import calling, check_looping, run  # noqa: F401 (a fixture)
from tests.models.test_transformers_serve import served  # noqa: F401 (a fixture)


def test_a_served_model_that_calls(served: str, calling: Path) -> None:  # noqa: F811
    model = ToolEvalOpenAI(
        str(calling), key='none', openai_api_base=served, retry=0, max_workers=1, timeout=120, max_seq_len=8192
    )
    check_looping(run(FunctionCalling(max_steps=3), model))
