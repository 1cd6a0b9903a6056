"""Images made on the spot, in pure Python: OCI layouts, archives of both kinds."""
import gzip
import hashlib
import io
import json
import os
import tarfile

OCI = {
    "index": "application/vnd.oci.image.index.v1+json",
    "manifest": "application/vnd.oci.image.manifest.v1+json",
    "config": "application/vnd.oci.image.config.v1+json",
    "layer": "application/vnd.oci.image.layer.v1.tar",
    "gzip": "application/vnd.oci.image.layer.v1.tar+gzip",
    "zstd": "application/vnd.oci.image.layer.v1.tar+zstd",
}
DOCKER = {
    "index": "application/vnd.docker.distribution.manifest.list.v2+json",
    "manifest": "application/vnd.docker.distribution.manifest.v2+json",
    "config": "application/vnd.docker.container.image.v1+json",
    "layer": "application/vnd.docker.image.rootfs.diff.tar",
    "gzip": "application/vnd.docker.image.rootfs.diff.tar.gzip",
}


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def tar(*entries):
    """Entries are (name, bytes), (name, "-> target") or (name, None) for a folder."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for name, what in entries:
            i = tarfile.TarInfo(name)
            i.mode = 0o755
            if what is None:
                i.type = tarfile.DIRTYPE
            elif isinstance(what, str):
                i.type, i.linkname = tarfile.SYMTYPE, what[3:]
            else:
                i.size = len(what)
            t.addfile(i, io.BytesIO(what) if isinstance(what, bytes) else None)
    return out.getvalue()


class Image:
    """One image: layers are unpacked archives; put() adds its blobs to a dict."""

    def __init__(self, layers, config=None, arch="amd64", os_="linux", family=OCI,
                 pack="gzip", top=None, extra=None, history=True):
        self.layers, self.family, self.pack, self.extra = layers, family, pack, extra
        self.config = {
            "created": "2024-01-02T03:04:05Z", "architecture": arch, "os": os_,
            "config": config or {},
            "rootfs": {"type": "layers", "diff_ids": [digest(x) for x in layers]},
        }
        if history:
            self.config["history"] = [{"created_by": "step %d" % i}
                                      for i in range(len(layers))]
        self.config.update(top or {})

    def put(self, blobs):
        """The descriptor of its manifest."""
        def add(data, kind):
            blobs[digest(data)] = data
            return {"mediaType": self.family[kind], "digest": digest(data),
                    "size": len(data)}

        config = add(json.dumps(self.config).encode(), "config")
        layers = [add(gzip.compress(x, mtime=0) if self.pack == "gzip" else x, self.pack)
                  for x in self.layers]
        manifest = {"schemaVersion": 2, "mediaType": self.family["manifest"],
                    "config": config, "layers": layers}
        manifest.update(self.extra or {})
        return add(json.dumps(manifest).encode(), "manifest")


def index(blobs, entries, family=OCI):
    """Entries are descriptors with what else shall stand in them."""
    data = json.dumps({"schemaVersion": 2, "mediaType": family["index"],
                       "manifests": entries}).encode()
    blobs[digest(data)] = data
    return {"mediaType": family["index"], "digest": digest(data), "size": len(data)}


def files_of(blobs, root, ref=None):
    """A layout as {path: bytes}."""
    if ref:
        root = dict(root, annotations={"org.opencontainers.image.ref.name": ref})
    out = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
           "index.json": json.dumps({"schemaVersion": 2, "manifests": [root]}).encode()}
    for name, data in blobs.items():
        out["blobs/" + name.replace(":", "/")] = data
    return out


def write_layout(path, files):
    for name, data in files.items():
        at = os.path.join(path, name)
        os.makedirs(os.path.dirname(at), exist_ok=True)
        with open(at, "wb") as f:
            f.write(data)
    return path


def layout(path, image, ref=None):
    blobs = {}
    return write_layout(path, files_of(blobs, image.put(blobs), ref))


def docker_files(image, tags=("base:1",), name="%d/layer.tar"):
    """What "docker save" writes, as [(name, what)]; see tar()."""
    config = json.dumps(image.config).encode()
    at = digest(config)[7:] + ".json"
    names = [name.replace("%d", str(i)) for i in range(len(image.layers))]
    return [(at, config), *zip(names, image.layers),
            ("manifest.json", json.dumps([{"Config": at, "RepoTags": list(tags),
                                           "Layers": names}]).encode())]


class Layout:
    """What lies in a layout or in an archive that is one."""

    def __init__(self, path):
        self.files = {}
        if os.path.isdir(path):
            for folder, _, names in os.walk(path):
                for n in names:
                    at = os.path.join(folder, n)
                    with open(at, "rb") as f:
                        self.files[os.path.relpath(at, path)] = f.read()
        else:
            with tarfile.open(path) as t:
                for m in t:
                    if m.isfile():
                        self.files[m.name] = t.extractfile(m).read()

    def json(self, name):
        return json.loads(self.files[name])

    def blob(self, d):
        return self.files["blobs/" + d.replace(":", "/")]

    def root(self, ref=None):
        for e in self.json("index.json")["manifests"]:
            if not ref or e.get("annotations", {}).get(
                    "org.opencontainers.image.ref.name") == ref:
                return e
        raise KeyError(ref)

    def image(self, descriptor):
        """Manifest and config."""
        manifest = json.loads(self.blob(descriptor["digest"]))
        return manifest, json.loads(self.blob(manifest["config"]["digest"]))

    def tree(self, layer):
        data = self.blob(layer["digest"])
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        with tarfile.open(fileobj=io.BytesIO(data)) as t:
            return {m.name: m for m in t}
