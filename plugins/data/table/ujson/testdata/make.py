"""Makes oracle files: what pandas' ujson reads and writes, and what read_json
and to_json by lines make of records.

    python make.py values 2000 1 > values.jsonl
    python make.py frames 600 1 > frames.jsonl

The second argument is the number of cases, the third the seed. The first line
of a file states the versions."""
import io
import json
import os
import random
import struct
import sys
import warnings

import pandas as pd
from pandas._libs.json import ujson_dumps, ujson_loads

warnings.filterwarnings("ignore")
what, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
r = random.Random(seed)
BITS = [0, 1, 0x7FEFFFFFFFFFFFFF, 0x10000000000000, 0x43E0000000000000, 0x43F0000000000000, 0x4341C37937E08000, 0x3CD203AF9EE75616]


def any_float():
    k = r.random()
    if k < .15:
        return struct.unpack("<d", struct.pack("<Q", r.getrandbits(64)))[0]
    if k < .25:
        b = r.choice(BITS) + r.randrange(-3, 4)
        return struct.unpack("<d", struct.pack("<Q", max(b, 0)))[0] * r.choice([1, -1])
    if k < .45:
        return round(r.uniform(-10, 10), r.randrange(0, 14))
    if k < .6:
        return r.randrange(-2000, 2000) / 2 ** r.randrange(0, 40)
    if k < .75:
        return r.choice([1, -1]) * r.random() * 10.0 ** r.randrange(-20, 20)
    if k < .85:
        return float(r.randrange(-10**17, 10**17))
    return r.choice([1, -1]) * (r.randrange(10**6) + .5) * 10.0 ** r.randrange(-12, 4)


def digits(low, high):
    return "".join(r.choice("0123456789") for _ in range(r.randrange(low, high)))


def number():
    k = r.random()
    if k < .25:
        return repr(any_float())
    if k < .4:
        return "%.*f" % (r.randrange(0, 25), any_float() if r.random() < .5 else r.uniform(-300, 300))
    if k < .5:
        return "%.*e" % (r.randrange(0, 20), any_float())
    if k < .6:
        return str(r.choice([r.randrange(-1000, 1000), r.randrange(-2**63 - 20, 2**64 + 20), 2**63 + r.randrange(-3, 3), -2**63 + r.randrange(-3, 3), 2**64 + r.randrange(-3, 3), 2**53 + r.randrange(-3, 3)]))
    if k < .9:
        s = r.choice(["", "", "-"]) + r.choice(["0", digits(0, 4), digits(1, 8), digits(1, 22)])
        if r.random() < .8:
            s += "." + r.choice([digits(0, 5), digits(0, 25), "0" * r.randrange(20) + digits(1, 9)])
        if r.random() < .3:
            s += r.choice("eE") + r.choice(["", "+", "-"]) + r.choice(["", str(r.randrange(25)), str(r.randrange(400)), digits(1, 6)])
        return s
    if k < .95:
        return "1e%d" % r.randrange(-345, 345)
    return r.choice(["NaN", "Infinity", "-Infinity", "-", "-0", "-0.0", "0e999", "1e999", "-1e-999", "00012", "1.e5", ".5", "+1", "Nan", "Inf", "0x1", "1_0", "--1", "1.2.3", "-NaN"])


CHARS = ["a", "b", "Z", " ", "/", "\\", '"', "\b", "\f", "\n", "\r", "\t", "\x00", "\x01", "\x1f", "\x7f", "\x80", "é", "ß", "中", "\u2028", "\ufeff", "\uffff", "🎉", "𝒳", "\U0010ffff", "<", ">", "&", "'", "0", "."]


def string(t=None):
    t = "".join(r.choice(CHARS) for _ in range(r.randrange(0, 12))) if t is None else t
    out = ""
    for c in t:
        k = r.random()
        if c in '"\\' or (c < " " and k < .85):
            short = dict(zip('"\\\b\f\n\r\t', '"\\bfnrt')).get(c)
            out += "\\" + short if short and k < .6 else "\\u%04x" % ord(c)
        elif k < .1 and ord(c) < 0x10000:
            out += ("\\u%04X" if k < .05 else "\\u%04x") % ord(c)
        elif k < .1:
            n = ord(c) - 0x10000
            out += "\\u%04x\\u%04x" % (0xd800 + (n >> 10), 0xdc00 + (n & 0x3ff))
        elif c == "/" and k < .3:
            out += "\\/"
        else:
            out += c
    if r.random() < .06:
        at = r.randrange(len(out) + 1)
        out = out[:at] + r.choice(["\\ud83d", "\\ude00", "\\ud83d\\ude00", "\\x", "\\u12", "\\", "\x00", "\t", "\\uD83Dabc\\uDE00", "\\ud83d\\u0041"]) + out[at:]
    return '"' + out + ('"' if r.random() < .99 else "")


def blank():
    return r.choice([""] * 12 + [" ", "\t", "  ", "\r", "\x0b", "\xa0"])


def value(depth=0):
    k = r.random()
    if depth < 4 and k < .12:
        items = [blank() + value(depth + 1) + blank() for _ in range(r.randrange(4))]
        return "[" + ",".join(items) + r.choice([""] * 20 + [","]) + r.choice(["]"] * 40 + ["", "}"])
    if depth < 4 and k < .24:
        return obj(["a", "b", "a", "é", "/", ""], depth)
    if k < .6:
        return number()
    if k < .9:
        return string()
    return r.choice(["null", "true", "false"] * 6 + ["tru", "nul", "None", "True", "x", ""])


def obj(names, depth):
    items = [blank() + string(r.choice(names)) + blank() + ":" + blank() + value(depth + 1) + blank() for _ in range(r.randrange(5))]
    return "{" + ",".join(items) + r.choice([""] * 8 + [","]) + r.choice(["}"] * 40 + [""])


def canon(v):
    if v is None or v is True or v is False:
        return {None: "null", True: "true", False: "false"}[v]
    if isinstance(v, int):
        return str(v)
    if isinstance(v, float):
        return "nan" if v != v else "f%016x" % struct.unpack("<Q", struct.pack("<d", v))[0]
    if isinstance(v, str):
        return json.dumps(v)
    if isinstance(v, list):
        return "[" + ",".join(map(canon, v)) + "]"
    return "{" + ",".join(json.dumps(k) + ":" + canon(x) for k, x in v.items()) + "}"


def emit(case):
    # ensure_ascii keeps lone surrogates apart from replacement characters
    print(json.dumps(case))


def values():
    for i in range(count):
        text = r.choice([number, string, value])()
        if r.random() < .05:
            text += r.choice([" ", "x", "]", "\n", " 1", "\x00"])
        try:
            v = ujson_loads(text)
            read = canon(v)
        except (ValueError, OverflowError):
            emit({"in": text, "read": "", "write": ""})
            continue
        try:
            write = ujson_dumps(v, ensure_ascii=True)
        except (ValueError, OverflowError, UnicodeError):
            write = ""
        emit({"in": text, "read": read, "write": write})


COLUMN = {
    "int": lambda: str(r.randrange(-50, 50)), "big": lambda: str(r.randrange(2**53, 2**63)), "uint": lambda: str(r.choice([r.randrange(2**63, 2**64), r.randrange(9)])),
    "wild": lambda: str(r.choice([r.randrange(2**63, 2**64), -5, 7])), "whole": lambda: "%d.0" % r.randrange(-9, 99), "float": lambda: repr(round(r.uniform(-5, 5), r.randrange(12))),
    "huge": lambda: r.choice(["1e18", "1e19", "9223372036854775808.0", "-9223372036854775808.0", "3.0", "1e300"]), "mixed": lambda: r.choice(["1", "2.0", "3.5", "4"]),
    "bool": lambda: r.choice(["true", "false"]), "boolint": lambda: r.choice(["true", "1", "0"]), "text": lambda: json.dumps(r.choice(["a", "b/c", "é\n", "", "NA"])),
    "digits": lambda: json.dumps(r.choice(["007", "12", " 3 ", "1_000", "1.0"])), "decimals": lambda: json.dumps(r.choice(["0.5", "1e3", "-.5", "5."])),
    "words": lambda: json.dumps(r.choice(["nan", "inf", "-Infinity", "NaN", "+nan", "1"])), "odd": lambda: json.dumps(r.choice(["1", "0x1", "1__0", "_1", "1_", "1e", "٣", "１２", "\u00a07\u2003", "1\x1c", "--1", "1p3"])),
    "list": lambda: r.choice(["[]", "[1,2.50]", '[0.1234567890123456789,null,"x/y"]', '[{"b":1,"a":2}]', "[true]"]), "object": lambda: r.choice(["{}", '{"z":1.0,"a":[1]}', '{"k":null}']),
    "null": lambda: "null", "nan": lambda: r.choice(["NaN", "0e999", "1.5"]), "anything": lambda: r.choice(["1", "1.5", '"1"', '"x"', "null", "true", "[1]", "18446744073709551615", "-3"]),
}


def frame():
    names = r.sample(["id", "b/c", "index", "z", "a", "é", "x y", "1"], r.randrange(2, 6))
    kinds = {n: r.choice(list(COLUMN)) for n in names}
    gaps = {n: r.choice([0, 0, 0, .2]) for n in names}
    nulls = {n: r.choice([0, 0, 0, .2]) for n in names}
    lines = []
    for _ in range(r.choice([1, 1, 2, 3, 5, 9])):
        order = names if r.random() < .8 else r.sample(names, len(names))
        lines.append("{" + ",".join(json.dumps(n) + ":" + ("null" if r.random() < nulls[n] else COLUMN[kinds[n]]()) for n in order if r.random() >= gaps[n]) + "}")
    return lines


def frames():
    for i in range(count):
        lines = frame()
        try:
            df = pd.read_json(io.StringIO("\n".join(lines) + "\n"), lines=True)
            out = df.to_json(orient="records", lines=True)
        except Exception as e:
            continue
        if not len(df.columns):
            continue
        texts = {}
        for c in df.columns:
            if not any(isinstance(x, (list, dict)) for x in df[c]):
                texts[c] = df[c].astype(str).tolist()
        emit({"lines": lines, "out": out, "texts": texts})


emit({"made_with": f"pandas {pd.__version__}, Python {sys.version.split()[0]}", "command": " ".join(["python", *map(os.path.basename, sys.argv)])})
{"values": values, "frames": frames}[what]()
