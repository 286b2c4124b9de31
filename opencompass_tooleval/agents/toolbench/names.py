"""Converts an API of ToolBench to the function that agents see, with the names and texts of published runs.

The results equal all values of ``available_tools`` in a published run. So the optional parameters of an API without
required ones are not shown. The tools in :data:`RENAMED_TOOLS` have different names in the data and in the runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.environments.recordings_toolbench import function_name
from opencompass_tooleval.environments.stabletoolbench import standard_name as standard_name

MAX_TEXT = 256
"""Maximum length of the description of a function or parameter that agents see."""

RENAMED_TOOLS = {'Email Validation': 'Email Validation_v6', 'Email Validator': 'Email Validator_v12'}
"""Name of a tool in the data -> its name in published runs."""

_RESERVED = frozenset({'from', 'class', 'return', 'false', 'true', 'id', 'and'})
_TYPES = {'NUMBER': 'integer', 'STRING': 'string', 'BOOLEAN': 'boolean'}


def standard_parameter(text: str) -> str:
    """Standardizes a name: ``imdbId`` -> ``imdbid``, ``id`` -> ``is_id``."""
    return _not_reserved(standard_name(text))


def _not_reserved(name: str) -> str:
    return f'is_{name}' if name in _RESERVED else name


def function_of(api: Mapping[str, Any]) -> ToolSchema:
    """Returns the function of an API.

    Args:
        api: An entry of ``api_list``: ``tool_name``, ``api_name``, ``api_description``, ``required_parameters``,
            ``optional_parameters``.
    """
    tool_name, api_name = str(api['tool_name']), str(api['api_name'])
    tool = standard_name(RENAMED_TOOLS.get(tool_name, tool_name))
    name = function_name(_not_reserved(standard_name(api_name)), tool)
    description = f'This is the subfunction for tool "{tool}", you can use this tool.'
    api_description = str(api.get('api_description') or '').strip()
    if api_description:
        api_description = api_description.replace(api_name, name) if api_name else api_description
        description += f'The description of this function is: "{api_description[:MAX_TEXT]}"'
    properties: dict[str, Any] = {}
    names: dict[str, list[str]] = {'required': [], 'optional': []}
    for group, group_names in names.items():
        shown = api.get(f'{group}_parameters') if api.get('required_parameters') else ()
        for parameter in shown or ():
            parameter_name = standard_parameter(str(parameter['name']))
            if parameter_name not in properties:
                group_names.append(parameter_name)
            properties[parameter_name] = _property(parameter)
    return ToolSchema(name, description, {'type': 'object', 'properties': properties, **names})


def json_type(text: Any) -> str:
    """Converts a type as ToolBench does: ``NUMBER`` -> ``integer``; unknown types become ``string``."""
    return _TYPES.get(str(text or '').upper(), 'string')


def _property(parameter: Mapping[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = {
        'type': json_type(parameter.get('type')),
        'description': str(parameter.get('description') or '')[:MAX_TEXT],
    }
    default = parameter.get('default')
    return schema if default is None or not str(default) else {**schema, 'example_value': default}
