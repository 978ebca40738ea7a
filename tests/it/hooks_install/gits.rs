//! Runs a test with the oldest and the newest git of the machine, each in a process of its own: `PATH`, `HOME`
//! and the dates are the process's, and the library under test reads them as the program does.

use std::process::Command;

use crate::support::gits;

const INSIDE: &str = "AGENTWT_TEST_INSIDE";

/// Calls the body, a closure of the test itself, in a child process for each version of git that
/// is tested with.
#[track_caller]
pub fn with_each_git<F: Fn()>(body: F) {
    // The closure's type is named `it::<modules>::<test>::{{closure}}`.
    let test = std::any::type_name::<F>().trim_start_matches("it::");
    let test = test.trim_end_matches("::{{closure}}");
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let mut failed = Vec::new();
    for (version, bin) in gits() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let path = format!(
            "{}:{}",
            bin.display(),
            std::env::var("PATH").unwrap_or_default()
        );
        let mut command = Command::new(std::env::current_exe().expect("the test's own path"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GIT_") {
                command.env_remove(name);
            }
        }
        let status = command
            .args([test, "--exact", "--nocapture"])
            .env(INSIDE, "1")
            .env("PATH", path)
            .env("HOME", home.path())
            .env_remove("XDG_CONFIG_HOME")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_EDITOR", "true")
            .env("GIT_AUTHOR_NAME", "A")
            .env("GIT_AUTHOR_EMAIL", "a@example.com")
            .env("GIT_COMMITTER_NAME", "C")
            .env("GIT_COMMITTER_EMAIL", "c@example.com")
            .env("GIT_AUTHOR_DATE", "1700000000 +0000")
            .env("GIT_COMMITTER_DATE", "1700000000 +0000")
            .output()
            .expect("the test starts itself");
        println!("{test}: with {version} of {}", bin.display());
        let said = String::from_utf8_lossy(&status.stdout);
        if !status.status.success() || !said.contains("1 passed") {
            println!("{said}{}", String::from_utf8_lossy(&status.stderr));
            failed.push(version);
        }
    }
    assert!(failed.is_empty(), "failed with {failed:?}");
}
