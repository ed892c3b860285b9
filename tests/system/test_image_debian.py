# SPDX-License-Identifier: GPL-2.0-only
"""Whole distributions as images, booted to systemd's multi-user.target: Debian 12 and 13, as docs/images.md has it typed, with what
is written in memory and on a scratch disk.

Nothing has failed there, and the journal has no errors but those that are named here. No registry that tests reach has Ubuntu's
archive, nor RPMs of a distribution: those are not booted.
"""

import os
import re
import subprocess
import sys

import management
import margay_run
import node
import pytest
from margay_images import trial

pytestmark = [pytest.mark.full, pytest.mark.slow]
HOUR = 3600
# Lines of the journal with priority err or worse, each with its reason.
KNOWN = {
    "bookworm": [],
    "trixie": [],
}
OVERLAYS = {"ram": ("", ""), "scratch": ("margay.overlay=/dev/vdb", "disk = scratch:1G\n")}


def make_archive(release, folder):
    """By the page's own lines, but for the release."""
    text, = (block for block in management.of_page("images", "sh", "images") if "bookworm debian.tar" in block)
    lines = re.search(r"^mmdebstrap (?:.*\\\n)*.*$", text, re.MULTILINE)[0]
    assert "bookworm debian.tar" in lines
    unit, = management.of_page("images", "file", "host-keys.conf")
    (folder / "host-keys.conf").write_text(unit)
    subprocess.run(["sh", "-ec", lines.replace("bookworm debian.tar", release + " debian.tar")], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return str(folder / "debian.tar")


def make_image(archive, folder):
    image = str(folder / "image")
    subprocess.run([sys.executable, os.path.join(node.TOP, "tools", "margay-build"), archive, image, "--name", "debian",
                    "--image-version", "1"], check=True, stdout=subprocess.DEVNULL)
    os.unlink(archive)
    return image


def boot(release, image):
    """Both VMs of it, one behind the other; the run."""
    files = {file: os.path.join(image, file) for file in ("kernel", "initrd", "root.squashfs")}
    vms, before = {}, {}
    for vm, (words, lines) in OVERLAYS.items():
        text = node.vm_text("qemu", "%s %s" % (trial.WORDS, words), name=vm, memory="512M", **before)
        vms[vm + ".conf"] = text + "disk = root.squashfs\n" + lines
        before = {"after": vm}
    iso = node.margay_iso("image-" + release, vms, files)
    with node.start("image-" + release, "qemu", iso, memory="3G", timeout=HOUR) as running:
        return node.Run(running, running.wait())


@pytest.mark.parametrize("release", ["bookworm", "trixie"])
def test_comes_up(release, tmp_path):
    run = boot(release, make_image(make_archive(release, tmp_path), tmp_path))
    said = re.findall(r"margay-image: (.*)$", run.text, re.MULTILINE)
    assert run.outcome.status == margay_run.OK, (run.outcome.text, said)
    assert said.count("end: good") == len(OVERLAYS) and not [line for line in said if line.startswith("failed unit")], said
    assert len([line for line in said if line.startswith("up: running, ")]) == len(OVERLAYS), said
    errors = [re.sub(r"^\[ *[\d.]+\] ", "", line.removeprefix("error: ")) for line in said if line.startswith("error: ")]
    assert [line for line in errors if not any(re.fullmatch(pattern, line) for pattern in KNOWN[release])] == []
    # That multi-user.target is reached self_test.sh has seen; the overlay lay where it was to.
    assert len(re.findall(r"EXT4-fs \(vdb\): mounted filesystem", run.text)) == 1
    for vm in OVERLAYS:
        assert run.has_line(vm + ": end=poweroff")
