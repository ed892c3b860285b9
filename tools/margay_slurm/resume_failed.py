# SPDX-License-Identifier: GPL-2.0-only
"""ResumeFailProgram: nodes that were not there in time. Their job has been requeued by then; whatever runs there ends, and the
nodes are had again."""

import sys

from . import config as site
from . import broken, hosts

PROGRAM = "margay-slurm-resume-failed"


def main():
    config, nodes = site.read(), hosts.expand(sys.argv[1])
    broken.set_down(config, PROGRAM, {node: "was not there in time" for node in nodes})
    broken.free_if_due(config, nodes)
    return 0
