//! What `verify` does when something cannot be read.

use insta::assert_snapshot;

use crate::support::{TestRepo, as_ordinary_user, chmod};

#[test]
fn a_removed_git_file_is_a_finding_and_hides_nothing() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(&worktree, "echo n >docs/n; rm .git");
    assert_snapshot!(repo.findings(&worktree), @"
    docs/n created read-only violation
    @worktree integrity integrity violation
    ");
    assert_snapshot!(repo.findings(&worktree.join("src")), @"
    docs/n created read-only violation
    @worktree integrity integrity violation
    ");
}

#[test]
fn a_redirected_git_file_is_a_finding_and_hides_nothing() {
    let (repo, worktree) = TestRepo::with_task();
    let script =
        "echo n >docs/n; git init -q ../elsewhere; git -C ../elsewhere commit -q --allow-empty -m x
        echo \"gitdir: $PWD/../elsewhere/.git\" >.git";
    repo.script(&worktree, script);
    assert_snapshot!(repo.findings(&worktree), @"
    docs/n created read-only violation
    @worktree integrity integrity violation
    ");
}

#[test]
fn the_printed_command_links_a_worktree_again_whose_git_file_is_gone_or_a_directory() {
    let (repo, worktree) = TestRepo::with_task();
    for damage in [
        "rm .git",
        "echo gitdir: ../elsewhere >.git",
        "rm .git; git init -q .",
    ] {
        repo.script(&worktree, damage);
        let said = repo.agentwt(&["verify", "task"]);
        assert_eq!(said.status, 1, "{said}");
        let shown = said
            .stdout
            .split_whitespace()
            .collect::<Vec<&str>>()
            .join(" ");
        let (_, command) = shown.split_once("to link them again: ").expect("a command");
        let root = repo.root().to_str().expect("UTF-8");
        let line = command.replace("$TMP", root);
        let line = line.replace("<elsewhere>", "\"$HOME\"");
        repo.script(repo.main(), &line);
        assert_eq!(repo.findings(&worktree), "", "{damage}");
    }
}

#[test]
fn links_by_relative_paths_are_no_finding() {
    let (repo, worktree) = TestRepo::with_task();
    // as `git worktree repair --relative-paths` writes them (git 2.48)
    let links = "echo gitdir: ../../../.git/worktrees/task >.git
        echo ../../../.agentwt/worktrees/task/.git >../../../.git/worktrees/task/gitdir";
    repo.script(&worktree, links);
    assert_eq!(repo.findings(&worktree), "");
    // but a link on the way can lead elsewhere at any time
    let link = "ln -s ../../../../.git/worktrees/task src/link; echo gitdir: src/link >.git";
    repo.script(&worktree, link);
    assert_snapshot!(repo.findings(&worktree), @"
    @worktree integrity integrity violation
    src/link created outside notice
    ");
}

#[test]
fn a_git_directory_in_place_of_the_file_is_a_finding_and_hides_nothing() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(
        &worktree,
        "echo n >docs/n; rm .git; git init -q .; git add -A; git commit -q -m mine",
    );
    assert_snapshot!(repo.findings(&worktree), @"
    docs/n created read-only violation
    @worktree integrity integrity violation
    ");
}

#[test]
fn a_removed_private_git_directory_is_a_finding() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(&worktree, "echo n >docs/n");
    std::fs::remove_dir_all(repo.main().join(".git/worktrees/task")).expect("it is there");
    assert_snapshot!(repo.findings(&worktree), @"
    docs/n created read-only violation
    @wt/agentwt integrity integrity violation
    @wt/config.worktree config integrity violation
    @wt/index integrity integrity violation
    @wt/info/sparse-checkout config integrity violation
    @head ref integrity violation
    @worktree integrity integrity violation
    ");
}

#[test]
fn a_damaged_or_missing_index_is_a_finding() {
    let (repo, worktree) = TestRepo::with_task();
    let index = repo.main().join(".git/worktrees/task/index");
    let mut bytes = std::fs::read(&index).expect("it is there");
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(&index, &bytes).expect("it can be written");
    assert!(
        repo.findings(&worktree)
            .contains("@wt/index integrity integrity violation\n")
    );
    std::fs::write(&index, "DIRC and then nothing").expect("it can be written");
    assert_snapshot!(repo.findings(&worktree), @"@wt/index integrity integrity violation");
    std::fs::remove_file(&index).expect("it is there");
    assert_snapshot!(repo.findings(&worktree), @"@wt/index integrity integrity violation");
}

#[test]
fn a_deletion_of_a_file_that_is_announced_again_is_a_finding() {
    let repo = TestRepo::project();
    let script = ">docs/empty; git add docs; git commit -q -m empty";
    repo.script(repo.main(), script);
    let worktree = repo.add("task");
    // an announced entry has the id of an empty file, and no commit has it
    let script = "git rm -q --cached docs/empty README.md; git add -N docs/empty README.md";
    repo.script(&worktree, script);
    assert_snapshot!(repo.findings(&worktree), @"
    README.md deleted read-only violation
    docs/empty deleted read-only violation
    ");
}

#[test]
fn an_index_with_two_entries_for_a_path_is_a_finding() {
    let (repo, worktree) = TestRepo::with_task();
    let index = repo.main().join(".git/worktrees/task/index");
    let mut bytes = std::fs::read(&index).expect("it is there");
    let name_at = |name: &[u8]| bytes.windows(name.len()).position(|at| at == name);
    let name = name_at(b"README.md\0").expect("an entry");
    let other = name_at(b"src/main.rs\0").expect("an entry");
    // git sees the second, which has another content
    let mut second = bytes[name - 62..name + 10].to_vec();
    second[40..60].copy_from_slice(&bytes[other - 22..other - 2]);
    bytes.splice(name + 10..name + 10, second);
    bytes[11] += 1;
    // there is no checksum (`index.skipHash`)
    let end = bytes.len() - 20;
    bytes[end..].fill(0);
    std::fs::write(&index, &bytes).expect("it can be written");
    assert_snapshot!(repo.findings(&worktree), @"@wt/index integrity integrity violation");
}

#[test]
fn a_worktree_whose_directory_is_gone_is_a_finding() {
    let (repo, worktree) = TestRepo::with_task();
    std::fs::remove_dir_all(&worktree).expect("it is there");
    let said = repo.agentwt(&["verify", "task", "--format=tsv"]);
    assert_eq!(said.status, 1, "{said}");
    assert!(
        said.stdout
            .contains("@worktree\tintegrity\tintegrity\tviolation\n"),
        "{said}"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_a_finding() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(&worktree,
        "chmod u+w README.md; echo more >>README.md; chmod 000 README.md; mkdir docs/closed; chmod 000 docs/closed",
    );
    let Some(said) = as_ordinary_user(&repo, repo.main(), &["verify", "task", "--format=tsv"])
    else {
        return;
    };
    chmod(&worktree.join("docs/closed"), 0o755);
    assert_snapshot!(said, @"
    README.md	integrity	integrity	violation
    docs/closed	integrity	integrity	violation
    --- status 1
    ");
}

#[test]
fn output_that_cannot_be_read_is_a_notice_where_the_base_ignores_it() {
    let repo = TestRepo::project();
    let script =
        "echo '/volume/' >.gitignore; mkdir kept; echo 1 >kept/one; echo /kept/ >>.gitignore
        git add -A -f; git commit -q -m rules";
    repo.script(repo.main(), script);
    let worktree = repo.worktree("task");
    repo.agentwt(&[
        "add",
        "task",
        "--write",
        "src/**",
        "--exclude",
        "/volume/secret/**",
    ])
    .ok();
    let closed = ["volume/data", "volume/secret/deep", "kept", "open"];
    for path in closed {
        let line = format!("mkdir -p {path}; chmod 000 {path}");
        repo.script(&worktree, &line);
    }
    let Some(said) = as_ordinary_user(&repo, repo.main(), &["verify", "task", "--format=tsv"])
    else {
        return;
    };
    for path in closed {
        chmod(&worktree.join(path), 0o755);
    }
    assert_snapshot!(said, @"
    kept	integrity	integrity	violation
    open	integrity	integrity	violation
    volume/secret/deep	integrity	integrity	violation
    volume/data	integrity	integrity	notice
    --- status 1
    ");
}

#[test]
fn a_damaged_record_or_manifest_is_exit_6_without_a_verdict() {
    let (repo, _) = TestRepo::with_task();
    let dir = repo.main().join(".git/agentwt/worktrees/task");
    let manifest = std::fs::read(dir.join("manifest")).expect("it is there");
    std::fs::write(dir.join("manifest"), &manifest[..manifest.len() / 2]).expect("written");
    assert_snapshot!(repo.agentwt(&["verify", "task"]), @"
    --- stderr
    error: cannot read the manifest of worktree `task`: it is damaged
    help: see what is there with `git worktree list`; to save its work: git -C .agentwt/worktrees/task stash -u
    --- status 6
    ");
    std::fs::remove_file(dir.join("manifest")).expect("it is there");
    assert_snapshot!(repo.agentwt(&["changed", "task"]), @"
    --- stderr
    error: cannot read the manifest of worktree `task`: it is missing
    help: see what is there with `git worktree list`; to save its work: git -C .agentwt/worktrees/task stash -u
    --- status 6
    ");
    std::fs::write(dir.join("record.toml"), "version = 4\nname = \"task\"\n").expect("written");
    assert_snapshot!(repo.agentwt(&["verify", "task"]), @"
    --- stderr
    error: cannot read the record of worktree `task`: it is damaged: missing field `created`
    help: see what is there with `git worktree list`; to save its work: git -C .agentwt/worktrees/task stash -u
    --- status 6
    ");
    repo.agentwt(&["verify", "--all"]).fails(6);
}

#[test]
fn a_missing_base_object_is_exit_5_without_a_verdict() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(&worktree, "echo more >>src/main.rs; git commit -q -a -m x");
    let base = repo.git(&["rev-parse", "main"]);
    let object = format!(".git/objects/{}/{}", &base[..2], &base[2..]);
    std::fs::remove_file(repo.main().join(object)).expect("it is there");
    let said = repo.agentwt(&["verify", "task"]);
    assert_eq!((said.status, said.stdout.as_str()), (5, ""), "{said}");
    repo.agentwt(&["changed", "task"]).fails(5);
    repo.agentwt(&["verify", "--all"]).fails(5);
}

#[test]
fn a_missing_tree_of_a_commit_is_exit_5_without_a_verdict() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(&worktree, "echo more >>src/main.rs; git commit -q -a -m x");
    let tree = repo.git_in(&worktree, &["rev-parse", "HEAD:src"]);
    let object = format!(".git/objects/{}/{}", &tree[..2], &tree[2..]);
    std::fs::remove_file(repo.main().join(object)).expect("it is there");
    let said = repo.agentwt(&["verify", "task"]);
    assert_eq!((said.status, said.stdout.as_str()), (5, ""), "{said}");
}

#[test]
fn outside_a_repository_is_exit_2() {
    let repo = TestRepo::empty();
    assert_snapshot!(repo.agentwt_in(&repo.home(), &["verify", "task"]), @"
    --- stderr
    error: not in a git repository: $TMP/home
    help: run it inside a repository, or name one with `git agentwt -C <dir> …`
    --- status 2
    ");
}

#[test]
fn the_outcome_is_kept_for_list() {
    let (repo, worktree) = TestRepo::with_task();
    assert!(
        repo.agentwt(&["list", "--stored"])
            .stdout
            .contains("not verified")
    );
    repo.script(&worktree, "echo n >docs/n");
    repo.agentwt(&["verify", "task"]).fails(1);
    let list = repo.agentwt(&["list", "--stored"]).stdout;
    assert!(list.contains("1 violation just now"), "{list}");
}

#[test]
fn a_directory_that_is_gone_is_one_violation_that_names_prune() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    repo.sh(&worktree, "echo n >docs/n; git add -A; git commit -q -m n")
        .ok();
    std::fs::remove_dir_all(&worktree).expect("it is there");
    assert_snapshot!(repo.agentwt(&["verify", "task"]), @"
    NO task: 2 violations, 1 path changed
      !  created    docs/n     commit 39ec2266e6, index  read-only: read ** (default)
      !  integrity  @worktree  disk                      its directory is gone; to remove its record:
                                                         git agentwt prune
    --- stderr
    to restore these paths: git agentwt restore task
    to accept these paths as they are: git agentwt accept task docs/n
    to let the agent edit these paths: git agentwt scope task --add-write /docs/n
    --- status 1
    ");
}
