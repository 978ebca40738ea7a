//! Says what a test needs beside git: a test whose tool is missing does nothing, and `./test.sh`
//! names the tool in its summary.

use std::io::Write;

use super::is_root;

/// Notes that a test was skipped, with what is missing.
///
/// # Panics
/// With `CI=true`.
pub fn skipped(missing: &str) {
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "with CI=true no test may be skipped: {missing}"
    );
    eprintln!("skipped: {missing}");
    if let Some(list) = std::env::var_os("AGENTWT_TEST_SKIPPED") {
        let list = std::fs::OpenOptions::new().append(true).open(list);
        // one write a line: tests run side by side
        let written = list.and_then(|mut list| list.write_all(format!("{missing}\n").as_bytes()));
        written.expect("./test.sh made the list");
    }
}

/// Whether the tests run as root. Tests that need root have `as_root` in their names:
/// `./test.sh --root` runs them, and `.ci/run` does that beside the run as an ordinary user.
#[must_use]
pub fn needs_root() -> bool {
    if !is_root() {
        eprintln!("not run: it needs root (./test.sh --root)");
    }
    is_root()
}

/// Whether a program is there; a test without it is noted as skipped.
#[must_use]
pub fn installed(program: &str) -> bool {
    let there = !git_agentwt::system::path::on_path(program).is_empty();
    if !there {
        skipped(&format!("{program}: sudo apt-get install bubblewrap"));
    }
    there
}
