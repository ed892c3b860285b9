# SPDX-License-Identifier: GPL-2.0-only
"""The lines that a change adds to the image: what differs between a commit and the tree as it stands. A line that was only moved
with its file, or indented anew, is none of them.
"""

import re
import subprocess

FOLDERS = ("arch", "drivers", "kernel", "lib", "vmm")
FILE = re.compile(r"\+\+\+ b/(.+?)\t?")
HUNK = re.compile(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@.*")


class NoCommit(Exception):
    pass


def git(top, *words):
    return subprocess.run(["git", *words], cwd=top, capture_output=True, text=True, check=False)


def commit_of(top, name):
    """The whole name of a commit."""
    done = git(top, "rev-parse", "--verify", "--quiet", name + "^{commit}")
    if done.returncode:
        raise NoCommit("SINCE=%s is no commit" % name)
    return done.stdout.strip()


def added(top, commit):
    """{file: the numbers of its lines, from 1} of what the tree has and the commit has not."""
    options = ["--no-ext-diff", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", "-U0", "-M", "-w"]
    done = subprocess.run(["git", "-c", "core.quotePath=false", "diff", *options, commit, "--", *FOLDERS], cwd=top,
                          capture_output=True, text=True, check=True)
    lines, file, left = {}, None, 0
    for line in done.stdout.split("\n"):
        if left:
            left -= line.startswith("+")
            continue
        head, hunk = FILE.fullmatch(line), HUNK.fullmatch(line)
        if head:
            file = head[1]
        elif hunk:
            left = int(hunk[2] or 1)
            lines.setdefault(file, set()).update(range(int(hunk[1]), int(hunk[1]) + left))
    for name in git(top, "ls-files", "--others", "--exclude-standard", "-z", "--", *FOLDERS).stdout.split("\0"):
        if name:
            with open("%s/%s" % (top, name), encoding="utf-8") as f:
                lines[name] = set(range(1, f.read().count("\n") + 1))
    return {file: numbers for file, numbers in lines.items() if numbers}
