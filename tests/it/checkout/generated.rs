//! Generated repositories, settings, attributes and scopes, held against git's own checkout. A longer run:
//! `AGENTWT_CHECKOUTS=500 cargo nextest run -E 'test(checkout::generated)'`.

use std::collections::BTreeSet;

use super::{add, check_out_by_git, is_clean, reason, state};
use crate::support::{Choices, TestRepo, chmod, is_root, write};

const NAMES: &[&[u8]] = &[
    b"a",
    b"a.b",
    b"a-b",
    b"ab",
    b"b",
    b"B",
    b"\xc3\xa9",
    b"sp ace",
    b"q\"uote",
    b"nl\nx",
    b"-d",
    b"~x",
    b"bad\xff",
    b"tab\t",
    b".dot",
    b"a.b.c",
    b"x.sh",
    b"y.b",
];

const ATTRIBUTES: &[&str] = &[
    "* text=auto\n",
    "* text=auto eol=lf\n*.png binary\n",
    "* -text\n",
    "*.b -text diff=x\n",
    "# *.b filter=up\n",
    "*.b filter=up\n",
    "a ident\n",
    "*.b eol=crlf\n",
    "*.sh working-tree-encoding=UTF-16LE\n",
];

const SETTINGS: &[(&str, &str)] = &[
    ("core.autocrlf", "true"),
    ("core.eol", "crlf"),
    ("core.fileMode", "false"),
    ("index.version", "4"),
    ("core.untrackedCache", "true"),
    ("feature.manyFiles", "true"),
    ("core.sharedRepository", "group"),
    ("core.abbrev", "12"),
    ("core.symlinks", "false"),
];

const SCOPES: &[&[&str]] = &[
    &["--write", "**"],
    &["--write", "a/**"],
    &["--write", "**/b", "--exclude", "a/**"],
    &["--write", "a.b/**", "--exclude", "*.b", "--exclude", "**/B"],
    &["--exclude", "**/é", "--write", "ab"],
    &["--write", "a", "--exclude", "sp ace"],
];

fn content(choices: &mut Choices) -> Vec<u8> {
    let lines = match choices.below(12) {
        0 => 0,
        1 => 9000,
        _ => choices.below(40) + 1,
    };
    let end: &[u8] = choices.one(&[b"\n", b"\n", b"\n", b"\r\n"]);
    let word = choices.below(1000).to_string();
    let line = [b"$Id$ line ", word.as_bytes(), b" of it", end].concat();
    line.repeat(lines)
}

/// A repository with a commit of random things.
fn world(choices: &mut Choices) -> TestRepo {
    let repo = TestRepo::empty();
    let (mut files, mut directories) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..choices.below(60) + 5 {
        let depth = choices.below(4) + 1;
        let parts: Vec<&[u8]> = (0..depth).map(|_| choices.one(NAMES)).collect();
        let path = parts.join(&b"/"[..]);
        let above: Vec<Vec<u8>> = (1..depth).map(|n| parts[..n].join(&b"/"[..])).collect();
        let taken = above.iter().any(|above| files.contains(above));
        if taken || directories.contains(&path) || !files.insert(path.clone()) {
            continue;
        }
        directories.extend(above);
        match choices.below(8) {
            0 => {
                write(repo.main(), &path, b"");
                let file = repo.main().join(os(&path));
                std::fs::remove_file(&file).expect("ours");
                let target = choices.one(&["a", "../b", "/etc/passwd", "nowhere/at all", "."]);
                std::os::unix::fs::symlink(target, &file).expect("a link");
            }
            1 => {
                write(repo.main(), &path, &content(choices));
                chmod(&repo.main().join(os(&path)), 0o755);
            }
            _ => write(repo.main(), &path, &content(choices)),
        }
    }
    if choices.below(3) > 0 {
        let directory = choices.one(&["", "a/", "b/"]);
        let file = format!("{directory}.gitattributes");
        if directory.is_empty() || !files.contains(directory.trim_end_matches('/').as_bytes()) {
            repo.write(&file, choices.one(ATTRIBUTES));
        }
    }
    repo.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
    repo.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
    repo.git(&["add", "-A"]);
    if choices.below(4) == 0 {
        let entry = format!("160000,{},modules/one", "1".repeat(40));
        repo.git(&["update-index", "--add", "--cacheinfo", &entry]);
    }
    repo.git(&["commit", "-q", "-m", "random"]);
    if choices.below(3) == 0 {
        repo.git(&["gc", "-q"]);
    }
    repo
}

fn os(path: &[u8]) -> &std::ffi::OsStr {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(path)
}

/// Whether gix checked out what git would have.
fn compare(seed: u64) -> bool {
    let mut choices = Choices(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let repo = world(&mut choices);
    if choices.below(3) == 0 {
        let (key, value) = choices.one(SETTINGS);
        repo.git(&["config", key, value]);
    }
    if choices.below(2) == 0 {
        repo.git(&["config", "extensions.worktreeConfig", "true"]);
    }
    let scope = choices.one(SCOPES);
    let umasks: &[&str] = if is_root() {
        &["022", "077", "027", "002", "0277"]
    } else {
        &["022", "077", "027", "002"]
    };
    let umask = choices.one(umasks);
    let said = add(
        &repo,
        umask,
        &[&["ours"][..], scope, &["--no-hooks"]].concat(),
    );
    assert_eq!(said.status, 0, "seed {seed}: {said}");
    check_out_by_git(&repo, umask);
    let what = format!("seed {seed}, umask {umask}, {scope:?}\n{said}");
    is_clean(&repo, "ours", &what);
    let (ours, git) = (state(&repo, "ours"), state(&repo, "git"));
    assert!(ours == git, "{what}\nours:\n{ours}\ngit:\n{git}");
    reason(&said).is_none()
}

#[test]
fn a_new_worktree_has_what_git_would_check_out() {
    let wanted = std::env::var("AGENTWT_CHECKOUTS").ok();
    let count = wanted.and_then(|count| count.parse().ok()).unwrap_or(16);
    let by_gix = (1..=count).filter(|seed| compare(*seed)).count();
    assert!(
        by_gix * 2 >= usize::try_from(count).expect("few"),
        "{by_gix} of {count} were checked out by gix"
    );
}
