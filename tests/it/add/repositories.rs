//! `add` in every kind of repository.

use std::os::unix::ffi::OsStrExt;

use super::{SRC, clone, files, mode};
use crate::support::{TestRepo, gits, text, write};

#[test]
fn a_submodule_is_left_empty_and_is_no_finding() {
    let repo = TestRepo::project();
    let url = clone(&repo, &[], "lib");
    repo.git(&["submodule", "-q", "add", &url.to_string_lossy(), "src/lib"]);
    repo.commit_all("a submodule");
    repo.git(&["config", "submodule.recurse", "true"]);
    let dir = repo.add("task-5");
    assert_eq!(files(&repo, &dir.join("src/lib")), Vec::<String>::new());
    assert_eq!(repo.findings(&dir), "");
    repo.agentwt(&["add", "task-6", "--write", "", "--exclude", "src/"])
        .ok();
    assert_eq!(repo.findings(&repo.worktree("task-6")), "");
}

#[test]
fn names_of_any_bytes() {
    let repo = TestRepo::project();
    let names: &[&[u8]] = &[
        b"src/a\nb",
        b"src/tab\there",
        b"src/\"quoted\"",
        b"src/back\\slash",
        b"src/\xff\xfe",
        b"-lead",
        b"--",
        b"docs/ space ",
        b"docs/[x]",
        b"docs/a*b",
        b"docs/\xc3\xa9",
        b"!not",
        b"#hash",
        b":(top)x",
        b"secrets/\n",
        b"secrets/\xff",
        b"docs/trailing\\",
        b"@{u}",
    ];
    for name in names {
        write(repo.main(), name, b"x\n");
    }
    repo.commit_all("odd names");
    let dir = repo.add("task-5");
    for name in names {
        let file = dir.join(std::ffi::OsStr::from_bytes(name));
        let shown = String::from_utf8_lossy(name);
        if name.starts_with(b"secrets/") {
            assert!(!file.exists(), "{shown:?} is excluded");
        } else if name.starts_with(b"src/") {
            assert_eq!(mode(&file), 0o644, "{shown:?} is to edit");
        } else {
            assert_eq!(mode(&file), 0o444, "{shown:?} is to read");
        }
    }
    assert_eq!(repo.findings(&dir), "");
}

#[test]
fn a_pattern_for_an_odd_name_matches_it() {
    let repo = TestRepo::project();
    for name in ["docs/[x]", "#hash", "-lead", "a b "] {
        repo.write(name, "x\n");
    }
    repo.commit_all("odd names");
    let write = ["docs/\\[x\\]", "\\#hash", "/-lead", "a b\\ "];
    let mut arguments = vec!["add", "task-5"];
    let options: Vec<String> = write.iter().map(|p| format!("--write={p}")).collect();
    arguments.extend(options.iter().map(String::as_str));
    repo.agentwt(&arguments).ok();
    for name in ["docs/[x]", "#hash", "-lead", "a b "] {
        assert_eq!(mode(&repo.worktree("task-5").join(name)), 0o644, "{name}");
    }
}

#[test]
fn with_ignore_case_patterns_match_in_any_case() {
    let repo = TestRepo::project();
    repo.write("Src/Other.rs", "x\n");
    repo.write("docs/SECRETS/k", "x\n");
    repo.commit_all("cases");
    repo.git(&["config", "core.ignoreCase", "true"]);
    let dir = repo.add("task-5");
    assert_eq!(mode(&dir.join("Src/Other.rs")), 0o644);
    assert!(!dir.join("docs/SECRETS").exists());
    assert_eq!(repo.findings(&dir), "");
}

#[test]
fn a_sha256_repository() {
    let repo = TestRepo::empty_with(&["--object-format=sha256"]);
    repo.fill();
    let dir = repo.add("task-5");
    assert_eq!(repo.findings(&dir), "");
    assert_eq!(mode(&dir.join("README.md")), 0o444);
}

#[test]
fn a_reftable_repository() {
    let mut tried = 0;
    for (version, bin) in gits() {
        let repo = TestRepo::empty().with_git(&bin);
        let init = repo.try_git(repo.root(), &["init", "-q", "--ref-format=reftable", "rt"]);
        if init.status != 0 {
            eprintln!("skipped: {version} has no reftable");
            continue;
        }
        tried += 1;
        let dir = repo.root().join("rt");
        write(&dir, b"src/a", b"a\n");
        write(&dir, b"secrets/a", b"a\n");
        repo.commit_all_in(&dir, "one");
        let add = [SRC, &["--exclude", "secrets/"]].concat();
        repo.agentwt_in(&dir, &add).ok();
        let worktree = dir.join(".agentwt/worktrees/task-5");
        assert_eq!(files(&repo, &worktree), ["src/a"], "{version}");
        assert_eq!(repo.findings(&worktree), "", "{version}");
    }
    eprintln!("tried with {tried} versions of git");
}

#[test]
fn every_git_of_the_machine_makes_the_same() {
    for (version, bin) in gits() {
        let repo = TestRepo::project().with_git(&bin);
        let dir = repo.add("task-5");
        assert!(!dir.join("secrets").exists(), "{version}");
        assert_eq!(mode(&dir.join("README.md")), 0o444, "{version}");
        assert_eq!(repo.findings(&dir), "", "{version}");
        assert_eq!(
            repo.git_in(&dir, &["status", "--porcelain"]),
            "",
            "{version}"
        );
    }
}

#[test]
fn a_shallow_clone() {
    let repo = TestRepo::project();
    repo.commit_all("two");
    let dir = clone(&repo, &["--depth", "1"], "shallow");
    repo.agentwt_in(&dir, SRC).ok();
    assert_eq!(repo.findings(&dir.join(".agentwt/worktrees/task-5")), "");
}

#[test]
fn a_partial_clone_fetches_only_what_the_scope_shows() {
    let repo = TestRepo::project();
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    repo.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let dir = clone(&repo, &["--filter=blob:none", "--no-checkout"], "partial");
    let add = [SRC, &["--exclude", "**/secrets/**"]].concat();
    repo.agentwt_in(&dir, &add).ok();
    let worktree = dir.join(".agentwt/worktrees/task-5");
    assert_eq!(text(&worktree.join("docs/api.md")), "api v1\n");
    let missing = repo.sh(
        &dir,
        "git rev-list --objects --all --missing=print | grep -c '^?'",
    );
    assert_eq!(
        missing.stdout.trim(),
        "2",
        "the two secrets were not fetched: {missing}"
    );
    assert_eq!(repo.findings(&worktree), "");
}

#[test]
fn pointer_files_and_filters_of_git_lfs() {
    let repo = TestRepo::project();
    repo.write(".gitattributes", "*.bin filter=lfs -text\n");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n";
    repo.write("src/model.bin", pointer);
    repo.commit_all("a pointer, and no lfs installed");
    let dir = repo.add("task-5");
    assert_eq!(text(&dir.join("src/model.bin")), pointer);
    assert_eq!(repo.findings(&dir), "");
}

#[test]
fn a_clean_and_smudge_filter() {
    let repo = TestRepo::project();
    repo.git(&["config", "filter.rot.clean", "tr a-z n-za-m"]);
    repo.git(&["config", "filter.rot.smudge", "tr a-z n-za-m"]);
    repo.write(".gitattributes", "*.md filter=rot\n");
    // without it git looks at the old files again only within the second of the last commit
    repo.git(&["add", "--renormalize", "."]);
    repo.commit_all("a filter");
    let dir = repo.add("task-5");
    assert_eq!(text(&dir.join("docs/guide.md")), "guide\n");
    assert_eq!(repo.findings(&dir), "");
}

#[test]
fn line_endings_and_idents_that_the_checkout_writes() {
    let repo = TestRepo::project();
    repo.write(
        ".gitattributes",
        "*.md eol=crlf\n*.rs ident\n*.txt working-tree-encoding=UTF-16\n",
    );
    repo.write("src/id.rs", "// $Id$\n");
    repo.write("docs/api.md", "a\nb\n");
    repo.commit_all("attributes");
    let dir = repo.add("task-5");
    assert_eq!(text(&dir.join("docs/api.md")), "a\r\nb\r\n");
    assert_eq!(mode(&dir.join("docs/api.md")), 0o444);
    assert_eq!(repo.findings(&dir), "");
}

#[test]
fn autocrlf() {
    let repo = TestRepo::project();
    repo.git(&["config", "core.autocrlf", "true"]);
    let dir = repo.add("task-5");
    assert_eq!(text(&dir.join("docs/api.md")), "api v1\r\n");
    assert_eq!(repo.findings(&dir), "");
}

/// The tracked file is larger than what the program and git may allocate; the untracked one
/// would take long if anybody read it.
#[test]
fn big_files_are_not_held_in_memory() {
    let repo = TestRepo::project();
    let sparse = |path: &str, size: u64| {
        let file = std::fs::File::create(repo.main().join(path)).expect("a file");
        file.set_len(size).expect("a sparse file");
    };
    repo.git(&["config", "core.bigFileThreshold", "8m"]);
    repo.git(&["config", "core.compression", "1"]);
    sparse("docs/big", 256 << 20);
    repo.commit_all("a big file");
    sparse("untracked.log", 1 << 30);
    // the limit is less than the file; each thread would ask for an address range of its own
    let line = "export MALLOC_ARENA_MAX=1; ulimit -v 250000
        git-agentwt add task-5 --write 'src/**'";
    repo.sh(repo.main(), line).ok();
    let file = repo.worktree("task-5").join("docs/big");
    assert_eq!(file.metadata().expect("it is there").len(), 256 << 20);
    assert_eq!(mode(&file), 0o444);
}

#[test]
fn a_main_worktree_that_is_sparse_itself_does_not_narrow_the_scope() {
    let repo = TestRepo::project();
    repo.git(&["sparse-checkout", "set", "docs"]);
    let before = repo.git(&["sparse-checkout", "list"]);
    let dir = repo.add("task-5");
    assert!(
        dir.join("src/main.rs").exists(),
        "the scope says what is there"
    );
    assert_eq!(
        repo.git(&["sparse-checkout", "list"]),
        before,
        "the main one's are kept"
    );
    assert!(
        !repo.main().join("src").exists(),
        "the main worktree is as it was"
    );
    assert_eq!(repo.findings(&dir), "");
}

#[test]
fn a_main_worktree_with_a_sparse_index() {
    let repo = TestRepo::project();
    repo.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "docs"]);
    let dir = repo.add("task-5");
    assert!(dir.join("src/main.rs").exists());
    assert_eq!(repo.findings(&dir), "");
}

#[test]
fn indexes_of_every_version_and_split_ones() {
    for setting in [
        "index.version=4",
        "core.splitIndex=true",
        "core.untrackedCache=true",
        "feature.manyFiles=true",
        "core.fsmonitor=false",
        "index.threads=4",
        "index.skipHash=true",
    ] {
        let repo = TestRepo::project();
        let (key, value) = setting.split_once('=').expect("a value");
        repo.git(&["config", key, value]);
        let dir = repo.add("task-5");
        assert_eq!(repo.findings(&dir), "", "{setting}");
    }
}

#[test]
fn without_file_mode_the_executable_bit_is_no_change() {
    let repo = TestRepo::project();
    repo.git(&["config", "core.fileMode", "false"]);
    let dir = repo.add("task-5");
    assert_eq!(mode(&dir.join("README.md")), 0o444);
    assert_eq!(repo.findings(&dir), "");
    assert_eq!(repo.git_in(&dir, &["status", "--porcelain"]), "");
}

#[test]
fn a_file_that_is_executable_stays_so() {
    let repo = TestRepo::project();
    repo.write("src/run.sh", "#!/bin/sh\n");
    repo.chmod("src/run.sh", 0o755);
    repo.commit_all("a script");
    let dir = repo.add("task-5");
    assert_eq!(mode(&dir.join("src/run.sh")), 0o755);
    assert_eq!(mode(&dir.join("tools/run.sh")), 0o555);
}

#[test]
fn a_strict_umask_is_kept_for_what_may_be_edited() {
    let repo = TestRepo::project();
    let said = repo.sh(
        repo.main(),
        "umask 077; git-agentwt add task-5 --write 'src/**'",
    );
    said.ok();
    let dir = repo.worktree("task-5");
    assert_eq!(mode(&dir.join("src/main.rs")), 0o600);
    assert_eq!(mode(&dir.join("README.md")), 0o400);
}

#[test]
fn an_empty_commit_as_base() {
    let repo = TestRepo::empty();
    repo.commit_all("nothing");
    repo.agentwt(SRC).ok();
    assert_eq!(repo.findings(&repo.worktree("task-5")), "");
}

#[test]
fn packed_refs_and_packed_objects() {
    let repo = TestRepo::project();
    repo.git(&["gc", "-q"]);
    let dir = repo.add("task-5");
    assert_eq!(repo.findings(&dir), "");
}

#[test]
fn objects_borrowed_from_another_repository() {
    let repo = TestRepo::project();
    let dir = clone(&repo, &["--shared"], "borrower");
    repo.agentwt_in(&dir, SRC).ok();
    assert_eq!(repo.findings(&dir.join(".agentwt/worktrees/task-5")), "");
}

#[test]
fn a_directory_with_spaces_quotes_and_unicode() {
    let repo = TestRepo::project();
    let dir = clone(&repo, &[], "it's \"my\" pröject $HOME");
    repo.agentwt_in(&dir, SRC).ok();
    assert_eq!(repo.findings(&dir.join(".agentwt/worktrees/task-5")), "");
}
