"""PPT: a presentation to which pages are added."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from opencompass_tooleval.environments.functions import FunctionAnswer
from opencompass_tooleval.environments.teval_tools.described import (
    MAX_THINGS,
    NO_SPACE,
    DescribedTool,
    answer_of,
    recorded_fields,
)
from opencompass_tooleval.environments.teval_tools.files import Disk


class Slides(DescribedTool):
    """The presentation of one task.

    Args:
        disk: The disk of the task, for downloaded pictures and saved presentations.
    """

    def __init__(self, disk: Disk) -> None:
        page = ('title', 'bullet_items')
        super().__init__(
            'PPT',
            {
                'create_file': (self._create, ('theme', 'abs_location'), ()),
                'get_image': (self._image, ('keywords',), ()),
                'add_text_page': (self._page, page, ()),
                'add_text_image_page': (self._page, (*page, 'image'), ()),
                'save_file': (self._save, (), ()),
            },
        )
        self._disk = disk
        self._location: str | None = None
        self._pages = 0

    def _create(self, arguments: Mapping[str, str]) -> FunctionAnswer:
        self._location, self._pages = arguments['abs_location'], 0
        return answer_of(status='created a ppt file.')

    def _image(self, arguments: Mapping[str, str]) -> FunctionAnswer:
        name = hashlib.blake2b(arguments['keywords'].encode(), digest_size=6).hexdigest()
        path = f'outputs/{name}.jpg'
        if not self._disk.put(path):
            return FunctionAnswer(NO_SPACE)
        return FunctionAnswer(str({'picture_url': path}), is_guess=True)

    def _page(self, arguments: Mapping[str, str]) -> FunctionAnswer:
        image = arguments.get('image')
        if self._location is None:
            return FunctionAnswer("'NoneType' object has no attribute 'slides'")
        if image is not None and not self._disk.has(image):
            return FunctionAnswer(f'[Errno 2] No such file or directory: {image!r}')
        if self._pages >= MAX_THINGS:
            return FunctionAnswer(NO_SPACE)
        self._pages += 1
        return answer_of(status='added page')

    def _save(self, arguments: Mapping[str, str]) -> FunctionAnswer:
        if self._location is None:
            return FunctionAnswer("'NoneType' object has no attribute 'save'")
        if not self._disk.put(self._location, f'{self._pages} pages'):
            return FunctionAnswer(NO_SPACE)
        return answer_of(status=f'submitted. view ppt at {self._location}')

    def learn(self, name: str, arguments: Mapping[str, Any], response: str) -> None:
        """Adds a downloaded picture."""
        path = recorded_fields(response).get('picture_url')
        if name == 'PPT.get_image' and isinstance(path, str):
            self._disk.put(path)
