"""python -m mlebench is the command mlebench."""

import sys

from mlebench.cli import main

sys.exit(main())
