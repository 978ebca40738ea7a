#!/usr/bin/env python3
"""Measures what a fence costs, side by side in one run: the start of a command, and work in it.

usage: benches/fences.py <git-agentwt> [<repository>]

Prints the medians of 30 interleaved starts in milliseconds, from the start of `git-agentwt exec` until the
command runs, beside a plain start; then the ratios of `git status` and of an untar of the repository's files.
Containers are measured as an ordinary user where podman starts them (CONTAINERS_CONF may say how).
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

RUNS = 30
FENCES = ["landlock", "mount", "container"]


def git(directory, *arguments):
    subprocess.run(["git", "-C", directory, *arguments], check=True, stdout=subprocess.DEVNULL)


def make_repository(directory):
    """Creates a repository of 5,000 files."""
    for number in range(5000):
        path = os.path.join(directory, "src", f"d{number % 100}", f"f{number}.rs")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"fn f{number}() {{}}\n" * 20)
    git(directory, "init", "-q")
    git(directory, "add", ".")
    git(directory, "-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "files")


def fenced(program, fence, command):
    root = ["--allow-root"] if os.geteuid() == 0 else []
    return [program, "exec", "task", f"--fence={fence}", *root, "--", *command]


def start_of(words, directory):
    """Returns the milliseconds until the command runs, which prints its time."""
    began = time.time_ns()
    output = subprocess.run(words, cwd=directory, capture_output=True, check=False)
    if output.returncode != 0:
        raise RuntimeError(output.stderr.decode(errors="replace"))
    return (int(output.stdout) - began) / 1e6



def main():
    program = os.path.abspath(sys.argv[1])
    work = tempfile.mkdtemp()
    try:
        repository = sys.argv[2] if len(sys.argv) > 2 else os.path.join(work, "repository")
        if len(sys.argv) <= 2:
            os.mkdir(repository)
            make_repository(repository)
        subprocess.run([program, "add", "task", "--write", "src/**"], cwd=repository, check=True, stdout=subprocess.DEVNULL)
        worktree = os.path.join(repository, ".agentwt/worktrees/task")
        tick = ["date", "+%s%N"]
        lines = {"plain": tick}
        for fence in FENCES:
            try:
                start_of(fenced(program, fence, tick), repository)
                lines[fence] = fenced(program, fence, tick)
            except RuntimeError as error:
                print(f"{fence}: not here: {str(error).splitlines()[0]}")
        starts = {name: [] for name in lines}
        for _ in range(RUNS):
            for name, words in lines.items():
                starts[name].append(start_of(words, worktree if name == "plain" else repository))
        plain = statistics.median(starts["plain"])
        for name, all_starts in starts.items():
            median = statistics.median(all_starts)
            print(f"start  {name:10} {median:8.2f} ms  over plain {median - plain:8.2f} ms")
        archive = os.path.join(worktree, "src", "files.tar")
        git(worktree, "archive", "-o", archive, "HEAD", "src")
        status = "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do git status --porcelain; done"
        untar = "mkdir -p src/untar && tar -C src/untar -xf \"$0\" && rm -rf src/untar"
        for title, script in [("status", status), ("untar", untar)]:
            command = ["sh", "-c", f"b=$(date +%s%N); {script} >/dev/null; echo $(($(date +%s%N) - b))", archive]
            times = {name: [] for name in lines}
            for _ in range(15):
                for name in lines:
                    words = command if name == "plain" else fenced(program, name, command)
                    said = subprocess.run(words, cwd=worktree, capture_output=True, check=False)
                    times[name].append(int(said.stdout.split()[-1]) / 1e6)
            base = statistics.median(times["plain"])
            for name, all_times in times.items():
                median = statistics.median(all_times)
                print(f"{title:6} {name:10} {median:8.1f} ms  ratio {median / base:5.2f}")
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
