"""Results on own tasks are private: a report over several work directories leaves them out."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Command
from tests.report.support import add, detail, plain_run, result_of, write


def test_own_tools_stay_out_of_a_report_over_several_work_directories(tooleval: Command, tmp_path: Path) -> None:
    runs = [plain_run(tmp_path / 'a' / '20260101_120000'), tmp_path / 'b' / '20260201_120000']
    own = {'benchmark': 'tasks', 'subset': 'office'}
    add(runs[1], 'better', 'tooleval-tasks_office', result_of([detail('t1')], provenance=own))
    for name in ('tooleval-tasks_office', 'tooleval-tasks_home'):
        write(runs[1], 'predictions', 'worse', name, {})
    words = 'results on your own tools are left out (1); --include-private shows them\n'
    for arguments, is_shown in (((runs[1],), True), (runs, False), ((*runs, '--include-private'), True)):
        done = tooleval('report', *arguments, '-o', 'pages')
        assert done.code == 0 and (words in done.out) is not is_shown, done.out
        text = ''.join(file.read_text() for file in Path('pages').rglob('*.*') if file.name != 'plotly.js')
        assert ('tasks_office' in text) is is_shown and ('tasks_home' in text) is is_shown
