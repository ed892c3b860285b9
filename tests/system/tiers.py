# SPDX-License-Identifier: GPL-2.0-only
"""Which cases of a test every submission runs. A matrix runs its diagonal in the fast tier, so that each row and each column is met
once, and whole in the full tier."""

import pytest


def full(*values):
    """A case that only make test-full runs."""
    return pytest.param(*values, marks=pytest.mark.full)
