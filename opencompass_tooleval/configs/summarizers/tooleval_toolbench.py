# ToolBench: selection accuracy (Figure 3), error rates of calls (Figure 4, lower is better), success rate (Table 4).
from opencompass_tooleval.summarizers import ToolEvalVariantSummarizer

tooleval_toolbench_rows = [
    *[
        [f'tooleval-toolbench-selection_{_size}{_variant}', _metric]
        for _size in [5, 10, 20, 50]
        for _variant in ['', '-easytool', '-easytool-ids']
        for _metric in ['accuracy', 'tool_name_error_rate']
    ],
    *[
        [f'tooleval-toolbench-calls_{_file}{_variant}', _metric]
        for _file in ['g2', 'g3']
        for _variant in ['', '-fc', '-easytool']
        for _metric in ['error_free_rate', 'tool_name_error_rate', 'parameter_error_rate']
    ],
    ['tooleval-toolbench-success', 'success_rate'],
]
summarizer = dict(type=ToolEvalVariantSummarizer, dataset_abbrs=tooleval_toolbench_rows, summary_groups=[])
