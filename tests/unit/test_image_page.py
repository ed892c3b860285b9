# SPDX-License-Identifier: GPL-2.0-only
"""What docs/images.md lets its reader type, typed as it stands, but for a registry's images."""

import os
import re
import shlex
import subprocess

import image_roots
import margay_pages
import throwaway

TOP = margay_pages.TOP


@throwaway.ALLOWED
def test_images(tmp_path):
    """docs/images.md, on a build host with the package margay-images, where mmdebstrap's archive is a small one that was made here
    (test_pages_emulated.py has a real one). At the end one key counts, whose signature the image has."""
    programs, root = tmp_path / "bin", tmp_path / "root"
    programs.mkdir()
    for name in "margay-build", "margay-image-store":
        (programs / name).symlink_to(os.path.join(TOP, "tools", name))
    root.mkdir()
    image_roots.make(root)
    subprocess.run(["tar", "-C", root, "-cf", tmp_path / "root.tar", "."], check=True)
    archive = shlex.quote(str(tmp_path / "root.tar"))
    (programs / "mmdebstrap").write_text('#!/bin/sh\nfor archive; do :; done\ncp %s "$archive"\n' % archive)
    (programs / "mmdebstrap").chmod(0o755)
    typed = margay_pages.script("images", "images")
    text = "\n".join(["PATH=%s:$PATH" % programs, *typed, "margay-image-store list /srv/images\n"])
    (tmp_path / "work").mkdir()
    said, status = throwaway.run(text, str(tmp_path), str(tmp_path / "work"), dict(os.environ), 600)
    assert status == 0, said[-4000:]
    assert re.fullmatch(r"debian:2026\.11\.29-1 .* good \(\w+\)", said.splitlines()[-1]), said[-2000:]
