"""Where `ToolEvalEasyToolSummarizer` was until it moved to easytool; configs in older work directories name it here."""

from pkgutil import resolve_name

ToolEvalEasyToolSummarizer = resolve_name('opencompass_tooleval.easytool.summarizer:ToolEvalEasyToolSummarizer')
