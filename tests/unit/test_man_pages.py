# SPDX-License-Identifier: GPL-2.0-only
"""The manual pages beside what they describe: margay.conf(5) has the keys that the parser has, with their words, and margay(7) the
words of the hypervisor's command line, both by margay-check, whose tables are the hypervisor's; margay(1), margay-check(1) and the
pages of margay-images have the commands and options that the programs' own help has. And none has more.
"""

import os
import re
import subprocess

import margay_manual
import pytest

TOP = margay_manual.TOP
BUILD = os.environ.get("MARGAY_BUILD", os.path.join(TOP, "build"))
CHECK = os.path.join(BUILD, "margay-check")
IMAGE = os.path.join(BUILD, "margay.elf")
PAGES = margay_manual.pages()
BY_HAND = {
    "margay-check": ([CHECK], "packaging/margay/margay-check.1"),
    "margay": ([os.path.join(BUILD, "margay")], "tools/client/margay.1"),
    "margay-build": ([os.path.join(TOP, "tools/margay-build")], "packaging/margay-images/margay-build.1"),
}
NOWHERE = "/nonexistent/image"


def plain(text):
    """Without roff's escapes and fonts."""
    text = re.sub(r"\\f[BIRP]", "", text).replace("\\-", "-").replace("\\(aq", "'").replace("\\(ha", "^").replace("\\(ti", "~")
    return text.replace("\\e", "\\").replace("\\&", "")


def section(page, title):
    return re.search(r"^\.SH %s\n(.*?)(?=^\.SH|\Z)" % title, page, re.MULTILINE | re.DOTALL)[1]


def entries(page, title):
    """{what is said in bold in an entry's head: the whole entry}"""
    found = {}
    for entry in section(page, title).split(".TP\n")[1:]:
        head = entry.split("\n")[0]
        found[tuple(plain(name) for name in re.findall(r"\\fB(.*?)\\fR", head))] = plain(entry)
    return found


def said(*arguments, text=None, tmp_path=None):
    if text is not None:
        (tmp_path / "vm.conf").write_text(text)
        arguments = (*arguments, str(tmp_path / "vm.conf"))
    return subprocess.run([CHECK, "--image", IMAGE, *arguments], capture_output=True, text=True, check=False).stderr


def keys(tmp_path):
    """As the parser names them."""
    text = said(text="x = 1\n", tmp_path=tmp_path)
    return re.search(r"unknown key 'x': expected one of (.*)$", text, re.MULTILINE)[1].split(", ")


def words_of(message):
    """Of "expected a, b or c, found ...": the words, where it is a list of such."""
    found = re.search(r"expected ((?:[\w.]+, )*[\w.]+ or [\w.]+), found '\?'", message)
    return re.split(", | or ", found[1]) if found else []


def test_keys_of_a_vm_file(tmp_path):
    """Both ways: none is missing, none is invented; and each word that a key takes stands in its entry."""
    page = entries(PAGES["margay.conf.5"], "KEYS")
    named = [name for names in page for name in names]
    assert len(named) == len(set(named)) and set(named) == set(keys(tmp_path))
    with_words = 0
    for names, entry in page.items():
        for name in names:
            words = words_of(said(text="kernel = k\nmemory = 64M\n%s = ?\n" % name, tmp_path=tmp_path))
            with_words += bool(words)
            missing = [word for word in words if not re.search(r"\b%s\b" % re.escape(word), entry.split("\n", 1)[1])]
            # yes and no: one of both says what the other is.
            assert not missing or missing in (["no"], ["yes"]), (name, missing)
            assert entry.rstrip().split("\n")[-1].startswith(("Default: ", "Required.")), entry
    assert with_words > 15


def test_words_of_the_hypervisor():
    """Both ways; gdb= is of the debug image, so without any image's options."""
    page = entries(PAGES["margay.7"], "WORDS")
    done = subprocess.run([CHECK, "--image", NOWHERE, "--cmdline", "?"], capture_output=True, text=True, check=False)
    listed = re.search(r"'\?': expected (.*)$", done.stderr, re.MULTILINE)[1]
    heads = {re.match(r"[a-z0-9]+=?", names[0])[0] for names in page}
    assert heads == set(re.split(", | or ", listed)), done.stderr


def test_parts_of_control_may(tmp_path):
    page = entries(PAGES["margay.conf.5"], "PARTS OF CONTROL_MAY")
    text = said(text="kernel = k\nmemory = 64M\ncontrol = yes\ncontrol_may = ?\n", tmp_path=tmp_path)
    listed = re.split(", | or ", re.search(r"control_may: expected (.*), found", text)[1])
    named = [name for names in page for name in names]
    assert {name if name in listed else name.split(":")[0] + ":" for name in named} == set(listed)


def options_of(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


@pytest.mark.parametrize("program", BY_HAND)
def test_options(program):
    """Each that the help has stands in the page, and no other."""
    arguments, path = BY_HAND[program]
    with open(os.path.join(TOP, path), encoding="ascii") as f:
        page = plain(f.read())
    done = subprocess.run([*arguments, "--help"], capture_output=True, text=True, check=True)
    # What the page says of other programs' options begins with their name.
    others = options_of(" ".join(re.findall(r"^\.B\w* *\"?systemctl .*$", page, re.MULTILINE)))
    assert options_of(page) - others - {"--help", "--version"} == options_of(done.stdout) - {"--help", "--version"}


def test_commands_of_margay():
    """Both ways."""
    with open(os.path.join(TOP, BY_HAND["margay"][1]), encoding="ascii") as f:
        heads = [re.sub(r"^\.[A-Z]+ +|\"", "", entry.split("\n")[0]) for entry in section(f.read(), "COMMANDS").split(".TP\n")[1:]]
    done = subprocess.run([os.path.join(BUILD, "margay"), "--help"], capture_output=True, text=True, check=True)
    wanted = set(re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", done.stdout, re.MULTILINE))
    named = set()
    for head in heads:
        words = [word for word in re.findall(r"[a-z]+", re.sub(r"\\f.|\\-\\?-?\w+|--?\w+", " ", head)) if word != "f"]
        named |= {" ".join(words[:2])} if words[0] in ("image", "net") else set(words)
    assert named == wanted


def test_markdown_becomes_roff():
    for text, wanted in (("a `b-c` d", "a \\fBb\\-c\\fR d"), ("see [x `y`](z.md#a)", "see x \\fBy\\fR"), (".x", "\\&.x"),
                         ("'x'", "\\(aqx\\(aq"), ("**`all`** of", "\\fBall\\fR of"), ("`\\x` ^T ~B", "\\fB\\ex\\fR \\(haT \\(tiB")):
        assert margay_manual.roff(text) == wanted
