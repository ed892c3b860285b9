# SPDX-License-Identifier: GPL-2.0-only
"""JSON of which there is one form only: what is signed cannot be read in two ways.

Keys sorted, one blank of indentation, ASCII, a newline at the end. A text that is not what its own content would be
written as is refused: so are keys that stand there twice, NaN, and numbers written oddly.
"""

import json

from .errors import ImageError

LIMIT = 1 << 20  # a list of keys has some hundred bytes a key, a manifest about one thousand


def write(value):
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=True, allow_nan=False) + "\n").encode("ascii")


def read(data, what):
    """The object of these bytes; what: how to call them in an error."""
    if len(data) > LIMIT:
        raise ImageError("%s: longer than %d bytes" % (what, LIMIT))
    try:
        value = json.loads(data.decode("ascii"))
        same = write(value) == data
    except (ValueError, RecursionError) as error:
        raise ImageError("%s: no JSON: %s" % (what, str(error).split("\n", maxsplit=1)[0])) from error
    if not same:
        raise ImageError("%s: not in canonical form: sorted keys, each once, one blank of indentation" % what)
    if not isinstance(value, dict):
        raise ImageError("%s: no JSON object" % what)
    return value


def expect(value, kinds, what, optional=()):
    """Refuses an object that has not exactly these keys, {key: type or function that is true for a good value}."""
    if not isinstance(value, dict):
        raise ImageError("%s: not an object" % what)
    for key in sorted(value.keys() - kinds.keys()):
        raise ImageError("%s: unknown key '%s': of a newer version of Margay?" % (what, key[:40]))
    for key, kind in kinds.items():
        if key not in value:
            if key in optional:
                continue
            raise ImageError("%s: '%s' is missing" % (what, key))
        # To Python True is a number.
        good = type(value[key]) is kind if isinstance(kind, type) else kind(value[key])
        if not good:
            raise ImageError("%s: '%s' is not what it has to be" % (what, key))


def is_size(value):
    """A number of bytes or seconds that each language can count."""
    return type(value) is int and 0 <= value < 2**53
