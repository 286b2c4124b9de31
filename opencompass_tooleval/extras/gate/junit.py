"""Formats test results as JUnit XML, which GitLab, Jenkins and most other CI servers show. Imports no OpenCompass.

The format has no standard. This module follows the schema of Jenkins' xUnit plugin (``junit-10.xsd``), as pytest's
``--junit-xml`` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

_MOST_OF_ATTRIBUTE = 1_000
_MOST_OF_TEXT = 100_000
"""Maximum number of characters of an attribute, and of a text; the rest is cut."""


@dataclass(frozen=True)
class Case:
    """A test case.

    Attributes:
        name: Its name, unique within its group.
        group: Its group, ``classname`` in the file; viewers split it at dots into a tree.
        passed: False for a failure; None if it was skipped.
        message: One line on the outcome; not written for a passed case.
        text: More lines: the text of a failure, otherwise the output of the case.
    """

    name: str
    group: str
    passed: bool | None
    message: str = ''
    text: str = ''

    @property
    def tag(self) -> str:
        """Name of the XML element of the outcome; ``''`` if the case passed."""
        return 'skipped' if self.passed is None else '' if self.passed else 'failure'


@dataclass(frozen=True)
class Suite:
    """Test cases that belong together.

    Attributes:
        name: Its name.
        cases: Its test cases.
        properties: Name and value pairs, such as versions.
    """

    name: str
    cases: Sequence[Case]
    properties: Sequence[tuple[str, str]] = ()


def junit_xml(suites: Sequence[Suite]) -> str:
    """Returns the file's text, which ends with a newline, and must be written as UTF-8.

    Untrusted text is safe: characters that are invalid in XML, such as control characters and lone surrogates, become
    escapes (``\\x1b``), and long texts are cut.
    """
    root = ElementTree.Element('testsuites')
    every = [case for suite in suites for case in suite.cases]
    root.attrib.update(_counts(every))
    for suite in suites:
        element = ElementTree.SubElement(root, 'testsuite', {'name': _attribute(suite.name), **_counts(suite.cases)})
        if suite.properties:
            properties = ElementTree.SubElement(element, 'properties')
            for name, value in suite.properties:
                ElementTree.SubElement(properties, 'property', name=_attribute(name), value=_attribute(value))
        for case in suite.cases:
            _add(element, case)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding='unicode') + '\n'


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    tags = [case.tag for case in cases]
    failures, skipped = (str(tags.count(tag)) for tag in ('failure', 'skipped'))
    return {'tests': str(len(cases)), 'failures': failures, 'errors': '0', 'skipped': skipped, 'time': '0.000'}


def _add(suite: ElementTree.Element, case: Case) -> None:
    names = {'classname': _attribute(case.group), 'name': _attribute(case.name)}
    element = ElementTree.SubElement(suite, 'testcase', {**names, 'time': '0.000'})
    if case.tag:
        outcome = ElementTree.SubElement(element, case.tag, message=_attribute(case.message))
    if case.text:
        output = outcome if case.tag == 'failure' else ElementTree.SubElement(element, 'system-out')
        output.text = _cut(case.text, _MOST_OF_TEXT)


def _attribute(text: str) -> str:
    return _cut(text, _MOST_OF_ATTRIBUTE)


def _cut(text: str, most: int) -> str:
    """Cuts a text to ``most`` characters, and escapes characters that are invalid in XML."""
    shown = text if len(text) <= most else f'{text[:most]} ... ({len(text) - most:,} more characters)'
    return ''.join(char if _is_xml(ord(char)) else ascii(char)[1:-1] for char in shown)


def _is_xml(code: int) -> bool:
    """Tests if a character is valid in XML 1.0 (section 2.2, production Char), and not DEL or a C1 control."""
    if code < 0x20:
        return code in (0x9, 0xA, 0xD)
    return not 0x7F <= code <= 0x9F and not 0xD800 <= code <= 0xDFFF and code not in (0xFFFE, 0xFFFF)
