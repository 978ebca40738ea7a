//! Tests of the list of worktrees.

use std::fs;

use git_agentwt::git::Git;

use super::{Both, By};
use crate::support::{TestRepo, gits, write};

#[test]
fn worktrees_are_listed_as_each_git_lists_them() {
    for (_, bin) in gits() {
        let repo = TestRepo::project().with_git(&bin);
        let both = Both::of(&repo);
        let ask = |by| {
            both.ask(by, "worktrees", Git::worktree_list)
                .expect("a list")
        };
        assert_eq!(ask(By::Us).len(), 1);
        for name in ["zz", "a", "B", "a-b", "a/deep", "m n"] {
            let path = format!("../w/{name}");
            repo.git(&["worktree", "add", "-q", "--detach", &path]);
        }
        repo.git(&["worktree", "add", "-q", "-b", "on", "../w/on"]);
        repo.git(&["worktree", "add", "-q", "-b", "own", "../w/unborn"]);
        let unborn = repo.root().join("w/unborn");
        repo.git_in(&unborn, &["symbolic-ref", "HEAD", "refs/heads/unborn"]);
        assert_eq!(ask(By::Us).len(), 9);
        // locked, with and without a reason; gone; moved past git
        repo.git(&["worktree", "lock", "--reason", "bare\nHEAD 12", "../w/a"]);
        repo.git(&["worktree", "lock", "../w/on"]);
        fs::remove_dir_all(repo.root().join("w/zz")).expect("removed");
        fs::rename(repo.root().join("w/B"), repo.root().join("w/C")).expect("moved");
        ask(By::Us);
        // entries that are none, or damaged
        let admin = repo.main().join(".git/worktrees");
        write(&admin, b"stray", b"a file");
        both.ask(By::Any, "stray", Git::worktree_list);
        fs::remove_file(admin.join("stray")).expect("removed");
        write(&admin, b"empty/gitdir", b"");
        ask(By::Us);
        write(&admin, b"without-head/gitdir", b"/nowhere/.git\n");
        ask(By::Git);
        fs::remove_dir_all(admin.join("without-head")).expect("removed");
        for place in [
            "relative/.git\n",
            "/x/y\n",
            "/x/y/.git \n",
            "/x/\u{e9}/.git\n",
        ] {
            write(&admin, b"odd/gitdir", place.as_bytes());
            write(&admin, b"odd/commondir", b"../..\n");
            write(&admin, b"odd/HEAD", b"ref: refs/heads/main\n");
            both.ask(By::Any, place, Git::worktree_list);
        }
        write(&admin, b"odd/gitdir", b"/x/\xff/.git\n");
        both.ask(By::Git, "not UTF-8", Git::worktree_list);
        fs::remove_dir_all(admin.join("odd")).expect("removed");
        // asked from a linked one; each has its own HEAD and its own refs
        repo.git_in(
            &repo.root().join("w/on"),
            &["update-ref", "refs/worktree/own", "HEAD"],
        );
        let linked = Both::at(&repo, &admin.join("on"), Some(&repo.root().join("w/on")));
        linked.ask(By::Git, "linked", Git::worktree_list);
        linked.ask_refs(
            By::Us,
            &["refs/worktree/own", "refs/worktree/", "refs/heads/on"],
        );
        linked.ask(By::Us, "its log", Git::reflog_head);
        both.ask_refs(By::Us, &["refs/worktree/own", "refs/worktree/"]);
    }
}

#[test]
fn a_bare_repository_is_listed_as_each_git_lists_it() {
    for (_, bin) in gits() {
        let repo = TestRepo::project().with_git(&bin);
        repo.git(&["clone", "-q", "--bare", ".", "../bare.git"]);
        let bare = repo.root().join("bare.git");
        repo.git_in(&bare, &["worktree", "add", "-q", "-b", "on", "../w/on"]);
        let both = Both::at(&repo, &bare, None);
        both.ask(By::Us, "bare", Git::worktree_list);
        both.ask_refs(By::Us, &["refs/heads/main"]);
        // sparse-checkout moves `core.bare` into the worktree's own file
        repo.git_in(
            &repo.root().join("w/on"),
            &["sparse-checkout", "set", "--no-cone", "/*"],
        );
        both.ask(By::Us, "moved", Git::worktree_list);
        // as a main worktree that is not said to be one
        repo.git(&["config", "--unset", "core.bare"]);
        Both::of(&repo).ask(By::Git, "not said", Git::worktree_list);
        repo.git(&["config", "core.bare", "false"]);
        repo.git(&["config", "core.worktree", "../../w/on"]);
        Both::of(&repo).ask(By::Git, "elsewhere", Git::worktree_list);
    }
}
