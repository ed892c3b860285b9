# SPDX-License-Identifier: GPL-2.0-only
"""Where the tests find what is built, and where they put what they write."""

import os

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MARGAY_BUILD", os.path.join(TOP, "build"))
LOGS = os.path.join(BUILD, "logs")
GUEST = os.path.join(BUILD, "guest")


def guest_file(name):
    return os.path.join(GUEST, name)


def drivers_for(kernel):
    """The initrd with drivers for one of these kernels (tools/guest-image --drivers)."""
    return guest_file("initrd-drivers" + ("-backports" if kernel.endswith("-backports") else ""))
