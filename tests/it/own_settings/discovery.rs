//! Where a repository is: the layouts that people have, and those that git refuses.

use std::path::Path;

use super::{ask, text};
use crate::support::{TestRepo, is_root};

/// Asks from a directory; whether git was not needed for it.
#[track_caller]
fn is_own(repo: &TestRepo, dir: &Path) -> bool {
    let question = format!("find|{}", text(dir));
    let answers = ask(repo, &[question], |_| {});
    answers[0].starts == 0
}

#[test]
fn a_main_worktree_and_those_beside_it_are_found_without_git() {
    let repo = TestRepo::project();
    let linked = repo.root().join("linked");
    repo.git(&["worktree", "add", "-q", "--detach", text(&linked)]);
    let ours = repo.add("task");
    let link = repo.root().join("link-to-src");
    std::os::unix::fs::symlink(repo.main().join("src"), &link).expect("a link");
    for dir in [
        repo.main().to_owned(),
        repo.main().join("src/mod"),
        repo.main().join(".agentwt/worktrees"),
        linked.clone(),
        linked.join("src"),
        ours.clone(),
        ours.join("src"),
        link,
    ] {
        assert!(is_own(&repo, &dir), "{}", dir.display());
    }
    for dir in [
        repo.main().join(".git"),
        repo.main().join(".git/worktrees/linked"),
    ] {
        assert!(
            !is_own(&repo, &dir),
            "a git directory itself: {}",
            dir.display()
        );
    }
    // the records below the git directory are in it too
    assert!(!is_own(&repo, &repo.main().join(".git/agentwt")));
}

#[test]
fn settings_that_move_things_are_seen() {
    let repo = TestRepo::project();
    let linked = repo.root().join("linked");
    repo.git(&["worktree", "add", "-q", "--detach", text(&linked)]);
    let ask_both = || [repo.main(), &linked].map(|dir| is_own(&repo, dir));
    repo.git(&["config", "core.worktree", text(repo.main())]);
    assert_eq!(ask_both(), [false, false], "core.worktree");
    repo.git(&["config", "--unset", "core.worktree"]);
    repo.git(&["config", "core.bare", "true"]);
    assert_eq!(ask_both(), [true, true], "core.bare");
    repo.git(&["config", "extensions.worktreeConfig", "true"]);
    assert_eq!(ask_both(), [true, false], "core.bare, for every worktree");
    repo.git(&["config", "core.bare", "false"]);
    assert_eq!(ask_both(), [true, true], "a worktree's own settings");
    let own = repo.main().join(".git/config.worktree");
    std::fs::write(own, "[core]\n\tbare = true\n").expect("a file");
    assert_eq!(
        ask_both(),
        [true, true],
        "the main worktree's own core.bare"
    );
    let own = repo.main().join(".git/worktrees/linked/config.worktree");
    std::fs::write(own, "[core]\n\tbare = true\n").expect("a file");
    assert_eq!(
        ask_both(),
        [true, false],
        "a linked worktree's own core.bare"
    );
}

#[test]
fn other_formats_are_seen() {
    let repo = TestRepo::empty_with(&["--object-format=sha256"]);
    assert!(is_own(&repo, repo.main()), "sha256");
    let repo = TestRepo::project();
    std::fs::write(repo.main().join(".git/shallow"), "").expect("a file");
    assert!(is_own(&repo, repo.main()), "shallow");
    let config = repo.main().join(".git/config");
    for (text, own) in [
        (
            "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n",
            true,
        ),
        (
            "[core]\n\trepositoryformatversion = 0\n[extensions]\n\tobjectFormat = sha1\n",
            false,
        ),
        (
            "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha3\n",
            false,
        ),
        (
            "[core]\n\trepositoryformatversion = 1\n[extensions]\n\trefStorage = reftable\n",
            false,
        ),
        ("[core]\n\trepositoryformatversion = 7\n", false),
        ("", true),
    ] {
        std::fs::write(&config, text).expect("a file");
        assert_eq!(is_own(&repo, repo.main()), own, "{text:?}");
    }
    std::fs::remove_file(&config).expect("it is there");
    is_own(&repo, repo.main());
}

#[test]
fn bare_repositories_and_separate_git_directories_are_found_as_git_finds_them() {
    let repo = TestRepo::project();
    let [bare, project, apart, sub] =
        ["bare.git", "project", "apart", "super"].map(|name| repo.root().join(name));
    repo.git(&["clone", "-q", "--bare", ".", text(&bare)]);
    repo.git_in(&bare, &["worktree", "add", "-q", "--detach", "../of-bare"]);
    let hidden = project.join(".bare");
    repo.git(&["clone", "-q", "--bare", ".", text(&hidden)]);
    std::fs::write(project.join(".git"), "gitdir: ./.bare\n").expect("a file");
    repo.git_in(&project, &["worktree", "add", "-q", "--detach", "main"]);
    let store = format!("--separate-git-dir={}", text(&repo.root().join("store")));
    repo.git(&["clone", "-q", &store, ".", text(&apart)]);
    repo.git(&["clone", "-q", ".", text(&sub)]);
    let add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q"];
    repo.git_in(&sub, &[&add[..], &[text(repo.main()), "module"]].concat());
    for (dir, own) in [
        (bare.clone(), false),
        (bare.join("objects"), false),
        (repo.root().join("of-bare"), true),
        (project.clone(), true),
        (project.join("main/src"), true),
        (apart.clone(), true),
        (sub.join("module"), false),
        (sub.join("docs"), true),
        (repo.root().to_owned(), false),
    ] {
        assert_eq!(is_own(&repo, &dir), own, "{}", dir.display());
    }
}

#[test]
fn what_is_no_repository_or_leads_elsewhere_is_gits() {
    let repo = TestRepo::project();
    let linked = repo.root().join("linked");
    repo.git(&["worktree", "add", "-q", "--detach", text(&linked)]);
    let dot_git = linked.join(".git");
    let good = std::fs::read(&dot_git).expect("it is there");
    for text in [
        "",
        "gitdir: /nowhere\n",
        "gitdir:x\n",
        "gitdir: \n",
        "ref: x\n",
        "gitdir: ..\n",
    ] {
        std::fs::write(&dot_git, text).expect("a file");
        assert!(!is_own(&repo, &linked), "{text:?}");
    }
    std::fs::write(&dot_git, &good).expect("a file");
    let moved = repo.root().join("moved");
    std::fs::rename(&linked, &moved).expect("it moves");
    assert!(!is_own(&repo, &moved), "what leads back leads elsewhere");
    repo.git(&["worktree", "repair", text(&moved)]);
    assert!(is_own(&repo, &moved), "and now back");

    // a `.git` that is none is passed by, and the repository around it counts
    let inner = repo.main().join("src/inner");
    std::fs::create_dir_all(inner.join(".git")).expect("a directory");
    assert!(!is_own(&repo, &inner));
    let odd = repo.main().join("src/odd");
    std::fs::create_dir_all(&odd).expect("a directory");
    std::fs::write(odd.join("HEAD"), "ref: refs/heads/main\n").expect("a file");
    assert!(!is_own(&repo, &odd));
    let linked_git = repo.root().join("by-link");
    std::fs::create_dir(&linked_git).expect("a directory");
    std::os::unix::fs::symlink(repo.main().join(".git"), linked_git.join(".git")).expect("a link");
    assert!(!is_own(&repo, &linked_git));
    for head in ["", "ref: heads/main\n", "nothing\n"] {
        std::fs::write(repo.main().join(".git/HEAD"), head).expect("a file");
        assert!(!is_own(&repo, repo.main()), "{head:?}");
    }
}

#[test]
fn what_belongs_to_somebody_else_is_for_git_to_refuse() {
    if !is_root() {
        return;
    }
    let repo = TestRepo::project();
    let linked = repo.root().join("linked");
    repo.git(&["worktree", "add", "-q", "--detach", text(&linked)]);
    let give = |path: &Path, owner| {
        std::os::unix::fs::lchown(path, Some(owner), None).expect("root may");
    };
    for (path, from) in [
        (repo.main().to_owned(), repo.main()),
        (repo.main().join(".git"), repo.main()),
        (linked.clone(), linked.as_path()),
        (linked.join(".git"), &linked),
        (repo.main().join(".git/worktrees/linked"), &linked),
    ] {
        give(&path, 12_345);
        assert!(!is_own(&repo, from), "{}", path.display());
        give(&path, 0);
        assert!(is_own(&repo, from), "{}", path.display());
    }
    repo.git(&["config", "--global", "safe.directory", "*"]);
    give(repo.main(), 12_345);
    assert!(
        !is_own(&repo, repo.main()),
        "whom the user trusts is for git to say as well"
    );
}
