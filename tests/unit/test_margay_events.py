# SPDX-License-Identifier: GPL-2.0-only
"""`margay events`, `log` and `journal`, and the audit line of each command (tools/client/log.c, nodelog.c, feed.c, audit.c):
against a node that is none, and a socket in journald's place."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import time

import pytest
from client_node import CLIENT, ENOSYS, EVENTS, LOG_FROM, START, TOP, starter  # noqa: F401  (a fixture)

PATIENCE = 30
BEGAN, BOOT = 1700000000007, 1700000000001
LOG, CREATE, IMAGE, IMAGE_END = 6, 8, 18, 20
EVENT = "number=%d\ttime=1700000000.050\tevent=%s\tvm=%s\timage=%s\tend=%s\tstatus=%s\tby=%s\tuser=%s\ttext=%s\n"


class Logged:
    """A node with a log and events, which come in answers of so many."""

    def __init__(self, at_once=3):
        self.boot, self.lines, self.gone, self.events, self.at_once = BOOT, [], 0, [], at_once

    def say(self, stamp, text, level=0):
        self.lines.append("%d%s%s\n" % (level, "[%5d.%03d] " % divmod(stamp, 1000) if stamp is not None else "", text))

    def happen(self, *words):
        self.events.append(EVENT % (len(self.events) + 1, *words))

    def log_from(self, at):
        whole, oldest = "".join(self.lines), len("".join(self.lines[:self.gone]))
        at = at if oldest <= at <= len(whole) else oldest
        some = "".join(whole[at:].splitlines(True)[:self.at_once])
        return "offset=%d\tnext=%d\tbegan=%d.%03d\tboot=%d\n%s" % (
            at, at + len(some), *divmod(BEGAN, 1000), self.boot, some)

    def __call__(self, what, text):
        if what == LOG_FROM:
            return 0, self.log_from(int(text)).encode("latin-1")
        if what == EVENTS:
            some = self.events[max(int(text) - 1, 0):][:self.at_once]
            end = max(int(text) - 1, 0) + len(some) + 1 if some else int(text)
            return 0, ("next=%d\tboot=%d\n%s" % (end, self.boot, "".join(some))).encode()
        return 0, b""


@pytest.fixture(name="zone", autouse=True)
def utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("MARGAY_JOURNAL", "")


@pytest.fixture(name="logged")
def full():
    node = Logged()
    for n in range(1500):
        node.say(1000 * n + 40, "a: line %d" % n, n % 3)
    node.say(None, "copied: [   1] x")
    return node


def test_log_has_the_time_of_day(start, logged):
    """Of each line: what has none has that of the one before. As many as are wanted, whatever comes at once."""
    status, out, err = start(logged).run("log", "3")
    assert (status, err) == (0, "")
    assert out == ("2023-11-14T22:38:18.047+0000 a: line 1498\n2023-11-14T22:38:19.047+0000 a: line 1499\n"
                   "2023-11-14T22:38:19.047+0000 copied: [   1] x\n")
    logged.at_once = 400
    for words, lines in (([], 20), (["0"], 0), (["1400"], 1400), (["99999"], 1501)):
        assert start(logged).run("log", *words)[1].count("\n") == lines
    logged.gone = 1000
    assert start(logged).run("log", "99999")[1].startswith("2023-11-14T22:30:00.047+0000 a: line 1000\n")


def test_log_as_json(start, logged):
    lines = json.loads(start(logged).run("log", "4", "--json")[1])
    assert lines[0] == {"time": 1700001497.047, "priority": 7 - 2 * (1497 % 3 == 0), "text": "a: line 1497"}
    assert [line["priority"] for line in lines] == [5, 6, 7, 5]


def test_log_of_an_older_node(start):
    """It has no time of day, and cannot be followed."""
    def answer(what, text):
        return (ENOSYS, b"unknown") if what == LOG_FROM else (0, b"[    1.000] a\n[    2.000] b\n")
    node = start(answer)
    assert node.run("log", "7") == (0, "[    1.000] a\n[    2.000] b\n", "") and node.asked[-1] == (LOG, "7")
    assert json.loads(node.run("log", "--json")[1])[0] == {"time": None, "priority": 5, "text": "[    1.000] a"}
    assert node.run("log", "-f")[0] == 1
    assert start(lambda what, text: (ENOSYS, b"unknown")).run("events") == (1, "", "margay: events: this node keeps none\n")


@pytest.mark.parametrize("words", [["log", "x"], ["log", "-1"], ["log", "1", "2"], ["events", "1"], ["journal", "-f"]])
def test_wrong_words(start, words):
    status, out, err = start(Logged()).run(*words)
    assert (status, out, err.count("\n")) == (2, "", 1)


def happened():
    node = Logged()
    for words in (("start", "a", "", "", "", "management", "alice", ""), ("started", "a", "", "", "", "management", "alice", ""),
                  ("ended", "a", "", "exit", "3", "", "", ""), ("ended", "a", "", "crash", "", "", "", "vcpu0: it cannot go on"),
                  ("kill", "b", "", "", "", "console", "", ""), ("image-gone", "", "x", "", "", "", "", ""),
                  ("pause", "c", "", "", "", "management", "17", "refused: c: there is no such VM")):
        node.happen(*words)
    return node


def test_events(start):
    when = "2023-11-14T22:13:20.050+0000 "
    node = start(happened())
    assert node.run("events") == (0, "".join(when + line + "\n" for line in (
        "start a, by management for alice", "started a, by management for alice", "ended a: exit 3",
        "ended a: crash: vcpu0: it cannot go on", "kill b, by console", "image-gone x",
        "pause c, by management for 17: refused: c: there is no such VM")), "")
    events = json.loads(node.run("events", "--json")[1])
    assert [event["number"] for event in events] == list(range(1, 8)) and len({tuple(event) for event in events}) == 1
    assert (events[2]["status"], events[3]["status"], events[6]["user"], events[0]["time"]) == (3, None, "17", 1700000000.05)
    assert start(Logged()).run("events", "--json") == (0, "[]\n", "") and start(Logged()).run("events") == (0, "", "")


@pytest.mark.parametrize("command", ["log", "events"])
def test_follow(start, command):
    """What is there, then what comes, a line each; as JSON an object a line. No port is held meanwhile."""
    logged = happened()
    logged.say(1000, "first")
    for words in [command, "-f"], [command, "--json", "-f"]:
        node = start(logged)
        with node.popen(*words) as child:
            try:
                before = [child.stdout.readline() for _ in range(1 if command == "log" else len(logged.events))]
                logged.say(2000, "then")
                logged.happen("fault", "a", "", "", "", "", "", "x")
                after = child.stdout.readline()
                assert node.run("press", "a")[0] == 0
            finally:
                child.send_signal(signal.SIGINT)
        assert all(before)
        if "--json" in words:
            assert (json.loads(after).get("event") or json.loads(after)["text"]) in ("fault", "then")
        else:
            assert re.search(" (then|fault a: x)\n$", after)
        logged.lines, logged.events = logged.lines[:1], logged.events[:7]


# ---- the journal --------------------------------------------------------------------------------


class Journal:
    """journald's socket: each datagram is an entry."""

    def __init__(self, path):
        self.path = str(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(PATIENCE)

    def entry(self):
        lines = self.socket.recv(65536).decode("ascii").split("\n")
        assert lines.pop() == ""
        fields = dict(line.split("=", 1) for line in lines)
        assert len(fields) == len(lines) and all(re.fullmatch("[A-Z][A-Z_]*", name) for name in fields)
        return fields

    def nothing(self):
        self.socket.settimeout(0)
        with pytest.raises(BlockingIOError):
            self.socket.recv(1)
        self.socket.settimeout(PATIENCE)


@pytest.fixture(name="journal")
def journald(tmp_path, monkeypatch):
    found = Journal(tmp_path / "journal")
    monkeypatch.setenv("MARGAY_JOURNAL", found.path)
    yield found
    found.socket.close()


@contextlib.contextmanager
def feeding(node, journal, state):
    """margay journal; its own audit line is taken off."""
    environment = {**os.environ, "MARGAY_PORT": node.path, "STATE_DIRECTORY": str(state)}
    with subprocess.Popen([CLIENT, "journal"], env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as child:
        assert journal.entry()["MARGAY_COMMAND"] == "journal"
        try:
            yield child
        finally:
            child.kill()


def until(what):
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_journal(start, journal, tmp_path):
    """Each line and each event is one entry, by fields, once; also when the service or the node has begun again."""
    logged = happened()
    logged.say(1000, "shown")
    logged.say(2000, "not shown", 2)
    node = start(logged)
    state = tmp_path / "state"
    state.mkdir()
    with feeding(node, journal, state):
        assert journal.entry() == {"PRIORITY": "5", "SYSLOG_IDENTIFIER": "margay-node", "MESSAGE": "shown",
                                   "MARGAY_TIME": "2023-11-14T22:13:21.007+0000"}
        assert journal.entry()["PRIORITY"] == "7"
        entries = [journal.entry() for _ in logged.events]
        assert entries[1] == {
            "PRIORITY": "5", "SYSLOG_IDENTIFIER": "margay-event", "MARGAY_NUMBER": "2", "MARGAY_EVENT": "started", "MARGAY_VM": "a",
            "MARGAY_BY": "management", "MARGAY_USER": "alice", "MESSAGE": "started a, by management for alice",
            "MARGAY_TIME": "2023-11-14T22:13:20.050+0000"}
        assert (entries[2]["MARGAY_END"], entries[2]["MARGAY_STATUS"], entries[3]["MARGAY_TEXT"]) == (
            "exit", "3", "vcpu0: it cannot go on")
        assert [entry["PRIORITY"] for entry in entries] == ["5", "5", "4", "4", "5", "5", "5"]
        logged.say(3000, "more")
        assert journal.entry()["MESSAGE"] == "more"
        until(lambda: (state / "at").exists() and (state / "at").read_text().split()[1:3] == [
            str(len("".join(logged.lines))), "8"])
        # While nothing is new nothing is written.
        written, asked = (state / "at").stat().st_ino, len(node.asked)
        until(lambda: len(node.asked) > asked + 4)
        assert (state / "at").stat().st_ino == written
    logged.happen("fault", "a", "", "", "", "", "", "x")
    with feeding(node, journal, state):
        assert (journal.entry()["MARGAY_EVENT"]) == "fault"
        until(lambda: (state / "at").read_text().split()[2] == "9")
    # The node has started anew: all is new, whatever its numbers.
    logged.boot += 1
    logged.lines, logged.events = logged.lines[:1], logged.events[:1]
    with feeding(node, journal, state):
        assert [journal.entry().get("MESSAGE") for _ in range(2)] == ["shown", "start a, by management for alice"]
        until(lambda: (state / "at").read_text().split()[:1] == [str(BOOT + 1)])
    (state / "at").write_text("nonsense")
    with feeding(node, journal, state):
        assert journal.entry()["MESSAGE"] == "shown"
        journal.entry()
    journal.nothing()


def test_journal_is_one_line(start, journal, tmp_path):
    """Whatever stands in the log, an entry has no field more, and is no larger."""
    logged = Logged()
    logged.say(1000, "a\x7fb\tc\rMARGAY_USER=root" + "x" * 5000)
    with feeding(start(logged), journal, tmp_path):
        entry = journal.entry()
        assert set(entry) == {"PRIORITY", "SYSLOG_IDENTIFIER", "MESSAGE", "MARGAY_TIME"}
        assert entry["MESSAGE"].startswith("a?b?c?MARGAY_USER=root") and len(entry["MESSAGE"]) < 2100


def test_journal_of_an_older_node(start, journal, tmp_path):
    with feeding(start(lambda what, text: (ENOSYS, b"unknown")), journal, tmp_path) as child:
        assert child.wait(PATIENCE) == 1 and child.stderr.read() == b"margay: journal: this node is too old for it\n"


def test_without_journald(start, tmp_path, monkeypatch):
    monkeypatch.setenv("MARGAY_JOURNAL", str(tmp_path / "none"))
    node = start(Logged())
    assert node.run("journal")[0] == 3 and node.run("press", "a") == (0, "", "")


# ---- who ----------------------------------------------------------------------------------------


def me():
    """As the program finds him: who has logged in, else whose process it is."""
    with contextlib.suppress(OSError), open("/proc/self/loginuid", encoding="ascii") as f:
        uid = int(f.read())
        if uid != 2 ** 32 - 1:
            return uid, True
    return os.getuid(), False


def test_audit(start, journal, monkeypatch):
    """Each command's user and arguments, before it is done, whatever comes of it. The node hears who sends what is an event."""
    uid, logged_in = me()
    with open("/etc/passwd", encoding="utf-8") as f:
        name = {line.split(":")[2]: line.split(":")[0] for line in f}.get(str(uid), "uid=%d" % uid)
    node = start(Logged())
    assert node.run("start", "a")[0] == 0 and node.users == [name] and node.asked == [(START, "a")]
    assert journal.entry() == {"PRIORITY": "5", "SYSLOG_IDENTIFIER": "margay", "SYSLOG_FACILITY": "10", "MARGAY_USER": name,
                               "MARGAY_COMMAND": "start", "MARGAY_ARGUMENTS": "a", "MESSAGE": name + ": margay start a"}
    node.run("log", "5", "--json")
    assert (journal.entry()["PRIORITY"], node.users) == ("6", [name])
    node.run("image", "rm", "a\nMARGAY_USER=x")
    assert journal.entry()["MESSAGE"] == name + ": margay image rm a?MARGAY_USER=x"
    node.run("press", "x" * 5000)
    assert len(journal.entry()["MESSAGE"]) < 1100
    node.run("list", "x")
    journal.nothing()
    monkeypatch.setenv("SUDO_USER", "carol")
    monkeypatch.setenv("SUDO_UID", str(uid + 1 if logged_in else 12345))
    node.run("press", "a")
    assert journal.entry()["MARGAY_USER"] == (name if logged_in else "carol")
    monkeypatch.setenv("SUDO_UID", str(uid))
    monkeypatch.setenv("SUDO_USER", "d" * 60)
    node.run("press", "a")
    assert journal.entry()["MARGAY_USER"] == "d" * 32 == node.users[-1]


def test_users_of_an_image(start, tmp_path, journal):
    """One port, so one word, which comes before the data."""
    path = tmp_path / "image"
    path.write_bytes(b"x" * 100000)
    order = []

    def answer(what, text):
        order.append(what)
        return 0, b"have=no\n" if what == IMAGE else b""
    node = start(answer)
    assert node.run("image", "put", str(path))[0] == 0
    assert len(node.users) == 1 and order[0] == IMAGE and order[-1] == IMAGE_END
    assert journal.entry()["MARGAY_ARGUMENTS"] == "%s" % path
    file = tmp_path / "a.conf"
    file.write_text("name = a\n")
    assert node.run("create", str(file))[0] == 0 and len(node.users) == 2 and order[-1] == CREATE


def test_all_events_have_their_user():
    """What the node makes an event of is what the client names the user for."""
    def source(*path):
        with open(os.path.join(TOP, *path), encoding="ascii") as f:
            return f.read()

    node = re.search(r"\btold\[MANAGEMENT_REQUESTS\] = \{\n(.*?)\n\};", source("vmm", "management", "management.c"), re.DOTALL)[1]
    client = re.search(r"\bthose\[\] = \{\n(.*?)\n\t\};", source("tools", "client", "libmargay.c"), re.DOTALL)[1]
    events = set(re.findall(r"\[(MANAGEMENT_[A-Z_]+)\]", node))
    assert len(events) > 7 and set(re.findall("MANAGEMENT_[A-Z_]+", client)) == events | {
        "MANAGEMENT_CREATE", "MANAGEMENT_IMAGE", "MANAGEMENT_IMAGE_REMOVE"}


def test_each_command_is_noted(start, journal):
    """What changes something is a notice, what looks an info: a new command is one of them."""
    done = subprocess.run([CLIENT, "--help"], capture_output=True, text=True, check=True)
    looks = {"info", "list", "show", "wait", "watch", "stats", "metrics", "log", "events", "journal", "node", "pci",
             "image list", "net show"}
    node = start(lambda what, text: (ENOSYS, b""))
    for command, words in re.findall(r"^  ([a-z]+(?: [a-z]+)?)  +(.*?)  ", done.stdout, re.MULTILINE):
        if command == "watch":
            continue
        needed = re.sub(r"\[[^][]*(\[[^][]*\])?[^][]*\]", "", words).split()
        node.run(*command.split(), *("/none" for _ in needed))
        entry = journal.entry()
        assert (entry["MARGAY_COMMAND"], entry["PRIORITY"]) == (command, "6" if command in looks else "5")
