//! Disks that are read-only or full: small mounts in a mount namespace of their own, so that nothing is
//! left mounted.

use super::is_one_error;
use crate::support::{Said, TestRepo, is_root};

/// Runs a script in a new mount namespace; none, visibly, where that is not allowed.
#[track_caller]
fn in_namespace(repo: &TestRepo, script: &str) -> Option<Said> {
    let allowed = is_root() && {
        let probe = "mount -t tmpfs none /mnt";
        let output = repo
            .command("unshare", repo.root())
            .args(["-m", "sh", "-c", probe])
            .output();
        output.is_ok_and(|output| output.status.success())
    };
    if !allowed {
        eprintln!("skipped: mounting is not allowed here");
        return None;
    }
    let mut command = repo.command("unshare", repo.root());
    let output = command
        .args(["-m", "sh", "-c", script])
        .output()
        .expect("unshare starts");
    Some(repo.said(&output))
}

#[test]
fn a_read_only_disk() {
    let repo = TestRepo::project();
    let before = repo.fingerprint();
    for command in ["add task-5 --write 'src/**'", "init"] {
        let script = format!(
            "mount --bind repo repo && mount -o remount,bind,ro repo && cd repo && git-agentwt {command}"
        );
        let Some(said) = in_namespace(&repo, &script) else {
            return;
        };
        is_one_error(&said);
        assert_eq!(said.status, 6, "{said}");
        assert!(said.stderr.contains("Read-only file system"), "{said}");
    }
    assert_eq!(repo.fingerprint(), before);
}

#[test]
fn a_read_only_git_directory() {
    let repo = TestRepo::project();
    let before = repo.fingerprint();
    let script = "mount --bind repo/.git repo/.git && mount -o remount,bind,ro repo/.git && \
        cd repo && git-agentwt add task-5 --write 'src/**'";
    if let Some(said) = in_namespace(&repo, script) {
        is_one_error(&said);
        assert_eq!(said.status, 6, "{said}");
    }
    assert_eq!(repo.fingerprint(), before);
}

/// The disk is full after this many more kilobytes; then it is freed, and the second `add`
/// must succeed.
#[test]
fn a_full_disk_at_any_moment() {
    let repo = TestRepo::project();
    repo.write("docs/large", &"0123456789abcdef\n".repeat(20_000));
    repo.commit_all("something large");
    let script = r#"
        state() { git for-each-ref; git worktree list; cat .git/config .git/info/exclude
            find . -path ./.git/objects -prune -o -path ./.git/logs -prune -o ! -name fill -print | sort; }
        for free in 0 4 8 16 24 32 40 48 56 64 80 96 128 200 300 400 800; do
            mount -t tmpfs -o size=4m none /mnt && cp -a repo/. /mnt && cd /mnt || exit 99
            state > "$HOME/before"
            dd if=/dev/zero of=fill bs=1k 2>/dev/null
            size=$(stat -c %s fill); truncate -s $((size - free * 1024)) fill
            git-agentwt add task-5 --write 'src/**' > "$HOME/said" 2>&1; status=$?
            if [ $status -ne 0 ]; then
                failed=1
                [ $status -eq 6 ] || { echo "free $free: status $status"; cat "$HOME/said"; }
                [ "$(grep -c '^error: ' "$HOME/said")" = 1 ] || { echo "free $free: not one error"; cat "$HOME/said"; }
                state > "$HOME/after"; diff "$HOME/before" "$HOME/after" || { echo "free $free left that"; cat "$HOME/said"; }
            else
                made=1
            fi
            rm fill
            git-agentwt add task-5 --write 'src/**' > "$HOME/said" 2>&1 || { echo "free $free: second add"; cat "$HOME/said"; }
            cd "$HOME/.." && umount /mnt
        done
        echo "failed=$failed made=$made"
    "#;
    if let Some(said) = in_namespace(&repo, script) {
        assert_eq!(said.stdout, "failed=1 made=1\n", "{said}");
    }
}
