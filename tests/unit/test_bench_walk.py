# SPDX-License-Identifier: GPL-2.0-only
"""tests/bench/walk.py: what becomes of the model's counts, and which of them fail."""

import os
import sys

import pytest

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "bench"))
import emulate  # noqa: E402
import walk  # noqa: E402

COUNTED = {"accesses": 2000, "not-mapped": 0, "4K/2M": 7, "2M/2M": 0,
           **{"%s.%s" % (leaf, name): 10 * i + j for i, leaf in enumerate(("is", "4K", "2M", "1G"))
              for j, name in enumerate(("walks", "references", "cached"))}}


def values(test, system, **counted):
    return {row["metric"]: row["value"] for row in walk.rows(test, system, {**COUNTED, **counted})}


def test_rows():
    found = values("HPL, 4K pages", "margay")
    assert found["second level as it is: references per 1,000 accesses"] == 0.5
    assert found["second level of 1G: references with caches per 1,000 accesses"] == 16
    assert found["walks to leaves 4K/2M per 1,000 accesses"] == 3.5 and len(found) == 13
    assert values("HPL, 4K pages", "native")["second level of 1G: references with caches per 1,000 accesses"] == 1


def test_wrong_counts_fail():
    with pytest.raises(emulate.BenchError, match="1 accesses to what the tables do not have"):
        values("HPL, 4K pages", "margay", **{"not-mapped": 1})
    control = "%s, %s" % (walk.CONTROL, walk.SMALL)
    assert walk.WALKS == 18125000 and values(control, "native", **{"is.walks": 18145725})
    for walks in (18124999, 18306250):
        with pytest.raises(emulate.BenchError, match="where some 18125000 must be"):
            values(control, "native", **{"is.walks": walks})
    assert values(walk.CONTROL + ", huge pages", "native", **{"is.walks": 3})
