# SPDX-License-Identifier: GPL-2.0-only
"""`margay --json` (tools/client/shapes.c): each command's answer, and its errors, against margay.schema.json, which the package
has, and what the node says against the same; python3-jsonschema judges."""

import codecs
import glob
import hashlib
import json
import os
import re
import signal
import subprocess

import jsonschema
import management
import pytest
from client_json import SCHEMA, judge
from client_node import CLIENT, EINVAL, ENOENT, FILE, HELLO, LIST, NODE, SHOW, START, STATS, STOP, TOP, starter  # noqa: F401
from client_node import EVENTS, LOG_FROM, NET

PCI, LOG, READ, IMAGES, IMAGE, DUMP, REGISTERS = 5, 6, 15, 17, 18, 22, 23
VM = ("name=%s\tstate=%s\tcpus=2\tmemory=67108864\tup=17\tstarts=%d\tfile=no.conf\tcreated=yes\tcommands=no\t"
      "memory_and_disks=100663296\tend=%s\tstatus=0\tended=%s\tline=%d\twhy=%s\tlast=%s\n")
EVENT = "number=%d\ttime=1700000000.050\tevent=%s\tvm=%s\timage=%s\tend=%s\tstatus=%s\tby=%s\tuser=%s\ttext=%s\n"
ENDED = VM % ("17", "stopped", 1, "stopped", "1700000000", 0, "", 'yes "or\\no')
RUNS = VM % ("17", "running", 2, "", "", 0, "", "")
FAILED = VM % ("17", "not-started", 0, "not-started", "1700000000", 7, "no", "")
DETAILS = ("kernel=17\ninitrd=no\nmodule=yes\nmodule=m\ndisk=12\nscratch=33554432\ncmdline=yes\n"
           "segment=lan\tmac=02:03:04:05:06:07\tbridge=yes\tisolated=no\tmirror=no\tplain=no\tmtu=1500\tpvid=\ttrunk=10\n"
           "vcpu=0\tcpu=3\tnode=0\nvcpu=1\tcpu=4\tnode=-1\nmemory=33554432\tnode=0\nmemory=33554432\tnode=1\n")
NET_COUNTERS = ("received=\treceived_bytes=\tsent=\tsent_bytes=\tno_buffer=\tpaused=\tmalformed=\ttoo_large=\twrong_address=\t"
                "wrong_vlan=\n")
ANSWERS = {
    HELLO: "margay=0.3\tprotocol=1\tmanagement=17\tcommander=17\tmay=create,destroy\tmemory=536870912\tmemory_used=4096\t"
           "refused=0\n",
    LIST: ENDED + RUNS + FAILED,
    NODE: "node=0\tmemory=1000\tfree=600\tlargest=500\nown=300\tused=200\ncpu=0\tapic=0\tnode=0\tonline=yes\towner=17\n"
          "cpu=1\tapic=2\tnode=-1\tonline=no\towner=\n",
    PCI: "function=0000:00:1f.2\tvendor=0x8086\tdevice=0x2922\tclass=0x010601\tnode=\tfit=no\towner=\twhy=it is the platform's\n"
         "function=0000:01:00.0\tvendor=0x15b3\tdevice=0x1017\tclass=0x020000\tnode=1\tfit=yes\towner=17\twhy=\n",
    LOG: "[    1.000] margay: no\n[    2.000] 17: \"yes\"\n",
    EVENTS: "next=4\tboot=1700000000000\n" + EVENT % (1, "kill", "17", "", "", "", "management", "no", "") +
            EVENT % (2, "ended", "17", "", "exit", "3", "", "", "no") + EVENT % (3, "image-gone", "", "12", "", "", "", "", ""),
    NET: "".join("segment=%s\tvm=17\tnet=%d\tstate=%s\tmac=02:03:04:05:06:07\tmtu=9000\tpvid=%s\ttrunk=%s\t" % line + counters
                 for line, counters in ((("no", 0, "running", "", "10"), NET_COUNTERS.replace("=", "=5")),
                                        (("17", 1, "poweroff", "10", ""), NET_COUNTERS))),
    STATS: "vcpu=0\texit=cpuid\tcount=12\nvcpu=0\texit=hlt\tcount=18446744073709551615\nvcpu=0\tinjected=5\nvcpu=1\tinjected=0\n",
    IMAGES: "name=k\tsize=6\tsha256=-\tused=yes\tboot=yes\nname=17\tsize=100000\tsha256=%064d\tused=no\tboot=no\n" % 1,
    FILE: "offset=0\tnext=12\tsize=12\nname = \"17\"\n",
    DUMP: "vcpus=1\tpaused=yes\tcrashed=no\n",
    REGISTERS: "vcpu=0\n",
    READ: "offset=0\tnext=0\n",
    IMAGE: "have=yes\n",
}
LINES = b"0[    1.000] margay: no\n1[    2.005] 17: \"yes\"\n"
LOG_HEAD = b"offset=%d\tnext=%d\tbegan=1700000000.007\tboot=1700000000000\n"
EMPTY = VM % ("e", "not-started", 0, "", "", 0, "", "") + "kernel=k\ncmdline=\n"
# Words behind each command that make it do something; and again, what else it can say.
COMMANDS = {
    "info": [[]], "list": [[]], "show": [["17"], ["e"], ["17", "--file"]], "create": [["FILE"]], "destroy": [["17"]],
    "start": [["17"], ["--wait", "17"]], "stop": [["17"]], "press": [["17"]], "kill": [["17"]], "restart": [["17"]],
    "pause": [["17"]], "resume": [["17"]], "nmi": [["17"]], "wait": [["17"]], "console": [["17"]], "dump": [["17", "NEW"]],
    "stats": [["17"], ["-f", "0.1", "17"]], "metrics": [[], ["--output", "NEW"]], "log": [[], ["5"], ["-f"]],
    "events": [[], ["-f"]], "journal": [[]], "node": [[]], "pci": [[]],
    "net show": [[], ["no"]],
    "watch": [[]], "apply": [["17"]], "image put": [["FILE"]], "image pull": [["17"]], "image list": [[]], "image rm": [["17"]],
}
# A guest's output, Prometheus' text; test_image_pull.py and test_margay_apply.py have what other programs answer.
OWN_FORMAT = (("console", ["17"]), ("metrics", []), ("watch", []), ("journal", []), ("image pull", ["17"]), ("apply", ["17"]))


def whole():
    seen = []

    def answer(what, text):
        seen.append(what)
        if what == LOG_FROM:
            return 0, LOG_HEAD % (int(text), len(LINES)) + LINES[int(text):]
        if what == EVENTS and int(text) > 3:
            return 0, b"next=4\tboot=1700000000000\n"
        if what == SHOW and text == "e":
            return 0, EMPTY.encode()
        if what == SHOW:
            return 0, ((RUNS if START in seen and STOP not in seen else ENDED) + DETAILS).encode()
        return 0, ANSWERS.get(what, "").encode()
    return answer


def words_of(command, words, folder):
    """In the words' places files: one that is there, and one that is not."""
    there = folder / "17.conf"
    there.write_text("name = 17\n")
    files = {"FILE": str(there), "NEW": str(folder / ("new%d" % len(os.listdir(folder))))}
    return [*command.split(), *(files.get(word, word) for word in words)]


CASES = [(command, words) for command, ways in COMMANDS.items() for words in ways]


def test_all_commands_are_here():
    done = subprocess.run([CLIENT, "--help"], capture_output=True, text=True, check=True)
    assert set(re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", done.stdout, re.MULTILINE)) == set(COMMANDS)
    for command, ways in COMMANDS.items():
        options = re.search(r"^  %s +(.*?)  " % command, done.stdout, re.MULTILINE)[1]
        named = set(re.findall(r"\[(-[-a-z0-9]+)", options)) - {"--timeout", "--raw", "--replace", "--sha256", "--size",
                                                                  "--prefix", "--allow-downgrade", "--dry-run", "--prune",
                                                                  "--each"}
        assert named == {word for words in ways for word in words if word.startswith("-")}, command


@pytest.mark.parametrize("command, words", [case for case in CASES if case not in OWN_FORMAT])
def test_answers(start, tmp_path, command, words):
    """Wherever --json stands."""
    option = next((" " + word for word in words if word.startswith("-")), "")
    for place in range(3):
        line = words_of(command, words, tmp_path)
        line.insert({0: 0, 1: 1, 2: len(line)}[place], "--json")
        node = start(whole())
        if option == " -f":
            with node.popen(*line) as child:
                said = child.stdout.readline()
                child.send_signal(signal.SIGINT)
                child.wait(timeout=30)
        else:
            status, said, err = node.run(*line)
            assert err == "" and status == (10 if command == "wait" else 0), said
        judge(said, command + option)


def test_values(start, tmp_path):
    """Booleans are booleans, names are text whatever they are, and what there is not is null."""
    node = start(whole())
    vms = json.loads(node.run("list", "--json")[1])
    assert len({tuple(vm) for vm in vms}) == 1
    assert [(vm["name"], vm["created"], vm["why"], vm["last"], vm["ended"]) for vm in vms] == [
        ("17", True, None, 'yes "or\\no', 1700000000), ("17", True, None, None, None), ("17", True, "no", None, 1700000000)]
    vm = json.loads(node.run("show", "17", "--json")[1])
    assert (vm["kernel"], vm["initrd"], vm["cmdline"], vm["modules"]) == ("17", "no", "yes", ["yes", "m"])
    assert vm["disks"] == [{"image": "12", "scratch": None}, {"image": None, "scratch": 33554432}]
    assert vm["networks"][0]["bridge"] is True and vm["vcpus"][1] == {"vcpu": 1, "cpu": 4, "node": -1} and len(vm["pieces"]) == 2
    empty = json.loads(node.run("show", "e", "--json")[1])
    assert set(empty) == set(vm) and (empty["initrd"], empty["cmdline"], empty["disks"]) == (None, None, [])
    assert [row["fit"] for row in json.loads(node.run("pci", "--json")[1])] == [False, True]
    assert json.loads(node.run("stats", "17", "--json")[1])[0]["exits"]["hlt"] == 2 ** 64 - 1
    assert json.loads(node.run("image", "list", "--json")[1])[0]["sha256"] is None
    path = tmp_path / "image"
    path.write_bytes(b"content")
    assert json.loads(node.run("image", "put", str(path), "--json")[1]) == {
        "name": "image", "size": 7, "sha256": hashlib.sha256(b"content").hexdigest(), "sent": False}


def test_a_vm_that_is_called_like_nothing(start):
    vms = json.loads(start(lambda what, text: (0, (VM % ("-", "running", 2, "", "", 0, "", "")).encode())).run("list", "--json")[1])
    assert (vms[0]["name"], vms[0]["end"]) == ("-", None)


def test_a_node_whose_answer_ends_early(start):
    """An older one, which has no more than fits."""
    said = start(lambda what, text: (0, b"node=0\tmemory=1000\tfree=600\tlargest=500\ntruncated=yes\n")).run("node", "--json")[1]
    assert judge(said, "node")["hypervisor"] is None


def test_bytes_that_are_no_text(start):
    """A comment of a VM file may be in any character set: JSON has one."""
    content = ("\u00fc\u20ac\U0001f600\x7f".encode() +
               b" \xff \xc1\xbf \xe0\x9f\xbf \xed\xa0\x80 \xf0\x8f\xbf\xbf \xf4\x90\x80\x80 \xc3( \xe2\x82")
    codecs.register_error("each", lambda error: ((error.end - error.start) * "\ufffd", error.end))
    node = start(lambda what, text: (0, b"offset=0\tnext=%d\tsize=%d\n" % (len(content), len(content)) + content))
    status, said = node.run_bytes("show", "--file", "17", "--json")
    assert status == 0 and json.loads(said.decode())["text"] == content.decode("utf-8", "each")


def test_long_errors(start, tmp_path):
    """Each of a VM file's comes with a line of its own, as margay-check has them."""
    errors = "\n".join("a.conf:%d: unknown key 'x'" % line for line in range(1000))
    node = start(lambda what, text: (EINVAL, errors.encode()))
    (tmp_path / "a.conf").write_text("x = 1\n" * 1000)
    assert node.run("create", str(tmp_path / "a.conf")) == (1, "", "margay: %s\n" % errors)
    assert judge(node.run("create", str(tmp_path / "a.conf"), "--json")[1], "error")["error"]["message"] == errors


def test_start_says_one_line(start):
    """Also where the reason is a line of its file."""
    lines = FAILED.replace("17", "a")
    node = start(lambda what, text: (0, b"") if what == START else (0, lines.encode()))
    assert node.run("start", "--wait", "a") == (30, "", "margay: a: it has not started: no.conf:7: no\n")


@pytest.mark.parametrize("command, words", [case for case in CASES if case[0] not in ("watch", "journal", "image pull", "apply")])
def test_errors(start, tmp_path, command, words):
    """Refused by the node; on standard output alone."""
    line = words_of(command, words, tmp_path)
    status, said, err = start(lambda what, text: (ENOENT, b'no "a"\tthere')).run(*line, "--json")
    error = judge(said, "error")["error"]
    assert (status, err) == (1, "") and error["status"] == 1 and ("no \"a\"\tthere" in error["message"] or command == "metrics")


@pytest.mark.parametrize("line, status", [
    (["--json"], 2), (["nothing", "--json"], 2), (["show", "--json"], 2), (["show", "a", "--wait", "--json"], 2),
    (["create", "/none", "--json"], 3), (["image", "put", "/none", "--json"], 3), (["stats", "-f", "x", "a", "--json"], 2)])
def test_errors_of_its_own(start, line, status):
    got, said, err = start(whole()).run(*line)
    assert (got, err) == (status, "") and judge(said, "error")["error"]["status"] == status


def test_error_without_a_node(tmp_path):
    done = subprocess.run([CLIENT, "list", "--json"], env={**os.environ, "MARGAY_PORT": str(tmp_path / "none")},
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "") and judge(done.stdout, "error")


def test_a_name_like_an_option(start):
    """Behind -- nothing is one."""
    node = start(whole())
    assert node.run("press", "--", "--json") == (0, "", "") and node.asked[-1][1] == "--json"


def names_of(path):
    """Those of the lines that a file of the node's says, by the first of them."""
    with open(os.path.join(TOP, "vmm", "management", path), encoding="ascii") as f:
        text = re.sub(r'"\s*\n?\s*"', "", f.read()).replace("\\t", " ")
    said = re.findall(r'management_say\(\s*"([a-z0-9_]+=.*?)"[,)]', re.sub(r'"\s*[A-Z_]+\s*"', "%s", text))
    return {re.findall("([a-z0-9_]+)=", line)[0]: re.findall("([a-z0-9_]+)=", line) for line in said}


def test_answers_of_real_nodes_are_judged(start):
    """What the system tests' scripts have printed, piece by piece; the control is a name that the schema has not."""
    node = start(whole())
    for words in ["list"], ["image", "list"], ["show", "17"], ["node"], ["events"]:
        said = node.run(*words, "--json")[1]
        pieces = re.findall(".{1,180}", said.replace("\n", "|"))
        printed = "".join("margay-test: a-name: 0: %s\n" % piece for piece in pieces)
        assert json.loads(management.read_answers(printed)[0]["a-name"]) == json.loads(said)
        with pytest.raises(jsonschema.ValidationError):
            management.read_answers(re.sub(r'"(name|nodes|number)":', '"nonsense":', printed, count=1))
    for text in "[    1.000] margay: no", "vm=17", "":
        assert management.read_answers("margay-test: log: 0: %s|\n" % text)[1] == {"log": 0}


def test_real_nodes_are_judged():
    """Whoever asks one for JSON has it judged: by management.py, which reads the answers of a script, or by himself."""
    found = 0
    for path in glob.glob(os.path.join(TOP, "tests", "system", "*.py")):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if re.search(r"margay (--json|[a-z -]+ --json)", text):
            assert re.search(r"\b(read_)?answers\(|client_json", text), path
            found += 1
    assert found > 5


def test_node_says_what_is_in_the_schema():
    """Each name, of each line; else an answer of the node's would have no place there, or the schema one that nobody says."""
    definitions = SCHEMA["definitions"]
    look = names_of("look.c")

    def has(part, names):
        return set(part["items"]["properties"]) == set(names)
    assert has(definitions["list"], look["name"]) and has(definitions["pci"], look["function"])
    assert has(definitions["node"]["properties"]["nodes"], look["node"])
    assert has(definitions["node"]["properties"]["cpus"], look["cpu"])
    assert set(definitions["node"]["properties"]["hypervisor"]["properties"]) == set(look["own"])
    assert has(definitions["vm"]["properties"]["networks"], look["segment"])
    assert has(definitions["vm"]["properties"]["pieces"], look["memory"])
    assert has(definitions["image list"], names_of("images.c")["name"])
    assert set(definitions["info"]["properties"]) == set(names_of("management.c")["margay"])
