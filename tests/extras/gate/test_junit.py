"""Tests of :mod:`opencompass_tooleval.extras.gate.junit`."""

from __future__ import annotations

from xml.etree import ElementTree

from opencompass_tooleval.extras.gate.junit import Case, Suite, junit_xml

EVERY_CHARACTER = ''.join(map(chr, (*range(0x300), *range(0xD7F0, 0xE010), *range(0xFFF0, 0x10010), 0x10FFFF)))


def test_hostile_and_long_text_stays_text_and_the_file_stays_xml() -> None:
    hostile = f'"/><failure message="no"/>]]>&amp;<!--{EVERY_CHARACTER}'
    text = junit_xml([Suite(hostile, [Case(hostile, hostile, False, hostile, hostile)], [(hostile, hostile)])])
    root = ElementTree.fromstring(text.encode('utf-8'))
    assert [element.tag for element in root.iter()] == [
        'testsuites', 'testsuite', 'properties', 'property', 'testcase', 'failure',
    ]  # fmt: skip
    failure = next(root.iter('failure'))
    assert failure.text is not None and failure.text.startswith('"/><failure message="no"/>]]>&amp;<!--\\x00\\x01')
    assert '\\ud800' in failure.text and '\\uffff' in failure.text and chr(0x10FFFF) in failure.text
    assert '\\x1b' in str(root[0].get('name'))
    text = junit_xml([Suite('a', [Case('n' * 10**6, 'g', False, 'm' * 10**6, 't' * 10**6)])])
    assert len(text) < 110_000
    assert '900,000 more characters' in text
