#!/usr/bin/env python3
"""image.py NAME FOLDER OUT.tar: pack a folder as an OCI image, localhost/NAME:1."""
import hashlib, io, json, sys, tarfile

name, folder, out = sys.argv[1:]
blobs = {}


def blob(data):
    digest = hashlib.sha256(data).hexdigest()
    blobs[digest] = data
    return {"digest": "sha256:" + digest, "size": len(data)}


def plain(info):
    info.uid = info.gid = info.mtime = 0
    info.uname = info.gname = ""
    return info


def encode(value):
    return json.dumps(value).encode()


layer = io.BytesIO()
with tarfile.open(fileobj=layer, mode="w") as t:
    t.add(folder, arcname=".", filter=plain)
kind = "application/vnd.oci.image."
root = blob(layer.getvalue())
config = blob(encode({
    "os": "linux", "architecture": "amd64", "config": {"Env": ["PATH=/bin"], "Cmd": ["/bin/sh"] if name != "pause" else ["/pause"]},
    "rootfs": {"type": "layers", "diff_ids": [root["digest"]]}}))
manifest = blob(encode({
    "schemaVersion": 2, "mediaType": kind + "manifest.v1+json",
    "config": {"mediaType": kind + "config.v1+json", **config}, "layers": [{"mediaType": kind + "layer.v1.tar", **root}]}))
index = {"schemaVersion": 2, "manifests": [{
    "mediaType": kind + "manifest.v1+json", **manifest,
    "annotations": {"io.containerd.image.name": f"localhost/{name}:1", "org.opencontainers.image.ref.name": "1"}}]}
with tarfile.open(out, "w") as t:
    for path, data in {"oci-layout": encode({"imageLayoutVersion": "1.0.0"}), "index.json": encode(index),
                       **{"blobs/sha256/" + d: data for d, data in blobs.items()}}.items():
        info = tarfile.TarInfo(path)
        info.size = len(data)
        t.addfile(info, io.BytesIO(data))
