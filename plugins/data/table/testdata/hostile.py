"""Writes hostile.jsonl: hostile files and what pandas makes of them.

    pip install pandas==2.2.3 numpy==1.26.4
    python hostile.py > hostile.jsonl

pandas 2.3.3 with numpy 2.4.6 gives the same answers. A file is a list of
pieces [bytes in base64, times]. pandas reads it by
read_csv(float_precision="round_trip"); the answer is either its error or
names, dtypes, leading index columns and what to_csv(index=False) writes (its
MD5 where it is long).
"""

import base64
import gzip
import hashlib
import io
import json
import os
import sys
import warnings
import zipfile

import numpy as np
import pandas as pd

warnings.simplefilter("ignore")
cases = []


def case(name, *pieces):
    cases.append((name, [(p, 1) if isinstance(p, bytes) else p for p in pieces]))


OK = b"id,label\n1,2\n"

# Quotes
case("quote never closed", b'id,label\n1,"2\n3,4\n')
case("quote never closed in the header", b'id,"label\n1,2\n')
case("quote never closed in the last cell", b'id,label\n1,2\n3,"')
case("quote never closed, long", b'id,label\n1,"', (b"x\n", 500_000))
case("a single quote", b'"')
case("two quotes", b'""')
case("three quotes", b'"""')
case("only quotes, even", (b'"', 1000))
case("only quotes, odd", (b'"', 1001))
case("stray quote in a cell", b'id,label\n1,a"b\n2,c\n')
case("stray quote at the end", b'id,label\n1,ab"\n2,c\n')
case("text after a closed quote", b'id,label\n1,"a"b\n')
case("text after a closed quote, quoted again", b'id,label\n1,"a"b"c"\n')
case("blank before a quote", b'id,label\n1, "a,b"\n')
case("blank after a quote", b'id,label\n1,"a" ,\n')
case("doubled quotes", b'id,label\n1,"a""b""""c"\n')
case("backslash before a quote", b'id,label\n1,"a\\"b"\n')
case("single quotes", b"id,label\n1,'a,b'\n")
case("typographic quotes", "id,label\n1,“a”\n".encode())
case("quoted separator", b'id,label\n1,"a,b"\n')
case("quoted line end", b'id,label\n1,"a\nb"\n')
case("quoted carriage return", b'id,label\n1,"a\rb"\n')
case("quoted CRLF", b'id,label\r\n1,"a\r\nb"\r\n')
case("quoted header with line end", b'"i\nd",label\n1,2\n')
case("quoted numbers", b'id,label\n"1","2.5"\n"3","4"\n')
case("quoted missing", b'id,label\n1,"NA"\n2,""\n')
case("ten thousand quoted line ends", b'id,label\n1,"', (b"\n", 10_000), b'"\n2,x\n')
case("a hundred thousand doubled quotes", b'id,label\n1,"', (b'""', 100_000), b'"\n')

# NUL, binary, encodings
case("NUL in a cell", b"id,label\n1,a\0b\n2,c\n")
case("NUL as a cell", b"id,label\n1,\0\n2,c\n")
case("NUL in the header", b"id,la\0bel\n1,2\n")
case("NUL in a number", b"id,label\n1,2\0\n3,4\n")
case("only NULs", (b"\0", 4096))
case("NUL at the end", b"id,label\n1,2\n\0")
case("binary", bytes(range(256)))
case("binary, long", (bytes(range(255, -1, -1)), 2000))
case("PNG", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0")
case("ELF", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01")
case("gzip named .csv", gzip.compress(OK * 20, mtime=0))
buf = io.BytesIO()
with zipfile.ZipFile(buf, "w") as z:
    z.writestr(zipfile.ZipInfo("a.csv", (1980, 1, 1, 0, 0, 0)), OK)
case("zip named .csv", buf.getvalue())
case("zstd named .csv", b"\x28\xb5\x2f\xfd\x04\x58\x61\x00\x00id,label\n1,2\n")
case("invalid UTF-8 in a cell", b"id,label\n1,\xff\n")
case("invalid UTF-8 far down", b"id,label\n", (b"1,a\n", 100_000), b"2,\xfe\n")
case("invalid UTF-8 in the header", b"id,l\xe4bel\n1,2\n")
case("Latin-1", "id,label\n1,Zürich\n".encode("latin-1"))
case("Windows-1252", "id,label\n1,5 €\n".encode("cp1252"))
case("Shift JIS", "id,label\n1,日本\n".encode("shift_jis"))
case("overlong UTF-8", b"id,label\n1,\xc0\xaf\n")
case("surrogate in UTF-8", b"id,label\n1,\xed\xa0\x80\n")
case("beyond U+10FFFF", b"id,label\n1,\xf4\x90\x80\x80\n")
case("cut-off UTF-8 at the end", b"id,label\n1,\xe2\x82")
case("continuation byte alone", b"id,label\n1,\x80\n")
case("UTF-16 with BOM", OK.decode().encode("utf-16"))
case("UTF-16 little-endian", OK.decode().encode("utf-16-le"))
case("UTF-16 big-endian with BOM", b"\xfe\xff" + OK.decode().encode("utf-16-be"))
case("UTF-32 with BOM", OK.decode().encode("utf-32"))
case("UTF-7 BOM", b"+/v8-id,label\n1,2\n")
case("BOM", b"\xef\xbb\xbf" + OK)
case("two BOMs", b"\xef\xbb\xbf\xef\xbb\xbf" + OK)
case("BOM before a quote", b'\xef\xbb\xbf"id",label\n1,2\n')
case("BOM only", b"\xef\xbb\xbf")
case("BOM and a line end", b"\xef\xbb\xbf\n" + OK)
case("half a BOM", b"\xef\xbb" + OK)
case("BOM in the middle", b"id,label\n1,\xef\xbb\xbf2\n")
case("emoji and combining marks", "id,label\n1,👩‍👩‍👧‍👦é\n".encode())
case("right-to-left override", "id,label\n1,\u202etxt.exe\n".encode())
case("zero-width header", "\u200bid,label\n1,2\n".encode())
case("non-breaking blanks", "id,label\n1,\u00a02\n".encode())
case("escape sequences of terminals", b"id,label\n1,\x1b[31mred\x1b[0m\n")
case("control characters", b"id,label\n1,\x01\x02\x03\x7f\n")

# Lines
case("CRLF", b"id,label\r\n1,2\r\n")
case("bare carriage returns", b"id,label\r1,2\r3,4\r")
case("mixed line ends", b"id,label\n1,2\r\n3,4\r5,6\n")
case("CR CR LF", b"id,label\r\r\n1,2\r\r\n")
case("LF CR", b"id,label\n\r1,2\n\r")
case("no line end at the end", b"id,label\n1,2")
case("blank lines", b"\n\nid,label\n\n1,2\n\n\n3,4\n\n")
case("lines of blanks", b"id,label\n  \n1,2\n\t\n")
case("form feed and vertical tab", b"id,label\n1\x0c,\x0b2\n")
case("Unicode line ends", "id,label\n1,a\u2028b\u2029c\u0085d\n".encode())
case("Ctrl-Z at the end", OK + b"\x1a")
case("a million blank lines", b"id,label\n", (b"\n", 1_000_000), b"1,2\n")
case("only line ends", (b"\n", 100_000))
case("only carriage returns", (b"\r", 1000))
case("only CRLF", (b"\r\n", 1000))
case("very long line of one cell", b"id,label\n1,", (b"y", 5_000_000), b"\n2,z\n")
case("very long line of many cells", b"id,label\n1", (b",2", 1_000), b"\n")
case("comment lines", b"# a comment\nid,label\n1,2\n")
case("separator line of Excel", b"sep=;\nid;label\n1;2\n")

# Shapes
case("empty file", b"")
case("one blank", b" ")
case("one line end", b"\n")
case("header only", b"id,label\n")
case("header only, no line end", b"id,label")
case("one cell", b"id\n")
case("one column", b"id\n1\n2\n")
case("only a separator", b",")
case("only separators", (b",", 1000))
case("only separators, two lines", b",,,\n,,,\n")
case("lines of separators only", b"id,label\n,\n,\n")
case("short row", b"a,b,c\n1,2\n3,4,5\n")
case("empty short rows", b"a,b,c\n1\n2\n")
case("long row", b"a,b,c\n1,2,3\n4,5,6,7\n")
case("long first row", b"a,b\n1,2,3\n4,5,6\n")
case("long first row, short second", b"a,b\n1,2,3\n4,5\n")
case("long first row, longer second", b"a,b\n1,2,3\n4,5,6,7\n")
case("two leading columns", b"a,b\n1,2,3,4\n5,6,7,8\n")
case("trailing separators", b"a,b\n1,2,\n3,4,\n")
case("trailing separator in the header", b"a,b,\n1,2\n3,4\n")
case("trailing separators everywhere", b"a,b,\n1,2,\n3,4,\n")
case("trailing separator in one row", b"a,b\n1,2\n3,4,\n")
case("leading separators", b",a,b\n0,1,2\n1,3,4\n")
case("long row far down", b"a,b\n", (b"1,2\n", 200_000), b"1,2,3\n")
case("short row far down", b"a,b\n", (b"1,2\n", 200_000), b"1\n")
case("four thousand columns", (b",", 3_999), b"\n1", (b",2", 3_999), b"\n")  # more take pandas minutes
case("more rows than the header is wide", b"a\n", (b"1\n", 100_000))
case("header repeated", OK + OK)
case("two tables", b"id,label\n1,2\n\nname,age,city\nx,3,y\n")
case("semicolons", b"id;label\n1;2\n")
case("tabs", b"id\tlabel\n1\t2\n")
case("pipes", b"id|label\n1|2\n")
case("JSON", b'{"id": [1, 2], "label": [3, 4]}\n')
case("JSON lines", b'{"id": 1, "label": 2}\n{"id": 3, "label": 4}\n')
case("HTML", b"<html><body><table><tr><td>id</td></tr></table></body></html>\n")
case("Python traceback", b'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\nValueError: a, b, c\n')
case("a bomb of separators", (b",", 3_000), b"\n", (b"1\n", 100))

# Headers
case("duplicate headers", b"id,label,label\n1,2,3\n")
case("duplicate headers that clash with their new names", b"a,a,a.1\n1,2,3\n")
case("duplicate headers that clash twice", b"a,a,a.1,a.1,a\n1,2,3,4,5\n")
case("a thousand equal headers", b"a", (b",a", 999), b"\n1", (b",1", 999), b"\n")
case("empty headers", b",,\n1,2,3\n")
case("headers called Unnamed", b"Unnamed: 1,,\n1,2,3\n")
case("blank headers", b" ,  ,id\n1,2,3\n")
case("headers with blanks", b" id , label \n1,2\n")
case("numeric headers", b"0,1,2\n3,4,5\n")
case("missing as headers", b"NA,nan,null\n1,2,3\n")
case("quoted separator in the header", b'"a,b",c\n1,2\n')
case("headers in capitals", b"ID,LABEL\n1,2\n")

# Values
case("huge exponents", b"x\n1e308\n1e309\n-1e400\n1e99999999999999999999\n")
case("tiny exponents", b"x\n5e-324\n1e-400\n1e-99999999999999999999\n")
case("exponent without digits", b"x\n1e\n2\n")
case("exponent with a sign only", b"x\n1e+\n2\n")
case("hexadecimal floats", b"x\n0x1p3\n1.5\n")
case("hexadecimal integers", b"x\n0x10\n1\n")
case("octal and binary integers", b"x\n0o17\n0b11\n")
case("leading zeros", b"x\n007\n08\n")
case("underscores in numbers", b"x\n1_000\n2\n")
case("thousands", b'x\n"1,000"\n2\n')
case("decimal commas", b'x\n"1,5"\n"2,5"\n')
case("plus signs", b"x\n+1\n+2\n")
case("double signs", b"x\n--1\n+-2\n")
case("minus alone", b"x\n-\n1\n")
case("dot alone", b"x\n.\n1\n")
case("dots at the edges", b"x\n.5\n5.\n")
case("two dots", b"x\n1.2.3\n1\n")
case("Arabic digits", "x\n١٢٣\n4\n".encode())
case("full-width digits", "x\n１２３\n4\n".encode())
case("superscript digits", "x\n2²\n4\n".encode())
case("Unicode minus", "x\n−1\n2\n".encode())
case("the largest int64", b"x\n9223372036854775807\n-9223372036854775808\n")
case("beyond int64", b"x\n9223372036854775808\n1\n")
case("beyond int64, negative", b"x\n-9223372036854775809\n1\n")
case("uint64 and negative", b"x\n18446744073709551615\n-1\n")
case("beyond uint64", b"x\n18446744073709551616\n1\n")
case("four hundred digits", b"x\n", (b"9", 400), b"\n1\n")
case("ten thousand digits", b"x\n0.", (b"3", 10_000), b"\n1\n")
case("ten thousand zeros", b"x\n", (b"0", 10_000), b"1\n1\n")
case("infinities", b"x\ninf\n-Infinity\n+INF\niNf\n")
case("infinity as a word", b"x\ninfinit\n1\n")
case("spellings of nan", b"x\nnan\nNaN\nNAN\n-nan\n-NaN\n")
case("all texts for missing", b"x\n#N/A\n#NA\n-1.#IND\n-1.#QNAN\n1.#IND\n1.#QNAN\n<NA>\nN/A\nNA\nNULL\nNone\nn/a\nnull\n")
case("texts that look missing", b"x\nnone\nNil\nnA\n?\n--\n")
case("spellings of truth", b"x\nTrue\nfalse\nTRUE\nFALSE\n")
case("unusual truth", b"x\ntRUE\nyes\nNo\n")
case("truth and gaps", b"x,y\nTrue,1\n,2\n")
case("truth and numbers", b"x\nTrue\n1\n")
case("blanks around numbers", b"x,y\n 1 , 2.5 \n3 ,4\n")
case("tabs around numbers", b"x,y\n\t1\t,\t2\n")
case("dates", b"x\n2020-01-01\n1/2/2020\n")
case("complex numbers", b"x\n1+2j\n3j\n")
case("currencies", "x\n$1\n€2\n".encode())
case("percent", b"x\n10%\n20%\n")
case("formulas", b"id,label\n1,=CMD|'/C calc'!A0\n2,@SUM(A1)\n3,+1+2\n4,-1+2\n")
case("template injection", b"id,label\n1,${file.secret}\n2,%{ if true }x%{ endif }\n")
case("path as a value", b"id,label\n../../../etc/passwd,/dev/zero\n")
case("one cell of 10 MB", b"id,label\n1,", (b"z", 10_000_000), b"\n")
case("one quoted cell of 10 MB with line ends", b'id,label\n1,"', (b"zzzzzzzzz\n", 1_000_000), b'"\n')
case("ints, then a text in the last of many rows", b"x\n", (b"1\n", 300_000), b"x\n")
case("ints, then a gap in the last of many rows", b"x,y\n", (b"1,1\n", 300_000), b",1\n")


def letter(v):
    if isinstance(v, (bool, np.bool_)):
        return "b"
    if isinstance(v, str):
        return "s"
    if pd.isna(v):
        return "n"
    return "i" if isinstance(v, (int, np.integer)) else "f"


def answer(data):
    try:
        df = pd.read_csv(io.BytesIO(data), float_precision="round_trip")
    except Exception as e:  # whatever pandas says is the answer
        return {"err": f"{type(e).__name__}: {str(e).strip()[:100]}"}
    lead = 0 if isinstance(df.index, pd.RangeIndex) else df.index.nlevels
    text = df.to_csv(index=False, lineterminator="\n")
    out = {"lead": lead, "rows": len(df), "width": df.shape[1]}
    if len(text) > 1000:
        out["md5"] = hashlib.md5(text.encode()).hexdigest()
        return out
    out["names"] = [str(c) for c in df.columns]
    out["dtypes"] = [str(t) for t in df.dtypes]
    out["types"] = ["".join(letter(v) for v in df.iloc[:, i]) for i in range(df.shape[1])]
    out["csv"] = text
    return out


assert len({name for name, _ in cases}) == len(cases)
head = {"made_with": f"pandas {pd.__version__} with numpy {np.__version__}, Python {sys.version.split()[0]}", "command": " ".join(["python", *map(os.path.basename, sys.argv)])}
print(json.dumps(head))
for name, pieces in cases:
    data = b"".join(p * n for p, n in pieces)
    packed = [[base64.b64encode(p).decode(), n] for p, n in pieces]
    print(json.dumps({"name": name, "in": packed, **answer(data)}))
