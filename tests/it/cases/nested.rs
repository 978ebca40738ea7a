//! Repositories in the worktree, and what only looks like one: git lists nothing below them.

use insta::assert_snapshot;

use super::{Case, after};

#[test]
fn a_repository_over_tracked_files_hides_no_new_one() {
    assert_snapshot!(after("git init -q docs; echo n >docs/new; git -C docs add -f .; git -C docs commit -q -m x"), @"
    docs/.git created read-only violation
    docs/new created read-only violation
    ");
}

#[test]
fn a_git_file_that_points_elsewhere_hides_nothing_beside_it() {
    assert_snapshot!(after("echo \"gitdir: $MAIN/nowhere\" >docs/.git; echo n >docs/new"), @"
    docs/.git created read-only violation
    docs/new created read-only violation
    ");
    assert_snapshot!(after("git init -q --separate-git-dir ../../../elsewhere docs/sub; echo n >docs/sub/f"), @"
    docs/sub/.git created read-only violation
    docs/sub/f created read-only violation
    ");
    assert_snapshot!(after("ln -s \"$MAIN/.git\" docs/.git; echo n >docs/new"), @"
    docs/.git created read-only violation
    docs/new created read-only violation
    ");
}

#[test]
fn a_submodule_entry_over_a_new_directory_hides_nothing_in_it() {
    let script = "git init -q docs/sub; echo n >docs/sub/f; git -C docs/sub add f; git -C docs/sub commit -q -m n
        git add docs/sub 2>/dev/null; git commit -q -m sub";
    assert_snapshot!(after(script), @"
    docs/sub created read-only violation
    docs/sub integrity integrity violation
    ");
    // git status runs the settings of what stands at a submodule entry, also in scope
    assert_snapshot!(after(&script.replace("docs/", "src/")), @"src/sub integrity integrity violation");
    let staged = script
        .replace("docs/", "src/")
        .replace("git commit -q -m sub", "true");
    assert_snapshot!(after(&staged), @"src/sub integrity integrity violation");
    // nothing of it is read: git would run what its settings say
    let evil = "git -C src/sub config filter.x.smudge \"touch $PWD/src/ran; cat\"; echo '* filter=x' >src/sub/.gitattributes; echo more >>src/sub/f";
    let script = format!("{staged}; {evil}");
    let case = Case::new();
    case.does(&script);
    assert!(case.findings().contains("src/sub integrity"));
    assert!(!case.worktree.join("src/ran").exists());
    let odd = staged.replace("src/sub", "\"$(printf 'src/s\\377')\"");
    assert!(
        after(&odd).contains("integrity integrity violation"),
        "{}",
        after(&odd)
    );
    let carriage = "mkdir -p src/sub src/g; printf 'gitdir: ../g\\r\\n' >src/sub/.git; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),src/sub";
    assert!(after(carriage).contains("src/sub integrity"));
    // also what is none yet
    let script = "mkdir src/sub; echo 'gitdir: ../build/x' >src/sub/.git; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),src/sub
        git commit -q -m sub";
    let found = after(script);
    assert!(
        found.contains("src/sub integrity integrity violation"),
        "{found}"
    );
    // and one that has the commits of this repository
    let script = "mkdir -p src/sub/.git/objects src/sub/.git/refs; cp \"$MAIN/.git/HEAD\" src/sub/.git/; echo \"$MAIN/.git\" >src/sub/.git/commondir
        git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),src/sub; git commit -q -m sub";
    let found = after(script);
    assert!(
        found.contains("src/sub integrity integrity violation"),
        "{found}"
    );
}

#[test]
fn what_is_excluded_is_found_inside_a_repository_in_scope() {
    let script = "mkdir -p src/inner/secrets; git init -q src/inner; echo n >src/inner/secrets/k
        git -C src/inner add .; git -C src/inner commit -q -m n";
    assert_snapshot!(after(script), @"src/inner/secrets/k created excluded violation");
}

#[test]
fn a_bare_repository_is_every_file_of_it() {
    let findings = after("git init -q --bare --template= docs/b.git");
    assert!(
        findings.contains("docs/b.git/HEAD created read-only violation\n"),
        "{findings}"
    );
}

#[test]
fn sockets_and_devices_are_found() {
    assert_snapshot!(after("python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"docs/sock\")' || mkfifo docs/sock"), @"docs/sock created read-only violation");
    // only root can make a device
    let findings = after("mknod docs/null c 1 3 2>/dev/null || mkfifo docs/null");
    assert_snapshot!(findings, @"docs/null created read-only violation");
}
