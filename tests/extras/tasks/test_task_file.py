"""A file of tasks: every scalar is text, and what is damaged, hostile or untrusted is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.tasks import task_file
from opencompass_tooleval.extras.tasks.task_file import REPORT_MARKER, load_tasks
from opencompass_tooleval.report.build import MARKER
from opencompass_tooleval.work_dir.trust import UntrustedError
from tests.extras.tasks.shop import SERVER, TASKS, write_shop


def test_every_scalar_is_text(tmp_path: Path) -> None:
    tasks = """
tasks:
  - id: no
    request: no
    result: {type: text, value: 4:00}
    effects:
      - {table: orders, where: {id: 007}, set: {status: no, price: 1_000}}
    solution:
      - change: {sql: ~}
      - find
"""
    (task,) = load_tasks(write_shop(tmp_path, tasks)).tasks
    assert (task.id, task.request, task.results) == ('no', 'no', ('4:00',))
    assert task.effects == ({'table': 'orders', 'where': {'id': '007'}, 'set': {'status': 'no', 'price': '1_000'}},)
    assert task.solutions == ((('change', {'sql': '~'}), ('find', {})),)


@pytest.mark.parametrize(
    ('result', 'form', 'results'),
    [
        ('{type: number, value: 3}', 'number', ('3',)),
        ('{type: text, value: [Okafor, Ms. Okafor]}', 'text', ('Okafor', 'Ms. Okafor')),
        ('{type: set, value: [a, b]}', 'set', ('["a", "b"]',)),
        ('{type: set, any_of: [[a, b], [a]]}', 'set', ('["a", "b"]', '["a"]')),
        ('{type: pairs, value: {Lind: 1}}', 'pairs', ('{"Lind": "1"}',)),
    ],
)
def test_results(tmp_path: Path, result: str, form: str, results: tuple[str, ...]) -> None:
    (task,) = load_tasks(write_shop(tmp_path, f'tasks:\n  - {{id: a, request: b, result: {result}}}\n')).tasks
    assert (task.form, task.results) == (form, results)


@pytest.mark.parametrize(
    ('tasks', 'says'),
    [
        ('tasks: [&a {id: x, request: y}, *a]', 'anchors are not supported'),
        ('tasks: [!!python/object:os.system {id: x}]', 'tags are not supported'),
        ('tasks: [{id: x, id: y}]', 'more than once'),
        (f'tasks: {"[" * 200}', 'nested too deeply'),
        ('tasks: 3', 'not a list'),
        ('extra: 3', "has no 'extra'"),
        ('tasks: [{id: x, request: y, needs: z}]', 'needs of a task is not a list of names'),
        ('tasks: [{id: "../x", request: y}]', 'its id is not made of'),
        ('tasks: [{id: x, request: ""}]', 'its request is empty'),
        ('tasks: [{id: x, request: y}, {id: x, request: y}]', "'task x': two tasks have this id"),
        ('tasks: [{id: x, request: y, result: {type: numbr, value: 3}}]', "the type 'numbr'; there are number, text"),
        ('tasks: [{id: x, request: y, result: {type: number, value: many}}]', "'many' cannot be read as number"),
        ('tasks: [{id: x, request: y, asks: maybe}]', 'neither true nor false'),
        ('tasks: [{id: x, request: y, effects: [{row: 3}]}]', "an effect has no 'row'"),
        ('tasks: [{id: x, request: y, solution: [{a: {}, b: {}}]}]', 'a call of its solution is a tool'),
        ('tasks: [{id: x, request: y, solution: [{a: "[1]"}]}]', 'are not an object'),
        ('tasks: [{id: x, request: y, effects: [{where: 42}]}]', 'where of an effect is not an object'),
        ('tasks: [{id: x, request: y, effects: [{text: {a: b}}]}]', 'text of an effect is not a list or a text'),
        ('url: http://127.0.0.1:1/mcp', 'one of server, url and module'),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, tasks: str, says: str) -> None:
    file = write_shop(tmp_path, tasks, trusted=False)
    with pytest.raises(DataError, match=says.replace('[', '\\[')) as caught:
        load_tasks(file)
    assert str(file) in str(caught.value) and '\n' not in str(caught.value)


@pytest.mark.parametrize(
    ('head', 'says'),
    [
        ('server: x\nfixture: /etc', 'not a path in the folder'),
        ('server: x\nfixture: a/../../b', 'not a path in the folder'),
        ('server: x\nfixture: link', 'not a path in the folder'),
        ('server: x\nfixture: nowhere', 'there is no nowhere'),
        ('module: ../x.py', 'not a path in the folder'),
        ('url: file:///etc/passwd', 'http://'),
        ('url: http://127.0.0.1:1/mcp\nfixture: here', 'has no fixture'),
        (f'server: {"x" * 5000}', 'more than 4,000 characters'),
        ('server: x\nenv: {A: [1]}', 'A of env is not a text'),
        ('server: python "a.py', 'server cannot be parsed .No closing quotation.: python "a.py'),
    ],
)
def test_paths_and_servers_are_checked(tmp_path: Path, head: str, says: str) -> None:
    (tmp_path / 'link').symlink_to('/home')
    (tmp_path / 'here').mkdir()
    file = tmp_path / 'tasks.yaml'
    file.write_text(f'{head}\ntasks: []\n')
    with pytest.raises(DataError, match=says) as caught:
        load_tasks(file)
    assert 'tooleval tasks init' not in str(caught.value), 'there is a file'


def test_who_edits_requests_is_trusted_and_who_changes_what_is_executed_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('KEY', 'secret-value')
    head = 'env: {X: $KEY}'
    file = write_shop(tmp_path, head=head)
    load_tasks(file).trustee.check()
    edited = TASKS.replace('came back damaged', 'came back').replace('value: 3', 'value: 4')
    write_shop(tmp_path, edited, head, trusted=False)
    load_tasks(file).trustee.check()
    for change in (
        lambda: write_shop(tmp_path, TASKS.replace('WHERE id=42', ''), head, trusted=False),
        lambda: write_shop(tmp_path, TASKS, 'env: {X: $HOME}', trusted=False),
        lambda: write_shop(tmp_path, TASKS, head, f'{SERVER} keeps /x', trusted=False),
        lambda: (tmp_path / 'shop' / 'terms.txt').write_text('other'),
    ):
        change()
        with pytest.raises(UntrustedError) as caught:
            load_tasks(file).trustee.check()
        shown = str(caught.value)
        assert 'shop_server.py' in shown and 'secret-value' not in shown
    assert '4 calls of solutions: change, find, add_note' in shown


@pytest.mark.parametrize('head', ['server: python tools.py', 'module: tools.py', 'server: sh run.sh --rc=conf.sh'])
def test_every_file_of_the_folder_counts(tmp_path: Path, head: str) -> None:
    """A server may import or source any of them: ``typing_extensions.py`` beside it hides the installed one."""
    (tmp_path / 'parts').mkdir()
    files = [tmp_path / name for name in ('tools.py', 'run.sh', 'conf.sh', 'parts/tax.py', 'data')]
    for path in files:
        path.write_text('text')
    (tmp_path.parent / 'elsewhere').mkdir(exist_ok=True)
    (tmp_path.parent / 'elsewhere' / 'lib.py').write_text('text')
    (tmp_path / 'link.py').symlink_to(tmp_path.parent / 'elsewhere' / 'lib.py')
    (tmp_path / 'linked').symlink_to(tmp_path.parent / 'elsewhere')
    (tmp_path / 'loop').symlink_to(tmp_path)
    file = tmp_path / 'sums.yaml'
    file.write_text(f'{head}\ntasks: []\n')
    found = load_tasks(file)
    first = f'code: {tmp_path / "tools.py"}' if 'module' in head else f'command: {head.removeprefix("server: ")}'
    assert found.name == 'sums' and first in found.trustee.shows
    shown = '7 files of its folder: conf.sh, data, link.py, run.sh, tools.py, linked/lib.py, parts/tax.py'
    assert shown in found.trustee.shows and 'not covered: installed packages' in found.trustee.lines
    found.trustee.trust()
    for path in (*files, tmp_path.parent / 'elsewhere' / 'lib.py'):
        before = path.read_text()
        path.write_text('other')
        assert not load_tasks(file).trustee.is_trusted, path
        path.write_text(before)
    for name in ('typing_extensions.py', 'parts/new.so', 'new/__init__.py', 'tools.pyc'):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('')
        assert not load_tasks(file).trustee.is_trusted, name
        (tmp_path / name).unlink()
    assert load_tasks(file).trustee.is_trusted


def test_what_this_package_writes_beside_a_file_keeps_its_trust(tmp_path: Path) -> None:
    file, run, report = tmp_path / 'sums.yaml', tmp_path / 'outputs' / 'sums' / '20261128_120000', tmp_path / 'report'
    (tmp_path / 'tools.py').write_text('')
    file.write_text('module: tools.py\ntasks: []\n')
    load_tasks(file).trustee.trust()
    written = [
        'config.py',
        'configs/20261128_120000_1.py',
        'logs/infer/m/d.out',
        'predictions/m/d.json',
        'results/d.json',
    ]
    for path in (*(run / name for name in written), *(report / name for name in (REPORT_MARKER, 'index.html', 'a.js'))):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('')
    (tmp_path / '.git').mkdir()
    (tmp_path / '.git' / 'HEAD').write_text('')
    assert load_tasks(file).trustee.is_trusted and REPORT_MARKER == MARKER
    for code in (run / 'typing_extensions.py', run / 'logs' / 'a.so', report / 'json.py', report / 'run'):
        code.write_text('')
        assert not load_tasks(file).trustee.is_trusted, code
        code.unlink()
    for server in ('node report/a.js', 'node server.js', f'python {report}/start.py'):
        file.write_text(f'server: {server}\ntasks: []\n')
        load_tasks(file).trustee.trust()
        (report / 'a.js').write_text(server)
        assert not load_tasks(file).trustee.is_trusted, server


def test_a_folder_with_too_many_files_is_refused_by_name_and_patterns_choose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_file, 'MAX_FILES', 20)
    for number in range(30):
        path = tmp_path / ('node_modules' if number % 3 else 'src') / f'{number}.js'
        path.parent.mkdir(exist_ok=True)
        path.write_text('')
    file = tmp_path / 'sums.yaml'
    file.write_text('server: node src/0.js\ntasks: []\n')
    with pytest.raises(ValueError, match=r'more than 20 files or 64 MB, most in node_modules: .*covers'):
        _ = load_tasks(file).trustee
    file.write_text("server: node src/0.js\ncovers: ['src/*']\ntasks: []\n")
    trustee = load_tasks(file).trustee
    assert '10 files of its folder (src/* alone): src/0.js' in trustee.lines
    trustee.trust()
    (tmp_path / 'node_modules' / '1.js').write_text('other')
    assert load_tasks(file).trustee.is_trusted
    (tmp_path / 'src' / '3.js').write_text('other')
    assert not load_tasks(file).trustee.is_trusted
