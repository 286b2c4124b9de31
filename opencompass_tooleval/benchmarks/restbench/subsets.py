"""The subsets of RestBench. Literals only: configs read this file inside ``read_base()``.

``file`` and ``document`` (OpenAPI) are below ``data/restbench``, ``instructions`` is the path of the tools' EasyTool
instructions (TMDB's are published, Spotify's must be generated), ``metrics`` are in a fixed order. ``records``,
``steps``, ``tools`` and ``errata`` count the published files: records, steps of all gold paths, tools in the OpenAPI
document, corrected steps.
"""

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
