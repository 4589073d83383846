"""Writes index-1.log as FORMAT.md describes it, independently of the Go code.

Run with Python 3.11 (standard library only): python3 make_index.py > index-1.log
"""

import hashlib
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def fnv1a(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return h


def uvarint(n):
    out = b""
    while n >= 0x80:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def varint(n):
    return uvarint(n << 1 if n >= 0 else (-n << 1) - 1)


def text(s):
    return uvarint(len(s)) + s


def frame(kind, action, address, millis, payload):
    head = b"%s %s %016x %016x %08x " % (kind, action.hex().encode(), address, millis, len(payload))
    return head + b"%08x " % crc32c(head + payload) + payload + b"\n"


def digest(s):
    return hashlib.sha256(s).digest()


address = b'step.prepare.data["a/0"]'
record = text(b"prepare") + text(address) + text(b"run-1") + varint(1700000000123) + varint(-1)
record += uvarint(2) + text(b"kind") + text(b"prepare") + text(b"raw") + text(b"line\nfeed")
record += uvarint(3) + text(b"data") + b"t" + digest(b"tree") + varint(12345678901) + varint(200)
record += text(b"log") + b"b" + digest(b"blob") + varint(300) + varint(0)
record += text(b"rows") + b"j" + text(b'{"n":1}')

out = b"mleflow index 1\n"
out += frame(b"r", digest(b"action 1"), fnv1a(address), 1700000001000, record)
out += frame(b"r", digest(b"action 2"), fnv1a(b"x"), 1700000002000, text(b"k") + text(b"x") + text(b"") + b"\0\0\0\0")
out += b"r torn line of a writer that died\n"
out += frame(b"d", digest(b"action 2"), 0, 1700000003000, b"quota")
out += frame(b"u", bytes(32), 0, 1700000004000, digest(b"action 1") + digest(b"action 2"))
sys.stdout.buffer.write(out)
