# SPDX-License-Identifier: GPL-2.0-only
"""What the test that runs now has written: logs of nodes, whose names no other test may use; ISOs, and logs of all exits, which may
take a gigabyte: both go when it has passed.

tests/conftest.py opens a record around each test's set-up, and one around its call: what a fixture of many tests writes belongs to
the first one that asked, and stays for the others.
"""

import contextlib


class Written:
    def __init__(self):
        self.logs = []
        self.isos = []
        self.exits = []


# The first is of who is no test: a tool, a bench.
_records = [Written()]


def now():
    """The record that is open."""
    return _records[-1]


@contextlib.contextmanager
def by_a_test():
    """A new record, which is open meanwhile."""
    record = Written()
    _records.append(record)
    try:
        yield record
    finally:
        _records.remove(record)
