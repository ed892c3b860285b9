# SPDX-License-Identifier: GPL-2.0-only
"""What a compute VM is told of itself, never by its image: a disk of its own whose content is a tar archive. The words of its
command line are everybody's who may look at the node; a disk is read by that VM alone.

    margay.env   MARGAY_NODE, MARGAY_IMAGE, MARGAY_CONTROLLER, MARGAY_ADDRESS (with the prefix, or dhcp), MARGAY_GATEWAY
    munge.key    the cluster's
"""

import base64
import binascii
import io
import re
import tarfile

from .errors import ClusterError

SECTOR = 512
PLAIN = re.compile(r"[A-Za-z0-9.,:/+~_-]*")


def environment(value):
    lines = []
    for name, key in (("NODE", "node"), ("IMAGE", "image"), ("CONTROLLER", "controller"), ("ADDRESS", "address"),
                      ("GATEWAY", "gateway")):
        # A shell and systemd read it.
        if not PLAIN.fullmatch(value[key]):
            raise ClusterError("%s: %s has a character that cannot be" % (key, value[key]))
        lines.append("MARGAY_%s=%s\n" % (name, value[key]))
    return "".join(lines).encode()


def munge_key(value):
    try:
        key = base64.b64decode(value["munge_key"], validate=True)
    except binascii.Error as error:
        raise ClusterError("the munge key is not to be understood") from error
    if len(key) < 32:
        raise ClusterError("the munge key has %d bytes; munge wants 32 at least" % len(key))
    return key


def archive(value):
    """The disk of an order's VM."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in (("margay.env", environment(value)), ("munge.key", munge_key(value))):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o400
            tar.addfile(member, io.BytesIO(data))
    data = out.getvalue()
    return data + bytes(-len(data) % SECTOR)
