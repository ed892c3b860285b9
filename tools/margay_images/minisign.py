# SPDX-License-Identifier: GPL-2.0-only
"""Signatures by the program minisign: made, verified, and whose key made one."""

import base64
import binascii
import os
import subprocess
import tempfile

from .errors import ImageError

SUFFIX = ".minisig"
LIMIT = 4096  # a signature has 300 bytes and its comments
KEY_BYTES = 42  # "Ed", the key's id, 32 bytes of key
SIGNATURE_BYTES = 74  # "ED" (of a hash of the file), the key's id, 64 bytes of signature


def run(arguments, **options):
    try:
        return subprocess.run(["minisign", *arguments], text=True, errors="replace", check=False, **options)
    except FileNotFoundError as error:
        raise ImageError("minisign is missing: install Debian's package minisign") from error


def decode(line, length, letters, what):
    try:
        data = base64.b64decode(line, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if len(data) != length or data[:2] != letters:
        raise ImageError("%s: no %s of minisign" % (what, "public key" if length == KEY_BYTES else "signature"))
    return data


def key_id(raw):
    """As minisign writes it."""
    return "%016X" % int.from_bytes(raw[2:10], "little")


def public_id(public, what):
    """Of a public key's line of base64."""
    return key_id(decode(public, KEY_BYTES, b"Ed", what))


def signer_id(signature, what):
    """Whose key a signature says it is by. Only verify() tells whether it is."""
    lines = signature.split(b"\n")
    return key_id(decode(lines[1] if len(lines) > 1 else b"", SIGNATURE_BYTES, b"ED", what))


def read_public(path):
    """The line of base64 in a file of a public key."""
    with open(path, encoding="ascii", errors="replace") as f:
        lines = f.read(LIMIT).split("\n")
    public = lines[1].strip() if len(lines) > 1 else ""
    public_id(public, path)
    return public


def verify(data, signature, public):
    """Are these bytes signed by this key? By what was read, not by files that may be others by then."""
    with tempfile.TemporaryDirectory(prefix="margay-verify-") as folder:
        paths = [os.path.join(folder, name) for name in ("data", "signature")]
        for path, content in zip(paths, (data, signature)):
            with open(path, "wb") as f:
                f.write(content)
        done = run(["-V", "-H", "-q", "-P", public, "-m", paths[0], "-x", paths[1]], stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return done.returncode == 0


def has_password(secret):
    """Does a file of a secret key say how its password becomes a key? What is no such file, minisign itself tells."""
    with open(secret, "rb") as f:
        lines = f.read(LIMIT).split(b"\n")
    try:
        raw = base64.b64decode(lines[1] if len(lines) > 1 else b"", validate=True)
    except (binascii.Error, ValueError):
        return False
    return raw[:2] == b"Ed" and raw[2:4] != b"\0\0"


def sign(data, secret, comment):
    """The signature of these bytes by the key in a file. minisign asks for its password if it has one, on standard error."""
    asks = has_password(secret)
    with tempfile.TemporaryDirectory(prefix="margay-sign-") as folder:
        path = os.path.join(folder, "data")
        with open(path, "wb") as f:
            f.write(data)
        done = run(["-S", "-s", secret, "-m", path, "-x", path + SUFFIX, "-t", comment, "-c", "signature of Margay's image store"],
                   stdout=subprocess.PIPE, stderr=None if asks else subprocess.PIPE)
        if done.returncode:
            raise ImageError("minisign cannot sign by %s: %s" %
                             (secret, (((done.stderr or "") + done.stdout).strip().split("\n") or [""])[-1]))
        with open(path + SUFFIX, "rb") as f:
            return f.read(LIMIT)
