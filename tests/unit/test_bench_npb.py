# SPDX-License-Identifier: GPL-2.0-only
"""tests/bench/npb.py: what NPB's programs say of their results, and which clone is taken."""

import os
import sys

import pytest

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "bench"))
import npb  # noqa: E402


def test_said():
    lines = ["margay-test: npb: cg", " VERIFICATION SUCCESSFUL", " Verification = SUCCESSFUL", "margay-test: npb: is",
             "margay-test: done"]
    for end in "\n", "\n\n":
        (cg, said), (other, nothing) = npb.said(end.join(lines) + end)
        assert (cg, other, nothing) == ("cg", "is", "") and npb.successful(said) and said.count("SUCC") == 2


@pytest.mark.parametrize("said", [
    " Verification    =               SUCCESSFUL\n",
    " VERIFICATION SUCCESSFUL\n Verification    =               SUCCESSFUL\r\n",
    " Verification being performed for class_npb S\n Verification Successful\n",
    " Result verification successful\n",
    " Verification = Successful",
])
def test_success(said):
    assert npb.successful(said)


@pytest.mark.parametrize("said", [
    "",
    " Verification    =             UNSUCCESSFUL\n",
    " Verification    =            NOT PERFORMED\n",
    " NO VERIFICATION PERFORMED\n Verification    =               SUCCESSFUL\n",
    " No verification performed\n",
    " VERIFICATION FAILED\n Verification    =               SUCCESSFUL\n",
    " Verification failed\n",
    "Failed partial verification: iteration 1, test key 2\n Verification    =               SUCCESSFUL\n",
    " Result verification failed\n",
    " Verification being performed for class S\n",
    " Verification    =               SUCCESSFUL\n Verification    =             UNSUCCESSFUL\n",
])
def test_no_success(said):
    assert not npb.successful(said)


def test_clone(tmp_path):
    for path in ("config/make.def", "sys/setparams.cpp", *(kernel.upper() + "/Makefile" for kernel in npb.KERNELS)):
        assert "make bench-npb NPB=" in npb.wrong(str(tmp_path)) and "\n" not in npb.wrong(str(tmp_path))
        os.makedirs(os.path.dirname(tmp_path / "NPB-SER" / path), exist_ok=True)
        (tmp_path / "NPB-SER" / path).touch()
    assert npb.wrong(str(tmp_path)) is None
    assert "needs a clone" in npb.wrong(None) and "no such directory" in npb.wrong(str(tmp_path / "other"))
