//! Lists lock files, each with the command that installs what it names and leaves it as it is.

/// Names of lock files, with their commands.
///
/// Sources: docs.npmjs.com (npm ci), pnpm.io (install), yarnpkg.com (install), bun.sh (install),
/// the Cargo book (`--locked`), docs.astral.sh/uv (sync), python-poetry.org (install), bundler.io
/// (frozen), go.dev/ref/mod (go mod download).
pub const INSTALLERS: [(&str, &str); 11] = [
    ("package-lock.json", "npm ci"),
    ("npm-shrinkwrap.json", "npm ci"),
    ("pnpm-lock.yaml", "pnpm install --frozen-lockfile"),
    ("yarn.lock", "yarn install --frozen-lockfile"),
    ("bun.lock", "bun install --frozen-lockfile"),
    ("Cargo.lock", "cargo fetch --locked"),
    ("uv.lock", "uv sync --locked"),
    ("poetry.lock", "poetry install"),
    ("Gemfile.lock", "BUNDLE_FROZEN=true bundle install"),
    ("go.sum", "go mod download"),
    ("bun.lockb", "bun install --frozen-lockfile"),
];
