# SPDX-License-Identifier: GPL-2.0-only
"""A plugin of pytest for test_shard.py: prints the seconds of each group that tests/shard.py deals."""

import json

import results
import shard


def pytest_report_collectionfinish(items):
    return "groups: " + json.dumps(shard.grouped(items, results.kept()))
