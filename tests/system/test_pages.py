# SPDX-License-Identifier: GPL-2.0-only
"""What README.md, CONTRIBUTING.md and the pages of docs/ let a reader type or write, taken from the pages: each block says what
it is (tools/margay_pages.py), and is run in the page's order, on the system that it names, or judged by the program that reads it.

Here is what needs no emulator: VM files, pieces of grub.cfg, words of the command line, what is typed in the source tree; and in
lines of prose each command by its parser, or what it says of itself.
TESTED has the files of those that take the rest.
"""

import configparser
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import zlib

import margay_pages
import node
import pytest
import throwaway
import tree_copy

BLOCKS = margay_pages.all_blocks()
NOT_RUN = 5
PATIENCE = 3600
# Who takes the blocks of a page which are typed on a system: a test, or what test_slurm.py begins.
TESTED = {
    ("README", "tree"): "test_pages.py", ("booting", "tree"): "test_pages.py", ("booting", "node"): "test_kernel_hooks.py",
    ("hardware", "tree"): "test_pages.py", ("first-boot", "tree"): "test_pages.py",
    ("operating", "tree"): "test_pages.py", ("performance", "tree"): "test_pages.py",
    ("README", "terminal"): "test_pages_emulated.py", ("README", "cluster"): "test_make_cluster.py",
    ("first-hour", "build"): "test_pages_emulated.py",
    ("first-hour", "node"): "test_packages_boot.py", ("first-hour", "debian"): "test_packages_boot.py",
    ("management-vm", "debian"): "test_packages_boot.py", ("management-vm", "wanted"): "../unit/test_margay_apply.py",
    ("first-hour", "management"): "test_management.py", ("management-vm", "management"): "test_management.py",
    ("cluster-in-a-node", "images"): "test_pages_emulated.py", ("cluster-in-a-node", "emulator"): "test_pages_emulated.py",
    ("cluster-in-a-node", "node1"): "test_pages_emulated.py",
    ("cluster-in-a-node", "gate"): "test_pages_emulated.py", ("passthrough", "card"): "test_pages_emulated.py",
    ("cluster", "head"): "slurm_head.py", ("cluster", "management"): "slurm_management.py",
    ("cluster", "shared"): "slurm_management.py", ("cluster-jobs", "user"): "test_slurm.py",
    ("images", "images"): "../unit/test_image_page.py", ("images", "node"): "../unit/test_image_page.py",
    ("images", "store"): "../unit/test_image_page.py", ("testing", "first"): "test_testing_page.py",
}
GOOD = "kernel = k\nmemory = 64M\n"
RECORDED = "tests/machines/dump-recordings/qemu.log.xz"
FLEET = {"margay": "0.2", "able": True, "cpu": "A CPU", "signature": "0x906ea", "microcode": "0xde", "cpus": 8, "tsc_khz": 1,
         "memory": [2**30], "pci": [{"address": "0000:00:00.0", "id": "8086:29c0", "class": "060000", "node": -1}], "missing": []}
# What a page says that its reader has, as commands before its first; what has come of it, as commands behind its last.
GIVEN = {
    "hardware": "xz -dc %s >node7.log" % RECORDED,
    "operating": "mkdir logs; printf 'json: begin\\njson: %%s\\njson: end %08x\\n' %s >logs/node1.log" % (
        zlib.crc32(json.dumps(FLEET).encode()), shlex.quote(json.dumps(FLEET))),
}
ENTRY = "grep -qxF \"menuentry 'Margay: vm0.conf' --class margay --class os {\" /boot/grub/grub.cfg"
LEFT = {
    "README": "[ -s node.iso ]; " + ENTRY,
    "booting": "[ -s node.iso ]; [ -s build/netboot/margay/margay.elf ]; " + ENTRY,
    "first-boot": "[ -s first.iso ]",
    "hardware": "[ -s check.iso ]; [ -d node7 ]", "operating": "true", "performance": "[ -s native.iso ]; [ -s margay.iso ]",
}


def of_kind(*kinds):
    return [pytest.param(block, id="%s-%d" % (block.page, block.line)) for block in BLOCKS if block.kind in kinds]


def check(*arguments):
    return subprocess.run([os.path.join(node.BUILD, "margay-check"), "--quiet", "--image", os.path.join(node.BUILD, "margay.elf"),
                           *map(str, arguments)], capture_output=True, text=True, check=False)


def test_each_block_says_what_it_is():
    """No page has a block that is not marked, or is marked as nothing that is known."""
    for page, path in margay_pages.page_files().items():
        assert not list(margay_pages.unmarked(path)), "%s: lines of a block without a fence" % page
    for block in BLOCKS:
        named = margay_pages.KINDS.get(block.kind, "unknown")
        assert named != "unknown" and (named is None or bool(block.name) == named), "%s:%d: %s %s" % block[:4]
    assert len(BLOCKS) > 80


def test_few_are_not_run():
    """At most five in all, each with its reason; and what is typed anywhere else has a test that takes it from its page."""
    reasons = [block for block in BLOCKS if block.reason is not None]
    assert len(reasons) <= NOT_RUN and all(len(block.reason) > 20 and block.kind == "sh" for block in reasons)
    typed = {(block.page, block.name) for block in BLOCKS if block.kind == "sh" and block.reason is None}
    assert typed == set(TESTED)
    for (page, place), file in TESTED.items():
        with open(os.path.join(node.TOP, "tests", "system", file), encoding="utf-8") as f:
            text = f.read()
        wanted = ["slurm_typed.blocks(\"%s\")" % place] if page == "cluster" else ['"%s"' % page, '"%s"' % place]
        assert all(words in text for words in wanted), (page, place, file)


def test_marks_are_read(tmp_path):
    """The control of the two above: a page with one of each mistake."""
    page = tmp_path / "page.md"
    page.write_text("text\n\n    indented\n\n- item\n  goes on\n\n      code of it\n\n```sh tree\na\n```\n"
                    "<!-- not run: a reason -->\n```sh x\nb\nc\n```\n\n1. one:\n\n   ```conf a.conf\n   d\n     e\n   ```\n")
    assert list(margay_pages.unmarked(page)) == [3, 8]
    assert [block[1:] for block in margay_pages.blocks("page", page)] == [
        (10, "sh", "tree", "a\n", None), (14, "sh", "x", "b\nc\n", "a reason"), (21, "conf", "a.conf", "d\n  e\n", None)]


@pytest.mark.parametrize("block", of_kind("conf"))
def test_vm_files(block, tmp_path):
    """As the program that operators have judges them. The control is one with a key misspelt."""
    path = tmp_path / block.name
    for text, status in (block.text, 0), (re.sub(r"^memory", "memroy", block.text, flags=re.MULTILINE), 1):
        path.write_text(text)
        done = check("--each", path)
        assert (done.returncode, bool(done.stderr)) == (status, bool(status)), done.stderr


@pytest.mark.parametrize("page, names", [("configuration", ["left.conf", "right.conf"]), ("passthrough", ["card.conf", "t0.conf"]),
                                         ("cluster-in-a-node", ["node1.conf", "gate.conf"])])
def test_vm_files_of_one_node(page, names, tmp_path):
    """Those that the page puts into one node."""
    for block in BLOCKS:
        if (block.page, block.kind) == (page, "conf"):
            (tmp_path / block.name).write_text(block.text)
    done = check(*(tmp_path / name for name in names))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


@pytest.mark.parametrize("block", of_kind("lines", "words"))
def test_lines_and_words(block, tmp_path):
    """Lines of a VM file, behind those that each needs; words of the command line."""
    if block.kind == "words":
        for line in block.text.splitlines():
            done = check("--cmdline", line.split("  ")[0])
            assert done.returncode == 0, done.stderr
        return
    for text in block.text.splitlines() if block.name == "each" else [block.text]:
        path = tmp_path / "vm.conf"
        path.write_text(GOOD + text + "\n")
        done = check("--each", path)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", of_kind("grub"))
def test_pieces_of_grub_cfg(block, tmp_path):
    path = tmp_path / "grub.cfg"
    for text, status in (block.text, 0), (block.text + "}\n", 1):
        path.write_text(text)
        assert subprocess.run(["grub-script-check", path], capture_output=True, check=False).returncode == status, text


def packed(text):
    """What GRUB would unpack: a module that is loaded without --nounzip, in a block or in prose; and how many there are."""
    lines = re.findall(r"\bmodule2 +([^ `]+)", text)
    return [word for word in lines if word != "--nounzip"], len(lines)


def test_grub_unpacks_no_module():
    """An initrd packed by gzip is several times as large unpacked, and stays so in the node's memory."""
    found = 0
    for page, path in margay_pages.page_files().items():
        with open(path, encoding="utf-8") as f:
            wrong, lines = packed(f.read())
        assert not wrong, (page, wrong)
        found += lines
    assert found > 5
    assert packed("    module2 /initrd initrd\n or `module2 PATH facts:c3`\n  if module2 --nounzip $files/x x; then\n") == (
        ["/initrd", "PATH"], 3)


@pytest.mark.parametrize("block", of_kind("file"))
def test_files(block, tmp_path):
    """By who reads them: GRUB, the hypervisor, or as the ini files that systemd and dnf have."""
    path = tmp_path / os.path.basename(block.name)
    path.write_text(block.text)
    if path.name == "facts":
        (tmp_path / "vm.conf").write_text(GOOD)
        done = check("--module", "k", "--module", "facts:node=%s" % path, tmp_path / "vm.conf")
        assert done.returncode == 0, done.stderr
    elif path.suffix == ".cfg":
        subprocess.run(["grub-script-check", path], check=True)
    else:
        assert path.suffix in (".network", ".netdev", ".conf", ".repo")
        # A key that comes again adds to the one before.
        read = configparser.ConfigParser(interpolation=None, strict=False)
        read.optionxform = str
        read.read(path)
        if path.suffix == ".conf":
            assert read.sections() == ["Service"]
        elif path.suffix == ".repo":
            assert [set(read[name]) for name in read.sections()] == [{"name", "baseurl", "gpgkey", "gpgcheck"}]
        else:
            assert set(read.sections()) <= {"Match", "NetDev", "Network"} and read.sections()[0] == "Match"


# ---- what is typed in the tree ----------------------------------------------------------------------


@throwaway.ALLOWED
@pytest.mark.parametrize("page", [page for page, place in TESTED if place == "tree"])
def test_typed_in_the_tree(page, tmp_path):
    """As root, in a copy of this tree, on a machine whose /boot and /etc are thrown away."""
    tree = tree_copy.make(str(tmp_path / "tree"))
    text = "\n".join([GIVEN.get(page, ":"), *margay_pages.script(page, "tree"), LEFT[page]])
    said, status = throwaway.run(text, str(tmp_path), tree, tree_copy.environment(), PATIENCE)
    assert status == 0, said[-4000:]


@throwaway.ALLOWED
def test_a_command_that_fails_is_found(tmp_path):
    """The control; and nothing of what is written there comes to this machine."""
    there = set(os.listdir("/etc"))
    said, status = throwaway.run("touch /etc/margay-was-here\n[ -e /etc/margay-was-here ]\n[ -s /boot/vmlinuz-$(uname -r) ]\n"
                                 "false here\ntrue\n", str(tmp_path), str(tmp_path), dict(os.environ), PATIENCE)
    assert status == 1 and said.endswith("failed: false here\n"), said
    assert set(os.listdir("/etc")) == there


# ---- what is looked up only -----------------------------------------------------------------------------


def targets():
    """Of the Makefile."""
    text = ""
    for path in [os.path.join(node.TOP, "Makefile"), *glob.glob(os.path.join(node.TOP, "mk", "*.mk"))]:
        with open(path, encoding="utf-8") as f:
            text += f.read()
    listed = re.findall(r"^(?:\.PHONY: )?([\w /.-]+):(?!=)|^BENCHES [:+]= (.*)$", text, re.MULTILINE)
    return {word for part in listed for word in " ".join(part).split()}, text


def configured(word):
    return word.endswith("_defconfig") and os.path.exists(os.path.join(node.TOP, "configs", word))


def look_up(command):
    """make's targets and variables, a tool and its options, a file that it is given: are they there?"""
    known, makefiles = targets()
    words = shlex.split(command)
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words.pop(0)
    if words[0] == "make":
        for word in words[1:]:
            name, equals, _ = word.partition("=")
            if equals:
                assert re.search(r"\$\(%s\)|^%s +\?=|ifdef %s" % (name, name, name), makefiles, re.MULTILINE), word
            else:
                assert word in known or word.startswith(("build/", "-")) or configured(word), word
        return
    path = os.path.join(node.TOP, words[0])
    if words[0].startswith("build/"):
        return
    assert os.path.exists(path) if "/" in words[0] and not words[0].startswith("/") else shutil.which(words[0]), words[0]
    if words[0].startswith("tools/"):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        for word in words[1:words.index("--") if "--" in words else None]:
            assert not word.startswith("--") or word.split("=")[0] in text, (command, word)


@pytest.mark.parametrize("block", of_kind("forms"))
def test_forms(block):
    """Of commands that take hours: what they name is there."""
    for line in block.text.splitlines():
        if line.startswith(" "):  # what the line before is for goes on
            continue
        for command in re.split(r" && | \| ", re.split(r"   *", line, maxsplit=1)[0]):
            look_up(re.sub(r"\b[A-Z]+\b(?!=)", "x", command) if not command.startswith("make") else command)


def test_look_up_can_fail():
    for command in "make nonsense", "make test NONSENSE=1", "tools/nonsense", "tools/fresh --nonsense 12", "nonsense-program x":
        with pytest.raises(AssertionError):
            look_up(command)


# ---- what stands in a line of prose -----------------------------------------------------------------

CLIENT = os.path.join(node.BUILD, "margay")
COMMANDS = re.compile(r"^  ([a-z]+(?: [a-z]+)?)  ", re.MULTILINE)


def said(*words):
    """Its status, and all that it says; no node is asked, and no journal told."""
    environment = {**os.environ, "MARGAY_PORT": "/dev/null/port", "MARGAY_JOURNAL": ""}
    done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def look_up_client(words):
    """By its own parser, which comes before it looks for a node. What is not said may be up to two names, as in `margay stop`."""
    judged = [said(CLIENT, *words, *["x"] * more) for more in range(3)]
    assert any(status in (0, 3) for status, _ in judged), (words, judged[0][1])


def look_up_program(words):
    """One of the tools, or margay-check: its command and its options, by what it says of itself."""
    path = os.path.join(node.BUILD, words[0])
    path = path if words[0] == "margay-check" else os.path.join(node.TOP, "tools", words[0])
    assert os.access(path, os.X_OK), words
    if not words[1:]:
        return
    status, text = said(path, "--help")
    assert "usage: " + words[0] in text, text
    if "COMMAND ..." in text and not words[1].startswith("-"):
        status, text = said(path, words[1], "--help")
        assert status == 0, text
    for word in words[1:]:
        assert not word.startswith("-") or re.search(r"(?<![\w-])%s(?![\w-])" % re.escape(word.split("=")[0]), text), words


def look_up_bench(words):
    """make's BENCH= is for the program behind it."""
    path = os.path.join(node.TOP, "tests", "bench", "image_instructions.py" if "bench-images" in words else "bench.py")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for word in words:
        if word.startswith("BENCH="):
            assert all('"%s"' % option in text for option in re.findall(r"--[a-z-]+", word)), word


def look_up_inline(span, commands=()):
    """A command, or what a command says, of which nothing is looked up. Words of a form are words, too."""
    for part in re.split(r" && | \| ", re.sub(r"[][]| &$", " ", span.replace("<name>", "debug"))):
        words = shlex.split(part)
        first = words[0].removeprefix("build/")
        if any(word.endswith(":") for word in words[:2]):
            continue
        if first in commands or " ".join(words[:2]) in commands:
            look_up_client(words)
        elif first == "margay":
            look_up_client(words[1:])
        elif first == "margay-check":
            look_up_program([first, *words[1:]])
        elif first.startswith("margay-"):
            # A name alone may be a package, a unit, a group.
            if words[1:]:
                look_up_program(words)
        elif first == "make" and words[1] != "-C":
            look_up(part)
            look_up_bench(words)
        elif first.startswith("tools/") and not first.endswith("/"):
            look_up(part)


def inline(path):
    """What stands in backquotes outside of blocks."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for pattern in margay_pages.FENCE, margay_pages.MADE:
        text = pattern.sub("", text)
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text) if span.strip()]


@pytest.mark.parametrize("page", margay_pages.page_files())
def test_inline_commands(page):
    """In prose, too, each command is one, with options that it takes. The client's own page leaves `margay` out before some."""
    options = COMMANDS.findall(said(CLIENT, "--help")[1]) if page == "management-vm" else ()
    for span in inline(margay_pages.page_files()[page]):
        own = options if " -" in span else ()
        if re.match(r"(build/)?margay[ -]|make |tools/", span) or span.split()[0] in own or " ".join(span.split()[:2]) in own:
            look_up_inline(span, own)


@pytest.mark.parametrize("span", [
    "margay nonsense", "margay stop --nonsense", "margay list one", "margay image", "margay-check --nonsense FILE",
    "margay-image --nonsense", "margay-slurm nonsense", "margay-nonsense --help", "make nonsense", "make nonsense_defconfig",
    "make bench BENCH='--nonsense'", "make all && tools/tiny-run --nonsense", "tools/nonsense", "start --nonsense"])
def test_inline_can_fail(span):
    with pytest.raises(AssertionError):
        look_up_inline(span, ("start",))


def test_commands_of_the_program():
    """Each command of margay that any page has typed is one, with these options and as many words."""
    lines = [line for block in BLOCKS if block.kind == "sh" for line in block.text.splitlines() if line.startswith("margay ")]
    assert len(lines) > 25
    for line in lines:
        words = shlex.split(re.split(r" [|<>&]", line)[0], comments=True)
        status, text = said(CLIENT, *words[1:])
        assert status in (0, 3), (line, text)
