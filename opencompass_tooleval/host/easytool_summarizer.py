"""Where `ToolEvalEasyToolSummarizer` was until it moved to easytool; configs in older work directories name it here."""

from opencompass_tooleval.easytool.summarizer import ToolEvalEasyToolSummarizer as ToolEvalEasyToolSummarizer
