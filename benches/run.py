#!/usr/bin/env python3
"""Measures git-agentwt beside git itself, side by side in one run, and prints tables.

    cargo build --release
    benches/run.py --quick        # a look, some two minutes
    benches/run.py                # what docs/performance.md shows

Every repository is generated (generate.py), the same every time. The variants of a table run in
turn, one after the other in every round, so that what else the machine does hits them alike; a
table has the medians of the time that passed and of the time that the processors worked (CPU, the
steadier one on a busy machine), and the median of the ratios within each round to its first line
(×), which is what to look at. No time is asserted. What the commands say is: a run stops when one
of them fails, or when `changed` does not name as many paths as were changed.

    add      `git agentwt add` (everything read-only but src/**; and with all but src/ excluded)
             against `git worktree add` and the same in three steps of shell (shell.sh)
    verify   `git agentwt verify` on a clean worktree, with 10 and with 1,000 changed files,
             against `git status` and against status, diff and ls-files together
    commit   `git commit` with the hooks of `add` and without
    list     `git agentwt list` and `path` with many worktrees, against `git worktree list`
    remove   `git agentwt remove`, with nothing to save and with 10 changed files (`--force`), and
             its check alone (`-n`), against `git agentwt verify` and `git worktree remove`
    patterns `add` and `verify` with many patterns in the scope
    sync     `git agentwt sync` of untracked files (trees.py) into a worktree without them, and
             once more with nothing to do, against `cp -a`; one large file also on btrfs, which
             copies on write (root mounts it on a loop device); the memory for 100,000 files

On ext4, deleting a tree slows down the making of files for minutes (`recently_deleted` in the
kernel's fs/ext4/ialloc.c). So each run creates into fresh paths, and everything is deleted at
the very end. Caches are warm; dirty pages are written out before each measurement of `add`.
"""

import argparse
import contextlib
import os
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import generate
import trees

HERE = Path(__file__).resolve().parent
READ_ALL = ["--read", "**", "--write", "src/**"]
EXCLUDED = ["/packages/", "/tests/", "/docs/"]
MOST_EXCLUDED = READ_ALL + [word for top in EXCLUDED for word in ("--exclude", top)]


def numbers(text):
    return [int(number.replace("_", "")) for number in text.split(",")]


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("groups", nargs="*", metavar="GROUP",
                        help=f"of {', '.join(GROUPS)} [all]")
    parser.add_argument("--sizes", type=numbers, default=[5_000, 50_000], metavar="N,…",
                        help="files in the repositories [5000,50000]")
    parser.add_argument("--changes", type=numbers, default=[0, 10, 1_000], metavar="N,…",
                        help="changed files for verify [0,10,1000]")
    parser.add_argument("--worktrees", type=numbers, default=[1, 10, 100], metavar="N,…",
                        help="worktrees for list [1,10,100]")
    parser.add_argument("--patterns", type=numbers, default=[1, 10, 100], metavar="N,…",
                        help="patterns in the scope [1,10,100]")
    parser.add_argument("--rounds", type=int, default=5, metavar="N",
                        help="rounds for add; the quick commands get three times as many [5]")
    parser.add_argument("--quick", action="store_true",
                        help="1,000 and 5,000 files, 10 worktrees, 3 rounds")
    place_options(parser)
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.sizes, chosen.worktrees, chosen.rounds = [1_000, 5_000], [1, 10], 3
    if unknown := set(chosen.groups) - set(GROUPS):
        parser.error(f"no such group: {', '.join(sorted(unknown))}")
    chosen.groups = chosen.groups or GROUPS
    require_binary(parser, chosen)
    return chosen


class Bench:
    """Holds the place, the environment and the counter that makes every path fresh."""

    def __init__(self, options, place):
        self.options = options
        self.place = place
        self.runs = 0
        self.environment = {
            "PATH": f"{options.binary.resolve().parent}:{os.environ['PATH']}",
            "HOME": str(place),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            "GIT_AUTHOR_NAME": "Bench",
            "GIT_AUTHOR_EMAIL": "bench@example.invalid",
            "GIT_COMMITTER_NAME": "Bench",
            "GIT_COMMITTER_EMAIL": "bench@example.invalid",
        }

    def fresh(self):
        self.runs += 1
        return f"w{self.runs}"

    def plain(self):
        """The command that makes a worktree without us, beside the repository that it is run in."""
        name = self.fresh()
        return ["git", "worktree", "add", "-q", "-b", name, f"../plain/{name}"]

    def call(self, command, directory):
        """Runs a command that must succeed; its standard output."""
        done = subprocess.run(command, cwd=directory, env=self.environment, capture_output=True)
        if done.returncode:
            said = done.stderr.decode(errors="replace")
            raise SystemExit(f"{command} ended with {done.returncode}:\n{said}")
        return done.stdout

    def rounds(self, variants, rounds, settle=False):
        """Times variants in turn; a variant prepares itself and returns its commands and where
        they run. With `settle`, dirty pages are written out before each."""
        times = {name: [] for name in variants}
        for number in range(rounds + 1):
            for name, prepare in variants.items():
                commands, directory = prepare()
                if settle:
                    os.sync()
                began, worked = time.perf_counter(), cpu()
                for command in commands:
                    self.call(command, directory)
                took = time.perf_counter() - began, cpu() - worked
                if number:  # the first round warms the caches
                    times[name].append(took)
        return times

    def repository(self, files):
        """A generated repository with its main worktree checked out."""
        path = self.place / f"r{files}"
        if not path.exists():
            print(f"making a repository of {files} files", file=sys.stderr)
            generate.make(str(path), files, self.environment)
            self.call(["git", "reset", "--hard", "-q"], path)
        return path


def cpu():
    """Seconds that processors worked for all children so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def table(title, times, files=None):
    """Prints one table; the first variant is 1."""
    print(f"\n**{title}**\n\n| | time | × | CPU | × |{' µs a file |' if files else ''}")
    print(f"|---|---|---|---|---|{'---|' if files else ''}")
    first = next(iter(times.values()))
    for name, taken in times.items():
        cells = [name]
        for at in range(2):
            cells.append(shown(statistics.median(one[at] for one in taken)))
            ratios = (one[at] / base[at] for one, base in zip(taken, first))
            cells.append(f"{statistics.median(ratios):.2f}")
        if files:
            cells.append(f"{statistics.median(one[0] for one in taken) * 1e6 / files:.1f}")
        print(f"| {' | '.join(cells)} |", flush=True)


def shown(seconds):
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


def add(bench):
    for files in bench.options.sizes:
        repository = bench.repository(files)

        def git():
            return [bench.plain()], repository

        def ours(scope):
            def prepare():
                return [["git", "agentwt", "add", "-q", bench.fresh(), *scope]], repository
            return prepare

        def shell(*excluded):
            def prepare():
                name = bench.fresh()
                script = ["sh", str(HERE / "shell.sh"), f".plain/{name}", name]
                return [[*script, *excluded]], repository
            return prepare

        variants = {
            "`git worktree add`": git,
            "shell, read-only but `src/**`": shell(),
            "`git agentwt add`, read-only but `src/**`": ours(READ_ALL),
            "shell, 80 % excluded": shell(*EXCLUDED),
            "`git agentwt add`, 80 % excluded": ours(MOST_EXCLUDED),
        }
        times = bench.rounds(variants, bench.options.rounds, settle=True)
        table(f"add, {files:,} files", times, files)


def change(bench, worktree, count, files):
    """Changes files that may be changed: a fifth committed, a fifth staged, two fifths only
    edited, a fifth new and untracked."""
    if count == 0:
        return
    every = [path for path in generate.paths(files) if path.startswith("src/")]
    fifth = max(1, count // 5)
    chosen = random.Random(count).sample(every, count - fifth)
    for path in chosen:
        with open(worktree / path, "a") as file:
            file.write("// edited\n")
    for at, doing in enumerate((["commit", "-qm", "work"], None)):
        listed = "\n".join(chosen[at * fifth:(at + 1) * fifth])
        (bench.place / "list").write_text(listed + "\n")
        bench.call(["git", "add", f"--pathspec-from-file={bench.place / 'list'}"], worktree)
        if doing:
            bench.call(["git", *doing], worktree)
    for at in range(fifth):
        (worktree / os.path.dirname(chosen[at % len(chosen)]) / f"new_{at}.rs").write_text("new\n")


def by_git(base):
    """What git takes to say what changed: its status, and with it all that `verify` looks at."""
    status = ["git", "status", "--porcelain", "-z"]
    return status, [
        status,
        ["git", "diff", "--name-only", "-z", base],
        ["git", "ls-files", "-z", "-o", "--exclude-standard"],
    ]


def verify(bench):
    for files in bench.options.sizes:
        repository = bench.repository(files)
        for count in bench.options.changes:
            if count > files // 6:
                continue
            name = bench.fresh()
            printed = bench.call(["git", "agentwt", "add", name, *READ_ALL], repository)
            worktree = Path(printed.decode().strip())
            base = bench.call(["git", "rev-parse", "HEAD"], worktree).decode().strip()
            change(bench, worktree, count, files)
            found = bench.call(["git", "agentwt", "changed", name, "--porcelain", "-z"], repository)
            paths = found.count(b"\0")
            if paths != count:
                raise SystemExit(f"{count} files were changed and {paths} found")
            time.sleep(1.1)  # git status can then trust the stat data that it writes
            status, three = by_git(base)
            ours = [["git", "agentwt", "verify", name, "-q"]]
            variants = {
                "`git status --porcelain`": lambda: ([status], worktree),
                "status, diff and ls-files": lambda: (three, worktree),
                "`git agentwt verify`": lambda: (ours, worktree),
            }
            times = bench.rounds(variants, 3 * bench.options.rounds)
            table(f"verify, {files:,} files, {count:,} changed", times, files)


def commit(bench):
    for files in bench.options.sizes:
        repository = bench.repository(files)
        target = next(path for path in generate.paths(files) if path.startswith("src/"))

        def in_worktree(*more):
            printed = bench.call(
                ["git", "agentwt", "add", bench.fresh(), *READ_ALL, *more], repository
            )
            worktree = Path(printed.decode().strip())

            def prepare():
                with open(worktree / target, "a") as file:
                    file.write("// more\n")
                return [["git", "commit", "-aqm", "work"]], worktree
            return prepare

        variants = {
            "`git commit -a`, no hooks": in_worktree("--no-hooks"),
            "`git commit -a`, hooks of `add`": in_worktree(),
        }
        times = bench.rounds(variants, 3 * bench.options.rounds)
        table(f"commit, {files:,} files", times)


def listing(bench):
    repository = bench.repository(200)
    made = 0
    for count in sorted(bench.options.worktrees):
        while made < count:
            bench.call(["git", "agentwt", "add", "-q", bench.fresh(), *READ_ALL], repository)
            made += 1
        name = f"w{bench.runs}"
        commands = {
            "`git worktree list`": ["git", "worktree", "list", "--porcelain"],
            "`git agentwt list`": ["git", "agentwt", "list"],
            "`git agentwt path`": ["git", "agentwt", "path", name],
        }
        variants = {name: lambda c=c: ([c], repository) for name, c in commands.items()}
        table(f"list, {count} worktrees", bench.rounds(variants, 3 * bench.options.rounds))


def removal(bench):
    for files in bench.options.sizes:
        repository = bench.repository(files)

        def made():
            name = bench.fresh()
            printed = bench.call(["git", "agentwt", "add", name, *READ_ALL], repository)
            return name, Path(printed.decode().strip())

        stays, _ = made()

        def on_one(*words):
            return lambda: ([["git", "agentwt", *words, stays]], repository)

        def clean():
            name, _ = made()
            return [["git", "agentwt", "remove", "-q", name]], repository

        def with_work():
            name, worktree = made()
            change(bench, worktree, 10, files)
            return [["git", "agentwt", "remove", "-q", "--force", name]], repository

        def plain():
            path = f"../{bench.fresh()}"
            bench.call(["git", "worktree", "add", "-q", "--detach", path], repository)
            return [["git", "worktree", "remove", "--force", path]], repository

        variants = {
            "`git agentwt verify`": on_one("verify", "-q"),
            "`git agentwt remove -n`": on_one("remove", "-n", "-q"),
            "`git agentwt remove`": clean,
            "`git agentwt remove --force`, 10 changed": with_work,
            "`git worktree remove --force`, plain": plain,
        }
        times = bench.rounds(variants, bench.options.rounds, settle=True)
        table(f"remove, {files:,} files", times)


def patterns(bench):
    files = bench.options.sizes[-1]
    repository = bench.repository(files)
    added, verified = {}, {}
    for count in bench.options.patterns:
        scope = list(READ_ALL)
        for at in range(count):
            anywhere, below = f"*.secret{at}", f"packages/p{at:03}/**/file_*7.*"
            scope += ["--exclude", below if at % 2 else anywhere]
        worktree = bench.fresh()
        bench.call(["git", "agentwt", "add", "-q", worktree, *scope], repository)

        def make(scope=scope):
            return [["git", "agentwt", "add", "-q", bench.fresh(), *scope]], repository

        def check(worktree=worktree):
            return [["git", "agentwt", "verify", worktree, "-q"]], repository

        added[f"{count} patterns"], verified[f"{count} patterns"] = make, check
    times = bench.rounds(added, bench.options.rounds, settle=True)
    table(f"add, {files:,} files, more patterns", times, files)
    times = bench.rounds(verified, 3 * bench.options.rounds)
    table(f"verify, {files:,} files, more patterns", times, files)


SYNCED = {
    "10,000 small files": (trees.small, 10_000),
    "`node_modules` with 30,000 entries": (trees.modules, 30_000),
}
LARGE_MB = 500
MANY = 100_000


def with_untracked(bench, place, make, count, worktrees):
    """A repository with ignored files in `files/`, and worktrees from before they were synced."""
    repository = place / f"s{bench.fresh()}"
    (repository / "src").mkdir(parents=True)
    (repository / "src/main.rs").write_text("fn main() {}\n")
    (repository / ".gitignore").write_text("/files/\n")
    bench.call(["git", "init", "-q", "-b", "main"], repository)
    bench.call(["git", "add", "."], repository)
    bench.call(["git", "commit", "-qm", "first"], repository)
    print(f"making {count} in {make.__name__}", file=sys.stderr)
    make(str(repository / "files"), count)
    names = [bench.fresh() for _ in range(worktrees)]
    for name in names:
        bench.call(["git", "agentwt", "add", "-q", name, *READ_ALL], repository)
    config = repository / ".agentwt/config.toml"
    config.write_text("""schema_version = "1.0"
[worktree.file_sync]
patterns = ["files/**"]
max_file_size_mb = 1000
max_total_size_mb = 100000
""")
    return repository, names


def require_synced(bench, repository, name):
    """What was timed must have been the copy: what is there is what is in the main worktree."""
    copied = repository / ".agentwt/worktrees" / name / "files"
    bench.call(["diff", "-r", "--no-dereference", "files", str(copied)], repository)


def sync(bench):
    rounds = 3 if bench.options.quick else max(7, bench.options.rounds)
    for title, (make, count) in SYNCED.items():
        repository, names = with_untracked(bench, bench.place, make, count, rounds + 1)
        left = iter(names)
        current = []

        def copy():
            return [["cp", "-a", "files", str(bench.place / bench.fresh())]], repository

        def ours():
            current.append(next(left))
            return [["git", "agentwt", "sync", current[-1]]], repository

        def again():
            return [["git", "agentwt", "sync", current[-1]]], repository

        variants = {
            "`cp -a`": copy,
            "`git agentwt sync`": ours,
            "`git agentwt sync`, nothing to do": again,
        }
        times = bench.rounds(variants, rounds, settle=True)
        require_synced(bench, repository, names[-1])
        table(f"sync, {title}", times)
    large(bench, bench.place, rounds, "")
    on_btrfs(bench, rounds)
    memory(bench)


def large(bench, place, rounds, where):
    repository, [name] = with_untracked(bench, place, trees.large, LARGE_MB, 1)
    copied = place / bench.fresh()

    def copy():
        copied.unlink(missing_ok=True)
        return [["cp", "files/large.bin", str(copied)]], repository

    def ours():
        bench.call(["git", "agentwt", "sync", name, "--clean"], repository)
        return [["git", "agentwt", "sync", name]], repository

    times = bench.rounds({"`cp`": copy, "`git agentwt sync`": ours}, rounds, settle=True)
    require_synced(bench, repository, name)
    table(f"sync, one file of {LARGE_MB} MB{where}", times)


def on_btrfs(bench, rounds):
    if os.geteuid() != 0 or not shutil.which("mkfs.btrfs"):
        print("\nskipped: copy-on-write needs root and mkfs.btrfs")
        return
    image, mounted = bench.place / "btrfs.img", bench.place / "btrfs"
    mounted.mkdir()
    with open(image, "wb") as file:
        file.truncate(4 << 30)
    bench.call(["mkfs.btrfs", "-q", str(image)], bench.place)
    mount = ["mount", "-o", "loop", str(image), str(mounted)]
    if subprocess.run(mount, capture_output=True).returncode:
        print("\nskipped: copy-on-write needs a loop device and btrfs in the kernel")
        return
    try:
        large(bench, mounted, rounds, ", btrfs")
    finally:
        bench.call(["umount", str(mounted)], bench.place)


def memory(bench):
    """The most memory that a process of the sync had (`ru_maxrss`, getrusage(2))."""
    repository, [name] = with_untracked(bench, bench.place, trees.small, MANY, 1)
    print(f"\n**sync, {MANY:,} files: memory**\n\n| | MB |\n|---|---|")
    for what in ["`git agentwt sync`", "`git agentwt sync`, nothing to do"]:
        command = ["git", "agentwt", "sync", name]
        child = subprocess.Popen(command, cwd=repository, env=bench.environment,
                                 stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        if status:
            raise SystemExit(f"{command} ended with {status}")
        print(f"| {what} | {used.ru_maxrss / 1024:.0f} |", flush=True)
    require_synced(bench, repository, name)


GROUPS = {
    "add": add,
    "verify": verify,
    "commit": commit,
    "list": listing,
    "remove": removal,
    "patterns": patterns,
    "sync": sync,
}


def machine(bench):
    """Says on what it was measured; no names and no paths."""
    model = platform.processor()
    if (information := Path("/proc/cpuinfo")).exists():
        lines = information.read_text().splitlines()
        models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        model = models[0] if models else model
    columns = bench.call(["df", "-PT", "."], bench.place).decode().splitlines()[1].split()
    filesystem = columns[1]
    ours = bench.call(["git", "agentwt", "--version"], bench.place).decode().strip()
    git = bench.call(["git", "version"], bench.place).decode().strip()
    system = f"{platform.system()} {platform.release()}"
    print(f"{os.cpu_count()} × {model}, {system}, {filesystem}, {git}, {ours}")


@contextlib.contextmanager
def measuring(options, kind):
    """A bench of this kind in a fresh directory, which goes at the end."""
    options.dir.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix="bench-", dir=options.dir)).resolve()
    try:
        bench = kind(options, place)
        machine(bench)
        yield bench
    finally:
        if options.keep:
            print(f"kept: {place}", file=sys.stderr)
        else:
            shutil.rmtree(place)


def place_options(parser):
    """The options of everything that measures: which binary, and where."""
    parser.add_argument("--binary", type=Path, default=HERE.parent / "target/release/git-agentwt",
                        help="the git-agentwt to measure [target/release/git-agentwt]")
    parser.add_argument("--dir", type=Path, default=HERE.parent / "target",
                        help="where a directory for the repositories is made [target]")
    parser.add_argument("--keep", action="store_true", help="do not delete them at the end")


def require_binary(parser, options):
    if not os.access(options.binary, os.X_OK):
        parser.error(f"there is no {options.binary}: run `cargo build --release`")


def main():
    options = arguments()
    with measuring(options, Bench) as bench:
        for group in options.groups:
            GROUPS[group](bench)


if __name__ == "__main__":
    main()
