"""The tests start a Slurm where one is installed, and install none: `make test` may run as root on any machine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.runners.slurm.conftest import write_programs


@pytest.mark.parametrize(('command', 'installs'), [('up', False), ('install', True)])
def test_only_a_command_of_that_name_installs_packages(command: str, installs: bool, tmp_path: Path) -> None:
    programs = tmp_path / 'programs'
    programs.mkdir()
    for name in ('bash', 'timeout', 'mktemp', 'tail', 'rm'):
        programs.joinpath(name).symlink_to(shutil.which(name) or '')
    write_programs(programs, {'apt-get': f'echo "$@" >>{tmp_path / "asked"}', 'id': 'echo 0'})  # root's
    # The script adds the folders of the daemons to PATH; sbatch is not in them.
    script, environment = ROOT / 'tools' / 'slurm_testbed.sh', {'PATH': str(programs)}
    done = subprocess.run([script, command, tmp_path / 'bed'], env=environment, capture_output=True, text=True)
    assert (done.returncode, (tmp_path / 'asked').exists()) == (69, installs), done.stderr
    assert installs or 'root installs them with: tools/slurm_testbed.sh install' in done.stderr


def test_no_other_test_or_target_asks_for_packages() -> None:
    files = [ROOT / 'Makefile', *(ROOT / 'tests').rglob('*.py')]
    assert [file for file in files if 'apt-get' in file.read_text(encoding='utf-8')] == [Path(__file__)]
