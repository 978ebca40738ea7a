"""Makes the repositories that run.py measures on: any size, the same every time.

A repository of N files has 20 % of them in src/, 50 % in packages/, 20 % in tests/ and 10 % in
docs/, about 14 to a directory and three to five levels deep. The contents look like code: some
2 kB of words, numbers and indentation, which zlib makes three times smaller. A few files can be
executed and a few symbolic links stand among them. Four later commits change one file in fifty,
and everything is packed as after `git gc`, so that there are deltas to resolve.
"""

import random
import subprocess

WORDS = (
    "let mut fn return if else match struct impl self pub use mod const static async await result "
    "option error value index entry path file name state config scope tree blob branch agent task "
    "read write base head merge count total buffer offset length string vector into from iter map"
).split()
TOPS = ["packages"] * 5 + ["src"] * 2 + ["tests"] * 2 + ["docs"]
ENDINGS = [".rs", ".ts", ".py", ".c", ".h", ".md", ".json", ".toml"]
PER_DIRECTORY = 14
BEGAN = 1_700_000_000


def paths(files):
    """All paths: sorted into directories of about PER_DIRECTORY files each."""
    found = []
    for at in range(files):
        directory = at // PER_DIRECTORY
        top = TOPS[directory % len(TOPS)]
        number = directory // len(TOPS)
        below = f"p{number // 12:03}/m{number % 12:02}"
        if number % 7 == 0:
            below += "/inner/deep"
        found.append(f"{top}/{below}/file_{at:06}{ENDINGS[at % len(ENDINGS)]}")
    return found


def content(rng):
    """A file that looks like code; most have 1 to 4 kB, one in a hundred far more."""
    size = min(100_000, max(40, int(rng.lognormvariate(7.3, 0.9))))
    lines, length = [], 0
    while length < size:
        words = " ".join(rng.choices(WORDS, k=rng.randint(3, 11)))
        line = f"{'    ' * rng.randint(0, 3)}{words} = 0x{rng.getrandbits(32):08x};"
        lines.append(line)
        length += len(line) + 1
    return ("\n".join(lines) + "\n").encode()


def make(directory, files, environment):
    """Makes the repository, its main worktree not checked out; returns its paths."""
    rng = random.Random(files)
    subprocess.run(["git", "init", "-q", "-b", "main", directory], check=True, env=environment)
    importer = subprocess.Popen(
        ["git", "-C", directory, "fast-import", "--quiet"],
        stdin=subprocess.PIPE,
        env=environment,
    )
    write = importer.stdin.write

    def commit(number, message):
        write(b"commit refs/heads/main\n")
        write(b"committer Bench <bench@example.invalid> %d +0000\n" % (BEGAN + number * 60))
        write(b"data %d\n%s\n" % (len(message), message))

    def put(mode, path, data):
        write(b"M %s inline %s\ndata %d\n%s\n" % (mode, path.encode(), len(data), data))

    every = paths(files)
    kept = {}
    commit(0, b"import")
    for at, path in enumerate(every):
        data = content(rng)
        mode = b"100755" if at % 97 == 0 else b"100644"
        if at % 50 == 0:
            kept[path] = (mode, data)
        put(mode, path, data)
    for at in range(10):
        put(b"120000", f"docs/link_{at}", b"../src")
    put(b"100644", ".gitignore", b"target/\nnode_modules/\n*.log\n")
    put(b"100644", "README.md", content(rng))
    for number in range(1, 5):
        commit(number, b"change %d" % number)
        for path, (mode, data) in kept.items():
            lines = data.split(b"\n")
            lines[rng.randrange(len(lines))] = b"// changed %d" % number
            kept[path] = (mode, b"\n".join(lines))
            put(mode, path, kept[path][1])
    write(b"done\n")
    importer.stdin.close()
    if importer.wait() != 0:
        raise SystemExit("git fast-import failed")
    for arguments in (["repack", "-adq"], ["pack-refs", "--all"]):
        subprocess.run(["git", "-C", directory, *arguments], check=True, env=environment)
    return every
