#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The manual pages margay.conf(5) and margay(7), made of docs/configuration.md: keys of a VM file, words of the hypervisor; and of
docs/management-vm.md the rights of the management VM.

    tools/margay_manual.py DIRECTORY        writes both there

There is no second text of either that could differ: what stands in the document's tables and beside them is the page.
tests/unit/test_man_pages.py holds the tables to those that margay-check has, which are the hypervisor's.
"""

import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EXAMPLES = "/usr/share/doc/margay/examples"
ELSEWHERE = re.compile(r" \(\[below\]\([^)]*\)\)")  # in the document, not in the page
INLINE = re.compile(r"`([^`]+)`|\[([^\]]*)\]\([^)]*\)|\*\*([^*]+)\*\*")


def section(document, title):
    """What stands below a heading of docs/DOCUMENT.md, up to the next one of any level."""
    with open(os.path.join(TOP, "docs", document + ".md"), encoding="ascii") as f:
        text = ELSEWHERE.sub("", f.read())
    return re.search(r"^#+ %s\n(.*?)(?=^#|\Z)" % re.escape(title), text, re.MULTILINE | re.DOTALL)[1]


def rows(text):
    """[cells] of the only table; without its head."""
    lines = [line for line in text.split("\n") if line.startswith("|")]
    return [[cell.strip() for cell in line[1:-1].split(" | ")] for line in lines[2:]]


def paragraphs(text):
    """Those that are neither a table nor a list nor a block."""
    for part in re.split(r"\n\n+", text.strip()):
        if not part.startswith(("|", "-", "    ", "```", "<!--")):
            yield " ".join(part.split("\n"))


def escape(text):
    return text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("^", "\\(ha").replace("~", "\\(ti")


def roff(text):
    """Inline Markdown as roff, on lines of which none is a request."""
    out, at = "", 0
    for found in INLINE.finditer(text):
        code, link, strong = found.groups()
        out += escape(text[at:found.start()])
        out += roff(link) if link is not None else "\\fB%s\\fR" % escape(code or strong.replace("`", ""))
        at = found.end()
    return "\\&" + out + escape(text[at:]) if text.startswith(".") else out + escape(text[at:])


def entry(cell, meaning, default=None):
    yield ".TP"
    yield roff(cell)
    yield roff(meaning) + "."
    if default:
        yield ".br"
        yield "Required." if default == "required" else "Default: %s." % roff(default)


def page(name, number, summary, parts):
    """parts: [(heading, lines)]"""
    yield '.\\" SPDX-License-Identifier: GPL-2.0-only'
    yield '.\\" Made by tools/margay_manual.py of docs/configuration.md.'
    yield '.TH %s %d "" Margay "Margay"' % (name.upper(), number)
    yield ".SH NAME"
    yield "%s \\- %s" % (name, summary)
    for heading, lines in parts:
        yield ".SH " + heading
        yield from lines


def prose(texts):
    for n, text in enumerate(texts):
        if n:
            yield ".PP"
        yield roff(text)


def see_also(*pages):
    return "SEE ALSO", [", ".join("\\fB%s\\fR(%s)" % (escape(name), number) for name, number in pages) +
                        "; docs/configuration.md in Margay's source."]


def listed(text):
    """Items of a list and paragraphs; no blocks, nor what leads to one."""
    for part in re.split(r"\n\n+|\n(?=- )", text.strip()):
        joined = " ".join(line.strip() for line in part.split("\n"))
        if part.startswith("- "):
            yield ".IP \\(bu 2"
            yield roff(joined[2:])
        elif not part.startswith(("    ", "```", "<!--", "|")) and not joined.endswith(":"):
            yield ".PP"
            yield roff(joined)


def conf():
    """margay.conf(5)"""
    files = section("configuration", "VM files")
    first, *rest = paragraphs(files)
    # What margay-check does stands in its own page.
    rest = [part for part in rest if "margay-check" not in part]
    parts = rows(section("management-vm", "What the operator writes"))
    return page("margay.conf", 5, "the file of a VM of a Margay node", [
        ("SYNOPSIS", [".I /boot/margay/NAME.conf"]),
        ("DESCRIPTION", prose([first])),
        ("KEYS", [line for cells in rows(files) for line in entry(*cells)]),
        ("ENDS, KERNELS, ORDER", prose(rest)),
        ("CPUS AND MEMORY", listed(section("configuration", "CPUs and memory"))),
        ("DISKS AND CONSOLE", listed(section("configuration", "Virtual disks and console"))),
        ("NETWORKS", listed(section("configuration", "Virtual networks"))),
        ("PARTS OF CONTROL_MAY", [line for cells in parts for line in entry(*cells)]),
        ("EXAMPLES", [".I " + EXAMPLES]),
        see_also(("margay-check", 1), ("margay", 7), ("margay", 1)),
    ])


def hypervisor():
    """margay(7)"""
    command_line = section("configuration", "The hypervisor's own command line")
    return page("margay", 7, "the hypervisor's command line", [
        ("SYNOPSIS", [".B multiboot2 /boot/margay/margay.elf", ".RI [ WORD ]..."]),
        ("DESCRIPTION", prose([
            "`update-grub` takes the words from `GRUB_CMDLINE_MARGAY` in `/etc/default/grub.d/margay.cfg`; by hand they stand "
            "behind the image in `grub.cfg`, and for nodes that boot by the network in `options` of their file."])),
        ("WORDS", [line for cells in rows(command_line) for line in entry(*cells)]),
        ("ERRORS", prose(part for part in paragraphs(command_line) if "manual pages" not in part)),
        ("THE SERIAL CONSOLE", prose(paragraphs(section("configuration", "The serial console")))),
        ("FILES", [".I /boot/margay/margay.elf", ".br", ".I /etc/default/grub.d/margay.cfg"]),
        see_also(("margay.conf", 5), ("margay-check", 1), ("margay", 1)),
    ])


PAGES = {"margay.conf.5": conf, "margay.7": hypervisor}


def pages():
    """{file name: text}"""
    return {name: "\n".join(make()) + "\n" for name, make in PAGES.items()}


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: tools/margay_manual.py DIRECTORY")
    for name, text in pages().items():
        with open(os.path.join(sys.argv[1], name), "w", encoding="ascii") as f:
            f.write(text)


if __name__ == "__main__":
    main()
