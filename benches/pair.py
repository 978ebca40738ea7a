#!/usr/bin/env python3
"""Compares two builds of git-agentwt, and both with git where git has the command, in one run.

    benches/pair.py OLD/git-agentwt target/release/git-agentwt
    benches/pair.py OLD NEW add verify --sizes 5000
    benches/pair.py OLD NEW real --repository ../git     # a clone of git/git, say

Each build has a copy of the repository of its own. The commands run in turn, in a new order each
round; a row has the medians and the median of the ratios within each round. Nothing fails when a
ratio is high: the table is the answer.

    add      5,000 and 50,000 files with everything read-only but src/**; 80 % excluded
    real     `add` in a copy of the repository that --repository names
    filter   `add` in 2,000 files, 200 of them behind a filter process as git LFS has
    verify   clean and 100 changed files
    commit   a commit with the hooks of `add`
    switch   a switch that rewrites 100 files, with the hooks of `add`
    list     `list` of 200 worktrees, `path`, `-h`
    remove   `remove --force` and `remove --undo` of a worktree with changes
"""

import argparse
import os
import random
import shutil
import statistics
import sys
import time
from pathlib import Path

import generate
import run
from run import MOST_EXCLUDED, READ_ALL

# A filter process that changes nothing: git's protocol (gitattributes(5), "Long Running Filter
# Process"), as git LFS speaks it.
FILTER = r"""
import sys
i, o = sys.stdin.buffer, sys.stdout.buffer
def read():
    size = int(i.read(4), 16)
    return i.read(size - 4) if size else None
def packets():
    while (one := read()) is not None:
        yield one
def write(data):
    o.write(b"%04x" % (len(data) + 4) + data)
def flush():
    o.write(b"0000"); o.flush()
list(packets()); write(b"git-filter-server\n"); write(b"version=2\n"); flush()
list(packets()); write(b"capability=clean\n"); write(b"capability=smudge\n"); flush()
while True:
    head = i.read(4)
    if not head: break
    i.read(int(head, 16) - 4); list(packets())
    content = b"".join(packets())
    write(b"status=success\n"); flush()
    for at in range(0, len(content), 65000): write(content[at:at + 65000])
    flush(); flush()
"""


class Pair(run.Bench):
    """Holds two builds and a repository for each."""

    def on(self, build):
        """The program of a build: its directory comes first in the path, for its hooks too."""
        return str((self.options.old if build == "old" else self.options.new).resolve())

    def copies(self, name, make):
        """A repository made once, and a copy for each build and for git."""
        made = self.place / name
        if not made.exists():
            make(made)
            time.sleep(1.1)
            self.call(["git", "status"], made)
        copies = {}
        for who in ("old", "new", "git"):
            copies[who] = self.place / f"{name}-{who}"
            if not copies[who].exists():
                shutil.copytree(made, copies[who], symlinks=True)
                self.call(["git", "update-index", "-q", "--refresh"], copies[who])
        return copies

    def generated(self, files):
        def make(path):
            print(f"making a repository of {files} files", file=sys.stderr)
            generate.make(str(path), files, self.environment)
            self.call(["git", "reset", "--hard", "-q"], path)
        return self.copies(f"r{files}", make)

    def added(self, copies, *more):
        """A worktree of each build; who → (name, path)."""
        found = {}
        for who in ("old", "new"):
            name = self.fresh()
            printed = self.call([self.on(who), "add", name, *(more or READ_ALL)], copies[who])
            found[who] = name, Path(printed.decode().strip().splitlines()[-1])
        return found

    def rows(self, what, variants, rounds=None, settle=False):
        """Times the variants; rows of new beside old, and beside git where there is one."""
        rounds = rounds or self.options.rounds
        times = {who: [] for who in variants}
        order = list(variants)
        for number in range(rounds + 1):
            random.shuffle(order)
            for who in order:
                commands, directory = variants[who]()
                if settle:
                    os.sync()
                began = time.perf_counter()
                for command in commands:
                    self.call(command, directory)
                if number:  # the first round warms the caches
                    times[who].append(time.perf_counter() - began)
        for other in [who for who in ("old", "git") if who in times]:
            ratio = statistics.median(a / b for a, b in zip(times["new"], times[other]))
            cells = [what, other, run.shown(statistics.median(times[other])),
                     run.shown(statistics.median(times["new"])), f"{ratio:.2f}"]
            print(f"| {' | '.join(cells)} |", flush=True)


def adding(bench, copies, what, scope):
    def ours(who):
        return lambda: ([[bench.on(who), "add", "-q", bench.fresh(), *scope]], copies[who])
    variants = {"old": ours("old"), "new": ours("new"),
                "git": lambda: ([bench.plain()], copies["git"])}
    bench.rows(what, variants, settle=True)


def add(bench):
    for files in bench.options.sizes:
        copies = bench.generated(files)
        adding(bench, copies, f"`add`, {files:,} files", READ_ALL)
        adding(bench, copies, f"`add`, 80 % of {files:,} excluded", MOST_EXCLUDED)


def real(bench):
    if not bench.options.repository:
        return
    def make(path):
        bench.call(["git", "clone", "-q", str(bench.options.repository), str(path)], bench.place)
    copies = bench.copies("real", make)
    adding(bench, copies, "`add`, a real repository", ["--read", "**", "--write", "t/**"])


def filtered(bench):
    program = bench.place / "filter.py"
    program.write_text(FILTER)
    def make(path):
        generate.make(str(path), 2_000, bench.environment)
        bench.call(["git", "reset", "--hard", "-q"], path)
        bench.call(["git", "config", "filter.store.process", f"python3 {program}"], path)
        bench.call(["git", "config", "filter.store.required", "true"], path)
        (path / ".gitattributes").write_text("docs/** filter=store\n")
        bench.call(["git", "add", "-A"], path)
        bench.call(["git", "commit", "-qm", "filtered"], path)
    adding(bench, bench.copies("filtered", make), "`add`, 200 filtered files of 2,000", READ_ALL)


def verify(bench):
    for files in bench.options.sizes:
        copies = bench.generated(files)
        for count in (0, 100):
            added = bench.added(copies)
            for _, worktree in added.values():
                run.change(bench, worktree, count, files)
            time.sleep(1.1)
            def ours(who):
                return lambda: ([[bench.on(who), "verify", added[who][0], "-q"]], copies[who])
            status = ["git", "status", "--porcelain", "-z"]
            variants = {"old": ours("old"), "new": ours("new"),
                        "git": lambda: ([status], added["new"][1])}
            bench.rows(f"`verify`, {count} of {files:,} changed", variants, 3 * bench.options.rounds)


def commit(bench):
    for files in bench.options.sizes:
        copies = bench.generated(files)
        changed = next(path for path in generate.paths(files) if path.startswith("src/"))
        added = bench.added(copies)
        def ours(who):
            def prepare():
                with open(added[who][1] / changed, "a") as file:
                    file.write("// more\n")
                return [["git", "commit", "-aqm", "work"]], added[who][1]
            return prepare
        bench.rows(f"commit with hooks, {files:,} files", {who: ours(who) for who in added},
                   3 * bench.options.rounds)


def switch(bench):
    for files in bench.options.sizes:
        copies = bench.generated(files)
        readable = [path for path in generate.paths(files) if not path.startswith("src/")]
        chosen = random.Random(1).sample(readable, 100)
        added = bench.added(copies)
        def ours(who):
            name, worktree = added[who]
            bench.call(["git", "switch", "-qc", f"other-{name}"], worktree)
            for path in chosen:
                (worktree / path).chmod(0o644)
                with open(worktree / path, "a") as file:
                    file.write("// other\n")
            bench.call(["git", "commit", "-aqm", "other"], worktree)
            branches = [f"agentwt/{name}", f"other-{name}"]
            def prepare():
                branches.reverse()
                return [["git", "switch", "-q", branches[1]]], worktree
            return prepare
        bench.rows(f"switch with hooks, 100 of {files:,} files", {who: ours(who) for who in added},
                   3 * bench.options.rounds)


def listing(bench):
    copies = bench.generated(200)
    for _ in range(200):
        added = bench.added(copies)
    for what in (["list"], ["path"], ["-h"]):
        def ours(who):
            name = [added[who][0]] if what == ["path"] else []
            return lambda: ([[bench.on(who), *what, *name]], copies[who])
        bench.rows(f"`{what[0]}`, 200 worktrees", {who: ours(who) for who in added},
                   3 * bench.options.rounds)


def removal(bench):
    for files in bench.options.sizes:
        copies = bench.generated(files)
        for undo in (False, True):
            def ours(who):
                def prepare():
                    name = bench.fresh()
                    printed = bench.call([bench.on(who), "add", name, *READ_ALL], copies[who])
                    worktree = Path(printed.decode().strip().splitlines()[-1])
                    run.change(bench, worktree, 10, files)
                    remove = [bench.on(who), "remove", "--force", name]
                    if undo:
                        bench.call(remove, copies[who])
                        remove = [bench.on(who), "remove", "--undo", name]
                    return [remove], copies[who]
                return prepare
            what = "--undo" if undo else "--force"
            bench.rows(f"`remove {what}`, {files:,} files", {who: ours(who) for who in ("old", "new")},
                       settle=True)


GROUPS = {"add": add, "real": real, "filter": filtered, "verify": verify, "commit": commit,
          "switch": switch, "list": listing, "remove": removal}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", type=Path, help="the program to compare with")
    parser.add_argument("new", type=Path, help="the program")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)} [all]")
    parser.add_argument("--sizes", type=run.numbers, default=[5_000, 50_000], metavar="N,…")
    parser.add_argument("--rounds", type=int, default=7, metavar="N")
    parser.add_argument("--repository", type=Path, help="the repository of the group `real`")
    run.place_options(parser)
    options = parser.parse_args()
    if unknown := set(options.groups) - set(GROUPS):
        parser.error(f"no such group: {', '.join(sorted(unknown))}")
    options.binary = options.new
    with run.measuring(options, Pair) as bench:
        print("\n| what | beside | took | new | × |\n|---|---|---|---|---|")
        for group in options.groups or list(GROUPS):
            GROUPS[group](bench)


if __name__ == "__main__":
    main()
