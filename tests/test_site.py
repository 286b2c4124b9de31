"""The documentation site: its links, the generated pages, and, if mkdocs is installed, the build itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

import opencompass_tooleval.models
from opencompass_tooleval.catalogue.benchmark import all_benchmarks
from opencompass_tooleval.catalogue.labels import REASONS
from opencompass_tooleval.core.keywords import initializers, keywords_of
from opencompass_tooleval.findings.finding import kinds
from tests.conftest import ROOT, load_tool

PAGES = sorted(
    file
    for pattern in ('*.md', 'docs/**/*.md', 'tools/*.md', 'tests/**/*.md', 'opencompass_tooleval/**/*.md')
    for file in ROOT.glob(pattern)
)
LINK = re.compile(r'\[[^\]]*\]\((?!https?://|mailto:)([^)\s]+)\)')
FENCE = re.compile(r'^( *)```.*?^\1```', re.M | re.S)
CODE = re.compile(r'`[^`\n]*`')
ASSET = re.compile(r'<(?:script|img|link|iframe)\b[^>]*(?:src|href)="(?:https?:)?//[^"]*"')
VARIABLE = re.compile(r'\b(?:TOOLEVAL_(?!FORM\b)[A-Z]+|OC_JUDGE_[A-Z_]+[A-Z]|COMPASS_DATA_CACHE)\b')
MOST_LINES = {'README.md': 90}
MOST_LINES_OF_A_FOLDER = 40


@cache
def generated() -> dict[str, str]:
    return {name: make() for name, make in load_tool('docs_reference').PAGES.items()}


def text_of(page: Path) -> str:
    name = page.relative_to(ROOT / 'docs').as_posix() if page.is_relative_to(ROOT / 'docs') else ''
    return generated()[name] if name in generated() else page.read_text(encoding='utf-8')


def prose_of(text: str) -> str:
    return FENCE.sub('', text)


@cache
def anchors_of(text: str) -> set[str]:
    headings = re.findall(r'^#+ (.*)$', prose_of(text), re.M)
    words = [re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', heading).lower() for heading in headings]
    return {re.sub(r'[-\s]+', '-', re.sub(r'[^\w\s-]', '', heading).strip()) for heading in words}


def links_of(page: Path) -> Iterator[tuple[Path, str]]:
    """File and anchor of each link within the repository."""
    for target in LINK.findall(CODE.sub('', prose_of(page.read_text(encoding='utf-8')))):
        path, _, anchor = unquote(target).partition('#')
        yield (Path(os.path.normpath(page.parent / path)) if path else page), anchor


def test_links_lead_somewhere() -> None:
    """Generated pages are there on the site alone."""
    made = {ROOT / 'docs' / name for name in generated()}
    links = [(page, file, anchor) for page in PAGES for file, anchor in links_of(page)]
    on_site = {page for page in PAGES if page.is_relative_to(ROOT / 'docs')}
    broken = [(page, file) for page, file, _ in links if not file.exists() and not (page in on_site and file in made)]
    assert broken == []
    to_anchors = [(page, file, anchor) for page, file, anchor in links if anchor and file.suffix == '.md']
    assert [link for link in to_anchors if link[2] not in anchors_of(text_of(link[1]))] == []


def test_a_readme_is_short() -> None:
    for page in PAGES:
        if page.name == 'README.md':
            most = MOST_LINES.get(str(page.relative_to(ROOT)), MOST_LINES_OF_A_FOLDER)
            assert len(page.read_text(encoding='utf-8').splitlines()) <= most, page


def test_variables_of_the_environment_that_are_ours_are_on_their_page() -> None:
    page = (ROOT / 'docs' / 'reference' / 'environment-variables.md').read_text(encoding='utf-8')
    files = (ROOT / 'opencompass_tooleval').rglob('*.py')
    read = {name for file in files for name in VARIABLE.findall(file.read_text(encoding='utf-8'))}
    assert len(read) >= 6
    assert [name for name in sorted(read) if f'`{name}`' not in page] == []


def test_a_release_is_in_the_changelog_and_the_citation() -> None:
    version = opencompass_tooleval.__version__
    dated = re.search(
        rf'^## {re.escape(version)} - (\d{{4}}-\d\d-\d\d)$', (ROOT / 'CHANGELOG.md').read_text('utf-8'), re.M
    )
    assert dated
    citation = (ROOT / 'CITATION.cff').read_text(encoding='utf-8')
    assert f"\nversion: {version}\ndate-released: '{dated[1]}'\n" in citation


def test_generated_pages_have_what_the_code_has() -> None:
    datasets, reasons = generated()['reference/datasets.md'], generated()['reference/reasons.md']
    tool = load_tool('docs_reference')
    for benchmark in all_benchmarks():
        page = (ROOT / 'docs' / 'explanation' / f'{benchmark.name}.md').read_text(encoding='utf-8')
        assert f'VERSION {tool.literal_of(benchmark, "VERSION")}' in page.partition('\n## ')[0], benchmark.name
        assert f'## {benchmark.title}\n' in datasets
        assert [name for name in benchmark.subsets if f'| `{name}` |' not in datasets] == []
        assert [row.name for row in benchmark.metrics if f'| `{row.name}` | {row.label} |' not in datasets] == []
    assert [reason for reason in REASONS if f'| `{reason}` |' not in reasons] == []
    assert [kind for kind in kinds() if f'| `{kind}` |' not in generated()['reference/findings.md']] == []
    commands = generated()['reference/cli.md']
    assert '## tooleval score ultratool\n' in commands and '## tooleval agents bank build\n' in commands
    assert '`--judgements`' in commands
    configs = generated()['reference/configs.md']
    assert all(f'### {file.name}\n' in configs for file in (ROOT / 'configs').glob('*.py'))


def test_the_page_of_models_has_every_option() -> None:
    """Tables of our options as the code has them, and the names of those that OpenCompass's classes read."""
    tool = load_tool('docs_reference')
    page = tool.MODELS_PAGE.read_text(encoding='utf-8')
    assert tool.with_options(page) == page, 'run python tools/docs_reference.py'
    for name in ('OpenAI', 'HFChat', 'VLLMChat', 'Served'):
        kind = getattr(opencompass_tooleval.models, f'ToolEval{name}')
        options = keywords_of(initializers(kind))
        assert [option for option in options if f'`{option}`' not in page] == [], kind


@pytest.mark.long
def test_the_site_is_built_without_a_warning_and_needs_no_network(tmp_path: Path) -> None:
    packages = Path(sys.prefix) / 'docs'
    if not packages.is_dir():
        pytest.skip('what builds the site is not installed: make docs')
    site = tmp_path / 'site'
    command = [sys.executable, '-m', 'mkdocs', 'build', '--strict', '--site-dir', str(site)]
    environment = {**os.environ, 'PYTHONPATH': f'{packages}{os.pathsep}{ROOT}'}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list(site.rglob('*.html'))
    assert len(pages) > 40
    outside = {found for page in pages for found in ASSET.findall(page.read_text(encoding='utf-8'))}
    assert {found for found in outside if 'rel="canonical"' not in found} == set()
    assert not any('class="arithmatex"' in page.read_text(encoding='utf-8') for page in pages)  # all are MathML
