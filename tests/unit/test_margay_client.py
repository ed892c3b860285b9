# SPDX-License-Identifier: GPL-2.0-only
"""The client of the management VM (tools/client), against a node that is none: a pseudo-terminal that answers as
docs/management-vm.md has it."""

import glob
import json
import os
import re
import signal
import subprocess
import termios
import time

import pytest
from client_node import (  # noqa: F401  (starter is a fixture)
    BUILD, CLIENT, ENODEV, ENOENT, ENOSYS, ENXIO, EPERM, COUNTS, FILE, LINES, NET, NMI, NODE, ODD, PRESS, SHOW, START, STOP, TOP,
    starter, usual)
from prometheus_client.parser import text_string_to_metric_families

# ---- answers in pieces ------------------------------------------------------------------------


def paged(what, text):
    """Three lines at a time."""
    assert what == NODE
    at = int(text.partition("from=")[2] or 0)
    rows = LINES[NODE].splitlines(True)
    cut = "truncated=yes\tfrom=%d\n" % (at + 3) if at + 3 < len(rows) else ""
    return 0, ("".join(rows[at:at + 3]) + cut).encode()


def test_pages_are_joined(start):
    node = start(paged)
    status, out, _ = node.run("--json", "node")
    assert status == 0 and {name: len(rows) for name, rows in json.loads(out).items()} == {"nodes": 2, "hypervisor": 2, "cpus": 2}
    assert "truncated" not in out
    assert node.asked == [(NODE, ""), (NODE, "\nfrom=3")]


def test_an_older_node_does_not_page(start):
    """Who asks hears that this is not all."""
    node = start(lambda what, text: (0, b"name=a\ntruncated=yes\n"))
    status, out, err = node.run("--json", "list")
    assert (status, json.loads(out)) == (0, [{"name": "a"}]) and "does not fit" in err
    assert len(node.asked) == 1


def test_pages_that_do_not_go_on(start):
    """Ends, in place of asking for ever."""
    status, _, err = start(lambda what, text: (0, b"cpu=0\ntruncated=yes\tfrom=1\n")).run("node")
    assert status == 3 and "broke" in err


# ---- metrics ------------------------------------------------------------------------------------


def samples(text):
    """{metric: (type, {labels: value})} of Prometheus' own parser, and what that lets pass."""
    names, found = set(), {}
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("#"):
            assert re.fullmatch(r"# (HELP [a-z_]+ [ -~]+\.|TYPE [a-z_]+ (counter|gauge))", line), line
            if line.startswith("# HELP"):
                assert line.split()[2] not in names, "samples of a metric stand together"
                name = line.split()[2]
                names.add(name)
        else:
            assert re.fullmatch(r'%s(\{[a-z_]+="([^"\\]|\\[\\"n])*"(,[a-z_]+="([^"\\]|\\[\\"n])*")*\})? [0-9]+' % name, line), line
    for family in text_string_to_metric_families(text):
        total = "_total" if family.type == "counter" else ""
        rows = found[family.name + total] = {}
        for sample in family.samples:
            labels = tuple(sorted(sample.labels.items()))
            assert sample.name == family.name + total and labels not in rows
            rows[labels] = sample.value
    assert set(found) == names and all(name.startswith("margay_") for name in names)
    return found


def test_metrics(start):
    status, out, err = start().run("metrics")
    assert (status, err) == (0, "")
    found = samples(out)
    assert found["margay_vm_exits_total"] == {
        (("reason", "cpuid"), ("vcpu", "0"), ("vm", "a")): 12, (("reason", "hlt"), ("vcpu", "0"), ("vm", "a")): 2.0 ** 64}
    assert found["margay_vm_interrupts_injected_total"][("vcpu", "1"), ("vm", "a")] == 0
    assert found["margay_node_memory_bytes"] == {(("node", "0"),): 1000, (("node", "1"),): 2000}
    assert found["margay_node_memory_free_bytes"][("node", "0"),] == 600
    assert found["margay_hypervisor_memory_used_bytes"] == {(): 200}
    assert found["margay_cpu_online"] == {(("cpu", "0"), ("node", "0")): 1, (("cpu", "1"), ("node", "1")): 0}
    assert found["margay_cpu_owner_info"][("cpu", "1"), ("vm", "")] == 1
    assert found["margay_vm_memory_bytes"][("vm", ODD),] == 32 << 20
    assert found["margay_vm_uptime_seconds"][("vm", "a"),] == 17
    assert found["margay_management_refused_messages_total"] == {(): 2}
    for what in "memory_bytes", "memory_used_bytes", "refused_messages_total":
        assert found["margay_commander_" + what] == found["margay_management_" + what]
    assert found["margay_build_info"] == {(("protocol", "1"), ("version", "0.2~1")): 1}
    assert found["margay_vm_ends_total"] == {(("kind", "poweroff"), ("vm", "a")): 2, (("kind", "not-started"), ("vm", "a")): 1}
    lan = (("net", "0"), ("segment", "lan"), ("vm", "a"))
    assert [found["margay_vm_net_%s_total" % what] for what in (
        "sent_frames", "sent_bytes", "received_frames", "received_bytes", "dropped_frames", "refused_frames")] == [
            {lan: value} for value in (1, 60, 2, 120, 3, 4)]
    assert found["margay_vm_net_drops_total"] == {
        tuple(sorted((*lan, ("reason", reason)))): value for reason, value in (("no_buffer", 3), ("wrong_vlan", 0))}
    assert [found["margay_vm_disk_%s_total" % what] for what in ("reads", "read_bytes", "writes", "written_bytes", "errors")] == [
        {(("disk", "1"), ("vm", "a")): value} for value in (5, 512, 6, 1024, 7)]
    assert found["margay_machine_checks_corrected_total"] == {(): 3} and found["margay_machine_checks_uncorrected_total"] == {(): 1}
    assert found["margay_function_blocked_dma_total"] == {(("function", "0000:01:00.0"),): 5}
    assert found["margay_function_blocked_interrupts_total"] == {(("function", "0000:01:00.0"),): 6}
    assert all(found.values()), "a metric without a sample here has no test"


def test_metrics_of_an_older_node(start):
    """Which counts less."""
    def older(what, text):
        return (ENOSYS, b"request 28: this node does not know it") if what == COUNTS else usual(what, text)
    status, out, err = start(older).run("metrics")
    found = samples(out)
    assert (status, err) == (0, "") and found["margay_vm_starts_total"] and not found["margay_vm_ends_total"]


def test_metrics_of_a_later_node(start):
    """What it says beside, and what is no number, does no harm."""
    def later(what, text):
        return (0, b"new=1\tnode=x\nnode=0\tmemory=many\tfree=1\tlargest=1\tcolour=red\n") if what == NODE else usual(what, text)
    found = samples(start(later).run("metrics")[1])
    assert not found["margay_node_memory_bytes"] and found["margay_node_memory_free_bytes"] == {(("node", "0"),): 1}


def test_metrics_into_a_file(start, tmp_path):
    target = tmp_path / "margay.prom"
    target.write_text("old\n", encoding="ascii")
    before = os.stat(target).st_ino
    with open(target, encoding="ascii") as old:
        assert start().run("metrics", "--output", str(target)) == (0, "", "")
        # Who reads has the old ones to their end.
        assert old.read() == "old\n"
    assert samples(target.read_text(encoding="ascii")) and os.stat(target).st_ino != before
    assert os.stat(target).st_mode & 0o777 == 0o644 and os.listdir(tmp_path) == ["margay.prom"]


def test_metrics_that_fail_leave_the_file(start, tmp_path):
    target = tmp_path / "margay.prom"
    target.write_text("old\n", encoding="ascii")
    def broken(what, text):
        return (5, b"no") if what == NODE else usual(what, text)
    assert start(broken).run("metrics", "--output", str(target))[0] == 1
    assert target.read_text(encoding="ascii") == "old\n" and os.listdir(tmp_path) == ["margay.prom"]
    assert start().run("metrics", "--output", str(tmp_path / "none" / "x"))[0] == 3
    assert start().run("metrics", "--outptu", str(target))[0] == 2


def test_dashboard_names_metrics_that_exist(start):
    """And each panel has a query, all of it labels that these have."""
    found = samples(start().run("metrics")[1])
    labels = {name: {label for row in rows for label, _ in row} for name, rows in found.items()}
    paths = glob.glob(os.path.join(TOP, "packaging", "margay-tools", "*dashboard*.json"))
    assert paths
    for path in paths:
        with open(path, encoding="ascii") as f:
            dashboard = json.load(f)
        queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
        queries += [item["query"] for item in dashboard["templating"]["list"] if item["type"] == "query"]
        assert all(panel["targets"] for panel in dashboard["panels"])
        for query in queries:
            used = set(re.findall(r"margay_[a-z_]+", query))
            assert used and used <= set(found), query
            groups = re.findall(r"\{([^}]*)\}", query) + re.findall(r"(?:by|on|without) ?\(([^)]*)\)", query)
            asked = {word for group in groups for word in re.findall(r"([a-z_]+) *(?:=|$|,|!)", re.sub(r'"[^"]*"', "", group))}
            assert asked <= set().union(*(labels[name] for name in used)) | {"instance", "job"}, query


# ---- stats -f -------------------------------------------------------------------------------------


def test_stats_are_followed(start):
    node = start()
    with node.popen("--json", "stats", "-f", "0.1", "a") as child:
        rows = [json.loads(child.stdout.readline()) for _ in range(3)]
        child.send_signal(signal.SIGINT)
        child.wait(timeout=30)
    assert child.returncode == -signal.SIGINT
    assert [row["vcpus"] for row in rows] == 3 * [[{"exits": {"cpuid": 12, "hlt": 2 ** 64 - 1}, "vcpu": 0, "injected": 5},
                                                  {"exits": {}, "vcpu": 1, "injected": 0}]]
    assert all(abs(row["time"] - time.time()) < 60 for row in rows)


def test_stats_end_with_the_vm(start):
    said = []

    def ends(what, text):
        said.append(what)
        return usual(what, text if len(said) < 3 else ODD)
    status, out, err = start(ends).run("stats", "-f", "0.1", "a")
    assert status == 1 and err == "margay: does not run\n" and len(re.findall(r"^vcpu +exit +count$", out, re.MULTILINE)) == 2


@pytest.mark.parametrize("arguments", [["-f"], ["-f", "0", "a"], ["-f", "x", "a"], ["a", "b"], ["-f", "nan", "a"], []])
def test_stats_refuses(start, arguments):
    assert start().run("stats", *arguments)[0] == 2


# ---- net show -------------------------------------------------------------------------------------

INTERFACE = ("segment=%s\tvm=a\tnet=%d\tstate=running\tmac=02:00:00:00:00:01\tmtu=9000\tpvid=%s\ttrunk=%s\treceived=2\t"
             "received_bytes=120\tsent=1\tsent_bytes=60\tno_buffer=0\tpaused=0\tmalformed=0\ttoo_large=0\twrong_address=0\t"
             "wrong_vlan=4\n")


def segments(what, text):
    assert what == NET
    lines = {"lan0": INTERFACE % ("lan0", 0, "10", "20-29"), "lan1": INTERFACE % ("lan1", 1, "", "")}
    if text and text not in lines:
        return ENOENT, b"%s: there is no such segment" % text.encode()
    return 0, (lines[text] if text else "".join(lines.values())).encode()


def test_net_show(start):
    node = start(segments)
    status, out, err = node.run("net", "show")
    rows = [line.split() for line in out.splitlines()]
    assert (status, err) == (0, "") and len(rows) == 3
    assert [dict(zip(rows[0], row))["trunk"] for row in rows[1:]] == ["20-29", "-"] and rows[2][0] == "lan1"
    status, out, _ = node.run("net", "show", "--json", "lan0")
    assert status == 0 and [(one["pvid"], one["trunk"], one["wrong_vlan"]) for one in json.loads(out)] == [(10, "20-29", 4)]
    assert node.run("net", "show", "lan9") == (1, "", "margay: lan9: there is no such segment\n")
    assert node.asked == [(NET, ""), (NET, "lan0"), (NET, "lan9")]
    for wrong in (["net"], ["net", "list"], ["net", "show", "lan0", "lan1"]):
        assert node.run(*wrong)[0] == 2


def test_net_show_of_an_older_node(start):
    """One line."""
    node = start(lambda what, text: (ENOSYS, b"request 31: this node does not know it"))
    assert node.run("net", "show") == (1, "", "margay: net show: this node is of an older version, which does not know it\n")


# ---- stop -------------------------------------------------------------------------------------------


def stopping(looks, press=0):
    """It has ended when it has been looked at so often, or is stopped; its button's press is answered so."""
    seen = []

    def answer(what, text):
        seen.append(what)
        state = "stopped" if STOP in seen else "running" if seen.count(SHOW) <= looks else "poweroff"
        return (press, b"why") if what == PRESS else (0, b"" if what == STOP else b"name=a\tstate=%s\n" % state.encode())
    return answer


@pytest.mark.parametrize("arguments", [[], ["--timeout", "20"]])
def test_stop_asks_the_guest(start, arguments):
    """Who ends when it is asked to is not ended."""
    node = start(stopping(4))
    assert node.run("stop", *arguments, "a") == (0, "a: it has ended by itself\n", "")
    assert node.asked[0] == (PRESS, "a") and {what for what, _ in node.asked[1:]} == {SHOW}


def test_stop_with_a_timeout(start):
    """Who has not ended when the time is over is ended."""
    node, begin = start(stopping(1000)), time.monotonic()
    assert node.run("stop", "--timeout", "0.5", "a") == (0, "a: it is ended at once\n", "")
    assert time.monotonic() - begin >= 0.5 and node.asked[0] == (PRESS, "a") and (STOP, "a") in node.asked


def test_stop_waits_if_it_is_not_told(start):
    node = start(stopping(1000))
    with node.popen("stop", "a") as child:
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(2)
        child.kill()
    assert STOP not in [what for what, _ in node.asked]


def test_stop_of_one_that_has_no_button_yet(start):
    """It starts, or it does not run: what the node says of its end is what counts."""
    node = start(stopping(1000, ENODEV))
    assert node.run("stop", "a") == (0, "a: it is ended at once\n", "") and node.asked == [(PRESS, "a"), (STOP, "a"), (SHOW, "a")]
    node = start(lambda what, text: (ENODEV, b"a does not run"))
    assert node.run("stop", "a") == (1, "", "margay: a does not run\n")


def test_stop_presses_again(start):
    """A guest that boots hears of a later press."""
    seen = []

    def answer(what, text):
        seen.append(what)
        return 0, b"name=a\tstate=%s\n" % (b"stopped" if seen.count(PRESS) == 2 else b"running")
    assert start(answer).run("stop", "a") == (0, "a: it has ended by itself\n", "") and STOP not in seen


def test_stop_of_one_that_ends_meanwhile(start):
    """Between the last look and its end: it has ended as was wanted."""
    def answer(what, text):
        return (ENODEV, b"a does not run") if what == STOP else (0, b"" if what == PRESS else b"name=a\tstate=running\n")
    assert start(answer).run("stop", "--timeout", "0.2", "a") == (0, "a: it has ended by itself\n", "")


def test_stop_refused(start):
    node = start(stopping(1000, EPERM))
    assert node.run("stop", "a") == (1, "", "margay: why\n") and node.asked == [(PRESS, "a")]
    node = start(stopping(1000, ENOSYS))
    assert node.run("stop", "a") == (1, "", "margay: a: this node gives guests no power button: kill ends it\n")
    assert node.asked == [(PRESS, "a")]


def test_kill(start):
    node = start(stopping(1000))
    assert node.run("kill", "a") == (0, "", "") and node.asked == [(STOP, "a")]


def test_press(start):
    node = start(stopping(1000))
    assert node.run("press", "a") == (0, "", "") and node.asked == [(PRESS, "a")]


def test_nmi(start):
    node = start(lambda what, text: (0, b"") if text == "a" else (ENXIO, b"b: its guest takes no NMI"))
    assert node.run("nmi", "a") == (0, "", "") and node.run("nmi", "b") == (1, "", "margay: b: its guest takes no NMI\n")
    assert node.asked == [(NMI, "a"), (NMI, "b")] and node.run("nmi")[0] == 2


@pytest.mark.parametrize("arguments", [["--timeout", "1"], ["--timeout", "x", "a"], ["--time", "1", "a"], ["a", "b"], []])
def test_stop_refuses(start, arguments):
    node = start(stopping(1000))
    status, out, err = node.run("stop", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1) and not node.asked


def test_stop_ends_one_that_a_crash_keeps(start):
    """Which has its CPUs and memory (on_crash = dump), and is waited for no longer."""
    seen = []

    def answer(what, text):
        seen.append(what)
        state = b"panicked" if STOP in seen else b"crashed"
        return 0, b"" if what in (STOP, PRESS) else b"name=a\tstate=%s\tend=panicked\tstatus=0\n" % state
    node = start(answer)
    assert node.run("wait", "a")[0] == 20 and STOP not in seen
    assert node.run("stop", "a")[:2] == (0, "a: it is ended at once\n") and STOP in seen


def test_stop_returns_when_it_is_over(start):
    """It takes its time, the memory is zeroed: whoever comes next finds it there."""
    seen = []

    def answer(what, text):
        seen.append(what)
        looks = seen[seen.index(STOP):].count(SHOW) if STOP in seen else 0
        state = b"running" if not looks else b"changing" if looks < 5 else b"stopped"
        return 0, b"" if what in (STOP, PRESS) else b"name=a\tstate=%s\n" % state
    assert start(answer).run("stop", "--timeout", "0.2", "a") == (0, "a: it is ended at once\n", "")
    assert seen[seen.index(STOP):].count(SHOW) == 5


# ---- wait, start --wait, show --file ---------------------------------------------------------------------

VM = "name=a\tstate=%s\tcpus=1\tmemory=1\tup=0\tstarts=%d\tfile=a.conf\tend=%s\tstatus=%d\tended=1\tline=%d\twhy=%s\tlast=%s\n"


@pytest.mark.parametrize("end, status, code", [
    ("poweroff", 0, 0), ("exit", 0, 0), ("exit", 3, 12), ("stopped", 0, 10), ("reset-acpi", 0, 11), ("panicked", 0, 20),
    ("triple-fault", 0, 20), ("watchdog", 0, 21), ("machine-check", 0, 22), ("blocked", 0, 23), ("crash", 0, 24),
    ("not-started", 0, 30), ("of-later", 0, 31)])
def test_wait_says_how_it_ended(start, end, status, code):
    """By the end; by the state where a node does not say more; and as docs/management-vm.md has it."""
    line = VM % (end, 1, end, status, 0, "", "last words")
    got, out, err = start(lambda what, text: (0, line.encode())).run("wait", "a")
    assert (got, err) == (code, "") and re.search(r"^a +%s .* last words$" % end, out, re.MULTILINE)
    old = "name=a\tstate=%s\n" % end
    assert start(lambda what, text: (0, old.encode())).run("wait", "a")[0] == (0 if end == "exit" else code)
    with open(os.path.join(TOP, "docs", "management-vm.md"), encoding="ascii") as f:
        table = dict((word, int(number)) for number, words in re.findall(r"^\| (\d+) \| (`[a-z0-9`, -]+`)", f.read(), re.MULTILINE)
                     for word in re.findall("`([a-z0-9-]+)`", words))
    assert end == "of-later" or (end, status) == ("exit", 0) or table[end] == code


def test_wait_for_one_that_there_is_not(start):
    assert start(lambda what, text: (2, b"x: there is no such VM")).run("wait", "x") == (1, "", "margay: x: there is no such VM\n")


def starting(*states):
    """What the node says of it before it is started, and then at each look: the last again and again."""
    seen = []

    def answer(what, text):
        seen.append(what)
        return 0, b"" if what == START else states[min(seen.count(SHOW) - 1, len(states) - 1)].encode()
    return answer


def test_start_waits_until_it_runs(start):
    over, changing = VM % ("stopped", 1, "stopped", 0, 0, "", ""), VM % ("changing", 1, "stopped", 0, 0, "", "")
    runs = VM % ("running", 2, "stopped", 0, 0, "", "")
    node = start(starting(over, changing, over, changing, runs))
    assert node.run("start", "--wait", "a") == (0, "", "")
    assert [what for what, _ in node.asked] == [SHOW, START, SHOW, SHOW, SHOW, SHOW]
    node = start(starting(over))
    assert node.run("start", "a") == (0, "", "") and node.asked == [(START, "a")]


@pytest.mark.parametrize("line, code, said", [
    (VM % ("not-started", 0, "not-started", 0, 7, "memory: 1M are not free", ""), 30,
     "a: it has not started: a.conf:7: memory: 1M are not free"),
    (VM % ("crash", 0, "not-started", 0, 0, "no CPU is free", ""), 30, "a: it has not started: no CPU is free"),
    (VM % ("crash", 1, "crash", 0, 0, "vcpu0: it cannot go on", ""), 24, "a: it has ended: crash: vcpu0: it cannot go on"),
    (VM % ("crashed", 1, "panicked", 0, 0, "", ""), 20, "a: it has ended: panicked"),
    (VM % ("poweroff", 1, "poweroff", 0, 0, "", ""), 1, "a: it has ended: poweroff"),
])
def test_start_says_why_it_does_not_run(start, line, code, said):
    node = start(starting(VM % ("not-started", 0, "", 0, 0, "", ""), line))
    assert node.run("start", "a", "--wait") == (code, "", "margay: %s\n" % said)


def test_show_file(start):
    """In pieces, as it is."""
    whole = b"# first\nname = a\n\tkernel = k\n" * 3

    def answer(what, text):
        at = int(text.split()[1])
        assert (what, text.split()[0]) == (FILE, "a")
        return 0, b"offset=%d\tnext=%d\tsize=%d\n" % (at, min(at + 20, len(whole)), len(whole)) + whole[at:at + 20]
    node = start(answer)
    assert node.run_bytes("show", "--file", "a") == (0, whole) and len(node.asked) == 5
    assert start(lambda what, text: (0, b"offset=0\tnext=0\tsize=0\n")).run_bytes("show", "a", "--file") == (0, b"")


@pytest.mark.parametrize("words", [["shew"], ["show"], ["show", "a", "b"], ["show", "--wait", "a"], ["start", "--wai", "a"],
                                   ["list", "a"], ["image", "put"], ["--jso", "list"], ["stop", "a", "--timeout"], ["image", "a"]])
def test_wrong_command_lines(start, words):
    """One line says what is expected, and nobody is asked."""
    node = start()
    status, out, err = node.run(*words)
    assert (status, out, err.count("\n")) == (2, "", 1) and err.startswith("margay: ") and not node.asked


# ---- a guest's console --------------------------------------------------------------------------

READ = 15

# What a guest writes, and what of it comes to the terminal of whoever reads: as kernel/console/plain.c has it of lines.
CONSOLE = [
    (b"plain\ttext\r\nback\b.\n", "plain\ttext\r\nback\b.\n"),
    (b"a\x1b[31;1mred\x1b[0mb", "aredb"), (b"a\x1b[2Jb\x1b[6n", "ab"), (b"a\x1b[?1049hb", "ab"),
    # A title, what xterm answers to, a clipboard; ended by BEL, by ST, by nothing.
    (b"a\x1b]0;title\x07b", "ab"), (b"a\x1b]52;c;cm0gLXJm\x1b\\b", "ab"), (b"a\x1bP$q\"p\x1b\\b", "ab"),
    (b"a\x1bXsos\x1b\\b\x1b^pm\x1b\\c\x1b_apc\x1b\\d", "abcd"), (b"a\x1b]0;never\nnext line", "a\nnext line"),
    (b"a\x1b]0;t\x1b[31mb", "ab"), (b"a\x1b]0;t\x1b]1;u\x07b", "ab"),
    (b"a\x1bcb\x1b(0c\x1b#8d\x1b=e", "abcde"), (b"a\x1b\x1b\x1b[1mb", "ab"),
    (b"a\x1b[1 qb", "ab"), (b"a\x1b([31mb", "a31mb"),
    # A control is no part of a sequence, and does what it does.
    (b"a\x1b[31\nb", "a\nb"), (b"a\x1b\nb", "a\nb"), (b"a\x1b[3\x1b[4mb", "ab"),
    # Other controls, those of eight bits too, and what turns text round.
    (b"a\x00\x05\x7fb\x07c", "a???bc"), (b"a\x9b31mb", "a?31mb"), (b"a\xc2\x9b31mb", "a??31mb"),
    ("a\u202eb\u2066c".encode(), "a???b???c"),
    ("gr\u00fc\u00df \u20ac \U0001f600\n".encode(), "gr\u00fc\u00df \u20ac \U0001f600\n"),
    (b"a\xe2\x82b\xf0\x9f\xe2\x82\xacc\xc3", "a??b??\u20acc"), (b"\xc0\xaf\xed\xa0\x80\xf5", "??????"),
]


class Guest:
    """One that has written this, which is read in pieces that end there."""

    def __init__(self):
        self.data, self.ends = b"", []

    def answer(self, what, text):
        assert (what, text.split()[0]) == (READ, "a")
        at = int(text.split()[1])
        end = min([end for end in self.ends if end > at], default=len(self.data))
        return 0, b"next=%d\n" % end + self.data[at:end]


@pytest.mark.parametrize("state", ["paused", "running"])
def test_console_of_a_paused_vm(start, state):
    """Who types at a terminal is told; Ctrl-] leaves."""
    def answer(what, text):
        return (0, b"name=a\tstate=%s\n" % state.encode()) if what == SHOW else (0, b"next=0\n")

    node = start(answer)
    master, slave = os.openpty()
    with subprocess.Popen([CLIENT, "console", "a"], env={**os.environ, "MARGAY_PORT": node.path}, stdin=slave,
                          stderr=subprocess.PIPE, text=True) as child:
        said = [child.stderr.readline() for _ in range(1 + (state == "paused"))]
        # Before it is raw the key would only be a character of a line.
        assert said[-1].startswith("margay: a: Ctrl-] leaves")
        while termios.tcgetattr(slave)[3] & termios.ICANON:
            time.sleep(0.01)
        os.write(master, b"\x1d")
        assert child.wait(30) == 0
    os.close(master)
    os.close(slave)
    told = "margay: a is paused: it hears what is typed when margay resume a lets it go on\n"
    assert said[:-1] == ([told] if state == "paused" else [])


def test_console_is_text(start):
    """However the pieces fall."""
    guest = Guest()
    node = start(guest.answer)
    for guest.data, shown in CONSOLE:
        for cut in range(len(guest.data)):
            guest.ends = [cut, cut + 1]
            assert node.run_bytes("console", "a") == (0, shown.encode()), (guest.data, cut)


def test_console_raw(start):
    guest = Guest()
    guest.data = b"".join(data for data, _ in CONSOLE)
    guest.ends = [7]
    assert start(guest.answer).run_bytes("console", "--raw", "a") == (0, guest.data)


@pytest.mark.parametrize("words", [["--raw"], ["a", "b"], ["--raw", "a", "b"]])
def test_console_usage(start, words):
    status, out, err = start().run("console", *words)
    assert (status, out) == (2, "") and err
