# SPDX-License-Identifier: GPL-2.0-only
"""The third command of README.md, as it is typed there: a cluster of a head and two emulated nodes, an MPI job on them, a picture.
Debian's roots and the images are made once and kept in build/cluster."""

import os
import re
import subprocess

import margay_pages
import node
import pytest

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.xdist_group("make-cluster"),
              pytest.mark.skipif(os.geteuid() != 0, reason="only root makes the namespaces of a cluster")]
LOGS = os.path.join(node.BUILD, "cluster", "run", "logs")
PATIENCE = 3600  # with three Debians to be made


def test_as_it_is_typed():
    typed = ("README", "sh", "cluster")
    text, = [block.text for block in margay_pages.all_blocks() if (block.page, block.kind, block.name) == typed]
    done = subprocess.run(["bash", "-ec", text], cwd=node.TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    job = int(re.search(r"^cluster: +\d+ s: job (\d+): COMPLETED; ", done.stdout, re.MULTILINE)[1])
    where = re.findall(r"^process (\d) of 2: on (n[12]), Linux ", done.stdout, re.MULTILINE)
    assert sorted(where) == [("0", "n1"), ("1", "n2")]
    assert re.search(r"^pi = 3\.14159265", done.stdout, re.MULTILINE)
    assert re.search(r"^%d +\S+ +n\[1-2\] +COMPLETED +0:0 " % job, done.stdout, re.MULTILINE), done.stdout[-4000:]
    assert "not seen: " not in done.stdout
    with open(os.path.join(LOGS, "timeline.png"), "rb") as f:
        assert f.read(8) == b"\x89PNG\r\n\x1a\n"
