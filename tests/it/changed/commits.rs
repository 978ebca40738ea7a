//! `--commits`: what each commit touched.

use insta::assert_snapshot;

use super::{bytes, json};
use crate::support::TestRepo;

const TWO: &str = "echo 1 >>src/main.rs; git commit -qam 'first one'; \
    git rm -q tests/t.rs; echo n >src/new.rs; chmod +x src/mod/util.rs; git add -A; \
    git commit -qm 'a subject
in two lines

and a body'; echo 3 >>src/new.rs; echo u >docs/u";

#[test]
fn each_commit_has_its_paths_and_then_comes_what_is_not_committed() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(&worktree, TWO);
    assert_snapshot!(repo.agentwt(&["changed", "task", "--commits"]), @"
    commit 0acecafd43 2026-01-02T03:04:05+00:00 first one
      modified  src/main.rs
    commit 6677ae6a47 2026-01-02T03:04:05+00:00 a subject in two lines
      mode     src/mod/util.rs
      created  src/new.rs
      deleted  tests/t.rs
    not committed
      created   docs/u      untracked
      modified  src/new.rs  disk
    --- status 0
    ");
    assert_snapshot!(repo.agentwt(&["changed", "task", "--commits", "--porcelain"]), @"
    commit	0acecafd43b1bdfbf497c9967a3870db3ec36a77	2026-01-02T03:04:05+00:00	af82e40edf386d673bb6f4292ab3a4faea3c91e5	current	first one
    in	0acecafd43b1bdfbf497c9967a3870db3ec36a77	modified	src/main.rs
    commit	6677ae6a477b03ad7f815b1f6e59a95cb7c71dc5	2026-01-02T03:04:05+00:00	0acecafd43b1bdfbf497c9967a3870db3ec36a77	current	a subject in two lines
    in	6677ae6a477b03ad7f815b1f6e59a95cb7c71dc5	mode	src/mod/util.rs
    in	6677ae6a477b03ad7f815b1f6e59a95cb7c71dc5	created	src/new.rs
    in	6677ae6a477b03ad7f815b1f6e59a95cb7c71dc5	deleted	tests/t.rs
    uncommitted	created	untracked	docs/u
    uncommitted	modified	disk	src/new.rs
    net	created	untracked	docs/u
    net	modified	commit 0acecafd43,index,disk	src/main.rs
    net	mode	commit 6677ae6a47,index,disk	src/mod/util.rs
    net	created	commit 6677ae6a47,index,disk	src/new.rs
    net	deleted	commit 6677ae6a47,index,disk	tests/t.rs
    --- status 0
    ");
    assert_snapshot!(repo.agentwt(&["changed", "task", "--commits", "--format=tsv"]), @"
    src/main.rs	modified	0acecafd43b1bdfbf497c9967a3870db3ec36a77
    src/mod/util.rs	mode	6677ae6a477b03ad7f815b1f6e59a95cb7c71dc5
    src/new.rs	created	6677ae6a477b03ad7f815b1f6e59a95cb7c71dc5
    tests/t.rs	deleted	6677ae6a477b03ad7f815b1f6e59a95cb7c71dc5
    docs/u	created	uncommitted
    src/new.rs	modified	uncommitted
    docs/u	created	net
    src/main.rs	modified	net
    src/mod/util.rs	mode	net
    src/new.rs	created	net
    tests/t.rs	deleted	net
    --- status 0
    ");
    assert_snapshot!(
        repo.agentwt(&["changed", "task", "--commits", "--porcelain", "--name-only", "--absolute"]),
        @"
    commit	0acecafd43b1bdfbf497c9967a3870db3ec36a77	2026-01-02T03:04:05+00:00	af82e40edf386d673bb6f4292ab3a4faea3c91e5	current	first one
    in	0acecafd43b1bdfbf497c9967a3870db3ec36a77	$TMP/repo/.agentwt/worktrees/task/src/main.rs
    commit	6677ae6a477b03ad7f815b1f6e59a95cb7c71dc5	2026-01-02T03:04:05+00:00	0acecafd43b1bdfbf497c9967a3870db3ec36a77	current	a subject in two lines
    in	6677ae6a477b03ad7f815b1f6e59a95cb7c71dc5	$TMP/repo/.agentwt/worktrees/task/src/mod/util.rs
    in	6677ae6a477b03ad7f815b1f6e59a95cb7c71dc5	$TMP/repo/.agentwt/worktrees/task/src/new.rs
    in	6677ae6a477b03ad7f815b1f6e59a95cb7c71dc5	$TMP/repo/.agentwt/worktrees/task/tests/t.rs
    uncommitted	$TMP/repo/.agentwt/worktrees/task/docs/u
    uncommitted	$TMP/repo/.agentwt/worktrees/task/src/new.rs
    net	$TMP/repo/.agentwt/worktrees/task/docs/u
    net	$TMP/repo/.agentwt/worktrees/task/src/main.rs
    net	$TMP/repo/.agentwt/worktrees/task/src/mod/util.rs
    net	$TMP/repo/.agentwt/worktrees/task/src/new.rs
    net	$TMP/repo/.agentwt/worktrees/task/tests/t.rs
    --- status 0
    "
    );
}

fn kinds_and_paths(commit: &serde_json::Value) -> String {
    let paths = commit["paths"].as_array().into_iter().flatten();
    let word = |value: &serde_json::Value| value.as_str().map(ToOwned::to_owned);
    let paths =
        paths.filter_map(|one| Some(format!("{} {}", word(&one["kind"])?, word(&one["path"])?)));
    paths.collect::<Vec<_>>().join(", ")
}

#[test]
fn json_has_the_commits_beside_the_net_set() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(&worktree, TWO);
    let all = json(&repo, &["--commits"]);
    assert_eq!(all["changed"].as_array().map(Vec::len), Some(5));
    let commits = all["commits"].as_array().expect("a list");
    assert_eq!(commits.len(), 2);
    assert_eq!(commits[0]["subject"], "first one");
    assert_eq!(commits[0]["parents"][0], all["base"]["commit"]);
    assert_eq!(commits[1]["commit"], all["head"]);
    assert_eq!(commits[1]["authored"], "2026-01-02T03:04:05+00:00");
    assert_eq!(
        kinds_and_paths(&commits[1]),
        "mode src/mod/util.rs, created src/new.rs, deleted tests/t.rs"
    );
    assert_eq!(
        all["uncommitted"]["paths"].as_array().map(Vec::len),
        Some(2)
    );
    assert_eq!(all["incomplete"], serde_json::Value::Null);
}

#[test]
fn a_merge_has_only_what_is_otherwise_than_in_every_parent() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(repo.main(), "git switch -qc side");
    repo.write("src/side.rs", "side\n");
    repo.commit_all("on the side");
    repo.script(repo.main(), "git switch -q main");
    repo.script(
        &worktree,
        "echo 1 >>src/main.rs; git commit -qam one; git merge -q --no-commit --no-ff side; \
         echo evil >src/evil.rs; git add src/evil.rs; git commit -qm merged",
    );
    let all = json(&repo, &["--commits"]);
    let paths = |subject: &str| {
        let mut commits = all["commits"].as_array().into_iter().flatten();
        let found = commits.find(|commit| commit["subject"] == subject);
        found.map(kinds_and_paths)
    };
    assert_eq!(paths("merged").as_deref(), Some("created src/evil.rs"));
    assert_eq!(paths("on the side").as_deref(), Some("created src/side.rs"));
}

#[test]
fn upstreams_commits_are_not_listed_and_abandoned_ones_are_marked() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(
        &worktree,
        "echo 1 >src/x; git add -A; git commit -qm lost; git reset -q --hard main",
    );
    repo.write("docs/guide.md", "upstream\n");
    repo.commit_all("upstream");
    repo.script(
        &worktree,
        "git merge -q main; echo 2 >>src/main.rs; git commit -qam kept",
    );
    let said = repo.agentwt(&["changed", "task", "--commits"]).ok();
    let headings: Vec<&str> = said.lines().filter(|l| l.starts_with("commit")).collect();
    let ends: Vec<&str> = headings.iter().map(|line| &line[44..]).collect();
    assert_eq!(ends, ["lost (abandoned)", "kept"], "{said}");
}

#[test]
fn what_is_staged_only_and_what_is_beside_the_files_is_listed_at_the_end() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(
        &worktree,
        "echo s >src/s; git add src/s; rm src/s; git config --worktree core.x y",
    );
    assert_snapshot!(repo.agentwt(&["changed", "task", "--commits"]), @"
    not committed
      created  src/s  index
    beside its files
      config  @wt/config.worktree  disk
    --- status 0
    ");
}

#[test]
fn odd_names_and_messages_are_given_byte_for_byte_with_nul() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(
        &worktree,
        "f=\"$(printf 'src/a\\n\\tb\\351')\"; echo x >\"$f\"; git add -A; \
         printf 'caf\\351\\tx\\n' >../m; git -c i18n.commitEncoding=latin1 commit -qF ../m",
    );
    let (stdout, status) = bytes(&repo, &["--commits", "-z"]);
    let records: Vec<&[u8]> = stdout.split(|byte| *byte == 0).collect();
    assert_eq!((records.len(), status), (4, 0), "{records:?}");
    assert!(
        records[0].ends_with(b"\tcurrent\tcaf\xe9\tx"),
        "{records:?}"
    );
    assert!(
        records[1].ends_with(b"\tcreated\tsrc/a\n\tb\xe9"),
        "{records:?}"
    );
    assert!(records[2].ends_with(b"\tsrc/a\n\tb\xe9") && records[3].is_empty());
    let all = json(&repo, &["--commits"]);
    let commit = &all["commits"][0];
    assert_eq!(commit["subject_bytes"].as_array().map(Vec::len), Some(6));
    assert_eq!(
        commit["paths"][0]["path_bytes"].as_array().map(Vec::len),
        Some(9)
    );
}
