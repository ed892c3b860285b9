# SPDX-License-Identifier: GPL-2.0-only
"""Runs the unit tests that the Makefile built from tests/unit/test_*.c, each as one test."""

import glob
import os
import subprocess

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MARGAY_BUILD", os.path.join(TOP, "build"))
NAMES = sorted(os.path.basename(f)[:-2] for f in glob.glob(os.path.join(TOP, "tests", "unit", "test_*.c")))


def test_there_are_unit_tests():
    assert NAMES


@pytest.mark.parametrize("name", NAMES)
def test_unit(name):
    binary = os.path.join(BUILD, "unit", name)
    assert os.path.exists(binary), "%s was not built: make unit" % binary
    # cmocka prints its results on stderr; sanitizers end the program with a status.
    done = subprocess.run([binary], cwd=TOP, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASSED" in done.stdout + done.stderr, "no cmocka test ran:\n" + done.stdout + done.stderr
