# SPDX-License-Identifier: GPL-2.0-only
"""Slurm jobs on Margay nodes: what Slurm's controller calls on the head, and what carries it out on a node. docs/cluster.md."""
