"""Makes python.json: texts and how CPython's json module rewrites them."""
import json
import platform

TEXTS = [
    "1", "-0", "0", "-0.0", "1e5", "1E400", "-1e400", "1e16", "1e15", "123456789012345678901234567890", "0.1", "1.0",
    "1e-5", "0.00001", "0.0001", "5e-324", "1.7976931348623157e308", "100000000000000000.0", "2.50", "1.", "01", "-", "+1",
    ".5", "1e", "1e+", "NaN", "Infinity", "-Infinity", "nan", "true", "false", "null", "tru", "", " ", "  1  ", "1 2",
    '""', '"a/b"', '"a\\/b"', '"\\u00e9"', '"é"', '"\\ud83d\\ude00"', '"😀"', '"\\ud83d"', '"\\ude00\\ud83d"',
    '"\\ud83dx\\ude00"', '"\\uD83D\\uDE00"', '"\\u2028"', '"\u2028"', '"\\u007f"', '"\x7f"', '"\\b\\f\\n\\r\\t"', '"\\u0001"',
    '"\\u0000"', '"\t"', '"\\x"', '"\\u12"', '"\\u12g4"', '"abc', '"\\', "[]", "[1,2]", "[ 1 , [ 2 ] , [] , {} ]", "[1,]", "[,1]",
    "[1 2]", "[", "{}", '{"a":1}', '{"b":1,"a":2}', '{"a":1,"b":2,"a":3}', '{"b":{"d":1,"c":[{"z":1,"y":2}]},"a":[]}',
    '{"é":1,"z":2,"a":3,"😀":4,"\uffee":5}', '{"a" : 1 , "b" : 2}', '{a:1}', '{"a"}', '{"a":}', '{"a":1,}', "{", '{"a":1', "[1]]",
    '{"a":"x\\"y\\\\z"}', "\ufeff1", "[1]\n", "\r\n[1]\t", "\f1", "\xa01", "[1e5,1E+5,1e-7,12.0e1]",
]


def vector(text):
    try:
        v = json.loads(text)
    except ValueError:
        return {"Text": text, "Error": True, "Plain": "", "Indent": "", "Sorted": ""}
    return {"Text": text, "Error": False, "Plain": json.dumps(v), "Indent": json.dumps(v, indent=4),
            "Sorted": json.dumps(v, indent=2, sort_keys=True)}


with open("python.json", "w", encoding="ascii") as f:
    json.dump({"Python": platform.python_version(), "Vectors": [vector(t) for t in TEXTS]}, f, indent=1)
    f.write("\n")
