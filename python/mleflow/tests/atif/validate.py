"""Validates a trajectory with Harbor's own models: python validate.py FILE...

trajectory.json was accepted by harbor 0.25.0 with pydantic 2. Harbor needs
Python 3.12; its models alone, unpacked from the wheel, run on 3.11.
"""

import json
import sys

from harbor.models.trajectories import Trajectory

for path in sys.argv[1:]:
    with open(path) as f:
        trajectory = Trajectory.model_validate(json.load(f))
    print(f"{path}: valid, {len(trajectory.steps)} steps, {len(trajectory.subagent_trajectories or [])} subagents")
