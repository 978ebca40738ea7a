"""Makes the untracked files that run.py syncs: any number, the same every time.

`small` is what a build or a fixture leaves: files of 0.1 to 6 kB, a hundred to a directory.
`modules` is what a package manager leaves: packages with a few directories each, a third of them
below a scope, most files small and a few large, commands that can be executed, and links to those
in one directory. `large` is one file of noise, which nothing can make smaller.
"""

import os
import random

PER_DIRECTORY = 100
LINKS = 500
DIRECTORIES = ["dist", "dist/cjs", "dist/esm", "lib", "lib/internal", "src", "types"]
ENDINGS = [".js", ".js.map", ".mjs", ".d.ts", ".json"]


def write(path, size, rng):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(rng.randbytes(size))


def small(top, files):
    rng = random.Random(files)
    for at in range(files):
        write(f"{top}/d{at // PER_DIRECTORY:04}/f{at:06}.txt", rng.randint(100, 6_000), rng)


def modules(top, entries):
    """Packages until there are so many files, directories and links, the last one whole."""
    rng = random.Random(entries)
    os.makedirs(f"{top}/.bin")
    made, package = {top, f"{top}/.bin"}, 0
    while len(made) < entries:
        scope = f"@scope{package % 40:02}/" if package % 3 == 0 else ""
        below = f"{top}/{scope}package-{package:04}"
        names = ["package.json", "README.md", "LICENSE", "bin/cli.js"]
        kept = rng.sample(DIRECTORIES, rng.randint(1, 4))
        for at in range(rng.randint(5, 60)):
            names.append(f"{rng.choice(kept)}/part-{at}{rng.choice(ENDINGS)}")
        for name in names:
            path = f"{below}/{name}"
            write(path, min(200_000, int(rng.lognormvariate(7.3, 1.2))), rng)
            while path not in made:
                made.add(path)
                path = os.path.dirname(path)
        os.chmod(f"{below}/bin/cli.js", 0o755)
        if package < LINKS:
            link = f"{top}/.bin/package-{package:04}"
            os.symlink(f"../{scope}package-{package:04}/bin/cli.js", link)
            made.add(link)
        package += 1


def large(top, megabytes):
    rng = random.Random(megabytes)
    os.makedirs(top)
    with open(f"{top}/large.bin", "wb") as file:
        for _ in range(megabytes):
            file.write(rng.randbytes(1 << 20))
