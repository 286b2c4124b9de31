"""The subset of Conformance. Literals only: configs read this file inside ``read_base()``.

``metrics`` are in a fixed order: all requests, then each kind. ``requests`` and ``tools`` count the shipped files.
"""

SUBSETS = (
    {
        'name': 'requests',
        'metrics': (
            'right_rate',
            'plain',
            'thoughts',
            'one_call',
            'several_calls',
            'required_call',
            'long_context',
            'chinese',
            'nested_arguments',
            'typed_arguments',
            'tool_results',
            'system_text',
            'no_tool_needed',
        ),
        'requests': 300,
        'tools': 16,
    },
)
