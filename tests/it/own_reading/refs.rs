//! Tests of refs, their logs, and the names that branches may have.

use std::fs;

use git_agentwt::git::{Git, GitMode};

use super::{Both, By};
use crate::support::{TestRepo, gits, write};

const NAMES: &[&str] = &[
    "refs/heads/main",
    "refs/heads/",
    "refs/heads/a",
    "refs/heads/a/b",
    "refs/heads/a/b/c",
    "refs/tags/",
    "refs/tags/light",
    "refs/remotes/*/main",
    "refs/remotes/",
    "refs/heads/sym",
    "refs/heads/gone",
    "refs/heads/fix-git",
    "refs/replace/",
];

/// A repository with two commits, branches, tags and remote-tracking branches.
fn repository() -> TestRepo {
    let repo = TestRepo::project();
    repo.write("docs/guide.md", "two\n");
    repo.commit_all("two");
    repo.git(&["branch", "a/b/c", "HEAD~1"]);
    repo.git(&["branch", "fix-git"]);
    repo.git(&["tag", "light"]);
    repo.git(&["tag", "-a", "-m", "x", "heavy"]);
    repo.git(&["tag", "-a", "-m", "x", "heavier", "heavy"]);
    repo.git(&["tag", "blob", "HEAD:README.md"]);
    repo.git(&["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
    repo.git(&["update-ref", "refs/remotes/other/main", "HEAD"]);
    repo.git(&["update-ref", "refs/remotes/other/deep/main", "HEAD"]);
    repo.git(&[
        "symbolic-ref",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/main",
    ]);
    repo.git(&["symbolic-ref", "refs/heads/sym", "refs/heads/a/b/c"]);
    repo
}

fn file(repo: &TestRepo, path: &str, text: &str) {
    write(&repo.main().join(".git"), path.as_bytes(), text.as_bytes());
}

#[test]
fn loose_packed_and_symbolic_refs_are_those_of_each_git() {
    for (_, bin) in gits() {
        let repo = repository().with_git(&bin);
        let ask = |by| {
            Both::of(&repo).ask_refs(by, NAMES);
            Both::of(&repo).hardened().ask_refs(by, NAMES);
        };
        ask(By::Us);
        repo.git(&["pack-refs", "--all"]);
        ask(By::Us);
        // both: the loose one counts
        repo.git(&["update-ref", "refs/heads/main", "HEAD~1"]);
        repo.git(&["branch", "new"]);
        ask(By::Us);
        repo.git(&["update-ref", "-d", "refs/tags/light"]);
        ask(By::Us);
        let both = Both::of(&repo);
        for tag in ["refs/tags/heavy", "refs/tags/heavier"] {
            assert!(
                both.ask(By::Us, tag, |git| git.rev_parse_commit(tag))
                    .is_some()
            );
        }
        both.ask(By::Git, "a blob", |git| {
            git.rev_parse_commit("refs/tags/blob")
        });
        // detached, unborn
        repo.git(&["checkout", "-q", "--detach"]);
        ask(By::Us);
        repo.git(&["symbolic-ref", "HEAD", "refs/heads/unborn"]);
        ask(By::Us);
        Both::of(&repo).ask(By::Us, "unborn", |git| git.rev_parse_commit("HEAD"));
    }
}

#[test]
fn revisions_that_are_no_full_names_are_gits() {
    let repo = repository();
    let (head, tree) = (
        repo.git(&["rev-parse", "HEAD"]),
        repo.git(&["rev-parse", "HEAD^{tree}"]),
    );
    let tag = repo.git(&["rev-parse", "refs/tags/heavier"]);
    let both = Both::of(&repo);
    let ask = |by, name: &str| both.ask(by, name, |git| git.rev_parse_commit(name));
    ask(By::Us, &head);
    assert_eq!(
        ask(By::Us, &tag).flatten().map(|id| id.to_string()),
        Some(head.clone())
    );
    let short = &head[..10];
    let missing = "1".repeat(40);
    let described = format!("refs/heads/gone-1-g{short}");
    for odd in [
        "main",
        "heads/main",
        "@",
        "HEAD~1",
        "refs/heads/main~1",
        "refs/heads/main@{0}",
        short,
        &tree,
        &missing,
        &"0".repeat(40),
        &head.to_uppercase(),
        "",
        "^refs/heads/main",
        "refs/heads/..",
        ":/two",
        &described,
        "refs/heads/main:README.md",
        "ORIG_HEAD",
    ] {
        ask(By::Git, odd);
    }
    // a ref that only has a full name in its own name
    repo.git(&["update-ref", "refs/tags/refs/heads/hidden", "HEAD"]);
    ask(By::Git, "refs/heads/hidden");
}

#[test]
fn what_is_broken_is_left_to_git() {
    let id = "1234567890123456789012345678901234567890";
    let depth: Vec<(String, String)> = (0..6)
        .map(|n| {
            (
                format!("refs/heads/d{n}"),
                format!("ref: refs/heads/d{}\n", n + 1),
            )
        })
        .collect();
    let mut all: Vec<(&str, &str)> = vec![
        ("refs/heads/bad", "what is this\n"),
        ("refs/heads/bad", ""),
        (
            "refs/heads/bad",
            "0000000000000000000000000000000000000000\n",
        ),
        ("refs/heads/bad..name", id),
        ("refs/heads/bad", "ref: ../../secret\n"),
        ("refs/heads/bad", "ref: refs/heads/bad\n"),
        ("packed-refs", "no line of a ref\n"),
        (
            "packed-refs",
            "1234567890123456789012345678901234567890 refs/heads/cut",
        ),
    ];
    all.extend(
        depth
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str())),
    );
    for (name, text) in all {
        let repo = repository();
        file(&repo, name, text);
        let both = Both::of(&repo);
        both.ask(By::Any, name, |git| git.for_each_ref(&[]));
        both.ask(By::Any, name, |git| git.rev_parse_commit(name));
        both.ask(By::Any, name, |git| git.rev_parse_commit("refs/heads/bad"));
        both.ask(By::Any, name, |git| git.for_each_ref(&["refs/heads/"]));
    }
    // what git passes over, and a commit that is missing: it is listed and leads to none
    for (by, name, text) in [
        (By::Us, "refs/heads/x.lock", "half"),
        (By::Us, "refs/heads/.hidden", "half"),
        (By::Us, "refs/heads/missing", id),
        (By::Us, "refs/heads/dangling", "ref: refs/heads/nowhere\n"),
        (By::Us, "refs/bisect/bad", id),
    ] {
        let repo = repository();
        file(&repo, name, text);
        let both = Both::of(&repo);
        both.ask(by, name, |git| git.for_each_ref(&[]));
        both.ask(By::Any, name, |git| git.rev_parse_commit(name));
    }
    for path in ["HEAD", "refs", "objects"] {
        let repo = repository();
        fs::rename(
            repo.main().join(".git").join(path),
            repo.root().join("away"),
        )
        .expect("moved");
        Both::of(&repo).ask_refs(By::Git, &["refs/heads/main"]);
    }
    let repo = repository();
    let link = repo.main().join(".git/refs/heads/link");
    std::os::unix::fs::symlink("main", link).expect("a link");
    Both::of(&repo).ask(By::Git, "a link", |git| git.for_each_ref(&[]));
    Both::of(&repo).ask(By::Git, "a link", |git| {
        git.rev_parse_commit("refs/heads/link")
    });
}

#[test]
fn names_of_any_bytes_are_read() {
    let repo = repository();
    repo.git(&["branch", "größe"]);
    let id = repo.git(&["rev-parse", "HEAD"]);
    write(repo.main(), b".git/refs/heads/\xff\xfe", id.as_bytes());
    let both = Both::of(&repo);
    both.ask(By::Us, "bytes", |git| git.for_each_ref(&["refs/heads/"]));
    repo.git(&["pack-refs", "--all"]);
    both.ask(By::Us, "bytes", |git| git.for_each_ref(&["refs/heads/"]));
    both.ask(By::Us, "bytes", |git| {
        git.rev_parse_commit("refs/heads/größe")
    });
}

#[test]
fn replaced_objects_and_other_formats_are_left_to_git() {
    let repo = repository();
    repo.git(&["tag", "-a", "-m", "y", "another", "HEAD~1"]);
    repo.git(&["replace", "refs/tags/heavy", "refs/tags/another"]);
    let ask =
        |by, both: &Both| both.ask(by, "a tag", |git| git.rev_parse_commit("refs/tags/heavy"));
    ask(By::Git, &Both::of(&repo));
    ask(By::Us, &Both::of(&repo).hardened());
    repo.git(&["pack-refs", "--all"]);
    let _ = fs::remove_dir_all(repo.main().join(".git/refs/replace"));
    ask(By::Git, &Both::of(&repo));

    // an object with another content than its id says
    let repo = repository();
    let object = |id: &str| {
        repo.main()
            .join(".git/objects")
            .join(&id[..2])
            .join(&id[2..])
    };
    let id = |name: &str| repo.git(&["rev-parse", name]);
    let (planted, over) = (object(&id("HEAD")), object(&id("HEAD~1")));
    fs::remove_file(&over).expect("removed");
    fs::copy(planted, over).expect("planted");
    Both::of(&repo).ask(By::Git, "planted", |git| {
        git.rev_parse_commit("refs/heads/a/b/c")
    });

    let repo = TestRepo::empty_with(&["--object-format=sha256"]);
    repo.fill();
    Both::of(&repo).ask_refs(By::Us, &["refs/heads/main"]);
    Both::of(&repo).ask(By::Us, "sha256", Git::reflog_head);
}

#[test]
fn logs_are_read_as_git_reads_them() {
    for (_, bin) in gits() {
        let repo = repository().with_git(&bin);
        repo.git(&[
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "with  spaces\tand ümlauts ",
        ]);
        repo.git(&[
            "update-ref",
            "--create-reflog",
            "-m",
            "x  y",
            "refs/heads/main",
            "HEAD~1",
        ]);
        repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
        let both = Both::of(&repo);
        let log = both.ask(By::Us, "HEAD", Git::reflog_head).expect("a log");
        assert!(log.len() > 3, "{log:?}");
        for name in [
            "refs/heads/main",
            "refs/heads/a/b/c",
            "refs/heads/none",
            "refs/remotes/origin/main",
        ] {
            both.ask(By::Us, name, |git| git.reflog(name));
        }
        both.ask(By::Any, "no stash", Git::stashes);
        repo.write("docs/guide.md", "stashed\n");
        repo.git(&["stash", "-q"]);
        both.ask(By::Us, "stashes", Git::stashes);
        // lines that no git writes, each at the end of the log
        let logs = repo.main().join(".git/logs/HEAD");
        let whole = fs::read_to_string(&logs).expect("a log");
        let last = whole.lines().last().expect("a line").to_owned();
        let mut fields = last.splitn(3, ' ');
        let (old, new, rest) = (
            fields.next().unwrap_or(""),
            fields.next().unwrap_or(""),
            fields.next().unwrap_or(""),
        );
        let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
        let missing = "1".repeat(40);
        let without_reason = rest.split('\t').next().unwrap_or_default();
        for (by, line) in [
            (By::Us, format!("{old} {new} {without_reason}\n")),
            (By::Us, format!("{old} {new} {without_reason}\tends\r\n")),
            (
                By::Us,
                format!("{old} {new} {without_reason}\ta\tb > c 1 +0000\n"),
            ),
            (By::Git, format!("{old} {new} {rest}")),
            (By::Git, format!("{old} {missing} {rest}\n")),
            (By::Git, format!("{old} {} {rest}\n", "0".repeat(40))),
            (By::Git, format!("{old} {tree} {rest}\n")),
            (By::Git, "nonsense\n".to_owned()),
            (By::Git, "\n".to_owned()),
            (By::Git, format!("{old} {new} Ada <a> 12 0000\tx\n")),
            (By::Git, format!("{old} {new} Ada <a> 0 +0000\tx\n")),
            (By::Git, format!("{old} {new} nobody\tx\n")),
            (By::Git, format!("{old} {new} Ada <a> 12 +0000x\ty\n")),
        ] {
            fs::write(&logs, format!("{whole}{line}")).expect("written");
            both.ask(by, &line, Git::reflog_head);
        }
        fs::write(&logs, "").expect("written");
        both.ask(By::Git, "empty", Git::reflog_head);
        fs::remove_file(&logs).expect("removed");
        both.ask(By::Git, "none", Git::reflog_head);
    }
}

#[test]
fn upstreams_are_those_of_git() {
    let repo = repository();
    repo.git(&["remote", "add", "origin", "../elsewhere"]);
    let set = |key: &str, value: &str| repo.git(&["config", key, value]);
    for (branch, remote, merge) in [
        ("main", "origin", "refs/heads/main"),
        ("fix-git", ".", "refs/heads/main"),
        ("a/b/c", "nowhere", "refs/heads/main"),
        ("sym", "origin", "refs/tags/light"),
    ] {
        set(&format!("branch.{branch}.remote"), remote);
        set(&format!("branch.{branch}.merge"), merge);
    }
    let both = Both::of(&repo);
    let ask = || {
        both.ask(By::Any, "branches", Git::branches);
        for name in ["main", "fix-git", "a/b/c", "sym", "none", "a"] {
            let name = format!("refs/heads/{name}");
            both.ask(By::Any, &name, |git| git.upstream(&name));
        }
    };
    ask();
    let main = both
        .ask(By::Any, "main", |git| git.upstream("refs/heads/main"))
        .flatten();
    assert_eq!(main.as_deref(), Some("refs/remotes/origin/main"));
    set("remote.origin.fetch", "+refs/heads/*:refs/remotes/mine/*");
    ask();
    repo.git(&[
        "config",
        "--add",
        "remote.origin.fetch",
        "+refs/heads/main:refs/remotes/one/main",
    ]);
    ask();
    repo.git(&["config", "--add", "branch.main.merge", "refs/heads/a/b/c"]);
    repo.git(&["config", "branch.fix-git.merge", "refs/heads/not-there"]);
    ask();
}

#[test]
fn a_branch_may_have_the_names_that_git_lets_it_have() {
    let repo = TestRepo::empty();
    let both = Both::of(&repo);
    let parts = [
        "a",
        ".",
        "..",
        "/",
        "//",
        "@",
        "{",
        "@{",
        "~",
        "^",
        ":",
        "?",
        "*",
        "[",
        "\\",
        " ",
        "\t",
        "\x7f",
        "-",
        ".lock",
        "lock",
        "é",
        "HEAD",
        "refs/heads/",
        "\u{1f600}",
        "}",
        "%",
        "\"",
    ];
    let mut names: Vec<String> = vec![String::new()];
    names.extend(parts.iter().map(ToString::to_string));
    for one in parts {
        for other in ["a", ".", "/", "@", "{", ".lock", "é"] {
            names.push(format!("{one}{other}"));
            names.push(format!("{other}{one}"));
            names.push(format!("a{one}{other}b"));
        }
    }
    for name in names {
        both.ask(By::Us, &name, |git| git.check_branch_name(&name));
    }
}

#[test]
fn no_ref_is_missed_while_it_is_packed() {
    let repo = repository();
    let both = Both::of(&repo);
    let git = Both::of(&repo).own().with_mode(GitMode::Hardened);
    let all = both
        .ask(By::Us, "before", |git| git.for_each_ref(&[]))
        .expect("refs")
        .len();
    std::thread::scope(|scope| {
        let packing = scope.spawn(|| {
            for round in 0..25 {
                repo.git(&["pack-refs", "--all", "--prune"]);
                let there = ["HEAD", "HEAD~1"][round % 2];
                repo.git(&["update-ref", "refs/heads/fix-git", there]);
            }
        });
        while !packing.is_finished() {
            let now = git.for_each_ref(&[]).expect("refs");
            assert_eq!(now.len(), all, "{now:?}");
            let found = git.rev_parse_commit("refs/heads/fix-git").expect("read");
            assert!(found.is_some(), "it was there all the time");
        }
    });
}
