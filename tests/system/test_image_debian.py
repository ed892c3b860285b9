# SPDX-License-Identifier: GPL-2.0-only
"""Distributions of Debian's kind of packages as images, booted to systemd's multi-user.target: Debian 12 and 13, and Ubuntu 24.04
with its own kernel, as docs/images.md has them typed, with what is written in memory and on a scratch disk.

Nothing has failed there, and the journal has no errors but those that are named here.
"""

import os

import distribution
import pytest

pytestmark = [pytest.mark.full, pytest.mark.slow]
# Lines of the journal with priority err or worse, each with its reason.
KNOWN = {
    "bookworm": [],
    "trixie": [],
    "noble": [],
}
# (name, the release that the page has in this one's place)
SUITES = {"bookworm": ("debian", "bookworm"), "trixie": ("debian", "bookworm"), "noble": ("ubuntu", "noble")}


@pytest.mark.parametrize("suite", SUITES)
def test_comes_up(suite, tmp_path):
    name, of_page = SUITES[suite]
    archive = distribution.make_archive(suite, name, tmp_path, of_page)
    image, _ = distribution.make_image(archive, name, tmp_path)
    os.unlink(archive)
    distribution.check(distribution.boot(suite, image), KNOWN[suite])
