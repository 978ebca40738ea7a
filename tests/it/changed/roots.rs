//! `--roots`: what lies outside write roots.

use insta::assert_snapshot;

use super::{bytes, json};
use crate::support::TestRepo;

#[test]
fn what_lies_outside_is_printed_in_every_form_and_is_exit_1() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(
        &worktree,
        "echo 1 >>src/main.rs; echo n >docs/n; echo t >>tests/t.rs",
    );
    let src = worktree.join("src").display().to_string();
    let ask = |more: &[&str]| repo.agentwt(&[&["changed", "task", "--roots", &src], more].concat());
    assert_snapshot!(ask(&[]), @"
    created   docs/n      untracked
    modified  tests/t.rs  disk
    --- status 1
    ");
    assert_snapshot!(ask(&["--porcelain"]), @"
    created	untracked	docs/n
    modified	disk	tests/t.rs
    --- status 1
    ");
    assert_snapshot!(ask(&["--format=tsv"]), @"
    docs/n	created
    tests/t.rs	modified
    --- status 1
    ");
    assert_eq!(
        bytes(&repo, &["--roots", &src, "--name-only", "-z"]),
        (b"docs/n\0tests/t.rs\0".to_vec(), 1)
    );
    let all = json(&repo, &["--roots", &src]);
    assert_eq!(all["changed"].as_array().map(Vec::len), Some(3));
    assert_eq!(all["outside"].as_array().map(Vec::len), Some(2));
    assert_eq!(all["roots"][0], src.as_str());
    assert_snapshot!(ask(&["--roots", &worktree.display().to_string()]), @"
    --- stderr
    task: nothing changed outside the roots
    --- status 0
    ");
}

#[test]
fn relative_roots_start_where_the_user_stands_and_need_not_exist() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(
        &worktree,
        "echo 1 >>src/main.rs; mkdir -p new/d; echo n >new/d/n",
    );
    let at = |dir: &str, roots: &[&str]| {
        let arguments = [&["changed", "--name-only", "--roots"], roots].concat();
        repo.agentwt_in(&worktree.join(dir), &arguments)
            .fails(i32::from(roots.len() < 2))
            .stdout
            .clone()
    };
    assert_eq!(at("", &["src"]), "new/d/n\n");
    assert_eq!(at("src", &["."]), "new/d/n\n");
    assert_eq!(at("src", &[".", "../new/", "../later/on"]), "");
    let said = repo.agentwt(&[
        "-C",
        ".agentwt/worktrees/task/src",
        "changed",
        "--name-only",
        "--roots",
        "..",
    ]);
    assert_eq!(said.ok(), "");
    let said = repo.agentwt_in(&worktree, &["changed", "--roots", "sr", "--roots", "ne"]);
    assert_eq!(
        said.fails(1).stdout.lines().count(),
        2,
        "no part of a name covers"
    );
    repo.agentwt_in(&worktree, &["changed", "--roots", ""])
        .fails(2);
}

#[test]
fn a_linked_parent_is_resolved_and_the_last_component_is_not() {
    let (repo, worktree) = TestRepo::with_task();
    let out = repo.root().join("out");
    std::fs::create_dir_all(out.join("d")).expect("a directory");
    let out = out.display().to_string();
    repo.script(
        &worktree,
        &format!("ln -s {out}/d src/link; rm -rf tests; ln -s {out} tests"),
    );
    let outside = |roots: &[&str]| {
        let arguments = [&["changed", "--name-only", "--roots"], roots].concat();
        repo.agentwt_in(&worktree, &arguments).stdout
    };
    // the link itself is a file of `src`; what was in `tests` is not there any more
    assert_eq!(outside(&["src"]), "tests\ntests/t.rs\n");
    assert_eq!(
        outside(&["src", "tests"]),
        "tests/t.rs\n",
        "the root stays where it is"
    );
    assert_eq!(
        outside(&["src", "tests", &out]),
        "",
        "a root outside is where its link leads"
    );
}

#[test]
fn an_agent_cannot_widen_a_root_by_a_link_in_its_place() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(&worktree, "rm -rf src; ln -s . src; echo n >docs/n");
    // `src` leads to the whole worktree, and is one file
    let said = repo.agentwt_in(&worktree, &["changed", "--name-only", "--roots", "src"]);
    assert!(said.fails(1).stdout.contains("docs/n\n"), "{said}");
    let below = repo.agentwt_in(&worktree, &["changed", "--name-only", "--roots", "src/mod"]);
    assert!(below.fails(1).stdout.contains("docs/n\nsrc\n"), "{below}");
    // also when the user's own link leads there
    let lease = repo.root().join("lease");
    std::os::unix::fs::symlink(worktree.join("src"), &lease).expect("a link");
    let lease = lease.display().to_string();
    let said = repo.agentwt_in(&worktree, &["changed", "--name-only", "--roots", &lease]);
    assert!(said.fails(1).stdout.contains("docs/n\n"), "{said}");
}

#[test]
fn ignored_files_count_if_asked_for_and_what_is_no_path_always() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(&worktree, "echo l >docs/x.log");
    assert_eq!(bytes(&repo, &["--roots", "/nowhere"]).1, 0);
    assert_eq!(bytes(&repo, &["--roots", "/nowhere", "--ignored"]).1, 1);
    repo.script(&worktree, "git config --worktree core.x y");
    assert_snapshot!(repo.agentwt(&["changed", "task", "--roots", "/"]), @"
    config  @wt/config.worktree  disk
    --- status 1
    ");
    repo.agentwt(&["changed", "task", "--roots", "/", "--patch"])
        .fails(2);
}
