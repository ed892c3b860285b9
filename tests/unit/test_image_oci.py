# SPDX-License-Identifier: GPL-2.0-only
"""tools/margay-build over OCI images that umoci has made: layers that add, replace and take away, as umoci itself unpacks them.

No registry is needed: skopeo copies from one local layout to another.
"""

import hashlib
import json
import os
import subprocess
import tarfile

import pytest

import image_roots as roots
from image_roots import build, contents, differences


def umoci(*words):
    subprocess.run(["umoci", *map(str, words)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture(name="layout", scope="module")
def fixture_layout(tmp_path_factory):
    """A layout with an image in four layers; tag v1 is its first layer alone."""
    top = tmp_path_factory.mktemp("oci")
    tree, layout = roots.make(top / "tree"), str(top / "layout")
    (top / "opt").mkdir()
    (top / "opt" / "only").write_text("only this")
    (top / "hostname").write_text("another\n")
    os.makedirs(os.path.join(tree, "opt/below"))
    with open(os.path.join(tree, "opt/old"), "w", encoding="ascii") as f:
        f.write("old")
    for name in sorted(os.listdir(tree)):
        # What the format cannot say is not put in, as umoci needs UTF-8.
        if "\udcff" in name:
            os.unlink(os.path.join(tree, name))
    umoci("init", "--layout", layout)
    umoci("new", "--image", layout + ":v1")
    umoci("insert", "--rootless", "--image", layout + ":v1", tree, "/")
    umoci("tag", "--image", layout + ":v1", "v2")
    umoci("insert", "--rootless", "--image", layout + ":v2", top / "hostname", "/etc/hostname")
    umoci("insert", "--rootless", "--image", layout + ":v2", "--opaque", top / "opt", "/opt")
    umoci("insert", "--rootless", "--image", layout + ":v2", "--whiteout", "/var/tmp")
    umoci("insert", "--rootless", "--image", layout + ":v2", "--whiteout", "/etc/passwd")
    return layout


def unpacked(image, target):
    subprocess.run(["unsquashfs", "-quiet", "-no-progress", "-d", str(target), str(image / "root.squashfs")], check=True)
    return str(target)


def files(top):
    """{path: mode and bytes} of what an image keeps."""
    found = {}
    for folder, folders, names in os.walk(top):
        for name in folders + names:
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, top)
            if relative.split("/")[0] in ("boot", "dev", "proc", "run", "sys", "tmp") or \
                    relative in roots.SECRETS + ("etc/machine-id",):
                continue
            data = os.readlink(path) if os.path.islink(path) else open(path, "rb").read() if os.path.isfile(path) else None
            found[relative] = (os.lstat(path).st_mode, data)
    return found


def test_layers_as_umoci_has_them(layout, tmp_path):
    """What a layer replaced, took away, or hid behind a folder of its own is as in umoci's own bundle."""
    build(layout, tmp_path / "image", "--tag", "v2")
    umoci("unpack", "--rootless", "--image", layout + ":v2", tmp_path / "bundle")
    ours, theirs = files(unpacked(tmp_path / "image", tmp_path / "out")), files(str(tmp_path / "bundle/rootfs"))
    assert ours == theirs
    assert ours["etc/hostname"][1] == b"another\n" and "opt/only" in ours
    assert not {"opt/old", "opt/below", "var/tmp", "var/tmp/stays", "etc/passwd"} & set(ours)
    assert not any(".wh." in path for path in ours)
    build(layout, tmp_path / "first", "--tag", "v1")
    assert {"opt/old", "opt/below", "var/tmp/stays", "etc/passwd"} <= set(files(unpacked(tmp_path / "first", tmp_path / "out1")))


def test_same_bytes_as_archive(layout, tmp_path):
    """skopeo's archive of it gives the same image, and needs no tag, for it has one image."""
    build(layout, tmp_path / "image", "--tag", "v2")
    copy = ["skopeo", "copy", "--quiet", "oci:%s:v2" % layout, "oci-archive:%s:v2" % (tmp_path / "archive.tar")]
    subprocess.run(copy, check=True)
    build(tmp_path / "archive.tar", tmp_path / "again")
    assert not differences(contents(tmp_path / "again"), contents(tmp_path / "image"))


def test_images_that_are_refused(layout, tmp_path):
    """Several without a tag, none of that tag, a damaged layer or manifest, a missing one: one line each."""
    def refused(top, *words):
        _, lines = build(top, tmp_path / "image", *words, status=1)
        assert len(lines) == 1 and not (tmp_path / "image").exists()
        return lines[0]

    assert "several images; it has v1, v2: name one by --tag" in refused(layout)
    assert "no such image for amd64; it has v1, v2" in refused(layout, "--tag", "v3")
    with open(os.path.join(layout, "index.json"), encoding="utf-8") as f:
        index = json.load(f)
    digest = next(one["digest"] for one in index["manifests"] if one["annotations"]["org.opencontainers.image.ref.name"] == "v1")
    first = "blobs/sha256/" + digest.split(":")[1]
    with open(os.path.join(layout, first), encoding="utf-8") as f:
        layer = "blobs/sha256/" + json.load(f)["layers"][0]["digest"].split(":")[1]
    for path in layer, first:
        copy = str(tmp_path / os.path.basename(path))
        subprocess.run(["cp", "-a", layout, copy], check=True)
        with open(os.path.join(copy, path), "r+b") as f:
            f.seek(100)
            byte = f.read(1)
            f.seek(100)
            f.write(bytes([byte[0] ^ 1]))
        assert "%s is damaged" % path in refused(copy, "--tag", "v1")
        os.unlink(os.path.join(copy, path))
        assert "%s is missing" % path in refused(copy, "--tag", "v1")


def test_documents_of_other_types(layout, tmp_path):
    """JSON in which anything may be anything: one line, whatever it is."""
    copy = str(tmp_path / "copy")
    subprocess.run(["cp", "-a", layout, copy], check=True)
    for value in ([], "x", 1, {"manifests": {}}, {"manifests": [1]}, {"manifests": [{"annotations": [1]}]},
                  {"manifests": [{"platform": "x", "digest": ["x"]}]}, {"manifests": [{"annotations": "x", "digest": {}}]}):
        with open(os.path.join(copy, "index.json"), "w", encoding="utf-8") as f:
            json.dump(value, f)
        _, lines = build(copy, tmp_path / "image", status=1)
        assert len(lines) == 1 and lines[0].startswith("margay-build: "), (value, lines)


def test_layers_change_what_a_path_is(layout, tmp_path):
    """A folder that no entry of its layer is for becomes a link; what was in it is gone. A hard link comes to a layer below."""
    copy = str(tmp_path / "copy")
    subprocess.run(["cp", "-a", layout, copy], check=True)
    for number, members in enumerate(((("srv/a/b", tarfile.REGTYPE, ""),),
                                      (("srv/a", tarfile.SYMTYPE, "c"), ("srv/d", tarfile.LNKTYPE, "sbin/init")))):
        layer = str(tmp_path / str(number))
        with tarfile.open(layer, "w") as tar:
            for name, kind, target in members:
                info = tarfile.TarInfo(name)
                info.type, info.linkname = kind, target
                tar.addfile(info)
        umoci("raw", "add-layer", "--image", copy + ":v1", layer)
    build(copy, tmp_path / "image", "--tag", "v1")
    out = unpacked(tmp_path / "image", tmp_path / "out")
    assert os.readlink(out + "/srv/a") == "c" and os.path.samefile(out + "/srv/d", out + "/usr/sbin/init")


def test_other_architectures(layout, tmp_path):
    """Of an index of several machines' images the one for amd64 is taken."""
    copy = str(tmp_path / "copy")
    subprocess.run(["cp", "-a", layout, copy], check=True)
    with open(os.path.join(copy, "index.json"), encoding="utf-8") as f:
        manifests = json.load(f)["manifests"]
    good = {**next(one for one in manifests if one["annotations"]["org.opencontainers.image.ref.name"] == "v1"),
            "platform": {"architecture": "amd64", "os": "linux"}}
    other = {**good, "digest": "sha256:" + "0" * 64, "platform": {"architecture": "arm64", "os": "linux"}}
    inner = json.dumps({"schemaVersion": 2, "manifests": [other, good]}).encode()
    name = hashlib.sha256(inner).hexdigest()
    with open(os.path.join(copy, "blobs/sha256", name), "wb") as f:
        f.write(inner)
    with open(os.path.join(copy, "index.json"), "w", encoding="utf-8") as f:
        json.dump({"schemaVersion": 2, "manifests": [{"mediaType": "application/vnd.oci.image.index.v1+json", "size": len(inner),
                                                      "digest": "sha256:" + name}]}, f)
    build(copy, tmp_path / "image")
    build(layout, tmp_path / "first", "--tag", "v1")
    assert not differences(contents(tmp_path / "image"), contents(tmp_path / "first"))
