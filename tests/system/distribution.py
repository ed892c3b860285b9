# SPDX-License-Identifier: GPL-2.0-only
"""Whole distributions as images: their roots by the lines of docs/images.md, booted as VMs to systemd's multi-user.target, with
what is written in memory and on a scratch disk. Nothing has failed there, and the journal has no errors but those that a test
names.
"""

import os
import re
import subprocess
import sys

import management
import margay_run
import node
from margay_images import trial

HOUR = 3600
OVERLAYS = {"ram": ("", ""), "scratch": ("margay.overlay=/dev/vdb", "disk = scratch:1G\n")}


def typed(program, mark):
    """The lines of the page that call this program, of the block that has this mark."""
    text, = (block for block in management.of_page("images", "sh", "images") if mark in block)
    return "\n".join(re.findall(r"^%s (?:.*\\\n)*.*$" % program, text, re.MULTILINE))


def run_typed(lines, folder):
    unit, = management.of_page("images", "file", "host-keys.conf")
    (folder / "host-keys.conf").write_text(unit)
    subprocess.run(["sh", "-ec", lines], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_archive(suite, name, folder, page_suite=None):
    """By mmdebstrap's line that ends with SUITE NAME.tar, or has page_suite in its place."""
    mark = "%s %s.tar" % (page_suite or suite, name)
    lines = typed("mmdebstrap", mark)
    assert lines.endswith(mark)
    run_typed(lines.replace(mark, "%s %s.tar" % (suite, name)), folder)
    return str(folder / (name + ".tar"))


def make_image(root, name, folder, *words):
    """(the image's directory, what margay-build has said)"""
    image = str(folder / "image")
    done = subprocess.run([sys.executable, os.path.join(node.TOP, "tools", "margay-build"), root, image, "--name", name,
                           "--image-version", "1", *words], check=True, stdout=subprocess.PIPE, text=True)
    return image, done.stdout


def boot(name, image, cmdline=""):
    """Both VMs of it, one behind the other; the run."""
    files = {file: os.path.join(image, file) for file in ("kernel", "initrd", "root.squashfs")}
    vms, before = {}, {}
    for vm, (words, lines) in OVERLAYS.items():
        # vm_text()'s guests are quiet; check() looks for what the kernel says of the scratch disk.
        text = node.vm_text("qemu", " ".join((trial.WORDS, "loglevel=7", words, cmdline)), name=vm, memory="512M", **before)
        vms[vm + ".conf"] = text + "disk = root.squashfs\n" + lines
        before = {"after": vm}
    iso = node.margay_iso("image-" + name, vms, files)
    with node.start("image-" + name, "qemu", iso, memory="3G", timeout=HOUR) as running:
        return node.Run(running, running.wait())


def check(run, known=()):
    """known: patterns of the journal's lines with priority err or worse that may be there."""
    said = re.findall(r"margay-image: (.*)$", run.text, re.MULTILINE)
    assert run.outcome.status == margay_run.OK, (run.outcome.text, said)
    assert said.count("end: good") == len(OVERLAYS) and not [line for line in said if line.startswith("failed unit")], said
    assert len([line for line in said if line.startswith("up: running, ")]) == len(OVERLAYS), said
    errors = [re.sub(r"^\[ *[\d.]+\] ", "", line.removeprefix("error: ")) for line in said if line.startswith("error: ")]
    assert [line for line in errors if not any(re.fullmatch(pattern, line) for pattern in known)] == []
    # That multi-user.target is reached self_test.sh has seen; the overlay lay where it was to.
    assert len(re.findall(r"EXT4-fs \(vdb\): mounted filesystem", run.text)) == 1
    for vm in OVERLAYS:
        assert run.has_line(vm + ": end=poweroff")
