"""summarizers/summarizer, on OpenCompass's own DefaultSummarizer and result files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import ConfigDict

from opencompass_tooleval.benchmarks.teval.tables import tooleval_teval_summary_groups
from opencompass_tooleval.benchmarks.ultratool.tables import tooleval_ultratool_rows, tooleval_ultratool_summary_groups
from opencompass_tooleval.summarizers.summarizer import ToolEvalSummarizer

TIME = '20250101_000000'


def result(score: float = 50.0, **changes: Any) -> dict[str, Any]:
    """A result as our evaluators write it."""
    return {
        'review_quality': score,
        'standard_errors': {'review_quality': 2.345, 'parse_rate': None},
        'reasons': {'ok': 190, 'review:wrong': 10},
        'samples': {'all': 200, 'infra': 0},
        'provenance': {'encoder': None, 'language': 'EN'},
        'details': [{'id': 'hidden-detail'}],
        **changes,
    }


class Run:
    """A work folder with results, logs, and the summarizer over it."""

    def __init__(self, folder: Path, models: tuple[str, ...] = ('m1', 'm2'), datasets: tuple[str, ...] = ('d1', 'd2')):
        self.folder = folder
        self.models, self.datasets = models, datasets

    def write(self, model: str, dataset: str, content: dict[str, Any], stage: str = 'results') -> None:
        file = self.folder / stage / model / f'{dataset}.json'
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content), encoding='utf-8')

    def remove(self, *pairs: tuple[str, str]) -> None:
        for model, dataset in pairs:
            (self.folder / 'results' / model / f'{dataset}.json').unlink()

    def log(self, stage: str, model: str, name: str, text: str = '') -> Path:
        file = self.folder / 'logs' / stage / model / f'{name}.out'
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding='utf-8')
        return file

    def fill(self, **changes: Any) -> Run:
        for model in self.models:
            for dataset in self.datasets:
                self.write(model, dataset, result(**changes))
        return self

    def summarizer(self, groups: Iterable[Any] = (), rows: Iterable[Any] = (), **options: Any) -> ToolEvalSummarizer:
        infer_cfg = {
            'prompt_template': {'type': 'ToolEvalConversationTemplate', 'template': '{messages}'},
            'retriever': {'type': 'ZeroRetriever'},
            'inferencer': {'type': 'ToolEvalGenInferencer', 'max_out_len': 5},
        }
        reader_cfg = {'input_columns': ['messages'], 'output_column': 'record'}
        of_all = {'type': 'x', 'path': 'x', 'reader_cfg': reader_cfg, 'infer_cfg': infer_cfg}
        config = {
            'models': [{'abbr': model, 'type': 'OracleModel', 'path': 'x'} for model in self.models],
            'datasets': [{'abbr': name, **of_all} for name in self.datasets],
            'work_dir': str(self.folder),
        }
        summarizer = ToolEvalSummarizer(config=ConfigDict(config), **options)
        if groups:
            summarizer.summary_groups = [*groups]
        if rows:
            summarizer.dataset_abbrs = [*rows]
        return summarizer

    def summarize(self, groups: Iterable[Any] = (), rows: Iterable[Any] = (), ends_with: int = 0) -> None:
        """Prints and writes the summary, which ends the process if something is missing."""
        if not ends_with:
            return self.summarizer(groups, rows).summarize(time_str=TIME)
        with pytest.raises(SystemExit) as caught:
            self.summarizer(groups, rows).summarize(time_str=TIME)
        assert caught.value.code == ends_with

    def notes(self) -> str:
        """What is written beside the tables of a run."""
        return (self.folder / 'summary' / f'summary_{TIME}_notes.txt').read_text(encoding='utf-8')

    def table(self) -> list[list[str]]:
        text = (self.folder / 'summary' / f'summary_{TIME}.csv').read_text(encoding='utf-8')
        return [line.split(',') for line in text.splitlines()]


TEVAL_V2 = [group for group in tooleval_teval_summary_groups if group['name'] == 'tooleval-teval_v2']
PLANS = 'tooleval-teval-plan_json_v2', 'tooleval-teval-plan_str_v2'


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def test_complete(run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('TOOLEVAL_VERBOSE', '1')
    run.fill().write('m2', 'd2', result(12.5))
    run.summarize()
    pairs = ''.join(
        f'  {model} / {dataset}: review_quality ±2.35 | ok 190, review:wrong 10\n'
        for model in run.models
        for dataset in run.datasets
    )
    meaning = 'review:wrong: another option is chosen than the gold one\n'
    assert run.notes() == f'Standard errors and reasons (samples):\n{pairs}{meaning}'
    assert [[row[0], *row[2:]] for row in run.table()] == [
        ['dataset', 'metric', 'mode', 'm1', 'm2'],
        ['d1', 'review_quality', 'gen', '50.00', '50.00'],
        ['d2', 'review_quality', 'gen', '50.00', '12.50'],
    ]
    printed = capsys.readouterr().out
    assert run.notes() in printed and 'hidden-detail' not in printed


@pytest.mark.parametrize(
    ('model', 'judge', 'warns'), [('X', 'ReplayModel', True), ('X', 'Y', False), ('OracleModel', 'ReplayModel', False)]
)
def test_replayed_judgements_are_of_no_model_under_test(
    run: Run, capsys: pytest.CaptureFixture[str], model: str, judge: str, warns: bool
) -> None:
    summarizer = run.fill().summarizer()
    for cfg in summarizer.model_cfgs:
        cfg['type'] = model
    summarizer.dataset_cfgs[0]['eval_cfg'] = {'evaluator': {'type': 'x', 'judge_cfg': {'type': judge}}}
    summarizer.summarize(time_str=TIME)
    assert ('WARNING judgements are replayed' in capsys.readouterr().out) == warns


def test_what_no_row_names_is_a_row_of_the_table(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """A data set whose abbr was changed, or mistyped in ``dataset_abbrs``."""
    run.fill().summarizer(dataset_abbrs=['d1', 'dd2']).summarize(time_str=TIME)
    assert [row[0] for row in run.table()] == ['dataset', 'd1', 'd2']
    printed = capsys.readouterr().out
    assert '\nd2 ' in printed and 'NOTE' not in printed


def test_the_encoder_is_the_first_note(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """However many others there are: with it, no score compares with the leaderboard."""
    about = {'encoder': 'other', 'language': 'EN'}
    run.models, run.datasets = ('m1',), tuple(f'd{number}' for number in range(9))
    for number, dataset in enumerate(run.datasets):
        run.write('m1', dataset, result(samples={'all': 200, 'infra': 100 + number}, provenance=about))
    run.summarize()
    notes = [line for line in capsys.readouterr().out.splitlines() if line.startswith(('NOTE', 'WARNING'))]
    assert notes[0] == 'NOTE d0, d1 and 7 more: not comparable with published scores: another sentence encoder: other'
    assert all('samples have no answer' in note for note in notes[1:]) and len(notes) == 4


@pytest.mark.parametrize('what', ['models', 'datasets'])
def test_nothing_selected_is_no_success(tmp_path: Path, what: str) -> None:
    with pytest.raises(SystemExit, match=f"'{what}' of the config is empty: a filter may match nothing"):
        Run(tmp_path, **{what: ()}).summarize()


def test_missing_ends_with_1_after_the_tables(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run.fill().remove(('m2', 'd1'))
    run.write('m2', 'd1', {'0': {}}, stage='predictions')
    run.write('m1', 'd2', {'error': 'evaluation failed'})
    log = run.log('eval', 'm2', 'd1')
    run.summarize(ends_with=1)
    assert f'MISSING m2 x d1: no result; see {log}\n' in run.notes() and 'MISSING m1 x d2' in run.notes()
    assert run.notes().count('MISSING') == 2
    assert [row[-2:] for row in run.table()] == [['m1', 'm2'], ['50.00', '-'], ['-', '50.00']]
    assert f'MISSING m2 x d1: no result; see {log}' in capsys.readouterr().out
    assert sorted(file.suffix for file in (run.folder / 'summary').iterdir()) == ['.csv', '.md', '.txt', '.txt']


def test_log_of_a_task_of_several_data_sets(run: Run) -> None:
    run.log('infer', 'm1', 'a', 'speaks of others')
    run.log('eval', 'm1', 'd2')  # without predictions, nothing was evaluated
    log = run.log('infer', 'm1', 'd1', 'starting [m1/d1, m1/d2]')
    run.summarize(ends_with=1)
    never = f'{run.folder / "logs" / "infer" / "m2"} (no log: the task never started)'
    logs = {'m1': log, 'm2': never}
    assert [line for line in run.notes().splitlines() if line.startswith('MISSING')] == [
        f'MISSING {model} x {dataset}: no result; see {logs[model]}' for model in run.models for dataset in run.datasets
    ]


@pytest.mark.parametrize(('infra', 'samples', 'warned'), [(0, 200, 0), (1, 200, 0), (1, 199, 1), (200, 200, 1)])
def test_infra_warning(run: Run, infra: int, samples: int, warned: int) -> None:
    run.fill().write('m1', 'd1', result(samples={'all': samples, 'infra': infra}))
    run.summarize()
    fix = 'Fix it with: tooleval retry RUN'
    message = f'samples have no answer, through no fault of the model; they count as wrong. {fix}\n'
    assert (
        run.notes().count(f'WARNING m1 / d1: {infra} of {samples} {message}') == run.notes().count('WARNING') == warned
    )


SIZE = 'the published number of records is unknown'
RECORDED = 'calls are answered from recordings; the papers used live tools'
SMALL = {'simulator': 'small', 'simulator_prompt': 'tooleval', 'simulated_by': 'small, prompt tooleval'}
BY_SMALL = 'responses that were not recorded are simulated by small, prompt tooleval'
PAPERS = 'the papers used ChatGPT and GPT-4 of their time'


BY_A = {'judge': 'a', 'judge_hash': 'x'}
SIMULATORS = 'simulator differs: small (m1); none (m2)', 'simulator prompt differs: tooleval (m1); none (m2)'
OF_A, OF_B = (f'judged by {judge}; {PAPERS}' for judge in 'ab')


@pytest.mark.parametrize(
    ('first', 'second', 'differs', 'told'),
    [
        ({}, {}, [], [RECORDED]),
        (SMALL, SMALL, [], [RECORDED, BY_SMALL]),
        (SMALL, {}, SIMULATORS, [RECORDED, BY_SMALL]),
        (BY_A, {**BY_A, 'judge': 'b'}, ['judge differs: a (m1); b (m2)'], [OF_A, OF_B, RECORDED]),
    ],
)
def test_what_answered_agents_is_told(
    run: Run, first: dict[str, str], second: dict[str, str], differs: list[str], told: list[str]
) -> None:
    run.fill()
    for model, provenance in (('m1', first), ('m2', second)):
        run.write(model, 'd1', result(provenance={'benchmark': 'agents', 'loop': 'react', **provenance}))
    run.summarize()
    assert [line for line in run.notes().splitlines() if line.startswith(('WARNING', 'NOTE'))] == [
        *(f'WARNING d1: not comparable, since {text}' for text in differs),
        *(f'NOTE d1: not comparable with published scores: {text}' for text in (SIZE, *told)),
    ]


def counted(unanswered: int, calls: int = 100) -> dict[str, dict[str, int]]:
    return {'sources': {'exact': calls - 40, 'error': 40}, 'errors': {'unknown_tool': 20, 'unanswered': unanswered}}


@pytest.mark.parametrize(
    ('breakdown', 'is_told'),
    [
        (counted(11), True),
        (counted(10), False),
        ([counted(5, 50), counted(6, 50)], True),
        ([counted(5, 50), counted(5, 50)], False),
    ],
)
def test_calls_that_nothing_answers_are_told(run: Run, breakdown: Any, is_told: bool) -> None:
    run.fill().write('m1', 'd1', result(provenance={'benchmark': 'agents'}, breakdown=breakdown))
    run.summarize()
    told = 'NOTE m1 / d1: 11 of 100 calls had no recorded response'
    line = f'{told}. Fix it with: take a larger bank, or configure a simulator'
    assert (line in run.notes().splitlines()) is is_told
    assert run.notes().count('NOTE') == 2 + is_told, 'agents are answered from recordings, and their size is unknown'


def test_several_runs_and_many_reasons(run: Run) -> None:
    reasons = {f'x:{i}': 10 - i for i in range(8)}
    several: dict[str, Any] = {'standard_errors': {'review_quality': 2.0}, 'runs': [{'review_quality': 1.0}] * 3}
    run.fill().write('m1', 'd1', result(**several, reasons=reasons, other=None))
    run.summarize()
    shown = ', '.join(f'x:{i} {10 - i}' for i in range(6))
    assert f'  m1 / d1: review_quality ±2.00 (3 runs) | {shown}\n' in run.notes()
    assert [row[2] for row in run.table()] == ['metric', 'review_quality', 'review_quality'], 'no unmeasured metric'


def test_several_trials_are_listed(run: Run) -> None:
    row = {'value': 50.0, 'standard_error': 1.234, 'records': 50}
    names = ('avg@4', 'pass@1', 'pass@2', 'pass@4', 'pass^1', 'pass^2', 'pass^4')
    metrics = {'review_quality': dict.fromkeys(names, row), 'thought': {'avg@4': {**row, 'standard_error': None}}}
    trials = {'n': 4, 'success': [], 'same_answers': 50, 'metrics': metrics}
    run.fill().write('m1', 'd1', result(trials=trials))
    run.write('m2', 'd1', result(trials={**trials, 'same_answers': 49}))
    run.summarize()
    notes = run.notes()
    several = ', '.join(f'{name} 50.00 ±1.23' for name in names if not name.endswith('1'))
    assert f'  m1 / d1: review_quality {several}\n  m1 / d1: thought avg@4 50.00\n  m2 / d1: review_' in notes
    run.write('m1', 'd2', result(trials=trials))
    run.summarize()
    same = 'NOTE m1: all 4 trials of every record have the same answer (greedy, or a seed?), so that they say no more '
    assert f'{same}than one: d1, d2\n' in run.notes() and run.notes().count('have the same answer') == 1


def test_columns_of_tables_have_errors(tmp_path: Path) -> None:
    run = Run(tmp_path, datasets=PLANS)
    for model, errors in (('m1', (3.0, 4.0)), ('m2', (5.0, None))):
        for dataset, error in zip(PLANS, errors, strict=True):
            run.write(model, dataset, result(f1_score=50.0, standard_errors={'f1_score': error}))
    run.summarize(TEVAL_V2)
    assert '  m1 / tooleval-teval_v2: plan_json ±3.00, plan_str ±4.00, plan ±2.50\n' in run.notes()
    assert '  m2 / tooleval-teval_v2: plan_json ±5.00\n' in run.notes()


def test_a_metric_that_only_one_model_has_is_a_dash_of_the_other(run: Run) -> None:
    run.fill().write('m2', 'd1', {**result(), 'win_rate_half_ties': 56.25})
    run.summarize()
    rows = [('d1', 'review_quality', '50.00', '50.00'), ('d1', 'win_rate_half_ties', '-', '56.25')]
    assert [(row[0], row[2], *row[4:]) for row in run.table()[1:3]] == rows


def test_column_that_one_model_lacks_is_a_dash(tmp_path: Path) -> None:
    run = Run(tmp_path, datasets=PLANS).fill(f1_score=50.0)
    run.remove(('m2', PLANS[1]))
    run.summarize(TEVAL_V2, [['tooleval-teval_v2', name] for name in ('plan_json', 'plan')], ends_with=1)
    assert [row[-2:] for row in run.table()] == [['m1', 'm2'], ['50.00', '50.00'], ['50.00', '-']]
    assert 'MISSING m2 x tooleval-teval-plan_str_v2' in run.notes()


def test_a_table_says_why_it_has_no_main_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """UltraTool without a judge: the awareness and the usage of tools are there, plans and created tools are not."""
    names = [
        f'tooleval-ultratool-{task}_zh' for task in ('tool_usage_awareness', 'tool_usage', 'planning', 'tool_creation')
    ]
    run = Run(tmp_path, models=('m1',), datasets=(*names,))
    run.write('m1', names[0], result(global_accuracy=40.0, local_accuracy=60.0))
    run.write('m1', names[1], result(local_levenshtein=86.62))
    run.summarize(tooleval_ultratool_summary_groups, tooleval_ultratool_rows, ends_with=1)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines.index(['ultratool_zh', 'overall', '-']) < lines.index(['ultratool_zh', 'usage', '86.62'])
    why = "NOTE ultratool_zh: 'overall' needs all 6 data sets; missing: ultratool-planning_zh, "
    assert f'{why}ultratool-tool_creation_awareness_zh and 2 more\n' in run.notes()
    assert 'MISSING m1 x tooleval-ultratool-planning_zh' in run.notes()


def test_agents_without_a_judge_are_not_called_solved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    datasets = ('tooleval-toolbench_g2-agent-react', 'tooleval-teval-agent-fc', 'tooleval-toolbench_g1-agent-react')
    run = Run(tmp_path, models=('m1',), datasets=datasets)
    scores = {'finish_rate': 99.0, 'call_f1': 100.0, 'reasons': {'ok': 9}}
    run.write('m1', datasets[0], scores)
    run.write('m1', datasets[1], {**scores, 'all_calls_right': 23.51})
    run.write('m1', datasets[2], {**scores, 'win_rate': 30.0})
    run.summarize()
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    at = lines.index(['toolbench_g2-agent-react', 'solved_rate', '-'])
    assert lines[at + 1] == ['toolbench_g2-agent-react', 'call_f1', '100.00']
    assert ['teval-agent-fc', 'all_calls_right', '23.51'] in lines
    assert ['toolbench_g1-agent-react', 'win_rate', '30.00'] in lines
    assert next(line[2] for line in run.table() if line[0] == datasets[1]) == 'all_calls_right'
    why = 'NOTE no judge was asked whether tasks are solved (the config tooleval_toolbench_agent_judged_gen asks one): '
    assert f'{why}toolbench_g2-agent-react\n' in run.notes()


def test_a_part_of_the_records_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    usage, review = 'tooleval-ultratool-tool_usage_zh', 'tooleval-teval-review_str_v2'
    run = Run(tmp_path, datasets=(usage, review))
    of_usage: dict[str, Any] = {
        'provenance': {'benchmark': 'ultratool', 'subset': 'tool_usage'},
        'local_levenshtein': 0.0,
    }
    run.write('m1', usage, result(**of_usage, samples={'all': 8, 'infra': 0, 'of': 1000}))
    run.write('m2', usage, result(**of_usage, samples={'all': 1000, 'infra': 0}))
    for model, count in (('m1', 9), ('m2', 12)):  # nobody published how many there are of v2
        about: dict[str, Any] = {'provenance': {'benchmark': 'teval', 'subset': 'review_str', 'data_version': 'v2'}}
        run.write(model, review, result(**about, samples={'all': count, 'infra': 0, 'of': 12}))
    run.summarize(tooleval_ultratool_summary_groups, tooleval_ultratool_rows)
    printed = capsys.readouterr().out
    lines = [line.split() for line in printed.splitlines()]
    assert ['ultratool_zh', 'usage', '0.00*', '0.00'] in lines and '\n* not all records were asked\n' in printed
    assert ['teval-review_str_v2', 'review_quality', '50.00*', '50.00'] in lines, 'no row of the config names it'
    for name, share in (('ultratool-tool_usage_zh', '8 of 1,000'), ('teval-review_str_v2', '9 of 12')):
        fix = 'Fix it with: run it without sample, limit and test_range'
        text = f'not comparable with published scores: records: {share}, not a sample. {fix}'
        assert f'NOTE {name}: {text}\n' in run.notes()
    assert {row[3] for row in run.table()[1:]} == {'gen *'}


def test_data_sets_that_no_row_names_are_shown(tmp_path: Path) -> None:
    usage, built = 'tooleval-ultratool-tool_usage_zh', 'tooleval-ultratool-tool_selection_32_zh'
    run = Run(tmp_path, models=('m1',), datasets=(usage, built))
    run.write('m1', usage, result(local_levenshtein=86.62))
    run.write('m1', built, {'json_rate': 99.0, 'global_accuracy': 40.0, 'local_accuracy': 60.0, 'reasons': {}})
    run.summarize(tooleval_ultratool_summary_groups, tooleval_ultratool_rows)
    rows = [('tooleval-ultratool_zh', 'usage'), *((built, f'{one}') for one in ('global_accuracy', 'json_rate'))]
    assert [(row[0], row[2]) for row in run.table()[1:]] == [*rows, (built, 'local_accuracy')]


def test_results_of_other_evaluators(run: Run) -> None:
    for model in run.models:
        for dataset in run.datasets:
            run.write(model, dataset, {'accuracy': 1.0})
    run.summarize()
    assert not (run.folder / 'summary' / f'summary_{TIME}_notes.txt').exists()
    assert [row[-1] for row in run.table()] == ['m2', '1.00', '1.00']


def test_output_path(run: Run, tmp_path: Path) -> None:
    run.fill().summarizer().summarize(str(tmp_path / 'mine' / 'table.txt'), TIME)
    files = sorted(file.name for file in (tmp_path / 'mine').iterdir())
    assert files == ['table.csv', 'table.md', 'table.txt', 'table_notes.txt']


@pytest.mark.parametrize(
    ('cut', 'limit', 'longest', 'shown'),
    [
        (7, None, 0, '7 answers were cut'),
        (7, 16384, 0, '7 answers were cut at 16,384 tokens'),
        (7, 16384, 120, '7 answers were cut. The server stopped them at about 120 tokens, before your limit of 16,384'),
        (0, 16384, 0, ''),
    ],
)
def test_cut_answers_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cut: int | None, limit: int | None, longest: int, shown: str
) -> None:
    """The file of notes and the last screen say the same."""
    samples = {'all': 200, 'infra': 0} | ({} if cut is None else {'cut': cut})
    about = {} if limit is None else {'max_out_len': limit}
    run = Run(tmp_path, datasets=('d1',)).fill(samples=samples, provenance=about, endings={'cut_tokens': longest})
    run.summarize()
    assert f'm1 / d1: review_quality ±2.35 | ok 190, review:wrong 10{shown and f" | {shown}"}\n' in run.notes()
    expected = f'WARNING m1, m2: {shown.replace("7", "7 of 200", 1)} (d1)' if shown else 'm1 / d1'
    assert expected in run.notes() and (not shown or expected in capsys.readouterr().out)
    assert run.notes().count('WARNING') == bool(shown)


def test_answers_that_a_server_cut_are_not_told_as_cut_at_our_limit(tmp_path: Path) -> None:
    """Each data set's longest cut answer is compared with the limit of that data set, not with the smallest."""
    run, samples = Run(tmp_path, models=('m1',), datasets=('d1', 'd2', 'd3')), {'all': 200, 'infra': 0, 'cut': 7}
    for dataset, limit, longest in (('d1', 512, 500), ('d2', 16384, 600), ('d3', 4096, 590)):
        more: dict[str, Any] = {'provenance': {'max_out_len': limit}, 'endings': {'cut_tokens': longest}}
        run.write('m1', dataset, result(samples=samples, **more))
    run.summarize()
    assert 'm1: 7 of 600 answers were cut at 512 tokens (d1). Fix it with: raise `max_out_len`' in run.notes()
    stopped = (
        'The server stopped them at about 600 tokens, before your limit of 4,096 or 16,384 (d2, d3). '
        'Fix it with: check its own limit'
    )
    assert f'm1: 14 of 600 answers were cut. {stopped}' in run.notes()


def test_the_end_is_one_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(tmp_path, models=('m1', 'a-model-with-a-very-long-name'), datasets=tuple(f'd{i}' for i in range(30)))
    run.fill(other=1.0).summarize()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 25 and not any('|' in line for line in lines)
    rows = [line.split() for line in lines if line.startswith('d')]
    assert len(rows) == 12 and all(row[1:] == ['review_quality', '50.00', '50.00'] for row in rows)
    assert '(18 more tables in the files below)' in lines
    files = [Path(line.strip()) for line in lines if line.startswith('  /')]
    assert len(files) == 2 and all(file.is_file() for file in files)
    assert f'      tooleval report {tmp_path} -o report' in lines


def test_the_command_that_an_error_names_fixes_it(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run.fill().remove(('m1', 'd1'), ('m1', 'd2'))
    failed = '11/21 12:17:33 - OpenCompass - ERROR - FAILED '
    lost = f'{failed}d2: InfraFailureError: 1 of 4 samples have no answer\n'
    data = f'{failed}d1: DataError: x.json: not found. Fix it with: tooleval prepare teval\n'
    run.log('infer', 'm1', 'd1', data + lost)
    run.summarize(ends_with=1)
    out = capsys.readouterr().out
    assert 'd1: x.json: not found.\n  fix: tooleval prepare teval\n' in out
    assert f'  fix: tooleval retry {run.folder}\n' in out


def test_many_models_are_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(tmp_path, models=tuple(f'{i}-model-of-a-long-name' for i in range(15))).fill()
    run.summarize()
    lines = capsys.readouterr().out.splitlines()
    assert sum('-model-of-a-long-name' in line and '50.00' in line for line in lines) == 12
    assert '(3 more models in the files below)' in lines
    assert all(len(line) <= 80 for line in lines if str(tmp_path) not in line)
