# SPDX-License-Identifier: GPL-2.0-only
"""Many programs at once (tools/client/port.c, watch.c): a port is held for a message, so that `list` answers beside all who
wait, and one process looks at the node for them. The node is one that has a single port."""

import contextlib
import fcntl
import os
import socket
import subprocess
import time

import pytest
from client_node import CLIENT, LIST, SHOW, START, STOP, starter  # noqa: F401  (a fixture)

WAITING = 200
PATIENCE = 30
# Standard input, output and error, and its socket: of who watches while nobody waits.
FILES = 4


class Vms:
    """Each runs until it is stopped; what is asked of them."""

    def __init__(self, *names):
        self.starts, self.state, self.asked = dict.fromkeys(names, 1), dict.fromkeys(names, "running"), []
        self.fails = False  # whatever is started

    def line(self, name):
        return b"name=%s\tstate=%s\tstarts=%d\tend=%s\tstatus=0\tended=%d\n" % (
            name.encode(), self.state[name].encode(), self.starts[name], b"stopped" if self.state[name] == "stopped" else b"",
            self.starts[name])

    def __call__(self, what, text):
        self.asked.append(what)
        if what == LIST:
            return 0, b"".join(map(self.line, self.state))
        if text not in self.state:
            return 2, b"%s: there is no such VM" % text.encode()
        if what == START:
            self.starts[text] += not self.fails
            self.state[text] = "not-started" if self.fails else "running"
        if what == STOP:
            self.state[text] = "stopped"
        return 0, self.line(text) if what == SHOW else b""


def environment(node, watch):
    return {**os.environ, "MARGAY_PORT": node.path, "MARGAY_WATCH": str(watch)}


@contextlib.contextmanager
def watching(node, path):
    """`margay watch`, as by hand."""
    with subprocess.Popen([CLIENT, "watch"], env=environment(node, path), stdin=subprocess.DEVNULL) as child:
        try:
            until(lambda: child.poll() is not None or answers(path))
            until(lambda: child.poll() is not None or files_of(child.pid) == FILES)
            yield child
        finally:
            child.kill()


def until(is_so):
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def answers(path):
    with socket.socket(socket.AF_UNIX) as one, contextlib.suppress(OSError):
        one.connect(str(path))
        return True
    return False


def run(node, watch, *words):
    done = subprocess.run([CLIENT, *words], env=environment(node, watch), capture_output=True, text=True, check=False,
                          timeout=PATIENCE)
    return done.returncode, done.stdout, done.stderr


def waiters(node, watch, names):
    return [subprocess.Popen([CLIENT, "wait", name], env=environment(node, watch), stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE) for name in names]


def files_of(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


def kib_of(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmData:"))


@pytest.mark.parametrize("watched", [True, False])
def test_list_beside_all_who_wait(start, tmp_path, watched):
    """By one process that looks for all, or each by himself: `list` and `stop` answer, and each hears of his VM's end."""
    vms = Vms("a", "b")
    node, path = start(vms), tmp_path / "watch" / "socket"
    with watching(node, path) if watched else contextlib.nullcontext() as watch:
        children = waiters(node, path, WAITING // 2 * ["a"] + WAITING // 2 * ["b"])
        until(lambda: vms.asked.count(SHOW) >= WAITING)
        status, out, err = run(node, path, "list")
        assert (status, err) == (0, "") and out.split()[0] == "name"
        if watched:
            # Who waits asks no more; one asks for all.
            before = vms.asked.count(SHOW)
            time.sleep(1)
            assert vms.asked.count(SHOW) == before and files_of(watch.pid) >= WAITING
        assert run(node, path, "kill", "a") == (0, "", "")
        assert [child.wait(PATIENCE) for child in children[:WAITING // 2]] == WAITING // 2 * [10]
        assert all(child.poll() is None for child in children[WAITING // 2:])
        assert run(node, path, "kill", "b") == (0, "", "")
        assert [child.wait(PATIENCE) for child in children] == WAITING * [10]
        assert all(child.stderr.read() == b"" for child in children)
    for child in children:
        child.stderr.close()


def test_who_watches_may_go(start, tmp_path):
    """Those who wait go on by themselves, and the next one finds who watches again."""
    vms = Vms("a")
    node, path = start(vms), tmp_path / "socket"
    with watching(node, path) as watch:
        (child,) = waiters(node, path, ["a"])
        # It asks when it knows that it is looked for.
        until(lambda: SHOW in vms.asked)
        # Between two messages: a port of Linux' throws away what its last owner has not read, a pseudo-terminal does not.
        with open(node.path, "rb", buffering=0) as port:
            fcntl.flock(port, fcntl.LOCK_EX)
            watch.kill()
            watch.wait()
    assert run(node, path, "kill", "a") == (0, "", "") and child.wait(PATIENCE) == 10
    child.stderr.close()
    # The socket is there, and nobody behind it.
    assert path.exists() and run(node, path, "wait", "a")[0] == 10
    with watching(node, path) as watch:
        assert run(node, path, "watch") == (1, "", "margay: %s: somebody watches there already\n" % path)
        assert run(node, path, "wait", "a")[0] == 10


def test_one_that_begins_again(start, tmp_path):
    """Between two looks it has ended and runs again: who waits hears of it, and waits on; of one that is gone, too."""
    vms = Vms("a")
    node, path = start(vms), tmp_path / "socket"
    with watching(node, path), socket.socket(socket.AF_UNIX) as one:
        one.settimeout(PATIENCE)
        one.connect(str(path))
        one.sendall(b"a\n")
        assert one.recv(1) == b"."
        vms.starts["a"] += 1
        assert one.recv(1) == b"."
        del vms.state["a"]
        assert one.recv(1) == b"."


def test_a_start_that_fails_at_once(start, tmp_path):
    """Nothing changes any more when the first look finds it over: who waits looks once more by himself."""
    vms = Vms("a")
    node, path = start(vms), tmp_path / "socket"
    vms.state["a"], vms.fails = "not-started", True
    with watching(node, path):
        assert run(node, path, "start", "--wait", "a") == (30, "", "margay: a: it has not started\n")
        vms.fails = False
        assert run(node, path, "start", "--wait", "a") == (0, "", "")


def test_it_makes_its_socket_of_no_file(start, tmp_path):
    """One that stands at its path stays."""
    node, path = start(Vms("a")), tmp_path / "socket"
    path.write_text("mine")
    assert run(node, path, "watch") == (3, "", "margay: %s: Address already in use\n" % path) and path.read_text() == "mine"


def test_nonsense_does_no_harm(start, tmp_path):
    """Who says no name, or more than one, is left alone; all others are not."""
    vms = Vms("a")
    node, path = start(vms), tmp_path / "socket"
    with watching(node, path) as watch:
        for said in (b"x" * 200, b"a\n" + b"b\n", b""):
            with socket.socket(socket.AF_UNIX) as one:
                one.connect(str(path))
                one.sendall(said)
        run(node, path, "kill", "a")
        assert run(node, path, "wait", "a")[0] == 10
        until(lambda: files_of(watch.pid) == FILES)
        assert os.stat(path).st_mode & 0o777 == 0o600


def test_a_thousand_waits_leave_nothing(start, tmp_path):
    """Starts and ends, each with one who waits, by one process that watches: it has as much memory and as many files as before."""
    names = ["vm%d" % n for n in range(20)]
    vms = Vms(*names)
    node, path = start(vms), tmp_path / "socket"

    def cycle():
        with contextlib.ExitStack() as stack:
            waiting = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in names]
            for one, name in zip(waiting, names):
                one.settimeout(PATIENCE)
                one.connect(str(path))
                one.sendall(name.encode() + b"\n")
            assert all(one.recv(1) == b"." for one in waiting)
            vms.state = dict.fromkeys(names, "stopped")
            assert all(one.recv(1) == b"." for one in waiting)
            vms.starts = {name: n + 1 for name, n in vms.starts.items()}
            vms.state = dict.fromkeys(names, "running")
    with watching(node, path) as watch:
        cycle()
        until(lambda: files_of(watch.pid) == FILES)
        before = kib_of(watch.pid)
        for _ in range(1000 // len(names)):
            cycle()
        until(lambda: files_of(watch.pid) == FILES)
        assert kib_of(watch.pid) == before


def test_systemd_starts_it(start, tmp_path):
    """By its socket, as the units of the package have it."""
    vms = Vms("a")
    node, path = start(vms), tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        shell = 'export LISTEN_PID=$$ LISTEN_FDS=1; exec "$0" watch 3<&%d' % listening.fileno()
        with subprocess.Popen(["bash", "-c", shell, CLIENT], env=environment(node, path), pass_fds=[listening.fileno()]) as watch:
            (child,) = waiters(node, path, ["a"])
            try:
                until(lambda: LIST in vms.asked)
                assert run(node, path, "kill", "a")[0] == 0 and child.wait(PATIENCE) == 10
                child.stderr.close()
                assert watch.poll() is None
            finally:
                watch.kill()
    assert path.exists()


def test_a_port_that_stays_taken(start, tmp_path):
    """Is waited for, and then there is a line."""
    node = start(Vms("a"))
    with open(node.path, "rb", buffering=0) as port:
        subprocess.run(["flock", "-n", str(port.fileno())], pass_fds=[port.fileno()], check=True)
        begin = time.monotonic()
        assert run(node, "", "list") == (3, "", "margay: all ports to the node are in use: try again\n")
        assert time.monotonic() - begin > 10
    assert run(node, "", "list")[0] == 0
