//! Runs the program as an ordinary user, also where the tests run as root.

use std::path::Path;

use super::{Said, TestRepo, binary, is_root};

/// Runs the program as an ordinary user, which root must become for it; none when that cannot be.
pub fn as_ordinary_user(repo: &TestRepo, dir: &Path, arguments: &[&str]) -> Option<Said> {
    if !is_root() {
        return Some(repo.agentwt_in(dir, arguments));
    }
    let everybody = format!("chown -R 65534:65534 '{}'", repo.root().display());
    repo.sh(repo.root(), &everybody).ok();
    // the program itself may stand where only root can go
    let copy = repo.root().join("git-agentwt");
    std::fs::copy(binary(), &copy).expect("it can be copied");
    let output = repo
        .command("setpriv", dir)
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&copy)
        .args(arguments)
        .output()
        .ok()?;
    Some(repo.said(&output))
}
