"""RestBench's version, subsets, metrics (EasyTool, Figure 5) and description.

Literals only: configs read this file inside ``read_base()``, and the catalogue builds its objects from them.
"""

VERSION = '5'
"""Raised when data, prompts, scoring or aggregation change."""

_METRICS = ('correct_path_rate', 'tool_name_error_rate')

SUBSETS = (
    {
        'name': 'tmdb',
        'file': 'tmdb.json',
        'document': 'specs/tmdb_oas.json',
        'instructions': 'data/easytool/tmdb_tool.json',
        'metrics': _METRICS,
        'records': 100,
        'steps': 226,
        'tools': 54,
        'errata': 5,
    },
    {
        'name': 'spotify',
        'file': 'spotify.json',
        'document': 'specs/spotify_oas.json',
        'instructions': 'data/easytool/spotify_tool.json',
        'metrics': _METRICS,
        'records': 57,
        'steps': 146,
        'tools': 40,
        'errata': 1,
    },
)
"""The services.

``file`` and ``document`` (OpenAPI) are below ``data/restbench``, ``instructions`` is the path of the tools' EasyTool
instructions (TMDB's are published, Spotify's must be generated), ``metrics`` are in a fixed order. ``records``,
``steps``, ``tools`` and ``errata`` count the published files: records, steps of all gold paths, tools in the OpenAPI
document, corrected steps.
"""

BENCHMARK = {
    'name': 'restbench',
    'title': 'RestBench',
    'paper': 'arXiv 2306.06624',
    'subsets': [row['name'] for row in SUBSETS],
    'metrics': (
        {
            'name': 'correct_path_rate',
            'label': 'Correct path',
            'sentence': 'share of answers that contain the gold calls in order',
            'binary': True,
            'rank': 2,
        },
        'tool_name_error_rate',
    ),
    'sizes': {(row['name'], None): row['records'] for row in SUBSETS},
    'words': {'tmdb': 'TMDB', 'spotify': 'Spotify', 'fc': 'function calling'},
}
"""The description; a metric given by its name alone is one of the catalogue's."""
