#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The document of the full tier, docs/test-full.md, a row per test: generated from the results that the tree keeps.

    tests/full_tier.py document          prints it (make docs/test-full.md)
    tests/full_tier.py check             ends with status 1 where docs/test-full.md does not follow from the data
    tests/full_tier.py record DIR        takes the rows of runs in DIR into the tree (make record-results)

A test that has no row was never run, and the document says so. A row is marked as older than what it tests where a file that
goes into its test (tests/tested_files.py) differs between the row's commit and the one that the document names: marks are made
when the document is, so that a commit which touches the image need not touch the document.
"""

import collections
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "tools")]
import results  # noqa: E402
import tested_files  # noqa: E402

TOP = results.TOP
DOC = os.path.join(TOP, "docs", "test-full.md")
OLDER = " (older)"


def existing():
    """Names of all tests that are only in the full tier."""
    done = subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "-q", "--full", "-m", "full", "tests"],
                          cwd=TOP, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit("full_tier: the tests cannot be collected:\n" + done.stdout[-2000:] + done.stderr[-2000:])
    return {results.name_of(line) for line in done.stdout.split("\n") if "::" in line}


def git(*arguments):
    """What git says; None where it fails, as it does without the commit, or without git."""
    try:
        done = subprocess.run(["git", *arguments], cwd=TOP, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def changed(commits, as_of):
    """{commit: the files that differ between it and as_of}; None for a commit that git does not know."""
    files = {}
    for commit in commits:
        said = git("diff", "--name-only", "--no-renames", commit.replace("-dirty", ""), as_of)
        files[commit] = None if said is None else set(said.split("\n"))
    return files


def older(rows, as_of, tested=tested_files.of_file):
    """The tests whose rows say nothing of as_of's code. Of a tree with changes, and of a lost commit, nobody knows."""
    differing = changed({row.commit for row in rows.values()}, as_of)
    return {test for test, row in rows.items()
            if row.commit.endswith("-dirty") or differing[row.commit] is None
            or differing[row.commit] & tested(test.split("::")[0])}


def document(rows, tests, old, as_of, machine):
    """The lines. rows: of tests marked full; tests: all that there are; old: those marked; machine: lines about the last run's."""
    rows = {test: row for test, row in rows.items() if test in tests}
    yield "# The full tier: the last result of each test"
    yield ""
    yield "Made by `make docs/test-full.md` from `tests/results`, where `make record-results` puts what `make test-full` came to."
    yield "Seconds are wall time beside whatever else ran. What is not marked `full` runs in every submission and is not here."
    yield ""
    for name, words in zip(("Machine of the last run", "Emulators", "Compiler"), machine):
        yield "- %s: %s" % (name, words)
    count = collections.Counter(row.result for row in rows.values())
    yield "- Results: %d passed, %d of these at their second try (rerun), %d skipped, %d failed, %d never run" % (
        count["passed"] + count["rerun"], count["rerun"], count["skipped"], count["failed"], len(tests) - len(rows))
    yield "- Older than the code that they test, or of a tree with changes, marked as of commit %s: %d" % (
        as_of, len(old & set(rows)))
    for file in sorted({test.split("::")[0] for test in tests}):
        yield ""
        yield "## " + file
        yield ""
        yield "| test | result | seconds | date | commit |"
        yield "|---|---|--:|---|---|"
        for test in sorted(test for test in tests if test.startswith(file + "::")):
            name = test.split("::", 1)[1]
            if test in rows:
                row = rows[test]
                yield "| %s | %s | %.1f | %s | %s |" % (
                    name, row.result, row.seconds, row.date[:10], "**%s**%s" % (row.commit, OLDER) if test in old else row.commit)
            else:
                yield "| %s | **never run** | | | |" % name


def without_marks(text):
    """What follows from the data alone."""
    return re.sub(r"\*\*([\w-]+)\*\*" + re.escape(OLDER), r"\1", re.sub(r"^- Older than .*\n", "", text, flags=re.MULTILINE))


def full_rows():
    return {test: row for test, row in results.kept().items() if row.full}


def made(as_of, tests, marked=True):
    rows = full_rows()
    old = older({test: row for test, row in rows.items() if test in tests}, as_of) if marked else set()
    return "\n".join(document(rows, tests, old, as_of, results.kept_machine())) + "\n"


def check():
    """
    Whether the document follows from the data, marks apart: these are the code's at the commit that the document names, which a
    later tree cannot work out again, as it may have other files, or no git.
    """
    with open(DOC, encoding="utf-8") as f:
        text = f.read()
    return without_marks(text) == without_marks(made("unknown", existing(), marked=False))


def main():
    match sys.argv[1:]:
        case ["document"]:
            sys.stdout.write(made(git("rev-parse", "--short=12", "HEAD").strip(), existing()))
        case ["check"]:
            if not check():
                sys.exit("docs/test-full.md does not follow from tests/results: make docs/test-full.md")
        case ["record", directory]:
            collected = subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "-q", "--full", "tests"],
                                       cwd=TOP, capture_output=True, text=True, check=True)
            tests = {results.name_of(line) for line in collected.stdout.split("\n") if "::" in line}
            print("%d results recorded in tests/results" % results.record(directory, tests))
        case _:
            sys.exit(__doc__.strip())


if __name__ == "__main__":
    main()
