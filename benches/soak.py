#!/usr/bin/env python3
"""Lets many processes work on one repository at once, kills them at random, and looks what is left.

    cargo build
    benches/soak.py                          # 10 minutes, 16 processes, 50 names
    benches/soak.py --minutes 2 --seed 7     # shorter; the same choices in each process

Every process takes one random step after another: add, verify, sync, remove, remove --force,
remove --undo, prune, list; and what an agent does in between: new files with a content that there
is once, commits. About a third of the commands are killed (SIGKILL or SIGTERM) after a random time.

At the end everything is removed: every content that was ever written is in the trash or in a commit
that some ref reaches. Then the trash is emptied, and there must be no branch of ours that holds
nothing, no lock, directory, record or temporary file; `git fsck` is clean. What was written is kept outside of the repository. A
write counts when the process that made it had the name to itself, against those that remove.

It prints a line a minute and a table of commands by exit status. It ends with status 1 when
something is wrong, and then keeps the repository.
"""

import argparse
import collections
import fcntl
import hashlib
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent

# refused, unknown by now, or what the signal that we sent makes of it
EXPECTED = {0, 1, 4, 7, -signal.SIGKILL, 128 + signal.SIGTERM, -signal.SIGTERM}
# git or the disk failed: the worktree went while it was looked at
COULD_NOT_TELL = {5, 6}

CONFIG = """schema_version = "1.0"
[worktree.file_sync]
optional_patterns = ['.env', 'deps/**']
[scope.default]
write = ['src/**']
exclude = ['secrets/**']
"""


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--names", type=int, default=50)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--binary", type=Path, default=HERE.parent / "target/debug/git-agentwt")
    parser.add_argument("--keep", action="store_true", help="keep the repository in any case")
    return parser.parse_args()


class World:
    """The repository, and how programs are started in it."""

    def __init__(self, root, binary):
        self.root = Path(root)
        self.repo = self.root / "repo"
        self.home = self.root / "home"
        self.holds = self.root / "holds"
        self.binary = str(binary)
        self.env = {
            "PATH": f"{Path(binary).parent}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "LC_ALL": "C.UTF-8",
        }
        spoken = self.run([self.binary, "--help"], cwd="/").stdout
        removing = self.run([self.binary, "remove", "-h"], cwd="/").stdout
        self.can_prune = "\n  prune " in spoken
        self.can_undo = "--undo" in removing

    def run(self, command, cwd=None):
        return subprocess.run(
            command, cwd=cwd or self.repo, env=self.env, capture_output=True, text=True, check=False
        )

    def git(self, *words, cwd=None):
        done = self.run(["git", *words], cwd)
        if done.returncode != 0:
            raise RuntimeError(f"git {' '.join(words)}: {done.stderr}")
        return done.stdout

    def make(self):
        for directory in (self.repo / "src", self.repo / "docs", self.home, self.holds):
            directory.mkdir(parents=True)
        (self.home / ".gitconfig").write_text(
            "[user]\n\tname = Ada\n\temail = ada@example.invalid\n"
            "[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"
        )
        self.git("init", "-q")
        for number in range(20):
            (self.repo / f"src/{number}.txt").write_text(f"source {number}\n")
            (self.repo / f"docs/{number}.md").write_text(f"page {number}\n")
        (self.repo / "secrets").mkdir()
        (self.repo / "secrets/key").write_text("key\n")
        (self.repo / ".gitignore").write_text(".env\ndeps/\n")
        (self.repo / ".agentwt").mkdir()
        (self.repo / ".agentwt/config.toml").write_text(CONFIG)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "one")
        (self.repo / ".env").write_text("A=1\n")
        (self.repo / "deps").mkdir()
        for number in range(5):
            (self.repo / f"deps/{number}").write_text(f"dependency {number}\n")

    def worktree(self, name):
        return self.repo / ".agentwt/worktrees" / name

    def record(self, name):
        return self.repo / ".git/agentwt/worktrees" / name / "record.toml"


class Hold:
    """Has a name to itself, against the other processes of the soak that write or remove."""

    def __init__(self, world, name):
        self.file = open(world.holds / name, "a", encoding="utf-8")

    def __enter__(self):
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        self.file.close()


class Worker:
    """One process: takes steps until the time is over."""

    def __init__(self, world, number, seed, names):
        self.world = world
        self.number = number
        self.random = random.Random(seed * 1000 + number)
        self.names = names
        self.written = []
        self.statuses = collections.Counter()
        self.kills = 0
        self.odd = []

    def ours(self, *words):
        child = subprocess.Popen(
            [self.world.binary, *words],
            cwd=self.world.repo,
            env=self.world.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        if self.random.random() < 0.35:
            time.sleep(self.random.random() ** 2 * 1.5)
            sent = self.random.choice([signal.SIGKILL, signal.SIGTERM])
            if child.poll() is None:
                child.send_signal(sent)
                self.kills += 1
        _, error = child.communicate()
        what = " ".join(word for word in words if not word.startswith("task-"))
        self.statuses[what, child.returncode] += 1
        expected = EXPECTED | (COULD_NOT_TELL if words[0] == "verify" else set())
        if child.returncode not in expected:
            self.odd.append(f"{' '.join(words)}: status {child.returncode}: {error.strip()}")

    def step(self):
        name = f"task-{self.random.randrange(self.names)}"
        steps = [(6, self.add), (8, self.work), (2, self.verify), (2, self.sync), (3, self.remove)]
        steps += [(3, self.remove_by_force), (1, self.list)]
        if self.world.can_undo:
            steps.append((2, self.undo))
        if self.world.can_prune:
            steps.append((1, self.prune))
        weights = [weight for weight, _ in steps]
        self.random.choices([step for _, step in steps], weights)[0](name)

    def add(self, name):
        self.ours("add", name)

    def verify(self, name):
        self.ours("verify", name)

    def sync(self, name):
        self.ours("sync", name)

    def list(self, _):
        self.ours("list")

    def prune(self, _):
        self.ours("prune")

    def remove(self, name):
        with Hold(self.world, name):
            self.ours("remove", name)

    def remove_by_force(self, name):
        with Hold(self.world, name):
            self.ours("remove", "--force", name)

    def undo(self, name):
        with Hold(self.world, name):
            self.ours("remove", "--undo", name)

    def work(self, name):
        """What an agent does: new files, sometimes a commit of them."""
        worktree = self.world.worktree(name)
        with Hold(self.world, name):
            if not (self.world.record(name).exists() and (worktree / ".git").exists()):
                return
            content = f"{self.number} {len(self.written)} {self.random.random()}\n"
            file = worktree / f"src/new-{self.number}-{len(self.written)}.txt"
            try:
                file.write_text(content)
            except OSError:
                # a removal that was killed has not come to its end
                return
            how = self.random.randrange(4)
            if how in (1, 2):
                self.world.run(["git", "add", "src"], worktree)
            if how == 2:
                self.world.run(["git", "commit", "-q", "-m", "work"], worktree)
            self.written.append((name, content))
            self.statuses["work", how] += 1


def work(world, number, seed, names, until, answers):
    worker = Worker(world, number, seed, names)
    while time.monotonic() < until:
        worker.step()
    answers.put((worker.written, worker.statuses, worker.kills, worker.odd))


def end(world, names):
    """Removes everything; what went wrong."""
    wrong = []
    if world.can_prune:
        done = world.run([world.binary, "prune"])
        if done.returncode != 0:
            wrong.append(f"prune: {done.stderr}")
    for number in range(names):
        name = f"task-{number}"
        directory = world.record(name).parent
        if not world.record(name).exists() and (directory / "intent.toml").exists():
            done = world.run([world.binary, "add", name])
            # what is left is cleared also where a branch with work in it then stands in the way
            if (directory / "intent.toml").exists():
                wrong.append(f"add of what is incomplete, {name}: {done.stderr}")
        if world.record(name).exists():
            done = world.run([world.binary, "remove", "--force", name])
            if done.returncode != 0:
                wrong.append(f"remove --force {name}: {done.stderr}")
    return wrong


def empty_trash(world):
    """Empties the trash, and waits for what is deleted in the background."""
    if world.can_prune:
        world.git("config", "agentwt.trashExpire", "now")
        world.run([world.binary, "prune"])
    worktrees = world.repo / ".agentwt/worktrees"
    patience = time.monotonic() + 60
    directory = worktrees / ".trash"
    while directory.exists() and any(directory.iterdir()) and time.monotonic() < patience:
        time.sleep(0.2)


def left(world):
    """What should not be there any more, once the trash is empty."""
    empty_trash(world)
    wrong = []
    git = world.repo / ".git"
    for file in git.rglob("*.lock"):
        wrong.append(f"a lock: {file}")
    directories = ["worktrees", "agentwt/worktrees"]
    if world.can_prune:
        # the file of a lock whose holder was killed holds nobody up, and goes with the next call
        directories.append("agentwt/locks")
    for directory in directories:
        if (git / directory).exists():
            wrong += [f"left: {path}" for path in (git / directory).iterdir()]
    for path in (world.repo / ".agentwt/worktrees").iterdir():
        is_empty = path.name == ".trash" and not any(path.iterdir())
        if path.name != ".gitignore" and not is_empty:
            wrong.append(f"left: {path}")
    for directory in (git, git / "info", git / "agentwt"):
        wrong += [f"left: {path}" for path in directory.glob(".agentwt-*")]
    for branch in world.git("for-each-ref", "--format=%(refname)", "refs/heads").split():
        own = world.git("rev-list", "--count", branch, "^refs/heads/main").strip()
        if branch != "refs/heads/main" and own == "0":
            wrong.append(f"a branch that holds nothing: {branch}")
    checked = world.run(["git", "fsck", "--full", "--no-dangling"])
    if checked.returncode != 0 or "error" in checked.stderr or "missing" in checked.stdout:
        wrong.append(f"git fsck: {checked.stdout} {checked.stderr}")
    state = world.run(["git", "status", "--porcelain"])
    if state.stdout or state.returncode != 0:
        wrong.append(f"git status: {state.stdout} {state.stderr}")
    return wrong


def lost(world, written):
    """What was written and is neither in the trash nor in a commit that a ref reaches."""
    listed = world.git("rev-list", "--objects", "--all").splitlines()
    there = {line.split(" ")[0] for line in listed}

    def blob(content):
        data = content.encode()
        return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()

    trash = world.repo / ".agentwt/worktrees/.trash"
    there.update(blob(file.read_text()) for file in trash.glob("*/src/new-*.txt"))
    return [f"lost: {n}: {text!r}" for n, text in written if blob(text) not in there]


def main():
    options = arguments()
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    root = tempfile.mkdtemp(prefix="agentwt-soak-")
    world = World(root, options.binary.resolve())
    world.make()
    can = [name for name, has in (("prune", world.can_prune), ("undo", world.can_undo)) if has]
    print(f"seed {seed}, {options.processes} processes, {options.names} names, {can}, in {root}")
    answers = multiprocessing.Queue()
    began = time.monotonic()
    until = began + options.minutes * 60
    workers = [
        multiprocessing.Process(
            target=work, args=(world, number, seed, options.names, until, answers)
        )
        for number in range(options.processes)
    ]
    for worker in workers:
        worker.start()
    while time.monotonic() < until:
        time.sleep(max(0, min(60, until - time.monotonic())))
        print(f"{(time.monotonic() - began) / 60:.1f} minutes", flush=True)
    written, statuses, kills, odd = [], collections.Counter(), 0, []
    for _ in workers:
        part = answers.get()
        written += part[0]
        statuses += part[1]
        kills += part[2]
        odd += part[3]
    for worker in workers:
        worker.join()
    # what is lost first: then the trash is emptied
    wrong = end(world, options.names) + lost(world, written) + left(world)
    for (what, status), count in sorted(statuses.items()):
        print(f"{count:6}  {what}: {status}")
    operations = sum(statuses.values())
    print(f"{operations} operations, {kills} kills, {len(written)} contents written")
    for line in sorted(odd + wrong, key=lambda line: not line.startswith("lost"))[:40]:
        print(line)
    print(f"{len(odd)} odd answers, {len(wrong)} things wrong")
    if odd or wrong or options.keep:
        print(f"kept: {root}")
    else:
        shutil.rmtree(root)
    return 1 if odd or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
