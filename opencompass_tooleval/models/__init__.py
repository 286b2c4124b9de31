"""Models and prompt templates for import in configs."""

from typing import TYPE_CHECKING

from opencompass_tooleval.core.lazy_import import lazy_getattr

if TYPE_CHECKING:
    from opencompass_tooleval.models.conversation import ToolEvalConversationTemplate as ToolEvalConversationTemplate
    from opencompass_tooleval.models.fixed_models import OracleModel as OracleModel
    from opencompass_tooleval.models.fixed_models import ReplayModel as ReplayModel
    from opencompass_tooleval.models.local_chat import ToolEvalHFChat as ToolEvalHFChat
    from opencompass_tooleval.models.local_chat import ToolEvalVLLMChat as ToolEvalVLLMChat
    from opencompass_tooleval.models.openai_model import ToolEvalOpenAI as ToolEvalOpenAI
    from opencompass_tooleval.models.served_model import ToolEvalServed as ToolEvalServed

__getattr__ = lazy_getattr(
    __name__,
    {
        'OracleModel': 'fixed_models',
        'ReplayModel': 'fixed_models',
        'ToolEvalConversationTemplate': 'conversation',
        'ToolEvalHFChat': 'local_chat',
        'ToolEvalOpenAI': 'openai_model',
        'ToolEvalServed': 'served_model',
        'ToolEvalVLLMChat': 'local_chat',
    },
)
