//! What is selected for syncing in real repositories, and what is never entered.

use std::os::unix::fs::symlink;
use std::path::Path;

use camino::Utf8Path;
use git_agentwt::error::Error;
use git_agentwt::facts::candidates::candidates;
use git_agentwt::facts::{FactsError, Repository};
use git_agentwt::git::{SharedRunner, Trace};
use git_agentwt::sync::{CandidateKind, Candidates, Need, Pattern, PatternOrigin};

use crate::support::{TestRepo, write};

#[track_caller]
fn patterns(globs: &[&str]) -> Vec<Pattern> {
    let parse = |glob: &&str| {
        Pattern::parse(glob, PatternOrigin::Flag("--sync"), Need::Required)
            .unwrap_or_else(|fault| panic!("{glob}: {fault}"))
    };
    globs.iter().map(parse).collect()
}

#[track_caller]
fn find_in(dir: &Path, globs: &[&str]) -> Result<Candidates, FactsError> {
    let dir = Utf8Path::from_path(dir).expect("it is UTF-8");
    let repository = Repository::find(dir, SharedRunner::default(), Trace::default())?;
    candidates(&repository, &patterns(globs))
}

/// What is selected, one path a word: `/` behind a directory, `@` behind a link.
#[must_use]
#[track_caller]
fn selected(repo: &TestRepo, globs: &[&str]) -> String {
    shown(&find_in(repo.main(), globs).expect("it can be read"))
}

#[must_use]
fn shown(found: &Candidates) -> String {
    let word = |one: &git_agentwt::sync::Candidate| match one.kind {
        CandidateKind::File => one.path.to_string(),
        CandidateKind::Link => format!("{}@", one.path),
        CandidateKind::Directory => format!("{}/", one.path),
        CandidateKind::Special(what) => format!("{} ({what})", one.path),
    };
    let mut words: Vec<String> = found.entries.iter().map(word).collect();
    words.extend(found.not_entered.iter().map(|path| format!("!{path}")));
    words.join(" ")
}

#[test]
fn untracked_files_are_selected_and_tracked_ones_counted() {
    let repo = TestRepo::project();
    for path in [
        ".env",
        ".env.local",
        "src/.env",
        "src/local.rs",
        "target/a/b",
        "x.log",
    ] {
        repo.write(path, "x");
    }
    std::fs::create_dir_all(repo.main().join("target/empty/deep")).expect("a directory");
    for (globs, expected) in [
        (vec![".env*"], ".env .env.local"),
        (vec!["**/.env"], ".env src/.env"),
        (vec!["src/**"], "src/.env src/local.rs"),
        (vec!["src"], "src/.env src/local.rs"),
        (
            vec!["target"],
            "target/ target/a/ target/a/b target/empty/ target/empty/deep/",
        ),
        (
            vec!["target/**"],
            "target/a/ target/a/b target/empty/ target/empty/deep/",
        ),
        (vec!["target/*/deep"], "target/empty/deep/"),
        (vec!["target/a/"], "target/a/ target/a/b"),
        (vec!["x.log/"], ""),
        (vec!["README.md", "docs/**"], ""),
        (vec!["nothing", "no/thing/at/all"], ""),
    ] {
        assert_eq!(selected(&repo, &globs), expected, "{globs:?}");
    }
    let found = find_in(repo.main(), &["src/**", "**/.env", "README.md", "none"]).expect("found");
    let counts: Vec<_> = found
        .matches
        .iter()
        .map(|m| (m.untracked, m.tracked))
        .collect();
    assert_eq!(counts, [(2, 2), (2, 0), (0, 1), (0, 0)]);
}

#[test]
fn no_other_worktree_or_repository_is_entered() {
    let repo = TestRepo::project();
    repo.add("ours");
    for (branch, path) in [("a", "wt/a"), ("b", ".claude/worktrees/b"), ("c", "src/c")] {
        repo.git(&["worktree", "add", "-q", "-b", branch, path]);
    }
    repo.git(&["init", "-q", "vendor/nested"]);
    repo.git(&["init", "-q", "--bare", "vendor/bare.git"]);
    repo.git(&["worktree", "add", "-q", "-b", "d", "wt/gone"]);
    std::fs::remove_file(repo.main().join("wt/gone/.git")).expect("a file");
    for place in [
        "",
        "wt/a",
        ".claude/worktrees/b",
        "src/c",
        "vendor/nested",
        "vendor/bare.git",
        ".agentwt/worktrees/ours",
        ".agentwt/worktrees",
        ".agentwt",
        ".agentwt/memory",
        ".git",
        "wt/gone",
        "wt",
        "wt/a/deep",
    ] {
        repo.write(
            &format!("{place}/.env").trim_start_matches('/').to_owned(),
            "secret",
        );
    }
    let all = ".agentwt/memory/.env .env wt/.env";
    let closed = "!.claude/worktrees/b !src/c !vendor/bare.git !vendor/nested !wt/a !wt/gone";
    assert_eq!(selected(&repo, &["**/.env"]), format!("{all} {closed}"));
    assert_eq!(selected(&repo, &[".env"]), ".env");
    assert_eq!(selected(&repo, &["wt/a/.env"]), "!wt/a");
    assert_eq!(selected(&repo, &["wt/gone/**"]), "!wt/gone");
    assert_eq!(
        selected(&repo, &["vendor"]),
        "vendor/ !vendor/bare.git !vendor/nested"
    );
    assert_eq!(
        selected(&repo, &["vendor/*/.env"]),
        "!vendor/bare.git !vendor/nested"
    );
    assert_eq!(
        selected(&repo, &[".agentwt"]),
        ".agentwt/ .agentwt/memory/ .agentwt/memory/.env"
    );
    assert_eq!(
        selected(&repo, &[".agent*/**"]),
        ".agentwt/memory/ .agentwt/memory/.env"
    );
    // from inside a worktree it is the same repository
    let inside = find_in(&repo.worktree("ours"), &["**/.env"]).expect("found");
    assert_eq!(shown(&inside), format!("{all} {closed}"));
}

#[test]
fn a_submodule_is_not_entered() {
    let repo = TestRepo::project();
    let other = TestRepo::project();
    let url = other.main().to_string_lossy().into_owned();
    repo.git(&["submodule", "add", "-q", &url, "lib/sub"]);
    repo.git(&["commit", "-qm", "a submodule"]);
    repo.write("lib/sub/.env", "x");
    repo.write("lib/.env", "x");
    assert_eq!(selected(&repo, &["**/.env"]), "lib/.env !lib/sub");
    repo.git(&["submodule", "deinit", "-q", "-f", "lib/sub"]);
    assert_eq!(selected(&repo, &["lib/**"]), "lib/.env !lib/sub");
}

#[test]
fn links_are_selected_and_never_followed() {
    let repo = TestRepo::project();
    write(repo.root(), b"outside/.env", b"secret");
    write(repo.root(), b"outside/in/.env", b"secret");
    repo.write("conf/real/.env", "x");
    let main = repo.main();
    for (to, at) in [
        ("../outside", "out"),
        ("/etc", "abs"),
        ("gone", "dangling"),
        ("real", "conf/link"),
        ("..", "conf/up"),
        (".", "self"),
    ] {
        symlink(to, main.join(at)).expect("a link");
    }
    for (globs, expected) in [
        (vec!["**/.env"], "conf/real/.env"),
        (vec!["out"], "out@"),
        (
            vec!["*"],
            "abs@ conf/ conf/link@ conf/real/ conf/real/.env conf/up@ dangling@ out@ self@",
        ),
        (vec!["out/"], ""),
        (vec!["o*/**"], ""),
        (vec!["*/.env", "conf/*/.env"], "conf/real/.env"),
    ] {
        assert_eq!(selected(&repo, &globs), expected, "{globs:?}");
    }
}

#[test]
fn a_pattern_through_a_link_is_refused_with_both_names() {
    let repo = TestRepo::project();
    write(repo.root(), b"outside/in/.env", b"secret");
    std::fs::create_dir_all(repo.main().join("conf")).expect("a directory");
    for (to, at) in [
        ("../outside", "out"),
        ("../../outside", "conf/out"),
        ("/etc", "etc"),
        (".", "here"),
    ] {
        symlink(to, repo.main().join(at)).expect("a link");
    }
    for (glob, link) in [
        ("out/in/.env", "out"),
        ("out/**", "out"),
        ("out/*/.env", "out"),
        ("out/../.env", ""),
        ("{src,out}/in/.env", "out"),
        ("conf/out/in/*", "conf/out"),
        ("conf/out/**/.env", "conf/out"),
        ("etc/passwd", "etc"),
        ("here/.env", "here"),
        ("\\out/in", "out"),
        ("[o]ut/in", "out"),
    ] {
        let parsed = Pattern::parse(glob, PatternOrigin::File(3), Need::Optional);
        let Ok(pattern) = parsed else {
            assert_eq!(link, "", "{glob} is refused before");
            continue;
        };
        let dir = Utf8Path::from_path(repo.main()).expect("it is UTF-8");
        let repository = Repository::find(dir, SharedRunner::default(), Trace::default());
        let found = candidates(&repository.expect("a repository"), &[pattern]);
        let error = Error::from(found.expect_err(glob));
        assert_eq!(error.exit_code().code(), 3);
        let expected = format!(
            "cannot sync `{}` (.agentwt/config.toml:3): {link} is a symbolic link, and links are not followed",
            glob.replace('\\', "\\134")
        );
        assert_eq!(error.to_string(), expected);
    }
    // a memory bank that is a link is nobody's mistake
    symlink("../outside", repo.main().join(".agentwt")).expect("a link");
    let dir = Utf8Path::from_path(repo.main()).expect("it is UTF-8");
    let repository = Repository::find(dir, SharedRunner::default(), Trace::default());
    let found = candidates(
        &repository.expect("a repository"),
        &[Pattern::memory_bank()],
    );
    assert_eq!(shown(&found.expect("found")), "!.agentwt");
}
