#!/usr/bin/env python3
"""Measures how git-agentwt grows, prints it, and draws docs/growth.svg.

    cargo build --release
    benches/growth.py                         # half an hour; needs some 30 GB below --dir
    benches/growth.py --sizes 1000,5000 --out plot.svg

`add`, `verify`, `sync` and `remove` over the files of a repository (for `sync`: as many untracked
files), beside `git worktree add`; `add` and `verify` over the patterns of a scope, `list`, `path` and `add` over the worktrees
that are there. Medians of some rounds, on logarithmic axes: what grows in proportion is a straight
line (plot.py).
"""

import argparse
import os
import statistics
import time
from pathlib import Path

import plot
import run
import trees
from run import HERE, READ_ALL

OURS = "git-agentwt"


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=run.numbers, metavar="N,…",
                        default=[1_000, 5_000, 20_000, 100_000, 500_000],
                        help="files [1000,5000,20000,100000,500000]")
    parser.add_argument("--patterns", type=run.numbers, default=[1, 10, 100, 1_000], metavar="N,…",
                        help="patterns, on 20,000 files [1,10,100,1000]")
    parser.add_argument("--worktrees", type=run.numbers, default=[1, 10, 50, 200, 500],
                        metavar="N,…", help="worktrees, of 200 files each [1,10,50,200,500]")
    parser.add_argument("--rounds", type=int, default=3, metavar="N",
                        help="counted rounds, two at least [3]")
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs/growth.svg", metavar="FILE",
                        help="the drawing [docs/growth.svg]")
    run.place_options(parser)
    chosen = parser.parse_args()
    if chosen.rounds < 2:
        parser.error("--rounds must be 2 or more")
    run.require_binary(parser, chosen)
    return chosen


class Growth(run.Bench):
    """Collects points and prints them as they are found."""

    def timed(self, rounds, prepare, settle=False):
        """The median time of what `prepare` gives, in milliseconds, after one that warms caches."""
        took = []
        for _ in range(rounds + 1):
            command, directory = prepare()
            if settle:
                os.sync()
            began = time.perf_counter()
            self.call(command, directory)
            took.append(time.perf_counter() - began)
        return statistics.median(took[1:]) * 1e3

    def point(self, lines, what, x, milliseconds):
        lines.setdefault(what, []).append((x, milliseconds))
        print(f"| {what} | {x:,} | {milliseconds:,.1f} |", flush=True)


def files(bench):
    lines, rounds = {}, bench.options.rounds
    for size in bench.options.sizes:
        repository = bench.repository(size)
        made = []

        def add():
            made.append(bench.fresh())
            return [OURS, "add", "-q", made[-1], *READ_ALL], repository

        bench.point(lines, "add", size, bench.timed(rounds, add, settle=True))
        by_git = bench.timed(rounds, lambda: (bench.plain(), repository), settle=True)
        bench.point(lines, "git worktree add", size, by_git)
        one = made.pop()
        time.sleep(1.1)
        verify = ([OURS, "verify", "-q", one], repository)
        bench.point(lines, "verify", size, bench.timed(3 * rounds, lambda: verify))
        left = iter(made)
        removal = bench.timed(len(made) - 1, lambda: ([OURS, "remove", "-q", next(left)], repository))
        bench.point(lines, "remove", size, removal)
        source, names = run.with_untracked(bench, bench.place, trees.small, size, rounds + 1)
        fresh = iter(names)
        sync = bench.timed(rounds, lambda: ([OURS, "sync", "-q", next(fresh)], source), settle=True)
        bench.point(lines, "sync", size, sync)
    return "Files", "files", lines


def patterns(bench):
    lines = {}
    repository = bench.repository(20_000)
    for count in bench.options.patterns:
        scope = list(READ_ALL)
        for at in range(count):
            anywhere, below = f"*.secret{at}", f"packages/p{at:03}/**/file_*7.*"
            scope += ["--exclude", below if at % 2 else anywhere]
        names = []

        def add():
            names.append(bench.fresh())
            return [OURS, "add", "-q", names[-1], *scope], repository

        bench.point(lines, "add", count, bench.timed(bench.options.rounds, add, settle=True))
        time.sleep(1.1)
        verify = ([OURS, "verify", "-q", names[0]], repository)
        bench.point(lines, "verify", count, bench.timed(3 * bench.options.rounds, lambda: verify))
    return "Patterns (20,000 files)", "patterns", lines


def worktrees(bench):
    lines, made = {}, 0
    repository = bench.repository(200)
    for count in bench.options.worktrees:
        while made < count - 1:
            bench.call([OURS, "add", "-q", bench.fresh(), *READ_ALL], repository)
            made += 1
        name = bench.fresh()
        began = time.perf_counter()
        bench.call([OURS, "add", "-q", name, *READ_ALL], repository)
        bench.point(lines, "add", count, (time.perf_counter() - began) * 1e3)
        made += 1
        rounds = 3 * bench.options.rounds
        bench.point(lines, "list", count, bench.timed(rounds, lambda: ([OURS, "list"], repository)))
        path = ([OURS, "path", name], repository)
        bench.point(lines, "path", count, bench.timed(rounds, lambda: path))
        bench.point(lines, "verify", count,
                    bench.timed(rounds, lambda: ([OURS, "verify", "-q", name], repository)))
    return "Worktrees (200 files each)", "worktrees", lines


def main():
    options = arguments()
    with run.measuring(options, Growth) as bench:
        print("\n| | of | ms |\n|---|---|---|")
        plot.draw(options.out, [files(bench), patterns(bench), worktrees(bench)])


if __name__ == "__main__":
    main()
