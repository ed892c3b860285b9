# SPDX-License-Identifier: GPL-2.0-only
"""What the pages of docs/, README.md and CONTRIBUTING.md let a reader type or write: their blocks, with what each is for.

A block is fenced, and the words behind its fence, which a reader of the page does not see, say what it is:

    sh PLACE      commands, typed one behind the other on that system (tests/system/test_pages.py has the systems)
    conf NAME     the VM file NAME
    file PATH     another file
    grub NAME     a piece of grub.cfg
    lines         lines for a VM file that has a kernel and memory besides; `lines each`: each for another one
    words         one for the hypervisor's command line, then what it is for
    monitor       what is typed at the monitor console behind its prompt, and what it answers
    forms         a command a line and, behind two blanks, what it is for: what a developer may ask for, and what takes hours
    text          what is printed, or a form; nobody types it

`<!-- not run: REASON -->` in the line before the fence says of a block why no test runs it.
"""

import collections
import glob
import os
import re
import shlex

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Whether a name follows.
KINDS = {"sh": True, "conf": True, "file": True, "grub": True, "lines": None, "words": False, "monitor": False, "forms": False,
         "text": False}
FENCE = re.compile(r"^(?P<indent> *)(?:<!-- not run: (?P<reason>[^>]*?) -->\n(?P=indent))?```(?P<kind>\S*)(?: (?P<name>[^\n]*))?\n"
                   r"(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
# What programs write into a page.
MADE = re.compile(r"^<!-- (tools/\S+) -->\n.*?^<!-- /\1 -->$", re.MULTILINE | re.DOTALL)

# page: README or the document's name; line: of its fence; name: what stands behind the kind; reason: why it is not run, or None.
Block = collections.namedtuple("Block", "page line kind name text reason")


def page_files():
    """{name: path}; but for the pages that programs make, which nobody types from."""
    made = {"cpuid", "mutants", "sizes", "test-catalogue", "test-full"}
    files = [os.path.join(TOP, name) for name in ("README.md", "CONTRIBUTING.md")]
    files += sorted(glob.glob(os.path.join(TOP, "docs", "*.md")))
    return {os.path.basename(path)[:-len(".md")]: path for path in files if os.path.basename(path)[:-len(".md")] not in made}


def blocks(page, path):
    """Of one page, in order."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for found in FENCE.finditer(text):
        yield Block(page, text.count("\n", 0, found.start("kind")) + 1, found["kind"], found["name"] or "",
                    re.sub("^" + found["indent"], "", found["text"], flags=re.MULTILINE), found["reason"])


def all_blocks():
    return [block for page, path in page_files().items() for block in blocks(page, path)]


def script(page, *places):
    """A page's files and what is typed on these systems, in the page's order, as lines for a shell."""
    for block in all_blocks():
        if block.page != page or block.reason is not None:
            continue
        if block.kind in ("conf", "file"):
            yield "mkdir -p %s\ncat >%s <<'END OF FILE'\n%sEND OF FILE" % (
                shlex.quote(os.path.dirname(block.name) or "."), shlex.quote(block.name), block.text)
        elif block.kind == "sh" and block.name in places:
            yield ": %s.md, line %d\n%s" % (page, block.line, block.text.rstrip("\n"))


def unmarked(path):
    """Numbers of lines that a page shows as code but not in a fence."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for pattern in FENCE, MADE:
        text = pattern.sub(lambda found: "\n" * found[0].count("\n"), text)
    # An indented line is code where a blank one or code stands before it; in a list it is indented more than the list's text.
    wanted, before = 4, ""
    for number, line in enumerate(text.split("\n"), 1):
        code = line.startswith(" " * wanted) and (not before or before.startswith(" " * wanted))
        if code:
            yield number
        item = re.match(r"(?:[-*]|\d+\.) +", line)
        if item:
            wanted = item.end() + 4
        elif line and not line.startswith(" "):
            wanted = 4
        before = line
