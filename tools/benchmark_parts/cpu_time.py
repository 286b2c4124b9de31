"""Runs a command, notes its processor seconds in a file of its own below $TOOLEVAL_CPU_TIMES, and ends as it did."""

import os
import resource
import subprocess
import sys
import uuid
from pathlib import Path

if __name__ == '__main__':
    status = subprocess.run(sys.argv[1:]).returncode
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    note = Path(os.environ['TOOLEVAL_CPU_TIMES'], f'{uuid.uuid4()}.cpu')
    note.write_text(str(usage.ru_utime + usage.ru_stime), encoding='utf-8')
    sys.exit(status)
