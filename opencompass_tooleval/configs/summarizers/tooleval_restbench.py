# RestBench: correct path rate (EasyTool, Figure 5) and tool-name errors (lower is better), with documentation, with
# native calls, with instructions, and with EasyTool's prompt. No mean: the services are reported separately.
from opencompass_tooleval.summarizers import ToolEvalVariantSummarizer

tooleval_restbench_rows = [
    [f'tooleval-restbench-{_service}{_variant}', _metric]
    for _service in ['tmdb', 'spotify']
    for _variant in ['', '-fc', '-easytool', '-easytool-ids']
    for _metric in ['correct_path_rate', 'tool_name_error_rate']
]
summarizer = dict(type=ToolEvalVariantSummarizer, dataset_abbrs=tooleval_restbench_rows, summary_groups=[])
