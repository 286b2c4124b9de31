"""Reads git repositories as data. Git itself would run commands that an agent has written into a repository."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from opencompass_tooleval.work_dir.data_files import read_plain

GIT = '.git'

_MAX_OBJECT = 1 << 26
_MAX_COMMITS = 2_000
_MAX_FILES = 2_000_000
"""Entries of trees that are read of a repository: a tree may hold itself many times."""
_MAX_DEPTH = 200
_SHOWN = 10
_TREE = b'40000'
_KINDS = {1: b'commit', 2: b'tree', 3: b'blob', 4: b'tag'}
_OFFSET_DELTA, _NAMED_DELTA = 6, 7


def is_repository(folder: Path) -> bool:
    """Tests if a folder is the working tree of a repository."""
    git = folder / GIT
    return not git.is_symlink() and (git / 'HEAD').is_file() and (git / 'objects').is_dir()


def git_items(folder: Path) -> dict[str, Any]:
    """Reads a repository.

    Args:
        folder: Its folder ``.git``.

    Returns:
        ``HEAD``: the branch; ``branch NAME``, ``tag NAME``, ``stash``, ...: the commits by first parents, the newest
        last, each with its message, the digests of the files that it changes, and the messages of the commits that it
        merges; ``staged``: the files of the index that differ from ``HEAD``. Authors and times are left out.

    Raises:
        ValueError: It is damaged, too large, or in a format that is not read.
    """
    try:
        return _Repository(folder).parts()
    except (OSError, struct.error, zlib.error, LookupError, RecursionError, UnicodeError) as error:
        raise ValueError(f'the repository cannot be read ({type(error).__name__}: {error})') from error


class _Repository:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._commits: dict[str, dict[str, Any]] = {}
        self._left = _MAX_FILES

    def parts(self) -> dict[str, Any]:
        head = self._text('HEAD')
        target = head.removeprefix('ref: ')
        parts: dict[str, Any] = {'HEAD': target.removeprefix('refs/heads/') if target != head else 'a commit'}
        for name, commit in self._refs.items():
            kind, _, short = name.removeprefix('refs/').partition('/')
            shown = {'heads': 'branch', 'tags': 'tag', 'remotes': 'remote'}.get(kind, kind)
            parts[f'{shown} {short}'.strip()] = self._history(commit)
        at = self._refs.get(target, '' if target != head else head)
        if target == head:
            parts['HEAD commits'] = self._history(head)
        files = dict(self._files(self._tree_of(at))) if at else {}
        staged = self._index()
        parts['staged'] = [
            {'path': path, 'blob': staged.get(path, 'removed')[:_SHOWN]}
            for path in sorted(files.keys() | staged.keys())
            if files.get(path) != staged.get(path)
        ]
        return parts

    def _text(self, name: str) -> str:
        return read_plain(self._folder / name, 1 << 20).decode('utf-8', 'replace').strip()

    @cached_property
    def _refs(self) -> dict[str, str]:
        found = {}
        if (self._folder / 'packed-refs').is_file():
            lines = self._text('packed-refs').splitlines()
            found = {name: sha for sha, _, name in (line.partition(' ') for line in lines) if sha.isalnum()}
        for path in sorted((self._folder / 'refs').rglob('*')):
            if path.is_file() and not path.is_symlink():
                name = path.relative_to(self._folder).as_posix()
                found[name] = self._text(name)
        return {name: sha for name, sha in found.items() if not sha.startswith('ref: ')}

    # --- objects ------------------------------------------------------------------------------------------------------

    def _object(self, sha: str) -> tuple[bytes, bytes]:
        """Returns kind and content of an object."""
        if len(sha) != 40 or not set(sha) <= set('0123456789abcdef'):  # a reference may hold any text, also a path
            raise KeyError(sha[:_SHOWN])
        loose = self._folder / 'objects' / sha[:2] / sha[2:]
        if loose.is_file():
            kind, _, content = _inflate(read_plain(loose, _MAX_OBJECT)).partition(b'\0')
            return kind.partition(b' ')[0], content
        for pack, index in self._packs:
            if (offset := _find(index, bytes.fromhex(sha))) is not None:
                return self._packed(pack, offset)
        raise KeyError(sha[:_SHOWN])

    @cached_property
    def _packs(self) -> list[tuple[bytes, bytes]]:
        indices = sorted((self._folder / 'objects' / 'pack').glob('*.idx'))
        return [(read_plain(index.with_suffix('.pack')), read_plain(index)) for index in indices]

    def _packed(self, pack: bytes, offset: int, depth: int = 0) -> tuple[bytes, bytes]:
        """Returns an object of a pack: a header, and content that may be a difference from another object."""
        byte, at = pack[offset], offset + 1
        kind, shift, size = byte >> 4 & 7, 4, byte & 15
        while byte & 128:
            byte = pack[at]
            size, shift, at = size | (byte & 127) << shift, shift + 7, at + 1
        if kind in _KINDS:
            return _KINDS[kind], _inflate(pack[at:])
        if depth > _MAX_DEPTH or size > _MAX_OBJECT or kind not in (_OFFSET_DELTA, _NAMED_DELTA):
            raise KeyError('a pack')
        if kind == _NAMED_DELTA:
            base = self._object(pack[at : at + 20].hex())
            at += 20
        else:
            byte, at = pack[at], at + 1
            back = byte & 127
            while byte & 128:
                byte, at = pack[at], at + 1
                back = (back + 1) << 7 | byte & 127
            if not 0 < back <= offset:
                raise KeyError('a pack')
            base = self._packed(pack, offset - back, depth + 1)
        return base[0], _patched(base[1], _inflate(pack[at:]))

    # --- commits, trees, index ----------------------------------------------------------------------------------------

    def _commit(self, sha: str) -> dict[str, Any]:
        if sha not in self._commits:
            kind, content = self._object(sha)
            head, _, message = content.decode('utf-8', 'replace').partition('\n\n')
            fields = [line.partition(' ') for line in head.splitlines()]
            first = {name: value for name, _, value in reversed(fields)}
            if kind == b'tag':
                self._commits[sha] = self._commit(first['object'])
                return self._commits[sha]
            if kind != b'commit':
                raise KeyError('a reference that is no commit')
            parents = [value for name, _, value in fields if name == 'parent']
            self._commits[sha] = {'tree': first['tree'], 'parents': parents, 'message': message.strip()}
        return self._commits[sha]

    def _tree_of(self, sha: str) -> str:
        return str(self._commit(sha)['tree'])

    def _history(self, sha: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        while sha:
            if len(items) == _MAX_COMMITS:
                raise ValueError(f'a branch has more than {_MAX_COMMITS:,} commits')
            commit = self._commit(sha)
            first, *merged = [*commit['parents'], ''][: max(1, len(commit['parents']))]
            before = dict(self._files(self._tree_of(first), commit['tree'])) if first else {}
            after = dict(self._files(commit['tree'], self._tree_of(first) if first else ''))
            changed = {
                path: after.get(path, 'removed')[:_SHOWN]
                for path in sorted(before.keys() | after.keys())
                if before.get(path) != after.get(path)
            }
            item = {'message': commit['message'], 'files': changed}
            items.append({**item, 'merges': [self._commit(one)['message'] for one in merged]} if merged else item)
            sha = first
        return items[::-1]

    def _files(self, tree: str, other: str = '', prefix: str = '', depth: int = 0) -> Iterator[tuple[str, str]]:
        """Yields path and digest of the files of a tree, without subtrees that another tree has in the same place."""
        if tree == other or depth > _MAX_DEPTH:
            return
        others = {name: sha for name, _, sha in self._entries(other)} if other else {}
        for name, mode, sha in self._entries(tree):
            if mode != _TREE:
                yield prefix + name, sha
            else:
                beside = others.get(name, '')
                yield from self._files(sha, beside if self._is_tree(beside) else '', f'{prefix}{name}/', depth + 1)

    def _is_tree(self, sha: str) -> bool:
        return bool(sha) and self._object(sha)[0] == b'tree'

    def _entries(self, tree: str) -> Iterator[tuple[str, bytes, str]]:
        content, at = self._object(tree)[1], 0
        while at < len(content):
            self._left -= 1
            if not self._left:
                raise ValueError(f'the repository has more than {_MAX_FILES:,} files')
            end = content.index(b'\0', at)
            mode, _, name = content[at:end].partition(b' ')
            yield name.decode('utf-8', 'replace'), mode, content[end + 1 : end + 21].hex()
            at = end + 21

    def _index(self) -> dict[str, str]:
        """Returns path -> digest of the index."""
        path = self._folder / 'index'
        if not path.is_file():
            return {}
        content = read_plain(path, _MAX_OBJECT)
        mark, version, count = struct.unpack('>4sII', content[:12])
        if mark != b'DIRC' or version not in (2, 3):
            raise KeyError(f'an index of version {version}')
        found, at = {}, 12
        for _ in range(count):
            flags = struct.unpack('>H', content[at + 60 : at + 62])[0]
            begin = at + (64 if flags & 0x4000 else 62)
            end = content.index(b'\0', begin)
            stage = flags >> 12 & 3
            name = content[begin:end].decode('utf-8', 'replace')
            found[f'{name} (conflict {stage})' if stage else name] = content[at + 40 : at + 60].hex()
            at += (end - at + 8) // 8 * 8
        return found


def _inflate(content: bytes) -> bytes:
    found = zlib.decompressobj()
    text = found.decompress(content, _MAX_OBJECT)
    if found.unconsumed_tail:
        raise zlib.error('an object is too large')
    return text


def _find(index: bytes, sha: bytes) -> int | None:
    """Returns the place of an object in a pack by the pack's index, of version 2."""
    if index[:8] != b'\xfftOc\0\0\0\2':
        raise KeyError('an index of a pack')
    fans = struct.unpack('>256I', index[8 : 8 + 1024])
    count, names = fans[255], 8 + 1024
    for number in range(fans[sha[0] - 1] if sha[0] else 0, fans[sha[0]]):
        if index[names + 20 * number : names + 20 * number + 20] == sha:
            at = names + 24 * count + 4 * number
            offset: int = struct.unpack('>I', index[at : at + 4])[0]
            if offset & 0x80000000:
                at = names + 28 * count + 8 * (offset & 0x7FFFFFFF)
                offset = struct.unpack('>Q', index[at : at + 8])[0]
            return offset
    return None


def _patched(base: bytes, delta: bytes) -> bytes:
    """Applies a difference: its instructions copy parts of the base, or insert bytes."""
    at = 0
    for _ in range(2):  # the sizes of both
        while delta[at] & 128:
            at += 1
        at += 1
    parts, size = [], 0
    while at < len(delta):
        code, at = delta[at], at + 1
        if code & 128:
            values = [0] * 7
            for bit in range(7):
                if code & 1 << bit:
                    values[bit], at = delta[at], at + 1
            offset = int.from_bytes(bytes(values[:4]), 'little')
            part = base[offset : offset + (int.from_bytes(bytes(values[4:]), 'little') or 0x10000)]
        else:
            part, at = delta[at : at + code], at + code
        parts.append(part)
        if (size := size + len(part)) > _MAX_OBJECT:
            raise KeyError('a pack')
    return b''.join(parts)
