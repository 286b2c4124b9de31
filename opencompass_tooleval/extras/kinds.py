"""Kinds of findings of the extras' commands."""

from __future__ import annotations

from opencompass_tooleval.findings.kinds import Kind, Level

KINDS = {
    'extra:task_fault': Kind(Level.FAULT, 'a task of a user is scored wrong: by its gold, or by its server'),
    'extra:task_note': Kind(Level.NOTE, 'a task of a user is unproven, or has the gold of another one'),
    'extra:recorded': Kind(Level.NOTE, 'recorded answers are a part, or are read in a way that a reader has to know'),
    'extra:unnamed': Kind(Level.NOTE, 'judgements do not name the answers that they are about'),
    'extra:export': Kind(Level.NOTE, 'a result is left out of an export, or in it without some of its parts'),
    'extra:tokens': Kind(Level.NOTE, 'tokens are estimated, since no tokenizer is named'),
    'extra:retrieval': Kind(Level.NOTE, 'scores of retrieval do not compare with those of the paper'),
}
"""Id -> the kind."""
