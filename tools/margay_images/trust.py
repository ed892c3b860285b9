# SPDX-License-Identifier: GPL-2.0-only
"""Whom to believe: the keys in a folder of this machine, and the store's lists by which they are followed by others.

The folder (/etc/margay/keys) has public keys, NAME.pub, of whoever set this machine up. A store may have lists of keys, numbered
from 1: each names all keys that count from then on, until when, and those that are revoked. List 1 is signed by a key of the
folder, each other one by a key of the list before. From list 1 on the folder's keys count only if the list names them.
"""

import glob
import os
import time

from . import canonical, minisign
from .errors import ImageError

KIND = "margay-keys"
FORMAT = 1
FOLDER = "/etc/margay/keys"
FILE = "keys.json"
LIST = {
    "kind": lambda value: value == KIND,
    "format": lambda value: type(value) is int and value == FORMAT,
    "serial": lambda value: canonical.is_size(value) and value > 0,
    "keys": list,
    "revoked": lambda value: isinstance(value, list) and all(is_id(text) for text in value) and value == sorted(set(value)),
}
KEY = {"id": lambda value: is_id(value), "public": str, "until": lambda value: value is None or canonical.is_size(value)}


def is_id(value):
    return isinstance(value, str) and len(value) == 16 and not set(value) - set("0123456789ABCDEF")


def parse(data, what):
    value = canonical.read(data, what)
    canonical.expect(value, LIST, what)
    for key in value["keys"]:
        canonical.expect(key, KEY, what + ": keys")
        if minisign.public_id(key["public"], what) != key["id"]:
            raise ImageError("%s: key %s has another id than it says" % (what, key["id"]))
    ids = [key["id"] for key in value["keys"]]
    if ids != sorted(set(ids)) or set(ids) & set(value["revoked"]):
        raise ImageError("%s: a key stands there twice, out of order, or though it is revoked" % what)
    return value


class Trust:
    """The keys that count: {id: {"public", "until"}}, those that are revoked, and the number of the list that says so."""

    def __init__(self, keys, revoked=(), serial=0):
        self.keys, self.revoked, self.serial = keys, set(revoked), serial

    def follow(self, data, signature, what):
        """What counts after the next list. Its signer need not be valid today: it was, when the list was made."""
        value = parse(data, what)
        if value["serial"] != self.serial + 1:
            raise ImageError("%s: is list %d, not %d" % (what, value["serial"], self.serial + 1))
        signer = minisign.signer_id(signature, what + minisign.SUFFIX)
        if signer not in self.keys:
            raise ImageError("%s: signed by %s, no key that counted before it" % (what, signer))
        if not minisign.verify(data, signature, self.keys[signer]["public"]):
            raise ImageError("%s: wrong signature" % what)
        if self.revoked - set(value["revoked"]):
            raise ImageError("%s: a revoked key would count again: %s" % (what, min(self.revoked - set(value["revoked"]))))
        return Trust({key["id"]: key for key in value["keys"]}, value["revoked"], value["serial"])

    def state(self, signer, now=None):
        """good, or why the signatures of a key do not count."""
        if signer in self.revoked:
            return "revoked"
        if signer not in self.keys:
            return "unknown"
        until = self.keys[signer]["until"]
        return "expired" if until is not None and (time.time() if now is None else now) >= until else "good"

    def judge(self, data, signature, what):
        """(state, whose): good, or why these bytes are not believed."""
        if signature is None:
            return "unsigned", ""
        signer = minisign.signer_id(signature, what + minisign.SUFFIX)
        state = self.state(signer)
        if signer in self.keys and not minisign.verify(data, signature, self.keys[signer]["public"]):
            state = "wrong"
        return state, signer

    def require(self, data, signature, what):
        state, signer = self.judge(data, signature, what)
        if state != "good":
            raise ImageError("%s: %s" % (what, {
                "unsigned": "not signed", "wrong": "wrong signature: not by key %s" % signer,
                "unknown": "signed by %s, a key that does not count here" % signer,
                "revoked": "signed by %s, a key that is revoked" % signer,
                "expired": "signed by %s, a key that has expired" % signer}[state]))


def of_folder(folder):
    """The keys that this machine was given."""
    keys = {}
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.pub"))):
        public = minisign.read_public(path)
        of = minisign.public_id(public, path)
        keys[of] = {"id": of, "public": public, "until": None}
    if not keys:
        raise ImageError("%s: no public key (NAME.pub) there: nothing can be believed" % folder)
    return Trust(keys)
