# SPDX-License-Identifier: GPL-2.0-only
"""The picture of the timeline: python3 draw.py MOMENTS.json PICTURE.png, where matplotlib is: on the head."""

import json
import sys

# From a moment to the next: what is done in between.
STRETCHES = {
    "job": (("submit", "resume", "waits", "#bbbbbb"), ("resume", "first step", "its nodes start", "#f2b134"),
            ("first step", "end", "runs", "#3a7d44"), ("end", "node free", "nodes are freed", "#8d99ae")),
    "node": (("pull", "pulled", "image comes", "#4f86c6"), ("pulled", "VM", "into the node's memory", "#a9c7e8"),
             ("VM", "slurmd", "VM boots", "#f2b134"), ("slurmd", "VM's end", "VM is the job's", "#3a7d44")),
}


def stretches(who, moments):
    """[(begin, end, what, colour)] of what is known."""
    kind = "job" if who == "job" else "node"
    return [(moments[first], moments[last], what, colour) for first, last, what, colour in STRETCHES[kind]
            if first in moments and last in moments]


def draw(every, path):
    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use("Agg")
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
    begin = every["job"]["submit"]
    whole = max(when for moments in every.values() for when in moments.values()) - begin
    figure, axes = pyplot.subplots(figsize=(11, 1.2 + len(every)))
    for row, (who, moments) in enumerate(every.items()):
        for first, last, what, colour in stretches(who, moments):
            axes.barh(row, last - first, left=first - begin, height=0.5, color=colour)
            # What is short has no room for words.
            if last - first > whole / 15:
                text = "%s\n%.1f s" % (what, last - first)
                axes.text((first + last) / 2 - begin, row, text, ha="center", va="center", fontsize=7)
        for what, when in moments.items():
            axes.plot([when - begin] * 2, [row - 0.35, row + 0.35], color="black", linewidth=0.8)
            axes.text(when - begin, row - 0.37, what, rotation=30, ha="left", va="bottom", fontsize=7)
    axes.set_yticks(range(len(every)), every)
    axes.set_ylim(len(every) - 0.4, -0.9)
    axes.set_xlabel("seconds since sbatch, on emulated nodes")
    figure.tight_layout()
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as f:
        draw(json.load(f), sys.argv[2])
