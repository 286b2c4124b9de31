"""Published scores that measured ones are set beside, each with its source. Literals only.

Figures are as printed. A line is a model, a bar, and its numbers in the order of ``columns``; ``-`` is a number that is
not given, or that the copy at hand does not show clearly (EasyTool, Table 5).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """A published table.

    Attributes:
        source: Where it is printed.
        columns: The names of its columns; those of ours where they are the same.
        text: Its lines.
    """

    source: str
    columns: tuple[str, ...]
    text: str

    def rows(self) -> dict[str, dict[str, float | None]]:
        """Model -> column -> score."""
        rows = {}
        for line in self.text.strip().splitlines():
            model, numbers = line.rsplit('|', 1)
            values = [None if number == '-' else float(number) for number in numbers.split()]
            rows[model.strip()] = dict(zip(self.columns, values, strict=True))
        return rows


_ABILITIES = ('overall', 'instruct', 'plan', 'reason', 'retrieve', 'understand', 'review')
_NINE = (
    'planning',
    'creation_awareness_global',
    'creation_awareness_local',
    'creation',
    'usage_awareness_global',
    'usage_awareness_local',
    'selection_global',
    'selection_local',
    'usage',
    'overall',
)
_PLANNING = (
    'accuracy',
    'completeness',
    'executability',
    'syntactic_soundness',
    'structural_rationality',
    'efficiency',
    'overall',
)
_CREATION = ('format_compliance', 'accuracy', 'content_reasonableness', 'executability', 'richness', 'overall')
_JSON = ('tool_creation_awareness', 'tool_creation', 'tool_usage_awareness', 'tool_selection', 'tool_usage', 'average')
_FUNCQA = ('one_hop', 'multi_hop', 'error')

TEVAL_EN = Published(
    'T-Eval leaderboard, English (arXiv 2312.14033 and the project page)',
    _ABILITIES,
    """
GPT-3.5-Turbo (Nov 2023) | 84.0 96.6 86.6 67.8 92.2 85.5 75.6
GPT-4-Turbo (Nov 2023) | 86.4 96.3 87.8 65.3 88.9 85.8 94.5
Claude-2.1 (Nov 2023) | 78.8 97.8 86.0 62.8 77.3 78.5 70.4
LLaMA2-7B | 27.4 34.5 28.1 22.1 16.9 24.4 38.6
Vicuna-7B | 44.8 48.0 30.6 48.8 22.5 60.5 58.5
InternLM-7B | 45.8 39.1 55.4 36.9 47.1 50.3 46.2
CodeLLaMA-7B | 28.6 48.5 52.8 14.8 2.4 13.4 40.0
AgentLM-7B | 41.4 46.9 34.5 33.8 42.0 46.2 44.8
Baichuan2-7B | 56.5 73.0 52.3 41.3 51.1 59.6 61.4
ChatGLM3-6B | 51.4 72.0 42.7 36.2 45.2 57.8 54.8
Qwen-7B | 59.5 61.5 64.7 45.2 62.1 61.9 61.6
LLaMA2-13B | 37.3 33.4 56.9 26.4 24.7 29.4 53.0
Vicuna-13B | 48.1 48.9 39.9 52.7 20.4 65.9 60.8
WizardLM-13B | 49.0 39.8 59.2 30.6 45.4 47.8 71.5
Baichuan2-13B | 50.3 29.9 60.8 41.9 55.7 56.0 57.3
Qwen-14B | 66.3 73.7 74.7 52.4 75.6 64.7 56.9
LLaMA2-70B | 53.0 79.0 60.5 31.1 39.5 44.8 62.8
WizardLM-70B | 44.2 20.6 62.1 42.7 47.2 63.6 28.7
Qwen-72B | 71.4 63.0 79.2 59.5 70.9 75.3 80.3
Mistral-7B | 56.0 61.7 71.1 39.1 51.8 49.0 63.2
Nanbeige-Agent-32B | 76.2 88.5 80.8 61.5 80.5 79.7 66.5
    """,
)
TEVAL_ZH = Published(
    'T-Eval leaderboard, Chinese (arXiv 2312.14033 and the project page)',
    _ABILITIES,
    """
GPT-3.5-Turbo (Nov 2023) | 80.0 98.2 73.3 67.3 87.9 83.5 70.0
GPT-4-Turbo (Nov 2023) | 85.9 97.6 87.0 68.4 89.2 86.8 86.0
Claude-2.1 (Nov 2023) | 74.7 72.6 82.3 64.2 81.6 80.7 66.9
LLaMA2-7B | 25.3 14.8 26.2 23.1 17.7 31.5 38.2
Vicuna-7B | 43.6 60.2 33.0 52.0 16.1 58.3 42.1
InternLM-7B | 49.8 76.3 39.2 40.8 43.9 55.4 42.9
AgentLM-7B | 31.5 24.5 26.9 28.6 34.5 44.8 29.8
Baichuan2-7B | 48.9 48.0 43.1 47.5 50.1 61.8 43.1
ChatGLM3-6B | 52.6 74.3 45.7 40.1 41.4 59.1 55.0
Qwen-7B | 63.0 82.3 62.2 50.0 59.1 67.0 57.1
LLaMA2-13B | 35.0 26.3 44.5 32.8 31.0 48.6 26.7
Vicuna-13B | 50.0 62.8 38.0 54.2 18.5 64.5 62.2
WizardLM-13B | 43.3 52.3 59.5 49.0 37.7 57.5 3.7
Baichuan2-13B | 56.5 83.0 50.0 45.2 58.2 60.6 41.7
Qwen-14B | 70.6 96.5 77.1 57.0 73.0 76.5 43.7
LLaMA2-70B | 46.3 58.4 49.9 29.8 38.9 44.6 56.1
WizardLM-70B | 44.2 36.6 69.8 48.6 32.6 54.5 23.2
Qwen-72B | 73.5 97.4 83.2 61.8 70.3 76.6 51.3
Mistral-7B | 56.4 78.0 53.8 40.3 51.4 54.6 60.2
Nanbeige-Agent-32B | 74.6 81.1 73.6 64.2 79.8 81.5 67.2
    """,
)
ULTRATOOL_MAIN_ZH = Published(
    'UltraTool (arXiv 2401.17167), Table 2, Chinese',
    _NINE,
    """
LLaMA2-7B | 46.44 2.70 6.09 3.24 2.10 10.10 0.30 0.66 3.01 8.29
ChatGLM3-6B | 57.54 9.70 23.18 8.31 12.90 34.66 8.50 18.68 29.90 22.60
Baichuan2-7B | 62.51 8.20 18.77 22.39 18.00 46.02 5.80 15.48 21.63 24.31
Vicuna-7B | 58.38 7.10 17.77 22.9 17.40 66.49 5.40 11.49 36.50 27.05
Qwen-7B | 61.48 13.40 25.91 19.40 21.40 76.44 12.50 21.96 32.35 31.65
Mistral-7B | 66.18 24.50 42.55 50.95 37.00 81.30 58.60 74.70 59.68 55.05
LLaMA2-13B | 62.05 5.20 16.72 16.29 28.30 73.15 4.10 5.96 25.79 26.40
Qwen-14B | 67.91 10.60 23.90 34.01 24.90 76.89 13.60 19.73 61.10 36.96
Vicuna-13B | 65.72 17.90 37.46 37.10 40.40 82.56 22.80 39.06 38.76 42.42
Baichuan2-13B | 66.84 23.90 45.40 25.49 34.30 82.57 30.80 53.27 59.21 46.86
LLaMA2-70B | 63.29 26.90 45.40 46.03 41.20 81.35 35.00 52.21 51.17 49.17
Qwen-72B | 73.40 36.90 55.19 61.80 40.80 82.16 72.40 84.92 69.52 64.12
GPT-3.5 | 69.50 26.20 52.88 58.00 25.90 79.75 67.10 81.50 76.26 59.68
GPT-4 | 76.39 58.80 76.65 65.55 60.70 89.76 80.70 89.22 86.62 76.04
    """,
)
ULTRATOOL_MAIN_EN = Published(
    'UltraTool (arXiv 2401.17167), Table 2, English',
    _NINE,
    """
LLaMA2-7B | 65.44 1.40 3.74 1.37 0.40 3.13 0.70 2.06 2.14 8.93
ChatGLM3-6B | 60.19 15.50 29.69 10.92 15.20 57.09 13.00 28.23 24.84 28.30
Baichuan2-7B | 62.64 10.50 25.33 17.67 30.10 62.24 8.20 17.97 22.26 28.55
Vicuna-7B | 66.77 10.10 24.44 29.54 18.10 61.67 7.80 20.43 32.89 30.19
Qwen-7B | 64.81 10.10 24.70 17.05 22.70 76.91 8.80 14.95 32.94 30.33
Mistral-7B | 70.32 26.70 43.34 46.24 36.80 77.78 56.70 74.44 60.48 54.76
LLaMA2-13B | 68.50 14.50 31.00 20.08 35.70 76.46 16.60 26.39 26.41 35.07
Qwen-14B | 69.59 10.50 22.76 32.21 32.50 79.58 15.90 19.55 43.23 36.20
Vicuna-13B | 69.64 20.30 41.50 39.90 36.50 79.08 26.60 47.22 46.29 45.23
Baichuan2-13B | 67.59 22.30 40.03 15.79 24.30 78.96 29.40 51.34 48.97 42.08
LLaMA2-70B | 69.72 25.50 44.52 46.94 55.50 87.61 40.20 53.66 43.44 51.90
Qwen-72B | 72.93 30.90 51.15 57.98 49.00 84.86 71.80 84.31 63.51 62.94
GPT-3.5 | 69.74 33.10 59.26 51.83 15.20 76.29 69.00 82.20 73.47 58.90
GPT-4 | 74.07 56.10 75.18 61.17 62.50 90.85 79.30 88.69 83.32 74.58
    """,
)
ULTRATOOL_PLANNING_ZH = Published(
    'UltraTool (arXiv 2401.17167), Table 4, Chinese',
    _PLANNING,
    """
LLaMA2-7B | 51.35 47.61 50.66 72.52 50.79 50.39 46.44
ChatGLM3-6B | 66.09 59.41 62.68 81.47 61.02 62.11 57.54
Vicuna-7B | 65.26 60.91 63.51 79.01 63.12 62.06 58.38
Qwen-7B | 69.60 62.98 66.90 81.89 65.47 66.57 61.48
Baichuan2-7B | 70.16 65.22 67.54 82.23 67.04 66.43 62.51
Mistral-7B | 73.00 68.50 70.77 81.48 70.07 69.68 66.18
LLaMA2-13B | 69.15 63.93 67.42 82.12 67.12 66.99 62.05
Vicuna-13B | 73.19 68.08 70.64 81.68 69.98 70.89 65.72
Baichuan2-13B | 73.67 69.53 71.50 82.13 71.14 71.22 66.84
Qwen-14B | 75.13 70.16 72.15 81.76 71.39 72.23 67.91
LLaMA2-70B | 69.89 66.64 69.16 82.42 68.35 66.64 63.29
Qwen-72B | 78.28 74.25 76.23 80.83 75.70 77.30 73.40
GPT-3.5 | 76.43 70.26 73.14 80.94 72.26 75.10 69.50
GPT-4 | 79.56 77.53 78.31 81.21 78.19 78.60 76.39
    """,
)
ULTRATOOL_PLANNING_EN = Published(
    'UltraTool (arXiv 2401.17167), Table 4, English',
    _PLANNING,
    """
ChatGLM3-6B | 67.07 61.07 64.65 83.20 62.45 62.71 60.19
Baichuan2-7B | 67.86 65.22 67.58 86.92 67.51 65.13 62.64
Qwen-7B | 70.13 67.20 69.31 86.53 68.42 67.35 64.81
LLaMA2-7B | 70.57 67.62 69.67 86.53 69.77 68.12 65.44
Vicuna-7B | 71.58 69.70 70.85 87.38 70.80 69.29 66.77
Mistral-7B | 74.61 72.92 74.15 87.23 73.63 72.00 70.32
Baichuan2-13B | 72.40 70.00 71.77 87.47 71.56 69.67 67.59
LLaMA2-13B | 72.96 71.78 73.25 88.98 73.06 70.51 68.50
Qwen-14B | 74.31 72.00 73.58 86.95 72.97 71.85 69.59
Vicuna-13B | 74.65 72.19 73.68 86.14 73.18 71.62 69.64
LLaMA2-70B | 74.35 72.98 73.84 88.20 73.83 70.72 69.72
Qwen-72B | 77.24 74.55 75.85 84.61 75.47 74.95 72.93
GPT-3.5 | 76.61 69.25 72.13 84.25 71.52 72.11 69.74
GPT-4 | 77.59 76.17 77.00 85.18 76.53 75.14 74.07
    """,
)
ULTRATOOL_CREATION_ZH = Published(
    'UltraTool (arXiv 2401.17167), Table 5, Chinese',
    _CREATION,
    """
LLaMA2-7B | 4.15 3.46 3.92 3.39 2.84 3.24
ChatGLM3-6B | 9.70 9.10 9.61 8.41 7.21 8.31
Qwen-7B | 22.08 21.46 22.27 19.80 17.26 19.40
Baichuan2-7B | 25.77 24.31 25.56 22.93 19.70 22.39
Vicuna-7B | 26.83 24.48 26.77 23.66 20.41 22.90
Mistral-7B | 58.18 55.53 57.84 52.61 45.53 50.95
LLaMA2-13B | 20.17 17.49 18.93 16.77 14.30 16.29
Baichuan2-13B | 32.46 27.01 31.16 26.43 23.40 25.49
Qwen-14B | 40.15 36.04 39.31 35.14 30.98 34.01
Vicuna-13B | 42.56 39.68 42.43 38.15 33.24 37.10
LLaMA2-70B | 53.44 48.81 52.86 47.42 40.86 46.03
Qwen-72B | 69.96 66.86 70.04 64.08 55.72 61.80
GPT-3.5 | 66.19 64.43 64.64 59.01 50.30 58.00
GPT-4 | 73.87 70.95 74.54 68.60 59.11 65.55
    """,
)
ULTRATOOL_CREATION_EN = Published(
    'UltraTool (arXiv 2401.17167), Table 5, English',
    _CREATION,
    """
LLaMA2-7B | 1.33 1.44 1.60 1.39 1.17 1.37
ChatGLM3-6B | 10.43 11.84 13.04 10.88 9.86 10.92
Qwen-7B | 16.24 18.00 20.70 17.35 15.74 17.05
Baichuan2-7B | 16.97 18.49 20.84 17.96 15.91 17.67
Vicuna-7B | 28.39 30.68 35.13 30.41 27.11 29.54
Mistral-7B | 44.76 48.58 54.89 47.64 42.13 46.24
Baichuan2-13B | 15.49 16.08 19.39 16.17 14.64 15.79
LLaMA2-13B | 19.26 21.48 24.30 20.41 17.76 20.08
Qwen-14B | 31.18 33.44 38.15 33.18 30.02 32.21
Vicuna-13B | 38.60 41.56 47.17 40.85 36.40 39.90
LLaMA2-70B | 45.28 48.57 55.82 48.12 42.16 46.94
Qwen-72B | 56.10 60.31 68.07 59.71 53.28 57.98
GPT-3.5 | 49.68 54.91 61.40 52.96 46.07 51.83
GPT-4 | 59.49 63.47 71.63 63.28 56.13 61.17
    """,
)
ULTRATOOL_JSON_ZH = Published(
    'UltraTool (arXiv 2401.17167), Table 6, Chinese',
    _JSON,
    """
LLaMA2-7B | 50.70 54.30 41.00 35.70 41.10 44.56
Baichuan2-7B | 78.50 70.80 70.00 83.80 79.00 76.42
Vicuna-7B | 92.10 89.40 99.10 98.20 94.80 94.72
ChatGLM3-6B | 97.80 86.80 96.00 98.80 98.00 95.48
Qwen-7B | 97.10 92.90 99.70 98.20 97.70 97.12
Mistral-7B | 99.20 89.00 99.60 99.50 99.30 97.32
LLaMA2-13B | 88.00 88.00 99.70 73.90 85.80 87.08
Qwen-14B | 97.10 92.90 99.70 98.20 97.70 97.12
Vicuna-13B | 99.80 94.40 99.80 98.30 97.10 97.88
Baichuan2-13B | 99.80 90.60 99.90 100.00 99.20 97.90
LLaMA2-70B | 99.70 91.30 100.00 98.10 98.00 97.42
Qwen-72B | 100.00 99.30 99.90 100.00 99.90 99.82
GPT-3.5 | 100.00 99.00 100.00 100.00 99.90 99.78
GPT-4 | 100.00 100.00 100.00 100.00 100.00 100.00
    """,
)
ULTRATOOL_JSON_EN = Published(
    'UltraTool (arXiv 2401.17167), Table 6, English',
    _JSON,
    """
LLaMA2-7B | 29.40 10.50 3.60 31.10 21.00 19.12
Baichuan2-7B | 95.50 81.00 80.80 98.50 85.50 88.26
ChatGLM3-6B | 91.40 86.70 96.40 97.10 95.80 93.48
Vicuna-7B | 96.90 92.40 99.40 98.10 87.20 94.80
Qwen-7B | 97.70 91.80 99.70 97.40 96.10 96.54
Mistral-7B | 99.40 90.00 99.90 99.50 99.60 97.68
Qwen-14B | 89.90 94.70 99.50 67.00 94.90 89.20
LLaMA2-13B | 97.10 89.80 99.80 91.50 88.00 93.24
Vicuna-13B | 99.90 93.30 99.60 100.00 97.90 98.14
Baichuan2-13B | 99.60 95.10 99.80 100.00 98.50 98.60
LLaMA2-70B | 99.00 93.50 99.90 94.90 97.70 97.00
Qwen-72B | 100.00 99.00 99.60 100.00 99.80 99.68
GPT-3.5 | 100.00 94.00 100.00 99.80 100.00 98.76
GPT-4 | 100.00 100.00 99.90 100.00 100.00 99.98
    """,
)
EASYTOOL_TOKENS = Published(
    'EasyTool (arXiv 2401.06201), Table 3',
    ('documentation', 'instructions', 'reduction'),
    """
ToolBench | 2530 748 70.43
RestBench | 3881 103 97.35
    """,
)
EASYTOOL_TOOLBENCH = Published(
    'EasyTool (arXiv 2401.06201), Table 4',
    tuple(f'{subset} {rate}' for subset in ('I2', 'I3', 'average') for rate in ('pass', 'win', 'success')),
    """
ChatGPT ReACT | 39.0 - 18.0 23.0 - 1.0 31.0 - 9.5
ChatGPT DFSDT | 64.5 63.0 24.0 60.0 70.0 6.0 62.3 66.5 15.0
ChatGPT DFSDT-EASYTOOL | 74.5 76.5 68.5 65.0 88.0 37.0 69.8 82.3 52.8
ChatGPT DFSDT-EASYTOOL-Retriever | 69.0 71.0 60.5 66.0 89.0 42.0 67.5 80.0 51.3
ToolLLaMA-7B ReACT | 30.0 45.5 9.5 22.0 49.0 3.0 26.0 47.3 6.3
ToolLLaMA-7B DFSDT | 66.0 55.0 24.0 56.0 56.0 6.0 61.0 55.5 15.0
ToolLLaMA-7B DFSDT-Retriever | 57.0 60.0 11.5 54.0 69.0 2.0 55.5 64.5 6.8
Vicuna-7B ReACT | 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0
Vicuna-7B DFSDT | 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0
Vicuna-7B DFSDT-EASYTOOL | 72.5 77.0 40.5 68.0 81.0 34.0 70.3 79.0 37.3
Vicuna-7B DFSDT-EASYTOOL-Retriever | 75.0 68.0 46.5 67.0 85.0 36.0 71.0 76.5 41.3
Mistral-Instruct-7B ReACT | 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0
Mistral-Instruct-7B DFSDT | 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0
Mistral-Instruct-7B DFSDT-EASYTOOL | 75.0 76.0 56.0 66.0 87.0 38.0 70.5 81.5 47.0
Mistral-Instruct-7B DFSDT-EASYTOOL-Retriever | 74.5 71.5 54.5 68.0 88.0 38.0 71.3 79.8 46.3
GPT-4 ReACT | 67.5 53.5 27.0 40.0 71.0 4.0 53.8 62.3 15.5
GPT-4 DFSDT | 69.5 57.0 42.0 59.0 73.0 50.0 64.3 65.0 46.0
GPT-4 DFSDT-EASYTOOL | 76.5 78.5 76.0 69.0 89.0 64.0 72.8 83.8 70.0
GPT-4 DFSDT-EASYTOOL-Retriever | 72.5 72.0 73.5 69.0 90.0 53.0 70.8 81.0 63.3
    """,
)
EASYTOOL_RETRIEVAL = Published(
    'EasyTool (arXiv 2401.06201), Table 5',
    ('I2 NDCG@1', 'I2 NDCG@5', 'I3 NDCG@1', 'I3 NDCG@5', 'average NDCG@1'),
    """
BERT retriever | - 77.9 81.7 87.1 75.0
GPT Ada | 36.8 30.7 54.6 46.8 45.7
GPT Ada + EasyTool | - 82.7 80.1 88.5 76.7
    """,
)
FUNCQA_ZERO_SHOT = Published(
    'EasyTool (arXiv 2401.06201), Table 6, zero_shot',
    _FUNCQA,
    """
Vicuna-30B | 15.00 1.00 -
ChatGPT | 55.00 9.00 -
    """,
)
FUNCQA_COT = Published(
    'EasyTool (arXiv 2401.06201), Table 6, cot',
    _FUNCQA,
    """
Vicuna-30B | 13.33 4.00 -
ChatGPT | 48.33 17.64 -
    """,
)
FUNCQA_REACT = Published(
    'EasyTool (arXiv 2401.06201), Table 6, react',
    _FUNCQA,
    """
Vicuna-30B | 45.00 7.35 20.31
ChatGPT | 85.00 41.17 9.38
    """,
)
FUNCQA_EASYTOOL = Published(
    'EasyTool (arXiv 2401.06201), Table 6, easytool',
    _FUNCQA,
    """
Vicuna-30B | 65.00 11.76 10.15
ChatGPT | 91.66 48.53 2.34
    """,
)

_TEVAL_VERSIONS = ('v1', 'v2')

BOARDS: dict[str, tuple[Published, ...]] = {
    **{f'tooleval-teval_{version}': (TEVAL_EN,) for version in _TEVAL_VERSIONS},
    **{f'tooleval-teval_{version}_zh': (TEVAL_ZH,) for version in _TEVAL_VERSIONS},
    'tooleval-ultratool_zh': (ULTRATOOL_MAIN_ZH,),
    'tooleval-ultratool_en': (ULTRATOOL_MAIN_EN,),
    'tooleval-funcqa-zero_shot': (FUNCQA_ZERO_SHOT,),
    'tooleval-funcqa-cot': (FUNCQA_COT,),
    'tooleval-funcqa-react': (FUNCQA_REACT,),
    'tooleval-funcqa-easytool': (FUNCQA_EASYTOOL,),
}
"""Table of ours -> the published tables with its columns. T-Eval's leaderboards do not name a version of the data."""

ULTRATOOL = {
    'zh': {'planning': ULTRATOOL_PLANNING_ZH, 'tool_creation': ULTRATOOL_CREATION_ZH, 'json': ULTRATOOL_JSON_ZH},
    'en': {'planning': ULTRATOOL_PLANNING_EN, 'tool_creation': ULTRATOOL_CREATION_EN, 'json': ULTRATOOL_JSON_EN},
}
"""Language -> the tables behind Figures 5 and 7."""

FIGURE_5 = ('Qwen-7B', 'Qwen-14B', 'Qwen-72B', 'GPT-4')
"""The models of UltraTool's Figure 5."""
