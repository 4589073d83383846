"""Makes pymongo.json: documents and what pymongo's bson.encode(bson.decode(…))
makes of each (null where it refuses), in hexadecimal, with the versions used."""
import json
import os
import pathlib
import random
import struct
import sys

import bson
import pymongo

i32 = lambda x: struct.pack("<i", x)
text = lambda s: i32(len(s) + 1) + s + b"\0"


def doc(*elements):
    body = b"".join(elements) + b"\0"
    return i32(len(body) + 4) + body


def el(kind, name, value=b""):
    return bytes([kind]) + name + b"\0" + value


def scoped(code, scope):
    return i32(4 + len(text(code)) + len(scope)) + text(code) + scope


one = el(0x10, b"z", i32(1))
DOCS = {
    "empty": doc(), "plain": doc(el(0x10, b"_id", i32(7)), el(2, b"s", text("é".encode())), el(1, b"f", struct.pack("<d", -0.0))),
    "undefined": doc(el(6, b"a")), "symbol": doc(el(14, b"a", text(b"x"))), "null": doc(el(10, b"a")),
    "true": doc(el(8, b"a", b"\1")), "false": doc(el(8, b"a", b"\0")), "condition 2": doc(el(8, b"a", b"\2")),
    "pointer": doc(el(12, b"a", text(b"coll") + b"0" * 12)), "pointer not UTF-8": doc(el(12, b"a", text(b"\xff") + b"0" * 12)),
    "regex": doc(el(11, b"a", b"p.*\0smiz\0")), "regex twice": doc(el(11, b"a", b"p\0iiu\0")), "regex all": doc(el(11, b"a", b"\0xusmli\0")),
    "regex not UTF-8": doc(el(11, b"a", b"\xff\0\0")), "code": doc(el(13, b"a", text(b"f()"))),
    "code scope": doc(el(15, b"a", scoped(b"f()", doc(one)))), "code scope again": doc(el(15, b"a", scoped(b"f()", doc(one, el(6, b"_id"), one)))),
    "code scope empty": doc(el(15, b"a", scoped(b"", doc()))),
    "timestamp": doc(el(17, b"a", b"\1\2\3\4\5\6\7\xff")), "decimal": doc(el(19, b"a", bytes(range(16)))), "min max": doc(el(255, b"a"), el(127, b"b")),
    "int64": doc(el(18, b"a", struct.pack("<q", 5)), el(18, b"b", struct.pack("<q", -2**63))), "object id": doc(el(7, b"_id", bytes(range(12)))),
    "binary": doc(el(5, b"a", i32(3) + b"\0\xff\0a")), "binary empty": doc(el(5, b"a", i32(0) + b"\0")),
    "binary 2": doc(el(5, b"a", i32(7) + b"\2" + i32(3) + b"abc")), "binary 2 lengths": doc(el(5, b"a", i32(7) + b"\2" + i32(2) + b"abc")),
    "binary 2 short": doc(el(5, b"a", i32(3) + b"\2abc")),
    "binary 3": doc(el(5, b"a", i32(16) + b"\3" + bytes(16))), "binary 4 short": doc(el(5, b"a", i32(3) + b"\4abc")), "binary 128": doc(el(5, b"a", i32(1) + b"\x80a")),
    "array renumbered": doc(el(4, b"a", doc(el(0x10, b"7", i32(1)), el(0x10, b"7", i32(2)), el(6, b"x")))),
    "array long": doc(el(4, b"a", doc(*[el(0x10, b"%d" % i, i32(i)) for i in range(120)]))),
    "twice": doc(one, el(0x10, b"b", i32(2)), el(2, b"z", text(b"later"))),
    "many twice": doc(*[el(0x10, b"n%d" % (i % 30), i32(i)) for i in range(50)]),
    "id last": doc(one, el(0x10, b"_id", i32(2))), "id inside": doc(el(3, b"a", doc(one, el(0x10, b"_id", i32(2))))),
    "id twice": doc(one, el(0x10, b"_id", i32(2)), el(0x10, b"_id", i32(3))),
    "date": doc(el(9, b"a", struct.pack("<q", -1))), "first date": doc(el(9, b"a", struct.pack("<q", -62135596800000))),
    "before": doc(el(9, b"a", struct.pack("<q", -62135596800001))), "last date": doc(el(9, b"a", struct.pack("<q", 253402300799999))),
    "after": doc(el(9, b"a", struct.pack("<q", 253402300800000))),
    "nan": doc(el(1, b"a", b"\1\0\0\0\0\0\xf8\x7f")), "text with 0": doc(el(2, b"a", text(b"a\0b"))), "text not UTF-8": doc(el(2, b"a", text(b"\xff"))),
    "text surrogate": doc(el(2, b"a", text(b"\xed\xa0\x80"))), "text without end": doc(el(2, b"a", i32(2) + b"ab")), "name not UTF-8": doc(el(16, b"\xff", i32(1))),
    "text of length 0": doc(el(2, b"a", i32(0))), "text of length -1": doc(el(2, b"a", i32(-1) + b"\0")), "text too long": doc(el(2, b"a", i32(100) + b"a\0")),
    "name empty": doc(el(16, b"", i32(1))), "name odd": doc(el(16, b"$a.b", i32(1))), "name without end": i32(7) + b"\x10a\0",
    "reference": doc(el(3, b"a", doc(el(16, b"$id", i32(1)), one, el(2, b"$db", text(b"d")), el(2, b"$ref", text(b"c"))))),
    "reference on top": doc(el(16, b"$id", i32(1)), el(2, b"$ref", text(b"c"))), "reference without id": doc(el(3, b"a", doc(one, el(2, b"$ref", text(b"c"))))),
    "reference in array": doc(el(4, b"a", doc(el(3, b"0", doc(one, el(16, b"$id", i32(1)), el(2, b"$ref", text(b"c"))))))),
    "reference to a number": doc(el(3, b"a", doc(one, el(16, b"$id", i32(1)), el(16, b"$ref", i32(1))))),
    "reference to a symbol": doc(el(3, b"a", doc(one, el(16, b"$id", i32(1)), el(14, b"$ref", text(b"c"))))),
    "reference in a number": doc(el(3, b"a", doc(one, el(16, b"$id", i32(1)), el(16, b"$db", i32(1)), el(2, b"$ref", text(b"c"))))),
    "reference in null": doc(el(3, b"a", doc(one, el(16, b"$id", i32(1)), el(10, b"$db"), el(2, b"$ref", text(b"c"))))),
    "reference to code": doc(el(3, b"a", doc(one, el(16, b"$id", i32(1)), el(15, b"$db", scoped(b"f()", doc())), el(13, b"$ref", text(b"c"))))),
    "reference to null": doc(el(3, b"a", doc(one, el(10, b"$id"), el(2, b"$ref", text(b"c"))))),
    "unknown type": doc(el(0x20, b"a")), "bytes after": doc(one)[:-1] + b"\0\0", "length 4": i32(4), "no last 0": i32(5) + b"\1",
    "nested": None, "cut inside": doc(el(3, b"a", i32(50) + b"\0")), "inner length small": doc(el(3, b"a", i32(4) + b"\0")),
    "inner too long": doc(el(3, b"a", i32(6) + b"\0")), "int32 cut": doc(el(16, b"a", b"\1")),
}
DOCS["nested"] = doc()
for _ in range(60):
    DOCS["nested"] = doc(el(3, b"a", DOCS["nested"]), one)

r = random.Random(1)
base = doc(el(16, b"n", i32(3)), el(3, b"d", doc(el(4, b"l", doc(el(2, b"0", text(b"ab")), el(5, b"1", i32(2) + b"\0xy"))))), el(16, b"_id", i32(9)))
for n in range(300):
    b = bytearray(base)
    for _ in range(r.choice([1, 1, 2])):
        b[r.randrange(4, len(b) - 1)] = r.choice([0, 1, 2, 3, 4, 5, 8, 10, 11, 13, 14, 15, 16, 17, 18, 127, 255, r.randrange(256)])
    DOCS[f"damaged {n}"] = bytes(b)


def convert(d):
    try:
        return bson.encode(bson.decode(d)).hex()
    except Exception:
        return None


cases = [{"name": k, "in": d.hex(), "out": convert(d)} for k, d in DOCS.items()]
here = pathlib.Path(__file__).parent
json.dump({"command": " ".join(["python", *map(os.path.basename, sys.argv)]), "versions": {"pymongo": pymongo.version, "python": sys.version.split()[0]}, "cases": cases}, open(here / "pymongo.json", "w"), indent=0)
