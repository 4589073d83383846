"""Makes bcj.7z, delta.7z and delta-256.7z with py7zr: data full of branches and of waves. Prints the MD5 of each file."""
import hashlib
import math
import random

import py7zr

random.seed(2)
LETTERS = bytes([0xE8, 0xE9, 0, 0xFF, 0xE8, 0, 0xFF, 1, 0x7F])
DATA = {
    "branches.bin": bytes(random.choices(LETTERS, k=9000)),
    "few.bin": bytes(random.choices(LETTERS + random.randbytes(40), k=3000)),
    "short.bin": b"\xe8\x00\x00\x00",
    "wave.bin": b"".join(int(9000 * math.sin(i / 9)).to_bytes(2, "little", signed=True) for i in range(3000)),
}
for name, filters in {
    "bcj": [{"id": py7zr.FILTER_X86}, {"id": py7zr.FILTER_LZMA2, "preset": 6}],
    "delta": [{"id": py7zr.FILTER_DELTA, "dist": 4}, {"id": py7zr.FILTER_LZMA, "preset": 6}],
    "delta-256": [{"id": py7zr.FILTER_DELTA, "dist": 256}, {"id": py7zr.FILTER_LZMA, "preset": 6}],
}.items():
    with py7zr.SevenZipFile(f"{name}.7z", "w", filters=filters) as z:
        for path, data in DATA.items():
            z.writestr(data, path)
for path, data in DATA.items():
    print(path, hashlib.md5(data).hexdigest())
print(py7zr.__version__)
