# SPDX-License-Identifier: GPL-2.0-only
"""What an entry of a grub.cfg would load. GRUB's language is a shell's but for `set`: a shell walks through the entry, with GRUB's
commands as functions that say what they are asked for, and grubenv as GRUB would find and leave it."""

import re
import subprocess

COMMANDS = r"""
insmod() { :; }
regexp() { boot=${prefix%%/grub}; }
load_env() { eval "$(grub-editenv "$prefix/grubenv" list | grep "^$1=")"; }
save_env() { [ ! -e "$prefix/read-only" ] && grub-editenv "$prefix/grubenv" set "$1=$(eval echo "\$$1")"; }
multiboot2() { printf 'multiboot2'; printf ' %%s' "$@"; echo; }
module2() { printf 'module2'; printf ' %%s' "$@"; echo; }
prefix=%s
"""


def titles(cfg):
    """Of the menu; behind their submenu's title, as GRUB has it, those of one."""
    found, submenu = [], ""
    for line in cfg.splitlines():
        named = re.match(r"(\t?)(menuentry|submenu) '([^']*)'", line)
        if named and named[2] == "submenu":
            submenu = named[3] + ">"
        elif named:
            found.append((submenu if named[1] else "") + named[3])
    return found


def entry(cfg, title):
    """Its lines."""
    return re.search(r"^(\t?)menuentry '%s' [^\n]*\n(.*?)^\1\}$" % re.escape(title.rpartition(">")[2]), cfg,
                     re.MULTILINE | re.DOTALL)[2]


def boot(boot_folder, title):
    """[(the command, its words)] of what is loaded; and what GRUB says, as the word `echo`."""
    cfg = (boot_folder / "grub/grub.cfg").read_text(encoding="ascii")
    script = re.sub(r"^(\s*)set (\w+=)", r"\1\2", entry(cfg, title), flags=re.MULTILINE)
    script = re.sub(r"^(\s*)echo ", r"\1echo echo ", script, flags=re.MULTILINE)
    done = subprocess.run(["sh", "-c", COMMANDS % (boot_folder / "grub") + script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return [(line.split(" ")[0], line.split(" ")[1:]) for line in done.stdout.splitlines()]


def image(boot_folder, title):
    """The image's name and the hypervisor's command line."""
    (words,) = [words for command, words in boot(boot_folder, title) if command == "multiboot2"]
    return words[0].rpartition("/")[2], words[1:]
