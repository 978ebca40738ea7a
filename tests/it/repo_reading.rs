//! What `Git` reads of a repository is what git says, whether refs are files or reftables.

use std::fmt::Debug;
use std::path::Path;

use bstr::ByteSlice;
use camino::Utf8Path;
use git_agentwt::git::environment::GitMode;
use git_agentwt::git::error::GitError;
use git_agentwt::git::index::OpenIndex;
use git_agentwt::git::object_format::ObjectFormat;
use git_agentwt::git::process::Git;
use git_agentwt::git::reflog::ReflogEntry;
use git_agentwt::git::runner::SharedRunner;
use git_agentwt::words::name::CommitId;

use crate::support::{Said, TestRepo};

/// Two branches that were merged once, tags, an upstream, a stash and two worktrees.
const HISTORY: &str = "set -e
    git config user.name A; git config user.email a@example.invalid
    git symbolic-ref HEAD refs/heads/main
    for n in 1 2 3; do echo $n >f; git add f; git commit -qm \"main $n\"; done
    git checkout -qb topic/a HEAD~2; echo t >t; git add t; git commit -qm topic
    git merge -q -m merge main; git checkout -q main; echo 4 >f; git commit -qam 'main 4'
    git tag -a -m x heavy topic/a; git tag light; git branch other HEAD~1
    git config remote.origin.url ../up; git config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'
    git update-ref refs/remotes/origin/topic/a HEAD~1
    git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/topic/a
    git config branch.topic/a.remote origin; git config branch.topic/a.merge refs/heads/topic/a
    git config branch.other.remote .; git config branch.other.merge refs/heads/main
    echo stashed >f; git stash -q
    git worktree add -q --detach ../$1-detached; git worktree add -q ../$1-other other";

fn made(repo: &TestRepo, name: &str, options: &str) -> Option<Git> {
    let init = format!("git init -q {options} {name}");
    if repo.sh(repo.root(), &init).status != 0 {
        return None;
    }
    let dir = repo.root().join(name);
    let script = format!("set -- {name}; {HISTORY}");
    repo.sh(&dir, &script).ok();
    let dir = Utf8Path::from_path(&dir).expect("it is UTF-8");
    let git = Git::unchecked(dir, SharedRunner::default());
    Some(git.on(&dir.join(".git"), Some(dir)))
}

/// Everything that is asked, each answer as text.
fn answers(git: &Git) -> Vec<(&'static str, String)> {
    fn text<T: Debug>(answer: Result<T, GitError>) -> String {
        format!("{:?}", answer.expect("it can be read"))
    }
    let id = |name: &str| {
        git.rev_parse_commit(name)
            .expect("it can be read")
            .expect(name)
    };
    let (main, topic) = (id("refs/heads/main"), id("refs/heads/topic/a"));
    let tips = [main.clone(), topic.clone(), id("HEAD~2")];
    let worktrees = git.worktree_list().expect("they can be read");
    let worktrees = worktrees
        .iter()
        .map(|one| (&one.head, &one.branch, one.bare, one.locked));
    vec![
        ("head", text(git.symbolic_ref_head())),
        ("refs", text(git.for_each_ref(&["refs/"]))),
        (
            "some refs",
            text(git.for_each_ref(&["refs/heads/", "refs/remotes/*/topic/a"])),
        ),
        ("remote refs", text(git.for_each_ref(&["refs/remotes/"]))),
        ("branches", text(git.branches())),
        ("upstream", text(git.upstream("refs/heads/topic/a"))),
        ("tag", text(git.rev_parse_commit("refs/tags/heavy"))),
        ("nothing", text(git.rev_parse_commit("refs/heads/nothing"))),
        ("revision", text(git.rev_parse_commit("topic/a~1"))),
        ("log", text(git.reflog("HEAD").map(without_old))),
        (
            "no log",
            text(git.reflog("refs/tags/light").map(without_old)),
        ),
        ("stashes", text(git.reflog("refs/stash").map(without_old))),
        (
            "base",
            text(git.merge_base_all(&main, std::slice::from_ref(&topic))),
        ),
        ("octopus", text(git.merge_base_octopus(&tips))),
        ("independent", text(git.merge_base_independent(&tips))),
        ("new", text(git.rev_list(&[&topic], &[&main]))),
        ("ahead", text(git.rev_list_count(&topic, &main))),
        ("behind", text(git.rev_list_count(&main, &topic))),
        ("worktrees", format!("{:?}", worktrees.collect::<Vec<_>>())),
    ]
}

/// A log without where the ref was: where refs are tables, git does not say that.
fn without_old(mut log: Vec<ReflogEntry>) -> Vec<ReflogEntry> {
    for entry in &mut log {
        entry.old = None;
    }
    log
}

#[test]
fn a_commit_is_read_once_for_all_questions_about_history() {
    let repo = TestRepo::empty();
    let git = made(&repo, "once", "").expect("git makes a repository of files");
    let id = |name: &str| {
        let found = git.rev_parse_commit(name).expect("it can be read");
        found.expect(name)
    };
    let (main, topic) = (id("refs/heads/main"), id("refs/heads/topic/a"));
    let before = git.merge_base_all(&main, std::slice::from_ref(&topic));
    let listed = git.rev_list(&[&main, &topic], &[]).expect("it can be read");
    let dir = repo.root().join("once");
    for id in &listed {
        let (first, rest) = id.as_str().split_at(2);
        let object = dir.join(".git/objects").join(first).join(rest);
        std::fs::remove_file(object).expect("a loose object");
    }
    let after = git.merge_base_all(&main, std::slice::from_ref(&topic));
    assert_eq!(format!("{before:?}"), format!("{after:?}"));
    let again = git.rev_list(&[&main, &topic], &[]);
    assert_eq!(
        format!("{again:?}"),
        format!("{:?}", Ok::<_, GitError>(listed))
    );
}

#[test]
fn refs_in_files_and_in_reftables_are_answered_alike() {
    let repo = TestRepo::empty();
    let files = made(&repo, "files", "").expect("git makes repositories");
    let Some(tables) = made(&repo, "tables", "--ref-format=reftable") else {
        eprintln!("skipped: this git has no reftable");
        return;
    };
    for mode in [GitMode::User, GitMode::Hardened] {
        let (one, other) = (
            answers(&files.with_mode(mode)),
            answers(&tables.with_mode(mode)),
        );
        for (one, other) in one.iter().zip(&other) {
            assert_eq!(one, other, "{mode:?}");
        }
    }
}

#[test]
fn refs_logs_history_and_settings_are_those_of_git() {
    let repo = TestRepo::empty();
    let ours = made(&repo, "files", "").expect("git makes repositories");
    let dir = repo.root().join("files");
    let lines = |arguments: &str| {
        let said = repo.sh(&dir, &format!("git {arguments}")).ok();
        said.lines().map(ToOwned::to_owned).collect::<Vec<String>>()
    };
    let named = |all: Vec<git_agentwt::git::refs::Ref>| -> Vec<String> {
        let line = |one: &git_agentwt::git::refs::Ref| format!("{} {}", one.id, one.name);
        all.iter().map(line).collect()
    };
    for pack in [
        "true",
        "git pack-refs --all",
        "git update-ref refs/heads/new HEAD~2",
    ] {
        repo.sh(&dir, pack).ok();
        let refs = named(ours.for_each_ref(&["refs/"]).expect("they can be read"));
        assert_eq!(
            refs,
            lines("for-each-ref --format='%(objectname) %(refname)'"),
            "{pack}"
        );
    }
    let log = ours.reflog("HEAD").expect("it can be read");
    let log: Vec<String> = log
        .iter()
        .map(|one| format!("{} {}", one.id, one.reason))
        .collect();
    assert_eq!(log, lines("log -g --format='%H %gs'"));
    let all = ours.config_list().expect("they can be read");
    let local = all.iter().filter(|(scope, ..)| scope == "local");
    let local: Vec<String> = local
        .map(|(_, key, value)| format!("{key}={value}"))
        .collect();
    assert_eq!(local, lines("config --local --list"));
    let ids = |found: &[CommitId]| found.iter().map(ToString::to_string).collect::<Vec<_>>();
    let id = |name: &str| {
        ours.rev_parse_commit(name)
            .expect("it can be read")
            .expect(name)
    };
    let (main, topic) = (id("main"), id("topic/a"));
    let base = ours
        .merge_base_all(&main, std::slice::from_ref(&topic))
        .expect("it can be read");
    assert_eq!(ids(&base), lines("merge-base --all main topic/a"));
    let list = ours
        .rev_list(&[&main, &topic], &[])
        .expect("it can be read");
    let mut listed = lines("rev-list main topic/a");
    let mut found = ids(&list);
    listed.sort();
    found.sort();
    assert_eq!(found, listed);
}

/// Commits of up to two parents, each of a time that need not be after theirs.
fn random_history(random: &mut impl FnMut(usize) -> usize) -> String {
    let mut stream = String::from("reset refs/heads/none\n\n");
    for number in 1..60 {
        let time = 1_700_000_000 + number * 60 + random(4) * random(2_000);
        stream += &format!("commit refs/heads/c{number}\nmark :{number}\n");
        stream += &format!(
            "committer A <a@b.c> {time} +0000\ndata 2\n{}\n",
            number % 10
        );
        if number > 2 {
            let (one, other) = (
                number - 1 - random(3.min(number - 1)),
                1 + random(number - 1),
            );
            stream += &format!("from :{one}\n");
            if random(3) == 0 && other != one {
                stream += &format!("merge :{other}\n");
            }
        }
        stream += "\n";
    }
    stream
}

#[test]
fn commits_are_counted_as_git_counts_them_whatever_their_times() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(state >> 40).unwrap_or(0) % below
    };
    for round in 0..6 {
        let repo = TestRepo::empty();
        let dir = repo.root().join("r");
        repo.sh(repo.root(), "git init -q r").ok();
        std::fs::write(dir.join("in"), random_history(&mut random)).expect("a file");
        repo.sh(&dir, "git fast-import --quiet <in").ok();
        let root = Utf8Path::from_path(&dir).expect("it is UTF-8");
        let git = Git::unchecked(root, SharedRunner::default());
        let git = git.on(&root.join(".git"), Some(root));
        let refs = git.for_each_ref(&["refs/heads/"]).expect("refs");
        let ids: Vec<&CommitId> = refs.iter().map(|one| &one.id).collect();
        let lines = |arguments: String| {
            let said = repo.sh(&dir, &format!("git {arguments}")).ok();
            let mut lines: Vec<String> = said.lines().map(ToOwned::to_owned).collect();
            lines.sort();
            lines
        };
        for _ in 0..12 {
            let some: Vec<&CommitId> = (0..5).map(|_| ids[random(ids.len())]).collect();
            let (one, other) = (some[0], some[1]);
            let reach = git.reach(some.iter().copied()).expect("it can be read");
            let is_ancestor = repo
                .sh(&dir, &format!("git merge-base --is-ancestor {one} {other}"))
                .status
                == 0;
            assert_eq!(
                git.is_ancestor(one, other).ok(),
                Some(is_ancestor),
                "{round}"
            );
            assert_eq!(reach.has(other, one), is_ancestor, "{round}");
            let owned: Vec<CommitId> = some.iter().copied().cloned().collect();
            let kept = git.merge_base_independent(&owned).expect("it can be read");
            let mut kept: Vec<String> = kept.iter().map(ToString::to_string).collect();
            kept.sort();
            let all: Vec<&str> = some.iter().map(|id| id.as_str()).collect();
            let independent = lines(format!("merge-base --independent {}", all.join(" ")));
            assert_eq!(kept, independent, "{round}");
            let listed = git
                .rev_list(&some[..1], &some[1..])
                .expect("it can be read");
            let mut listed: Vec<String> = listed.iter().map(ToString::to_string).collect();
            listed.sort();
            let not = all[1..].join(" ^");
            assert_eq!(listed, lines(format!("rev-list {one} ^{not}")), "{round}");
            let count = lines(format!("rev-list --count {one} ^{other}"));
            let counted = git.rev_list_count(other, one).expect("it can be read");
            assert_eq!(vec![counted.to_string()], count, "{round}");
            assert_eq!(reach.only_in(one, other), Some(counted), "{round}");
        }
    }
}

/// The entries of the base of a split index are not in the file: no time can be written there.
#[test]
fn change_times_are_written_into_no_split_index() {
    let repo = TestRepo::project();
    let index = repo.main().join(".git/index");
    let index = Utf8Path::from_path(&index).expect("it is UTF-8");
    let open = || OpenIndex::read(index, ObjectFormat::default()).expect("it can be read");
    assert!(open().with_ctimes(&[]).is_some());
    let split =
        "git update-index --split-index; chmod u+w README.md; echo x >>README.md; git add -A";
    repo.sh(repo.main(), split).ok();
    assert!(open().with_ctimes(&[]).is_none());
    std::fs::remove_file(index).expect("it is there");
    assert!(open().with_ctimes(&[]).is_none());
}

#[test]
fn many_patterns_list_what_git_lists() {
    let repo = TestRepo::empty();
    let git = made(&repo, "files", "").expect("git makes repositories");
    let dir = repo.root().join("files");
    let tags =
        "for n in $(seq 1 300); do echo create refs/tags/v$n HEAD; done | git update-ref --stdin
        for n in heads/x/y heads/x/z/w heads/xy; do git update-ref refs/$n HEAD; done";
    repo.sh(&dir, tags).ok();
    let many: Vec<String> = (1..300).map(|n| format!("refs/tags/v{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for patterns in [
        &many[..],
        &["refs/heads/x", "refs/heads/x/y", "refs/tags/v1"],
        &["refs/heads/x/", "refs/remotes/*/topic/a", "refs/tags/v1*"],
        &["refs/heads/x/z", "refs/heads/x/z/", "refs/tags"],
        &["refs/*/x", "refs/heads/top"],
    ] {
        let said = format!(
            "git for-each-ref --format='%(refname)' '{}'",
            patterns.join("' '")
        );
        let expected = repo.sh(&dir, &said).ok();
        let refs = git.for_each_ref(patterns).expect("they can be read");
        let refs: Vec<String> = refs.iter().map(|one| one.name.to_string()).collect();
        let expected: Vec<&str> = expected.lines().collect();
        assert_eq!(refs, expected, "{patterns:?}");
    }
}

#[test]
fn a_fifo_in_the_place_of_a_file_of_git_is_an_error_at_once() {
    let repo = TestRepo::project();
    let _ = repo.add("task");
    let admin = repo.main().join(".git/worktrees/task");
    repo.keep_as("pristine");
    let own = ["HEAD", "index", "logs/HEAD", "config.worktree", "commondir"];
    let own = own.map(|file| admin.join(file));
    let common = [
        "shallow",
        "objects/info/alternates",
        "objects/pack/multi-pack-index",
        "refs/heads/main",
    ];
    let common = common.map(|file| repo.main().join(".git").join(file));
    for file in own.iter().chain(&common) {
        let said = with_a_fifo(&repo, file, "task");
        // verification of a worktree needs no branch that has not moved
        let is_needed = !file.ends_with("refs/heads/main");
        assert!(
            said.status == 0 && !is_needed || matches!(said.status, 1 | 5 | 6),
            "{said}"
        );
        let said = with_a_fifo(&repo, file, "--range main..agentwt/task --write 'src/**'");
        let is_common = common.contains(file);
        assert!(
            said.status != 124 && (said.status == 5) == is_common,
            "{said}"
        );
    }
}

/// Puts a FIFO in the place of a file, and verifies.
fn with_a_fifo(repo: &TestRepo, file: &Path, arguments: &str) -> Said {
    let line = format!(
        "rm -f '{0}' && mkfifo '{0}' && timeout 20 git-agentwt verify {arguments}",
        file.display()
    );
    let said = repo.sh(repo.main(), &line);
    repo.bring_back("pristine");
    said
}

#[test]
fn a_fifo_in_the_git_directory_of_a_submodule_is_an_error_at_once() {
    let repo = TestRepo::project();
    let line = "git init -q ../lib && git -C ../lib commit -q --allow-empty -m lib
        git -c protocol.file.allow=always submodule --quiet add ../lib lib && git commit -q -m lib";
    repo.sh(repo.main(), line).ok();
    let worktree = repo.add("task");
    let line = "git -c protocol.file.allow=always submodule --quiet update --init";
    repo.sh(&worktree, line).ok();
    let modules = repo.main().join(".git/worktrees/task/modules/lib");
    assert!(modules.is_dir());
    repo.keep_as("pristine");
    for file in [
        "shallow",
        "objects/info/alternates",
        "HEAD",
        "config",
        "logs/HEAD",
    ] {
        let said = with_a_fifo(&repo, &modules.join(file), "task");
        assert!(matches!(said.status, 1 | 5 | 6), "{file}: {said}");
    }
}

#[test]
fn names_that_are_not_utf_8_elsewhere_stop_no_other_worktree() {
    let repo = TestRepo::project();
    let worktree = repo
        .root()
        .join(Path::new(b"w\xff".to_path().expect("a path of bytes")));
    let line = "b=$(printf 'b\\377'); git branch \"$b\" && git worktree add -q \"../$(printf 'w\\377')\" \"$b\"";
    repo.sh(repo.main(), line).ok();
    assert!(worktree.exists());
    repo.add("task");
    repo.agentwt(&["list"]).ok();
    repo.agentwt(&["verify", "task"]).ok();
    repo.agentwt(&["remove", "task"]).ok();
}

#[test]
fn settings_that_are_written_while_a_repository_is_opened_are_read_again() {
    let repo = TestRepo::project();
    let main = Utf8Path::from_path(repo.main()).expect("it is UTF-8");
    let config = main.join(".git/config");
    let written = main.join(".git/config.new");
    let text = std::fs::read_to_string(&config).expect("settings");
    for round in 0..300_u64 {
        std::fs::write(&written, format!("{text}[test]\n\tround = {round}\n")).expect("written");
        let git = Git::unchecked(main, SharedRunner::default()).on(&main.join(".git"), Some(main));
        std::thread::scope(|threads| {
            threads.spawn(|| {
                let began = std::time::Instant::now();
                let wait = std::time::Duration::from_micros(round * 4);
                while began.elapsed() < wait {
                    std::hint::spin_loop();
                }
                std::fs::rename(&written, &config).expect("renamed");
            });
            git.config_get("test.round").expect("it can be read");
        });
        let read = git.config_get("test.round").expect("it can be read");
        assert_eq!(read, Some(round.to_string()), "round {round}");
    }
}

#[test]
fn a_tag_that_names_itself_ends_the_reading() {
    let repo = TestRepo::project();
    repo.add("task");
    let forge = "python3 -c '
import os, zlib
id = \"1234567890\" * 4
text = f\"object {id}\\ntype tag\\ntag x\\ntagger a <a@b> 0 +0000\\n\\nx\\n\".encode()
os.makedirs(f\".git/objects/{id[:2]}\", exist_ok=True)
open(f\".git/objects/{id[:2]}/{id[2:]}\", \"wb\").write(zlib.compress(b\"tag %d\\0\" % len(text) + text))
open(\".git/refs/heads/agentwt/task\", \"w\").write(id + \"\\n\")'";
    repo.sh(repo.main(), forge).ok();
    let said = repo.sh(repo.main(), "timeout 60 git agentwt verify task");
    assert_ne!(said.status, 124, "{said}");
    assert_ne!(said.status, 0, "{said}");
}
