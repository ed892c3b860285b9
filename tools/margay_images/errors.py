# SPDX-License-Identifier: GPL-2.0-only
"""The one way in which anything about images fails: a line that an operator reads; and how a program ends with it."""

import sys
from contextlib import contextmanager


class ImageError(Exception):
    """The text is one line: what is wrong, and of what."""

    status = 1


class UnavailableError(ImageError):
    """Nothing is wrong with the image: here and now it cannot be had. At another time, or on another node, it may be."""

    status = 3


@contextmanager
def of_this_machine():
    """What is wrong here is so of no image."""
    try:
        yield
    except ImageError as error:
        raise UnavailableError(str(error)) from error


def reason(error):
    """An OSError in words, with its file where it has one."""
    return "%s: %s" % (error.filename, error.strerror) if error.filename else str(error.strerror or error)


def run(name, main):
    """The status of a program: 1 and one line on standard error for what went wrong, 130 for Ctrl-C."""
    try:
        return main() or 0
    except ImageError as error:
        print("%s: %s" % (name, error), file=sys.stderr)
    except OSError as error:
        print("%s: %s" % (name, reason(error)), file=sys.stderr)
    except KeyboardInterrupt:
        print("%s: interrupted" % name, file=sys.stderr)
        return 130
    return 1
