"""Makes python.json: tar archives that are cut, with what Python's tarfile
reads of each, and zip files with the names that Python's zipfile gives their
entries."""
import base64
import gzip
import hashlib
import io
import json
import pathlib
import struct
import sys
import tarfile
import zipfile
import zlib

FILES = [("a.csv", b"id,y\n1,2\n"), ("n" * 120 + "/b.bin", bytes(range(256)) * 4), ("empty", b""), ("z.csv", b"1" * 100)]
SPARSE = [("begin", 0, b"begin"), ("end", 3000, b"end")]  # with a hole between them, and one to 4096 after them


def packed(data):
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def tar(form, before=()):
    out = io.BytesIO()
    for block in before:
        out.write(block)
    with tarfile.open(fileobj=out, mode="w", format=form) as t:
        for name, data in FILES:
            i = tarfile.TarInfo(name)
            i.size = len(data)
            if form == tarfile.PAX_FORMAT:
                i.pax_headers = {"comment": "x" * 600}
            t.addfile(i, io.BytesIO(data))
    return out.getvalue()


def sparse_old():
    i = tarfile.TarInfo("s.bin")
    i.size, i.type = 8, tarfile.GNUTYPE_SPARSE
    head = bytearray(i.tobuf(tarfile.GNU_FORMAT))
    for k, (_, at, data) in enumerate(SPARSE):
        head[386 + 24 * k : 410 + 24 * k] = b"%011o\0%011o\0" % (at, len(data))
    head[483:495] = b"%011o\0" % 4096
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + b"beginend".ljust(512, b"\0")


def sparse_pax(headers, data):
    i = tarfile.TarInfo("GNUSparseFile.0/s.bin")
    i.size, i.pax_headers = len(data), {"GNU.sparse.name": "s.bin", **headers}
    return i.tobuf(tarfile.PAX_FORMAT) + data + b"\0" * (-len(data) % 512)


def read(data):
    try:
        got = {}
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as t:
            for m in t:
                got[m.name] = hashlib.md5(t.extractfile(m).read()).hexdigest()
        return got
    except (tarfile.TarError, ValueError):
        return None


ARCHIVES = {
    "ustar": tar(tarfile.USTAR_FORMAT),
    "gnu": tar(tarfile.GNU_FORMAT),
    "pax": tar(tarfile.PAX_FORMAT),
    "sparse, old": tar(tarfile.GNU_FORMAT, [sparse_old()]),
    "sparse, 0.1": tar(tarfile.PAX_FORMAT, [sparse_pax({"GNU.sparse.size": "4096", "GNU.sparse.numblocks": "2", "GNU.sparse.map": "0,5,3000,3"}, b"beginend")]),
    "sparse, 1.0": tar(tarfile.PAX_FORMAT, [sparse_pax({"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "4096"}, b"2\n0\n5\n3000\n3\n".ljust(512, b"\0") + b"beginend")]),
}


def cuts(data):
    """What is read of each beginning that ends with a block, runs of equal answers once."""
    out, last = [], ()
    for at in range(0, len(data) + 1, 512):
        got = read(data[:at])
        if got != last:
            out.append({"at": at, "files": got})
        last = got
    odd = [at for at in range(len(data)) if at % 512 and read(data[:at]) not in (None, read(data[: at // 512 * 512]))]
    assert not odd, odd
    return out


def entry(raw, flags, mode=0o100644, extra=b"", data=b"", host=3):
    local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, flags, 0, 0, 0, zlib.crc32(data), len(data), len(data), len(raw), 0) + raw + data
    central = struct.pack("<IBBHHHHHIIIHHHHHII", 0x02014B50, 20, host, 20, flags, 0, 0, 0, zlib.crc32(data), len(data), len(data), len(raw), len(extra), 0, 0, 0, mode << 16 if host == 3 else mode, 0)
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 1, 1, len(central) + len(raw) + len(extra), len(local), 0)
    return local + central + raw + extra + end


def unicode_path(raw, name):
    body = struct.pack("<BI", 1, zlib.crc32(raw)) + name.encode()
    return struct.pack("<HH", 0x7075, len(body)) + body


UTF8 = 1 << 11
ZIPS = {
    "ASCII": entry(b"a.csv", 0),
    "UTF-8 with the flag": entry("é.csv".encode(), UTF8),
    "UTF-8 without the flag": entry("é.csv".encode(), 0),
    "Japanese without the flag": entry("日本/語.csv".encode(), 0),
    "all of code page 437": entry(bytes(range(128, 192)) + b"/" + bytes(range(192, 256)), 0),
    "Unicode path": entry(b"\x82.csv", 0, extra=unicode_path(b"\x82.csv", "other.csv")),
    "Unicode path with the flag": entry("é.csv".encode(), UTF8, extra=unicode_path("é.csv".encode(), "other.csv")),
    "folder": entry(b"d/", 0, 0o40755),
    "folder whose mode is a file's": entry(b"d/", 0),
    "empty file whose mode is a folder's": entry(b"d", 0, 0o40755),
    "file whose mode is a folder's": entry(b"d", 0, 0o40755, data=b"x"),
    "empty file with DOS's folder attribute": entry(b"d", 0, 0x10, host=0),
    "folder with no attribute": entry(b"d/", 0, 0, host=0),
}


def names(data):
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        return {i.filename.rstrip("/"): "folder" if i.is_dir() else hashlib.md5(z.read(i)).hexdigest() for i in z.infolist()}


result = {
    "command": "python makepython.py",
    "versions": {"python": sys.version.split()[0]},
    "tars": [{"name": name, "file": packed(data), "cuts": cuts(data)} for name, data in ARCHIVES.items()],
    "zips": [{"name": name, "file": packed(data), "entries": names(data)} for name, data in ZIPS.items()],
}
pathlib.Path(__file__).with_name("python.json").write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
