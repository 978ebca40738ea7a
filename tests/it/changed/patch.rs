//! `--patch`: a patch that git applies, and nothing written.

use std::path::{Path, PathBuf};

use super::{bytes, json};
use crate::support::{TestRepo, write};

/// Everything below a directory but `.git`, with modes and contents.
#[must_use]
fn listing(repo: &TestRepo, dir: &Path) -> String {
    let line = "find . -path ./.git -prune -o \\( -type f -o -type l \\) -printf '%p %y %m %l ' \
        -exec sh -c 'test -L \"$1\" || cksum <\"$1\"' - {} \\; -printf '\\n' | sed 's/^\\(.*\\) f [0-9]*\\([0-9][0-9]\\)[0-9]* /\\1 f \\2 /' | LC_ALL=C sort";
    repo.sh(dir, line).ok()
}

/// A clone of the main worktree at a commit, with a patch applied.
#[track_caller]
fn applied(repo: &TestRepo, onto: &str, patch: &[u8]) -> PathBuf {
    let file = repo.root().join("patch");
    std::fs::write(&file, patch).expect("written");
    let clone = repo.root().join("clone");
    repo.script(
        repo.root(),
        "rm -rf clone; git clone -q repo clone; git -C clone config core.autocrlf false",
    );
    repo.git_in(&clone, &["checkout", "-q", "--detach", onto]);
    repo.git_in(&clone, &["apply", "--whitespace=nowarn", "../patch"]);
    clone
}

#[test]
fn the_patch_makes_the_base_what_is_on_disk() {
    let repo = TestRepo::project();
    repo.agentwt(&["add", "task", "--write", "**"]).ok();
    let worktree = repo.worktree("task");
    write(&worktree, b"src/bin", b"\0\x01\xff binary");
    write(&worktree, b"src/quote\"d \\ \t\n\xe9\xff", b"odd name\n");
    write(&worktree, b"-dash", b"no newline at the end");
    write(&worktree, b" lead", b"\n\n\r\n");
    write(&worktree, b"src/empty", b"");
    repo.script(
        &worktree,
        "echo 1 >>src/main.rs; git add -A; git commit -qm one; echo 2 >>docs/api.md; git add -A; \
         echo 3 >>docs/api.md; rm README.md; rm link; ln -s ../nowhere link; chmod +x tests/t.rs; \
         chmod -x tools/run.sh; rm -r src/mod; echo file >src/mod; rm docs/guide.md; \
         mkdir docs/guide.md; echo in >docs/guide.md/in; printf '\\0\\2' >src/bin; \
         echo staged >src/staged; git add src/staged; echo l >x.log; \
         git update-index --assume-unchanged package.json; echo hidden >>package.json",
    );
    let before = repo.fingerprint();
    let objects = repo.git(&["count-objects", "-v"]);
    let (patch, status) = bytes(&repo, &["--patch", "--ignored"]);
    assert_eq!(status, 0);
    assert_eq!(repo.fingerprint(), before, "nothing is written");
    assert_eq!(repo.git(&["count-objects", "-v"]), objects);
    let clone = applied(&repo, "main", &patch);
    let tree = |dir: &Path| listing(&repo, dir);
    assert!(tree(&clone).contains("src/staged"));
    assert_eq!(tree(&clone), tree(&worktree));

    let (without, _) = bytes(&repo, &["--patch"]);
    assert!(
        without.len() < patch.len(),
        "ignored files only if asked for"
    );
    for form in ["--porcelain", "--format=tsv", "-z"] {
        assert_eq!(bytes(&repo, &["--patch", form]).0, without, "{form}");
    }
    let all = json(&repo, &["--patch"]);
    assert_eq!(all["patch"].as_str().map(str::as_bytes), Some(&*without));
    assert_eq!(all["patch_base"], all["base"]["commit"]);
    assert!(all["changed"].as_array().is_some_and(|all| all.len() > 10));
}

#[test]
fn the_patch_fits_the_newest_upstream_that_was_merged() {
    let (repo, worktree) = TestRepo::with_task();
    repo.write("src/main.rs", "fn main() {}\n// upstream\n");
    let upstream = repo.commit_all("upstream");
    repo.script(&worktree, "git merge -q main; echo mine >>src/main.rs");
    let all = json(&repo, &["--patch"]);
    assert_eq!(all["patch_base"], upstream.as_str());
    let patch = all["patch"].as_str().expect("text");
    assert!(patch.contains("\n // upstream\n+mine\n"), "{patch}");
    applied(&repo, &upstream, patch.as_bytes());
}

#[test]
fn what_is_excluded_and_absent_is_no_deletion() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(&worktree, "echo 1 >>src/main.rs");
    let patch = String::from_utf8(bytes(&repo, &["--patch"]).0).expect("text");
    assert!(!patch.contains("secrets"), "{patch}");
    // committed without ever being there: it would be merged
    repo.script(
        &worktree,
        "i=$(echo new | git hash-object -w --stdin); \
         git update-index --cacheinfo 100644,$i,secrets/key.pem; git commit -qm s",
    );
    let patch = String::from_utf8(bytes(&repo, &["--patch"]).0).expect("text");
    assert!(patch.contains("-PEM\n+new\n"), "{patch}");
}

#[test]
fn nothing_of_the_agents_configuration_or_attributes_takes_part() {
    let (repo, worktree) = TestRepo::with_task();
    let marker = repo.root().join("ran");
    let run = format!("touch {}; cat", marker.display());
    for key in [
        "diff.external",
        "diff.x.textconv",
        "diff.x.command",
        "filter.x.clean",
        "filter.x.smudge",
    ] {
        repo.git(&["config", key, &run]);
    }
    for (key, value) in [
        ("diff.noprefix", "true"),
        ("diff.renames", "copies"),
        ("color.ui", "always"),
        ("diff.context", "0"),
    ] {
        repo.git(&["config", key, value]);
    }
    repo.script(&worktree,
        "echo '* diff=x filter=x -text' >.gitattributes; echo 1 >>src/main.rs; cp tests/t.rs tests/copy.rs",
    );
    let (patch, _) = bytes(&repo, &["--patch"]);
    assert!(!marker.exists(), "no program of the configuration ran");
    let text = String::from_utf8(patch.clone()).expect("text");
    assert!(
        text.contains("--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1 +1,2 @@\n fn main() {}\n+1\n"),
        "{text}"
    );
    assert!(text.contains("b/.gitattributes"), "{text}");
    for key in ["diff.external", "filter.x.clean", "filter.x.smudge"] {
        repo.git(&["config", "--unset", key]);
    }
    applied(&repo, "main", &patch);
}

#[test]
fn line_endings_of_the_base_are_undone_as_git_add_would() {
    let repo = TestRepo::project();
    repo.write(".gitattributes", "*.md text eol=crlf\n");
    repo.commit_all("crlf");
    let worktree = repo.add("task");
    repo.script(
        &worktree,
        "chmod u+w README.md; printf 'read me\\r\\nmore\\r\\n' >README.md",
    );
    let patch = String::from_utf8(bytes(&repo, &["--patch"]).0).expect("text");
    assert!(
        patch.ends_with("@@ -1 +1,2 @@\n read me\n+more\n"),
        "{patch}"
    );
}

#[test]
fn each_commit_has_its_own_patch() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(&worktree,
        "echo 1 >>src/main.rs; git commit -qam one; echo 2 >>src/main.rs; git commit -qam two; echo 3 >>src/main.rs",
    );
    let text = String::from_utf8(bytes(&repo, &["--patch", "--commits"]).0).expect("text");
    let order = [
        " one\n",
        "+1\n",
        " two\n",
        "+2\n",
        "not committed\n",
        "+3\n",
    ];
    let places: Vec<_> = order.iter().map(|part| text.find(part)).collect();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{text}"
    );
    let all = json(&repo, &["--patch", "--commits"]);
    let has = |value: &serde_json::Value, line: &str| {
        value["patch"].as_str().is_some_and(|p| p.contains(line))
    };
    assert!(has(&all["commits"][0], "+1\n") && !has(&all["commits"][0], "+2\n"));
    assert!(has(&all["commits"][1], "+2\n") && has(&all["uncommitted"], "+3\n"));
    assert!(has(&all, "+1\n+2\n+3\n"));
}

#[test]
fn a_root_commit_and_a_merge_have_patches_too() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(repo.main(), "git switch -qc side");
    repo.write("src/side.rs", "side\n");
    repo.commit_all("side");
    repo.script(repo.main(), "git switch -q main");
    repo.script(&worktree,
        "r=$(git commit-tree -m root HEAD:src); git merge -q --allow-unrelated-histories -s ours -m ours $r; \
         echo 1 >>src/main.rs; git commit -qam one; git merge -q --no-commit --no-ff side; \
         echo evil >src/evil.rs; git add -A; git commit -qm merged",
    );
    let all = json(&repo, &["--patch", "--commits"]);
    let patch_of = |subject: &str| {
        let mut commits = all["commits"].as_array().into_iter().flatten();
        let commit = commits.find(|commit| commit["subject"] == subject);
        commit
            .and_then(|c| c["patch"].as_str())
            .unwrap_or("none")
            .to_owned()
    };
    assert!(patch_of("root").contains("new file mode 100644\n"), "{all}");
    let merged = patch_of("merged");
    assert!(
        merged.contains("+evil\n") && !merged.contains("side"),
        "{merged}"
    );
}

#[test]
fn what_no_patch_can_hold_is_named() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(
        &worktree,
        "mkfifo src/f; mkdir -p src/.git; echo x >src/.git/x; echo 1 >>src/main.rs",
    );
    let said = repo.agentwt(&["changed", "task", "--patch"]);
    assert_eq!(
        said.stderr,
        "note: not in the patch: src/.git/x\nnote: not in the patch: src/f\n"
    );
    applied(
        &repo,
        "main",
        said.ok()
            .as_bytes()
            .iter()
            .chain(b"\n")
            .copied()
            .collect::<Vec<_>>()
            .as_slice(),
    );
}

#[test]
fn filters_of_the_base_are_applied_and_those_of_the_agent_are_not() {
    let repo = TestRepo::project();
    repo.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    repo.git(&["config", "filter.upper.smudge", "tr A-Z a-z"]);
    repo.write(".gitattributes", "docs/* filter=upper\n");
    // git filters a file anew only if its stat data changed
    repo.write("docs/api.md", "api v1\n");
    repo.git(&["add", "--renormalize", "."]);
    repo.commit_all("filtered");
    let worktree = repo.add("task");
    repo.script(&worktree,
        "chmod u+w .gitattributes docs/api.md; echo 'docs/* -filter' >.gitattributes; echo '* filter=upper' >src/.gitattributes; \
         echo more >>docs/api.md; echo low >>src/main.rs",
    );
    let patch = String::from_utf8(bytes(&repo, &["--patch"]).0).expect("text");
    assert!(patch.contains(" API V1\n+MORE\n"), "{patch}");
    assert!(
        patch.contains("+low\n") && patch.contains("+docs/* -filter\n"),
        "{patch}"
    );
    repo.git(&["config", "filter.upper.clean", "echo it broke >&2; exit 3"]);
    repo.git(&["config", "filter.upper.required", "true"]);
    let said = repo.agentwt(&["changed", "task", "--patch"]);
    assert!(
        said.fails(5).stderr.contains("it broke"),
        "git's words: {said}"
    );
    let said = repo.agentwt(&["changed", "task", "--patch", "--best-effort", "--name-only"]);
    said.fails(2);
    let said = repo.agentwt(&["changed", "task", "--patch", "--best-effort"]);
    assert!(said.fails(10).stderr.contains("it broke"), "{said}");
}

#[test]
fn a_filter_that_an_agent_plants_beside_its_worktree_never_runs() {
    let (repo, worktree) = TestRepo::with_task();
    let marker = repo.root().join("ran");
    repo.git(&[
        "config",
        "filter.evil.clean",
        &format!("touch {}; cat", marker.display()),
    ]);
    write(
        repo.main(),
        b".git/info/attributes",
        b"* filter=evil diff=evil\n",
    );
    // a carriage return is what git might have to convert
    repo.script(&worktree, "printf 'a\\r\\n' >src/crlf");
    let patch = String::from_utf8(bytes(&repo, &["--patch", "--commits"]).0).expect("text");
    assert!(patch.contains("+a\r\n"), "{patch}");
    assert!(!marker.exists(), "it ran");
}

#[test]
fn on_a_terminal_a_patch_is_coloured_and_in_the_users_own_pager() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(&worktree, "echo more >>src/main.rs; git commit -qam more");
    repo.git(&["config", "--global", "core.pager", "sed s/^/paged:/"]);
    repo.git(&["config", "core.pager", "sed s/^/by-an-agent:/"]);
    let Some(said) = repo.on_a_terminal("git agentwt diff task 2>/dev/null") else {
        return;
    };
    assert!(
        said.lines().all(|line| line.starts_with("paged:")),
        "{said:?}"
    );
    assert!(said.contains("\x1b[32m+\x1b[m\x1b[32mmore"), "{said:?}");
    let shown = |line: &str| {
        repo.on_a_terminal(&format!("{line} 2>/dev/null"))
            .unwrap_or_default()
    };
    let said = shown("NO_COLOR=1 git agentwt log task -p");
    assert!(said.starts_with("paged:commit "), "{said:?}");
    assert!(
        said.contains("paged:+more") && !said.contains('\x1b'),
        "{said:?}"
    );
    let said = shown("git --no-pager agentwt diff task");
    assert!(
        said.contains("\x1b[32m+\x1b[m\x1b[32mmore") && !said.contains("paged:"),
        "{said:?}"
    );
    let said = shown("GIT_PAGER='sed s/^/mine:/' git agentwt log task");
    assert!(said.starts_with("mine:\x1b[36mcommit "), "{said:?}");
    let said = shown("git agentwt diff task --porcelain");
    assert!(
        said.contains("\r\n+more") && !said.contains("paged:"),
        "{said:?}"
    );
    repo.git(&["config", "color.ui", "false"]);
    let said = shown("git agentwt diff task");
    assert!(said.contains("paged:+more"), "{said:?}");
    let (patch, _) = bytes(&repo, &["--patch"]);
    assert!(!patch.contains(&0x1b), "a pipe");
}
