"""Tools of preparers and metrics."""

from mlebench.competitions.utils import *  # noqa: F401,F403
from mlebench.utils import *  # noqa: F401,F403
from mlebench.utils import load_answers  # noqa: F401
