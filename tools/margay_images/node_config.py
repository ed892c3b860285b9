# SPDX-License-Identifier: GPL-2.0-only
"""/etc/margay/images.conf: where this node's images come from, and what it keeps. Lines of `key = value`, # begins a comment."""

import configparser
import re

from . import trust
from .errors import ImageError

FILE = "/etc/margay/images.conf"
SIZE = re.compile(r"([1-9][0-9]{0,9})([KMGT]?)")
DEFAULTS = {
    "store": "",
    "tracker": "",
    "peers": "",
    "cache": "/var/cache/margay-images",
    "state": "/var/lib/margay-images",
    "keys": trust.FOLDER,
    "limit": "20G",
    "port": "7380",
    "timeout": "10",
    "socket": "/run/margay/images.sock",
    "margay": "margay",
}


class Config:
    """The keys of DEFAULTS as attributes; store and tracker end with a slash, peers are ["HOST:PORT"]."""

    def __init__(self, path):
        values = self.read(path)
        for key in ("cache", "state", "keys", "socket", "margay"):
            setattr(self, key, values[key])
        self.store, self.tracker = (self.url(path, key, values[key]) for key in ("store", "tracker"))
        if not self.store:
            raise ImageError("%s: store: there is none: the URL of the image store is missing" % path)
        self.peers = values["peers"].split()
        for peer in self.peers:
            if not is_peer(peer):
                raise ImageError("%s: peers: '%s' is not HOST:PORT" % (path, peer))
        self.limit = self.size(path, values["limit"])
        self.port = self.number(path, "port", values["port"], 65535)
        self.timeout = self.number(path, "timeout", values["timeout"], 3600)

    @staticmethod
    def read(path):
        parser = configparser.RawConfigParser(delimiters=("=",), comment_prefixes=("#",), inline_comment_prefixes=("#",),
                                              default_section="", strict=True)
        try:
            with open(path, encoding="utf-8") as f:
                parser.read_string("[images]\n" + f.read(), path)
        except FileNotFoundError as error:
            raise ImageError("%s is missing: it says where images come from (docs/images.md)" % path) from error
        except (configparser.Error, UnicodeDecodeError) as error:
            raise ImageError("%s: not lines of `key = value`: %s" % (path, str(error).split("\n", maxsplit=1)[0])) from error
        values = dict(parser["images"]) if parser.sections() == ["images"] else {"[": ""}
        for key in values:
            if key not in DEFAULTS:
                raise ImageError("%s: %s: there is no such key" % (path, key))
        return {**DEFAULTS, **values}

    @staticmethod
    def url(path, key, value):
        if value and not re.fullmatch(r"https?://[!-~]+", value):
            raise ImageError("%s: %s: '%s' is no URL of http or https" % (path, key, value))
        return value if not value or value.endswith("/") else value + "/"

    @staticmethod
    def size(path, value):
        found = SIZE.fullmatch(value)
        if not found:
            raise ImageError("%s: limit: '%s' is no size: expected a number with K, M, G or T" % (path, value))
        return int(found[1]) << 10 * " KMGT".index(found[2] or " ")

    @staticmethod
    def number(path, key, value, largest):
        if not re.fullmatch(r"[0-9]{1,5}", value) or not 0 < int(value) <= largest:
            raise ImageError("%s: %s: '%s' is no number of 1 to %d" % (path, key, value, largest))
        return int(value)


def is_peer(text):
    """HOST:PORT, IPv6 in brackets."""
    found = re.fullmatch(r"(?:[0-9A-Za-z.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):([0-9]{1,5})", text)
    return found is not None and 0 < int(found[1]) < 65536
