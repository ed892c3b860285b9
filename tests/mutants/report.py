# SPDX-License-Identifier: GPL-2.0-only
"""What a mutation run came to: the kill rate by layer, the survivors and the reasons, as a part of docs/mutants.md."""

import collections
import hashlib
import re
import textwrap

from mutants import draw

# status: killed or survived, or open while only some of the tests ran, or gone when the source has its lines no more.
Result = collections.namedtuple("Result", "status by commit")
TITLES = {True: "The committed mutants", False: "A fresh seed"}
GOALS = {True: 95, False: 85}  # per cent; of the committed ones, of fresh ones
WIDTH = 120
MOST_GONE = 10  # per cent of the committed ones, then they have to be drawn again
INTRODUCTION = """# Mutants

Single bugs of the kinds that programmers make, and whether a test sees them: `make mutants` draws, runs and writes this
([testing.md](testing.md)). A mutant that no input can tell apart counts as killed, with its reason.
"""


def key(mutant):
    """Stays when the file moves and when other lines change."""
    text = repr((mutant.scope, mutant.operator, mutant.nth, mutant.old, mutant.new))
    return hashlib.sha1(text.encode()).hexdigest()[:8]


def counted(mutants, results, reasons):
    """{layer: Counter of drawn, killed, alike, survived, open, gone}, and the same under "all"."""
    table = collections.defaultdict(collections.Counter)
    for m in mutants:
        result = results.get(key(m))
        status = result.status if result else "open"
        if status in ("survived", "open") and key(m) in reasons:
            status = "alike"
        for row in (m.layer, "all"):
            table[row]["drawn"] += 1
            table[row][status] += 1
    return table


def rate(counts):
    """Killed, per cent of those that are there; what was not run to its end is not killed."""
    there = counts["drawn"] - counts["gone"]
    return 100 * (counts["killed"] + counts["alike"]) / there if there else 0


def good(counts, committed):
    return rate(counts) >= GOALS[committed] and 100 * counts["gone"] <= MOST_GONE * counts["drawn"]


def shown(mutant):
    """One line: what is where, and what it would be."""
    return "`%s` %s, %s: `%s` as `%s`" % (mutant.file, mutant.scope, mutant.operator, " ".join(mutant.old), " ".join(mutant.new))


def wrapped(text):
    return textwrap.wrap(text, WIDTH, break_on_hyphens=False)


def part(mutants, results, reasons, committed, seed):
    """The lines of this run's part of the document."""
    table = counted(mutants, results, reasons)
    commits = sorted({results[key(m)].commit for m in mutants if key(m) in results})
    yield "## " + TITLES[committed]
    yield ""
    yield from wrapped("Seed %s, commit %s: %.0f %% killed, the goal is %d %%." % (
        seed, ", ".join(commits) or "none", rate(table["all"]), GOALS[committed]))
    yield ""
    yield "| layer | drawn | killed | alike | survived | not run to the end | gone | rate |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    for layer in [layer for layer, _ in draw.LAYERS if layer in table] + ["all"]:
        counts = table[layer]
        numbers = tuple(counts[status] for status in ("drawn", "killed", "alike", "survived", "open", "gone"))
        yield "| %s | %d | %d | %d | %d | %d | %d | %.0f %% |" % (layer, *numbers, rate(counts))
    yield ""
    by = collections.Counter(results[key(m)].by for m in mutants if key(m) in results and results[key(m)].status == "killed")
    most = sorted(by.items(), key=lambda item: (-item[1], item[0]))
    yield from wrapped("Killed first by: %s." % ", ".join("%s %d" % item for item in most))
    for title, chosen in (("Survivors", ("survived",)), ("Not run to the end", ("open", None))):
        rows = [m for m in mutants if key(m) not in reasons and (results[key(m)].status if key(m) in results else None) in chosen]
        if rows:
            yield from ("", title + ":", "", "| mutant | the bug |", "|---|---|")
            yield from ("| %s | %s |" % (key(m), shown(m).replace("|", "\\|")) for m in rows)
    rows = [m for m in mutants if key(m) in reasons and not (key(m) in results and results[key(m)].status == "killed")]
    if rows:
        yield from ("", "Alike:", "", "| mutant | the bug: why no input can tell |", "|---|---|")
        yield from ("| %s | %s: %s |" % (key(m), shown(m).replace("|", "\\|"), reasons[key(m)]) for m in rows)


def document(text, lines, committed):
    """The document with this part new; the other run's part stays."""
    parts = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    parts[TITLES[committed]] = "\n".join(list(lines)[1:])
    kept = ["## %s\n%s\n" % (title, parts[title].rstrip("\n")) for title in TITLES.values() if title in parts]
    return INTRODUCTION + "\n" + "\n".join(kept)
