"""Makes the 7z archives of this folder with py7zr, one for each compression method."""
import random

import py7zr

random.seed(1)
DATA = {
    "a/text.txt": b"hello " * 3000,
    "a/empty.txt": b"",
    "b/random.bin": random.randbytes(3000),
    "b/\u00fc.txt": "gr\u00fc\u00dfe\n".encode() * 500,
    "words.txt": " ".join(random.choice(["alpha", "beta", "gamma", "delta"]) for _ in range(9000)).encode(),
}
FILTERS = {
    "lzma2": [{"id": py7zr.FILTER_LZMA2, "preset": 6}],
    "lzma2-small-dictionary": [{"id": py7zr.FILTER_LZMA2, "preset": 6, "dict_size": 4096}],
    "lzma": [{"id": py7zr.FILTER_LZMA, "preset": 6}],
    "lzma-lc0-lp2-pb1": [{"id": py7zr.FILTER_LZMA, "lc": 0, "lp": 2, "pb": 1, "dict_size": 4096}],
    "copy": [{"id": py7zr.FILTER_COPY}],
    "deflate": [{"id": py7zr.FILTER_DEFLATE}],
    "bzip2": [{"id": py7zr.FILTER_BZIP2}],
}
for name, filters in FILTERS.items():
    with py7zr.SevenZipFile(f"{name}.7z", "w", filters=filters) as z:
        for path, data in DATA.items():
            z.writestr(data, path)
with py7zr.SevenZipFile("encrypted.7z", "w", password="x") as z:
    z.writestr(b"secret", "secret.txt")
print(py7zr.__version__)
