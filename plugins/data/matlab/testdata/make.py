"""Makes clear.json: MATLAB files of scipy with the paths to empty, and the file
that scipy writes of the same variables with [] there. The texts and times at
the beginning of the files are made equal."""
import base64
import copy
import io
import json
import os
import pathlib
import sys

import numpy as np
import scipy
from scipy.io import savemat


def saved(variables, compressed):
    f = io.BytesIO()
    savemat(f, variables, do_compression=compressed)
    return b"MATLAB 5.0 MAT-file".ljust(116) + f.getvalue()[116:]


def text(data):
    return base64.b64encode(data).decode()


nothing = np.zeros((0, 0))
rng = np.random.default_rng(1)
labels = np.array([(n, b, b + 40) for n, b in (("vattene", 1), ("ok", 50), ("basta", 1700))], dtype=[("Name", "O"), ("Begin", "O"), ("End", "O")])
frames = np.array([({"Joints": rng.random((4, 3)), "Type": ["HipCenter", "Spine"]},) for _ in range(5)], dtype=[("Skeleton", "O")])
video = {"NumFrames": 1254, "FrameRate": 20, "MaxDepth": 3975, "Frames": frames, "Labels": labels, "x": "é"}
CASES = []


def case(name, variables, paths):
    cleared = copy.deepcopy(variables)
    for path in paths:
        *way, last = path.split(".")
        at = cleared
        for step in way:
            at = at[step]
        if isinstance(at, np.ndarray):
            for element in at:
                element[last] = nothing
        else:
            at[last] = nothing
    for compressed in (False, True):
        # Variables without a path keep their form.
        want = saved({}, False)
        for v in variables:
            want += saved({v: cleared[v]}, compressed and not any(p.split(".")[0] == v for p in paths))[128:]
        CASES.append({"name": f"{name}{' compressed' * compressed}", "file": text(saved(variables, compressed)), "paths": paths, "want": text(want)})


case("field", {"Video": video}, ["Video.Labels"])
case("among others", {"before": rng.random((3, 2)), "Video": video, "Vid": "x", "list": np.array([1, "two", nothing], dtype=object)}, ["Video.Labels"])
case("field of every element", {"S": labels}, ["S.Begin"])
case("deep", {"a": {"b": {"c": [1, 2], "d": "x"}, "c": 3}}, ["a.b.c"])
case("field of fields", {"V": video}, ["V.Labels.Name", "V.x", "V.Frames.Skeleton"])
case("variables", {"abcd": 1.5, "a": "text", "longer": video}, ["abcd", "longer", "a"])
case("empty already", {"Video": {**video, "Labels": nothing}}, ["Video.Labels"])
with open(pathlib.Path(__file__).parent / "clear.json", "w", encoding="utf-8") as f:
    json.dump({"command": " ".join(["python", *map(os.path.basename, sys.argv)]),
               "versions": {"scipy": scipy.__version__, "numpy": np.__version__}, "cases": CASES}, f, indent=1)
    f.write("\n")
