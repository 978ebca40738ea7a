#!/usr/bin/env python3
"""Measures git-agentwt against the targets that it is built to, and prints which are met.

    cargo build --release
    benches/targets.py                        # every target; an hour, and some 40 GB below --dir
    benches/targets.py verify commit          # some of them
    benches/targets.py add --sizes 5000       # only the rows of this size

Each row is a ratio to what git itself takes for its part, as the median of the ratios within each
round of one run: both sides run in turn, in a new order each round. Where a target is an absolute
one (milliseconds more, a memory limit), the median of the differences within each round is shown.
Nothing here fails when a target is missed: the table says so. See run.py on how it is measured, and
on why nothing is deleted before the end.

    add       a worktree with everything read-only but src/**; one with 80 % excluded
    cow       the same on btrfs and xfs with reflinks, on loop devices (root)
    verify    a clean worktree, 10 and 1,000 changed files
    commit    what the hooks of `add` cost a commit
    switch    what putting write bits back, and all hooks, cost a switch that rewrites 100 files
    list      200 worktrees; `path` and `scope <path>` there; `-h`
    classify  100,000 paths against 1,000 patterns (`cargo bench --bench classify`)
    memory    the most that `add` and `verify` have at 500,000 files
    parallel  20 `add` at once against 20 times one
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import time
from pathlib import Path

import generate
import run
from run import HERE, MOST_EXCLUDED, READ_ALL

OURS = "git-agentwt"


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)} [all]")
    parser.add_argument("--sizes", type=run.numbers, metavar="N,…",
                        help="only rows of these numbers of files")
    parser.add_argument("--rounds", type=int, default=7, metavar="N",
                        help="rounds; the quick commands get three times as many [7]")
    run.place_options(parser)
    chosen = parser.parse_args()
    if unknown := set(chosen.groups) - set(GROUPS):
        parser.error(f"no such group: {', '.join(sorted(unknown))}")
    chosen.groups = chosen.groups or list(GROUPS)
    run.require_binary(parser, chosen)
    return chosen


class Targets(run.Bench):
    """Times pairs, and prints a row for each."""

    def repository(self, files):
        """As usual, with an index that proves its files: git rewrites it when it is next asked, once
        the files are older than a second."""
        fresh = not (self.place / f"r{files}").exists()
        path = super().repository(files)
        if fresh:
            time.sleep(1.1)
            self.call(["git", "status"], path)
        return path

    def wants(self, files):
        return self.options.sizes is None or files in self.options.sizes

    def pairs(self, variants, rounds, settle=False):
        """Times the variants in a new order each round; a list of times for each."""
        times = {name: [] for name in variants}
        order = list(variants)
        for number in range(rounds + 1):
            random.shuffle(order)
            for name in order:
                commands, directory = variants[name]()
                if settle:
                    os.sync()
                began = time.perf_counter()
                for command in commands:
                    self.call(command, directory)
                if number:  # the first round warms the caches
                    times[name].append(time.perf_counter() - began)
        return times

    def ratio(self, what, times, ours, theirs, target):
        pairs = list(zip(times[ours], times[theirs]))
        ratio = statistics.median(one / other for one, other in pairs)
        took = statistics.median(times[ours]), statistics.median(times[theirs])
        self.row(what, f"{theirs}: {run.shown(took[1])}", run.shown(took[0]),
                 f"≤ {target:.2f}", f"{ratio:.2f}", ratio <= target)

    def more(self, what, times, ours, theirs, target):
        """The difference in milliseconds."""
        more = statistics.median(one - other for one, other in zip(times[ours], times[theirs]))
        took = statistics.median(times[ours]), statistics.median(times[theirs])
        self.row(what, f"{theirs}: {run.shown(took[1])}", run.shown(took[0]),
                 f"≤ +{target} ms", f"+{more * 1e3:.1f} ms", more * 1e3 <= target)

    def row(self, what, against, took, target, found, met):
        verdict = "met" if met else "**missed**"
        print(f"| {what} | {against} | {took} | {target} | {found} | {verdict} |", flush=True)

    def added(self, repository, *more, name=None):
        """Makes a worktree; its name and its path."""
        name = name or self.fresh()
        printed = self.call([OURS, "add", name, *READ_ALL, *more], repository)
        return name, Path(printed.decode().strip())


def add(bench):
    for files, target in [(5_000, 0.35), (50_000, 0.60), (100_000, 0.60)]:
        if not bench.wants(files):
            continue
        repository = bench.repository(files)
        variants = {
            "`git worktree add`": lambda: ([bench.plain()], repository),
            "ours": lambda: ([[OURS, "add", "-q", bench.fresh(), *READ_ALL]], repository),
        }
        if files == 100_000:
            variants["80 %"] = lambda: (
                [[OURS, "add", "-q", bench.fresh(), *MOST_EXCLUDED]], repository)
        times = bench.pairs(variants, bench.options.rounds, settle=True)
        what = f"`add`, read-only but `src/**`, {files:,} files"
        bench.ratio(what, times, "ours", "`git worktree add`", target)
        if files == 100_000:
            what = f"`add`, 80 % of {files:,} files excluded"
            bench.ratio(what, times, "80 %", "`git worktree add`", 0.20)


def cow(bench):
    if os.geteuid() != 0:
        print("| `add` with reflinks | skipped: mounting needs root | | | | |")
        return
    for system, make in {"btrfs": ["mkfs.btrfs", "-q"], "xfs": ["mkfs.xfs", "-q"]}.items():
        if not shutil.which(make[0]):
            print(f"| `add` on {system} | skipped: there is no {make[0]} | | | | |")
            continue
        image, mounted = bench.place / f"{system}.img", bench.place / system
        mounted.mkdir()
        with open(image, "wb") as file:
            file.truncate(8 << 30)
        bench.call([*make, str(image)], bench.place)
        mount = ["mount", "-o", "loop", str(image), str(mounted)]
        if subprocess.run(mount, capture_output=True).returncode:
            print(f"| `add` on {system} | skipped: it cannot be mounted here | | | | |")
            continue
        try:
            repository = mounted / "r"
            generate.make(str(repository), 5_000, bench.environment)
            bench.call(["git", "reset", "--hard", "-q"], repository)
            time.sleep(1.1)
            bench.call(["git", "status"], repository)
            variants = {
                "`git worktree add`": lambda: ([bench.plain()], repository),
                "ours": lambda: ([[OURS, "add", "-q", bench.fresh(), *READ_ALL]], repository),
            }
            times = bench.pairs(variants, bench.options.rounds, settle=True)
            what = f"`add` on {system}, 5,000 files"
            bench.ratio(what, times, "ours", "`git worktree add`", 0.40)
        finally:
            bench.call(["umount", str(mounted)], bench.place)


def verify(bench):
    rows = [(5_000, 0, 0.9), (50_000, 0, 0.6), (100_000, 0, 0.6), (50_000, 10, 0.8),
            (100_000, 10, 0.8), (50_000, 1_000, 0.8), (100_000, 1_000, 0.8)]
    for files, changed, target in rows:
        if not bench.wants(files):
            continue
        repository = bench.repository(files)
        name, worktree = bench.added(repository)
        base = bench.call(["git", "rev-parse", "HEAD"], worktree).decode().strip()
        run.change(bench, worktree, changed, files)
        time.sleep(1.1)  # git status can then trust the stat data that it writes
        status, three = run.by_git(base)
        variants = {
            "`git status`": lambda: ([status], worktree),
            "ours": lambda: ([[OURS, "verify", name, "-q"]], worktree),
        }
        if (files, changed) == (50_000, 1_000):
            variants["status, diff, ls-files"] = lambda: (three, worktree)
        times = bench.pairs(variants, 3 * bench.options.rounds)
        what = f"`verify`, {changed:,} of {files:,} files changed"
        bench.ratio(what, times, "ours", "`git status`", target)
        if len(variants) == 3:
            bench.ratio(what, times, "ours", "status, diff, ls-files", 0.5)


def commit(bench):
    for files, target in [(5_000, 25), (100_000, 120)]:
        if not bench.wants(files):
            continue
        repository = bench.repository(files)
        changed = next(path for path in generate.paths(files) if path.startswith("src/"))

        def in_worktree(*more):
            _, worktree = bench.added(repository, *more)

            def prepare():
                with open(worktree / changed, "a") as file:
                    file.write("// more\n")
                return [["git", "commit", "-aqm", "work"]], worktree
            return prepare

        variants = {"no hooks": in_worktree("--no-hooks"), "ours": in_worktree()}
        times = bench.pairs(variants, 3 * bench.options.rounds)
        bench.more(f"`git commit` with our hooks, {files:,} files", times, "ours", "no hooks", target)


def switch(bench):
    files = 50_000
    if not bench.wants(files):
        return
    repository = bench.repository(files)
    readable = [path for path in generate.paths(files) if not path.startswith("src/")]
    chosen = random.Random(1).sample(readable, 100)

    def between(*more):
        name, worktree = bench.added(repository, *more)
        at = f"other-{name}"
        index = {"GIT_INDEX_FILE": str(bench.place / f"{name}.index")}
        kept = dict(bench.environment)
        bench.environment.update(index)
        bench.call(["git", "read-tree", "HEAD"], repository)
        blob = ["git", "hash-object", "-w", str(HERE / "shell.sh")]
        blob = bench.call(blob, repository).decode().strip()
        for path in chosen:
            bench.call(["git", "update-index", "--cacheinfo", f"100644,{blob},{path}"], repository)
        tree = bench.call(["git", "write-tree"], repository).decode().strip()
        new = bench.call(["git", "commit-tree", "-p", "HEAD", "-m", "x", tree], repository)
        bench.environment = kept
        bench.call(["git", "branch", at, new.decode().strip()], repository)
        branches = [at, f"agentwt/{name}"]

        def prepare():
            branches.reverse()
            return [["git", "switch", "-q", branches[1]]], worktree
        return prepare

    variants = {"no hooks": between("--no-hooks"), "ours": between()}
    times = bench.pairs(variants, 3 * bench.options.rounds)
    what = f"`git switch`, 100 of {files:,} files rewritten"
    bits = writing_bits(bench, variants["ours"], 3 * bench.options.rounds)
    alone = statistics.median(times["no hooks"])
    bench.row(f"{what}, and write bits put back", f"no hooks: {run.shown(alone)}",
              f"+{run.shown(bits)}", "≤ 1.10", f"{1 + bits / alone:.2f}", bits <= alone / 10)
    bench.ratio(f"{what}, with all that our hooks do", times, "ours", "no hooks", 1.10)


def writing_bits(bench, variant, rounds):
    """The median time of the hook that puts write bits back, from its start to its end as git sees
    them (trace2, git's Documentation/technical/api-trace2)."""
    log = bench.place / "trace2"
    took = []
    for _ in range(rounds):
        commands, directory = variant()
        log.unlink(missing_ok=True)
        bench.environment["GIT_TRACE2_EVENT"] = str(log)
        for command in commands:
            bench.call(command, directory)
        del bench.environment["GIT_TRACE2_EVENT"]
        events = [json.loads(line) for line in log.read_text().splitlines()]
        hooks = {(event["sid"], event["child_id"]) for event in events
                 if event.get("hook_name") == "post-index-change"}
        took.append(sum(event["t_rel"] for event in events if event["event"] == "child_exit"
                        and (event["sid"], event["child_id"]) in hooks))
    return statistics.median(took)


def listing(bench):
    repository = bench.repository(200)
    for _ in range(200):
        name, worktree = bench.added(repository)
    path = next(path for path in generate.paths(200) if path.startswith("src/"))
    commands = {
        "`list`, 200 worktrees": ([OURS, "list"], 1000),
        "`path` there": ([OURS, "path", name], 10),
        "`scope <path>` there": ([OURS, "scope", name, path], 10),
        "`-h`": ([OURS, "-h"], 5),
    }
    variants = {what: lambda c=c: ([c], repository) for what, (c, _) in commands.items()}
    times = bench.pairs(variants, 3 * bench.options.rounds)
    for what, (_, most) in commands.items():
        took = statistics.median(times[what]) * 1e3
        bench.row(what, "–", f"{took:.1f} ms", f"≤ {most} ms", f"{took:.1f} ms", took <= most)


def classify(bench):
    command = ["cargo", "bench", "--quiet", "--locked", "--bench", "classify"]
    printed = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=True)
    line = next(line for line in printed.stdout.splitlines() if line.startswith("| 1000 patterns |"))
    took = float(line.split("|")[2])
    what = "100,000 paths against 1,000 patterns"
    bench.row(what, "–", f"{took:.1f} ms", "≤ 60 ms", f"{took:.1f} ms", took <= 60)


def memory(bench):
    files = 500_000
    if not bench.wants(files):
        return
    repository = bench.repository(files)
    name = bench.fresh()
    for what, command in [("add", ["add", "-q", name, *READ_ALL]), ("verify", ["verify", name])]:
        child = subprocess.Popen([OURS, *command], cwd=repository, env=bench.environment,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        if status:
            raise SystemExit(f"{command} ended with {status}")
        most = used.ru_maxrss / 1024  # its own: those of its children are in their own (wait4(2))
        bench.row(f"memory of `{what}`, {files:,} files", "–", f"{most:.0f} MB", "≤ 400 MB",
                  f"{most:.0f} MB", most <= 400)


def parallel(bench):
    files, count = 5_000, 20
    if not bench.wants(files):
        return
    repository = bench.repository(files)

    def command():
        return [OURS, "add", "-q", bench.fresh(), *READ_ALL]

    ratios, took = [], []
    for number in range(bench.options.rounds + 1):
        os.sync()
        began = time.perf_counter()
        for _ in range(count):
            bench.call(command(), repository)
        alone = time.perf_counter() - began
        os.sync()
        began = time.perf_counter()
        running = [subprocess.Popen(command(), cwd=repository, env=bench.environment,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                   for _ in range(count)]
        if any(child.wait() for child in running):
            raise SystemExit("one of those at once failed")
        together = time.perf_counter() - began
        if number:
            ratios.append(together / alone)
            took.append((together, alone))
    ratio = statistics.median(ratios)
    together, alone = (statistics.median(one[at] for one in took) for at in range(2))
    bench.row(f"{count} `add` at once, {files:,} files each", f"one by one: {run.shown(alone)}",
              run.shown(together), "≤ 1.10", f"{ratio:.2f}", ratio <= 1.1)


GROUPS = {
    "add": add,
    "cow": cow,
    "verify": verify,
    "commit": commit,
    "switch": switch,
    "list": listing,
    "classify": classify,
    "memory": memory,
    "parallel": parallel,
}


def main():
    options = arguments()
    with run.measuring(options, Targets) as bench:
        print("\n| what | against | took | target | found | |\n|---|---|---|---|---|---|")
        for group in options.groups:
            GROUPS[group](bench)


if __name__ == "__main__":
    main()
