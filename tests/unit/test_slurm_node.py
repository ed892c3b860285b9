# SPDX-License-Identifier: GPL-2.0-only
"""What a node of a cluster makes of margay-image-pull's answers: whose fault it is that an image is not there. And of the site's
programs that say whether it is well. Pulls themselves are test_image_pull.py's, and those of jobs tests/system/test_slurm.py's."""

import io
import sys
import types

import pytest

from margay_slurm import health, node, node_images, order
from margay_slurm.errors import ClusterError, ImageFault


@pytest.fixture(name="answering")
def fixture_answering(tmp_path, monkeypatch):
    """answering(status, text): margay-image-pull does that, and keeps what it was asked for."""
    program = tmp_path / "margay-image-pull"
    monkeypatch.setenv("PATH", "%s:/usr/bin:/bin" % tmp_path)

    def answering(status, text):
        program.write_text("#!/bin/sh\necho \"$*\" >%s/asked\necho '%s'\nexit %d\n" % (tmp_path, text, status), encoding="ascii")
        program.chmod(0o755)
        return tmp_path / "asked"
    return answering


@pytest.mark.parametrize("downgrade, words", ((False, "--json mpi:2\n"), (True, "--json --allow-downgrade mpi:2\n")))
def test_image_that_is_there(answering, downgrade, words):
    asked = answering(0, '{"cmdline": "quiet", "names": ["mpi/2/initrd", "mpi/2/kernel", "mpi/2/root.squashfs"]}')
    assert node_images.bring("mpi:2", downgrade) == ("quiet", {"initrd": "mpi/2/initrd", "kernel": "mpi/2/kernel",
                                                               "root.squashfs": "mpi/2/root.squashfs"})
    assert asked.read_text(encoding="ascii") == words


@pytest.mark.parametrize("status, text, kind, said", (
    (1, '{"error": {"status": 1, "message": "mpi:2: not signed"}}', ImageFault, "mpi:2: not signed"),
    (1, '{"error": {"status": 1, "message": "http://x: damaged"}}', ImageFault, "mpi:2: http://x: damaged"),
    (3, '{"error": {"status": 3, "message": "http://x: stalls"}}', ClusterError, "mpi:2: http://x: stalls"),
    (0, "", ClusterError, "ended with status 0 and no answer"), (1, "no JSON", ClusterError, "ended with status 1 and no answer"),
    (127, "", ClusterError, "ended with status 127 and no answer"), (1, "[]", ClusterError, "ended with status 1 and no answer"),
    (0, '{"names": []}', ClusterError, "ended with status 0 and no answer")))
def test_image_that_is_not_there(answering, status, text, kind, said):
    """Only what is refused is the image's fault, and so ends the job; all else is the node's, whatever it is."""
    answering(status, text)
    with pytest.raises(ClusterError) as caught:
        node_images.bring("mpi:2", False)
    assert type(caught.value) is kind and str(caught.value).endswith(said)


def test_without_the_program(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "%s:/usr/bin:/bin" % tmp_path)
    with pytest.raises(ClusterError) as caught:
        node_images.bring("mpi:2", False)
    assert type(caught.value) is ClusterError


@pytest.mark.parametrize("programs, wrong", (
    ({}, None), ({"fan": "exit 0", "gpu": "echo all is well"}, None),
    ({"fan": "exit 0", "gpu": "echo 1; echo GPU 3 is gone; exit 1"}, "gpu: GPU 3 is gone"),
    ({"b": "echo b >&2; exit 2", "a": "exit 9"}, "a: status 9"), ({"b": "printf 'b\\033[1m' >&2; exit 2"}, "b: b?[1m"),
    ({"slow": "trap true TERM; while :; do sleep 600; done"}, "slow: is still at it after 1 s")))
def test_programs_of_the_site(tmp_path, monkeypatch, programs, wrong):
    """The first that fails, by its last line; what cannot be run is none, and one that hangs ends."""
    monkeypatch.setattr(health, "SECONDS", 1)
    for name, text in programs.items():
        (tmp_path / name).write_text("#!/bin/sh\n%s\n" % text, encoding="ascii")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "README").write_text("no program", encoding="ascii")
    assert health.problem(str(tmp_path)) == wrong


def test_no_folder_of_programs(tmp_path):
    assert health.problem(str(tmp_path / "none")) is None


@pytest.mark.parametrize("tell, first", ((True, order.TAKEN), (False, b"")))
def test_an_order_has_come(monkeypatch, tell, first):
    """Said at once where the head asks for it, and in front of the answer; an older head would not understand it."""
    out = io.BytesIO()
    value = {"format": 1, "order": "list", "node": "n1", "tell": tell}
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(order.write(value))))
    monkeypatch.setattr(sys, "stdout", types.SimpleNamespace(buffer=out))
    monkeypatch.setattr(node, "carry_out", lambda value: {"done": out.getvalue() == first})
    assert node.main() == 0 and out.getvalue() == first + b'{"done": true}\n'
