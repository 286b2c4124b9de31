"""Make the pages of the documentation site that say what the code already says: data sets, commands, reason codes.

    python tools/docs_reference.py DIR      writes them below DIR, to look at
    python tools/docs_reference.py          writes the tables of options in docs/reference/models.md

mkdocs runs this file as a hook (`hooks` of mkdocs.yml), so that no generated page is committed, but for the tables of
options, which messages name. CHANGELOG.md, CONTRIBUTING.md and SECURITY.md become pages here too.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import Any

import typer

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the package of this checkout, installed or not

from opencompass_tooleval import plugin  # noqa: E402
from opencompass_tooleval.catalogue.benchmark import Benchmark, all_benchmarks, find_benchmark  # noqa: E402
from opencompass_tooleval.catalogue.labels import FAULTS, REASONS, SOURCES, Words  # noqa: E402
from opencompass_tooleval.catalogue.metrics import main_metrics, words_of_metric  # noqa: E402
from opencompass_tooleval.cli.listing import dataset_configs  # noqa: E402
from opencompass_tooleval.cli.main import app  # noqa: E402
from opencompass_tooleval.core.keywords import Keyword, initializers, keywords_of  # noqa: E402
from opencompass_tooleval.findings.finding import kinds  # noqa: E402

CONFIGS = ROOT / 'opencompass_tooleval' / 'configs'
ROLE = re.compile(r':(?:class|func|mod|data|meth|attr):(?=<)')
AREAS = {
    'ok': 'Nothing is lost',
    'answer': 'The answer as a whole',
    'call': 'Native calls',
    'parse': 'Answers that cannot be read',
    'format': 'Formats',
    'name': 'Names of tools and APIs',
    'tool': 'Tools',
    'id': 'Choices by number',
    'args': 'Arguments',
    'thought': 'Thoughts',
    'plan': 'Plans',
    'review': 'Reviews',
    'step': 'Steps',
    'awareness': 'Awareness of tools',
    'finish': 'How a run ends',
    'limit': 'Limits of a run',
    'loop': 'Loops',
    'calls': 'Calls of agents against gold calls',
    'goal': 'Goals of tasks on your own tools',
    'retrieval': 'Retrieval',
    'judge': 'Judges',
    'gold': 'Gold answers',
    'infra': 'Requests that failed',
    'serving': 'Faults of servers, beside the reason of a sample',
}
"""Area of a reason code -> heading; in the order of the page."""


def cell(text: object) -> str:
    """A text as a cell of a table."""
    return ' '.join(str(text).split()).replace('|', '\\|').replace('<', '&lt;')


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table in Markdown."""
    names = list(head)
    lines = [names, ['---'] * len(names), *rows]
    return '\n'.join(f'| {" | ".join(map(cell, line))} |' for line in lines) + '\n'


def code(values: Iterable[object]) -> str:
    """Values as code, with commas."""
    return ', '.join(f'`{value}`' for value in values)


# --- data sets --------------------------------------------------------------------------------------------------------


def literal_of(benchmark: Benchmark, name: str) -> Any:
    """``VERSION`` or ``SUBSETS`` of a benchmark: in its ``tables.py``, or else in its package and ``subsets.py``."""
    module = plugin.BENCHMARKS[benchmark.name].partition(':')[0]
    room, _, file = module.rpartition('.')
    if file != 'tables':
        module = f'{room}.subsets' if name == 'SUBSETS' else room
    return getattr(plugin.load(module), name)


def datasets_of(benchmark: Benchmark) -> str:
    """One benchmark: its subsets, files, configs and metrics."""
    known = {metric.name: metric for metric in benchmark.metrics}
    rows = list(literal_of(benchmark, 'SUBSETS'))
    used = dict.fromkeys(name for row in rows for name in row['metrics'])
    parts = [
        f'## {benchmark.title}\n',
        f'Paper: {benchmark.paper}. VERSION {literal_of(benchmark, "VERSION")}. '
        f'Method and metrics: [{benchmark.title}](../explanation/{benchmark.name}.md). '
        f'Files: `{benchmark.prepare}`.\n',
        table(
            ('subset', 'what is measured (the main score)', 'metrics, in the order of results'),
            (
                (
                    f'`{row["name"]}`',
                    '; '.join(f'{words.name}: {words.sentence}' for words in map(words_of_metric, main)),
                    code(row['metrics']),
                )
                for row in rows
                for main in (main_metrics(row['metrics']),)
            ),
        ),
        f'### Metrics of {benchmark.title}\n',
        table(
            ('metric', 'label', 'definition', 'better', 'per sample'),
            (
                (
                    f'`{name}`',
                    known[name].label,
                    known[name].sentence,
                    'higher' if known[name].higher_is_better else 'lower',
                    '0 or 1' if known[name].binary else 'graded',
                )
                for name in (*used, *(name for name in known if name not in used))
                if name in known
            ),
        ),
        f'### Data files of {benchmark.title}\n',
        'Places are below `$COMPASS_DATA_CACHE`, or the working directory.\n',
        table(
            ('files', 'place', 'published'),
            (
                (
                    files.name,
                    code(files.paths),
                    ', '.join(f'{count} {what}' for what, count in files.published.items()) or '-',
                )
                for files in benchmark.data.files
            ),
        ),
        f'### Configs of {benchmark.title}\n',
        '`opencompass --datasets` takes `FILE` or `FILE/VARIABLE`.\n',
        table(
            ('file', 'variables'),
            ((f'`{name}`', code(variables)) for name, variables in dataset_configs(benchmark).items()),
        ),
    ]
    return '\n'.join(parts)


def datasets_page() -> str:
    """Every data set."""
    intro = '# Data sets\n\nThis page is generated from the tables of the benchmarks.\n\n' + table(
        ('benchmark', 'on the command line', 'paper', 'VERSION', 'subsets'),
        (
            (
                f'[{benchmark.title}](#{benchmark.title.lower()})',
                f'`{benchmark.name}`',
                benchmark.paper,
                literal_of(benchmark, 'VERSION'),
                len(benchmark.subsets),
            )
            for benchmark in all_benchmarks()
        ),
    )
    return '\n'.join([intro, *(datasets_of(find_benchmark(benchmark.name)) for benchmark in all_benchmarks())])


# --- configs ----------------------------------------------------------------------------------------------------------


def comment_of(config: Path) -> str:
    """The comment at the head of a config, as one paragraph; commands in it as code."""
    lines = []
    for line in config.read_text(encoding='utf-8').splitlines():
        if not line.startswith('#'):
            break
        lines.append(line.removeprefix('#').removeprefix(' '))
    prose = ' '.join(line for line in lines if not line.startswith('  '))
    commands = '\n'.join(line.strip() for line in lines if line.startswith('  '))
    return prose + (f'\n\n```text\n{commands}\n```' if commands else '')


def variables_of(config: Path) -> list[str]:
    """Names that a config defines."""
    nodes = (node for node in ast.parse(config.read_text(encoding='utf-8')).body if isinstance(node, ast.Assign))
    names = (target.id for node in nodes for target in node.targets if isinstance(target, ast.Name))
    return [name for name in names if not name.startswith('_')]


def configs_page() -> str:
    """Every config, with the comment at its head."""
    parts = [
        '# Configs\n',
        'This page is generated from the configs: names, and the comment at the head of each file. '
        '`tooleval config-dir` prints their folder. [Write a config](../how-to/write-a-config.md) shows how they are '
        'used; [data sets](datasets.md) lists what each configures.\n',
        '## Ready sweeps\n',
    ]
    for config in sorted(CONFIGS.glob('*.py')):
        parts += [f'### {config.name}\n', comment_of(config) + '\n']
    parts.append('## Models\n')
    for config in sorted((CONFIGS / 'models').glob('*.py')):
        parts += [f'### {config.stem}\n', (comment_of(config) or 'See [Models](models.md).') + '\n']
    parts.append('## Summarizers\n')
    summarizers = [
        (f'`{file.stem}`', comment_of(file) or '-') for file in sorted((CONFIGS / 'summarizers').glob('*.py'))
    ]
    parts.append(table(('file', 'tables'), summarizers))
    parts.append('## Data sets\n')
    rows = (
        (
            f'`{file.relative_to(CONFIGS / "datasets").with_suffix("")}`',
            code(variables_of(file)),
            comment_of(file) or '-',
        )
        for file in sorted((CONFIGS / 'datasets').rglob('*.py'))
    )
    parts.append(table(('file', 'variables', 'notes'), rows))
    return '\n'.join(parts)


# --- models -----------------------------------------------------------------------------------------------------------

MODELS_PAGE = ROOT / 'docs' / 'reference' / 'models.md'
OPTIONS = re.compile(r'(?<=<!-- options: )(\S+)( -->\n\n).*?(?=\n<!-- end -->)', re.S)
ARGUMENTS = re.compile(r'^Args:\n(.*?)(?=^\S|\Z)', re.M | re.S)
ARGUMENT = re.compile(r'^ {4}(\w+): (.*?)(?=^ {4}\w|\Z)', re.M | re.S)
NAMED = re.compile(r':\w+:`~?(?:[\w.]*\.)?(\w+)`')


def options_of(name: str) -> str:
    """A table of the options in the docstring of a class, ``module:Class``, with its types and defaults."""
    kind = plugin.load(name)
    keywords = keywords_of(initializers(kind))
    arguments = ARGUMENTS.search(inspect.getdoc(kind) or '')
    assert arguments, f'{name} has no Args'
    rows = []
    for option, text in ARGUMENT.findall(arguments[1]):
        keyword = keywords.get(option, Keyword())
        default = '-' if keyword.default is inspect.Parameter.empty else f'`{keyword.default!r}`'
        meaning = NAMED.sub(r'`\1`', text).replace('``', '`')
        if option == 'kwargs':
            rows.append(('others', '', '', meaning))
        else:
            rows.append((f'`{option}`', keyword.type_name, default, meaning))
    return table(('option', 'type', 'default', 'meaning'), rows)


def with_options(text: str) -> str:
    """A page with its tables of options made anew, between ``<!-- options: module:Class -->`` and ``<!-- end -->``."""
    return OPTIONS.sub(lambda match: f'{match[1]}{match[2]}{options_of(match[1])}', text)


# --- the command ------------------------------------------------------------------------------------------------------


def commands_of(command: Any, context: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every command below a group, with its words; groups themselves are left out."""
    if not hasattr(command, 'commands'):
        yield path, command
        return
    for name in command.commands:
        inner = command.make_context(command.name or 'tooleval', [name], parent=context, resilient_parsing=True)
        _, resolved, _ = command.resolve_command(inner, [name])
        yield from commands_of(resolved, inner, f'{path} {name}')


def parameters_of(command: Any) -> Iterator[tuple[str, str, str]]:
    """Name, default and help of each parameter."""
    for parameter in command.params:
        is_argument = parameter.param_type_name == 'argument'
        if is_argument:
            name = f'`{(parameter.metavar or parameter.name.upper()).strip("[]")}`' + (
                '' if parameter.required else ' (optional)'
            )
        else:
            names = [*parameter.opts, *parameter.secondary_opts]
            name = code(names) + (' (required)' if parameter.required else '')
        default = parameter.default
        shown = '-' if default is None or default is False or callable(default) or default == () else f'`{default}`'
        yield name, shown, getattr(parameter, 'help', None) or '-'


def cli_page() -> str:
    """Every command of ``tooleval``."""
    parts = [
        '# The `tooleval` command\n',
        "This page is generated from the commands' declarations. Errors are one line, which names the file, the record "
        'and the command that fixes the fault; the exit status is then 1. `tooleval --version` prints the version.\n',
    ]
    for words, command in commands_of(typer.main.get_command(app), None, 'tooleval'):
        parts += [f'## {words}\n', f'{command.help or ""}\n']
        rows = list(parameters_of(command))
        parts.append(table(('argument or option', 'default', 'description'), rows) if rows else 'No options.\n')
    return '\n'.join(parts)


# --- reason codes -----------------------------------------------------------------------------------------------------


def words_table(words: Mapping[str, Words]) -> str:
    """Codes with their names and sentences."""
    return table(
        ('code', 'name', 'meaning'), ((f'`{key}`', value.name, value.sentence) for key, value in words.items())
    )


def reasons_page() -> str:
    """Every reason code, by area, and where observations come from.

    Raises:
        ValueError: An area has no heading.
    """
    areas: dict[str, dict[str, Words]] = {area: {} for area in AREAS}
    for reason, words in REASONS.items():
        area = reason.partition(':')[0]
        if area not in areas:
            raise ValueError(f'tools/docs_reference.py: AREAS has no heading for {area!r} of {reason!r}')
        areas[area][reason] = words
    parts = [
        '# Reason codes\n',
        'This page is generated from `catalogue/labels.py`. Each sample of a result has one reason: `ok`, or '
        'the first cause of a lost point, as `area:code`. A cause has the same code in '
        'all benchmarks. Where a model beside the one under test failed, its name '
        'stands between: `infra:simulator:timeout`.\n',
    ]
    for area, words_of_area in areas.items():
        if words_of_area:
            parts += [f'## {AREAS[area]}\n', words_table(words_of_area)]
    parts += ['## Sources of observations\n', "Where an agent's observation comes from.\n", words_table(SOURCES)]
    parts += ['## Errors of environments\n', 'Why an observation is an error.\n', words_table(FAULTS)]
    return '\n'.join(parts)


# --- findings ---------------------------------------------------------------------------------------------------------

FINDINGS = {
    'config': (
        'Configs',
        'Shown by `tooleval plan`, `tooleval run`, and partitioners and runners of this package, before the first '
        'request. With `tooleval_local.py` or `tooleval_slurm.py` a run reports all of them but one: `plan` alone '
        'loads all data, and finds damaged files. With partitioners and runners of OpenCompass, only '
        '`config:name`, `config:setting`, `config:budget` and `config:accelerator` end a run, in its first task or '
        'runner. A task leaves out data sets with `config:data` or `config:scoring`, and its log has their faults.',
    ),
    'published': (
        'Scores that do not compare with published ones',
        'Shown by the last screen of a run, by `status`, `report` and exports.',
    ),
    'result': (
        'Results',
        'Shown by the last screen of a run, by `status` and `report`; of two results by `compare` and `gate`.',
    ),
    'run': ('Runs', 'Shown by the last screen of a run; a budget also by `tooleval status`.'),
    'compare': (
        'Comparisons',
        'Shown by `tooleval compare` and `tooleval gate`, and in the tables of variants, such as EasyTool.',
    ),
    'option': ('Options', 'Shown by the command.'),
    'machine': ('Machines', 'Shown by `tooleval doctor`.'),
    'extra': (
        'Other commands',
        'Shown by `tooleval tasks check`, `score`, `agreement`, `export` and `easytool`.',
    ),
    'server': ('Servers', 'Shown by `tooleval doctor --endpoint`; the first ones also by `tooleval run`.'),
}
"""Area of a kind of findings -> heading and where it is shown; in the order of the page."""


def findings_page() -> str:
    """Every kind of findings, by area.

    Raises:
        ValueError: An area has no heading.
    """
    if lacking := {name.partition(':')[0] for name in kinds()} - FINDINGS.keys():
        raise ValueError(f'tools/docs_reference.py: FINDINGS has no heading for {sorted(lacking)}')
    parts = [
        '# Findings\n',
        'This page is generated from `findings/kinds.py`. A finding is a fault of a config or a machine, or a caveat '
        'of a result. It has the same words on every screen that shows it. A fault makes the exit status 1.\n',
    ]
    for area, (heading, where) in FINDINGS.items():
        rows = ((f'`{name}`', kind.level.value.upper(), kind.sentence, kind.fix) for name, kind in kinds().items()
                if name.startswith(f'{area}:'))  # fmt: skip
        parts += [f'## {heading}\n', f'{where}\n', table(('kind', 'level', 'meaning', 'fix'), rows)]
    return '\n'.join(parts)


# --- pages of the repository ------------------------------------------------------------------------------------------

ADDRESSES = {
    'README.md': '../index.md',
    'CHANGELOG.md': 'changelog.md',
    'CONTRIBUTING.md': 'contributing.md',
    'SECURITY.md': 'security.md',
}


def moved(text: str) -> str:
    """A file of the repository's root as a page of ``project/``: links into docs/ lead there, others become code."""

    def link(match: re.Match[str]) -> str:
        label, target = match[1], match[2]
        path, hash_, anchor = target.partition('#')
        if '://' in target or not path:
            return match[0]
        if path in ADDRESSES:
            return f'[{label}]({ADDRESSES[path]}{hash_}{anchor})'
        if path.startswith('docs/'):
            return f'[{label}](../{path.removeprefix("docs/")}{hash_}{anchor})'
        return f'{label} (`{path}`)'

    return re.sub(r'(?<!!)\[([^\]]+)\]\(([^)\s]+)\)', link, text)


def root_page(name: str) -> Callable[[], str]:
    """A file of the repository's root."""
    return lambda: moved((ROOT / name).read_text(encoding='utf-8'))


PAGES: dict[str, Callable[[], str]] = {
    'reference/datasets.md': datasets_page,
    'reference/configs.md': configs_page,
    'reference/cli.md': cli_page,
    'reference/reasons.md': reasons_page,
    'reference/findings.md': findings_page,
    'project/changelog.md': root_page('CHANGELOG.md'),
    'project/contributing.md': root_page('CONTRIBUTING.md'),
    'project/security.md': root_page('SECURITY.md'),
}
"""Page of the site -> what makes it."""


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages to those of docs/ (hook of mkdocs)."""
    from mkdocs.structure.files import File

    for name, make in PAGES.items():
        files.append(File.generated(config, name, content=make()))
    return files


def on_page_content(html: str, **_: Any) -> str:
    """Takes the words of Sphinx out of docstrings, and makes MathML of formulas (hook of mkdocs).

    Browsers draw MathML themselves: no script, no network.
    """
    from latex2mathml.converter import convert

    def formula(match: re.Match[str]) -> str:
        display = 'block' if match[1] == 'div' else 'inline'
        return str(convert(unescape(match[2]), display=display))

    html = re.sub(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', formula, html, flags=re.S)
    return re.sub(r'<code>~(?:[\w.]*\.)?(\w+)</code>', r'<code>\1</code>', ROLE.sub('', html))


def main() -> None:
    """Writes the pages below a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder', type=Path, nargs='?')
    folder = parser.parse_args().folder
    if folder is None:
        MODELS_PAGE.write_text(with_options(MODELS_PAGE.read_text(encoding='utf-8')), encoding='utf-8')
        return
    for name, make in PAGES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(make(), encoding='utf-8')


if __name__ == '__main__':
    main()
