//! A bare repository in a hidden directory with worktrees beside it, and no `.git` file above
//! them: only the worktree's own `.git` leads to the repository.

use std::path::PathBuf;

use crate::support::TestRepo;

/// `project/.bare`, `project/m` made by plain git, and the worktree `task`.
struct Layout {
    repo: TestRepo,
    project: PathBuf,
    worktree: PathBuf,
}

impl Layout {
    #[must_use]
    #[track_caller]
    fn new() -> Self {
        let repo = TestRepo::project();
        let bare = ["clone", "-q", "--bare", "repo", "project/.bare"];
        repo.git_in(repo.root(), &bare);
        let project = repo.root().join("project");
        let add = ["worktree", "add", "-q", "../m", "main"];
        repo.git_in(&project.join(".bare"), &add);
        let add = ["add", "task", "--write", "src/**"];
        let path = repo.agentwt_in(&project.join("m"), &add).ok();
        assert_eq!(path, "$TMP/project/.agentwt/worktrees/task");
        let worktree = project.join(".agentwt/worktrees/task");
        Self {
            repo,
            project,
            worktree,
        }
    }

    /// Runs `git-agentwt` in a directory of the worktree; what it answered.
    #[track_caller]
    fn ok(&self, arguments: &[&str]) -> String {
        let dir = self.worktree.join("src");
        self.repo.agentwt_in(&dir, arguments).ok()
    }

    /// Lets the worktree's `.git` lead to the worktree `task` of this repository.
    #[track_caller]
    fn redirect(&self, common: &std::path::Path) {
        let text = format!("gitdir: {}/worktrees/task\n", common.display());
        std::fs::write(self.worktree.join(".git"), text).expect("a file");
    }

    /// Asserts that no command finds a repository.
    #[track_caller]
    fn finds_none(&self) {
        for arguments in [&["list"][..], &["verify"], &["changed"], &["path", "task"]] {
            let said = self.repo.agentwt_in(&self.worktree, arguments);
            assert!(
                said.fails(2).stderr.contains("not in a git repository"),
                "{said}"
            );
        }
    }
}

#[test]
fn commands_work_inside_the_worktree() {
    let layout = Layout::new();
    assert_eq!(
        layout.ok(&["path", "task"]),
        "$TMP/project/.agentwt/worktrees/task"
    );
    assert!(layout.ok(&["list"]).contains("task"));
    layout.ok(&["verify"]);
    std::fs::remove_file(layout.worktree.join("README.md")).expect("a file");
    assert_eq!(layout.ok(&["changed"]), "deleted  README.md  disk");
    let said = layout.repo.findings(&layout.worktree);
    assert!(said.contains("README.md deleted read-only"), "{said}");
    // the same as from beside it
    let beside = ["verify", "task", "--format", "tsv"];
    let beside = layout.repo.agentwt_in(&layout.project.join("m"), &beside);
    assert_eq!(beside.stdout.replace('\t', " "), said);
    layout.ok(&["restore"]);
    assert_eq!(layout.repo.findings(&layout.worktree), "");
}

#[test]
fn hooks_report_after_a_commit() {
    let layout = Layout::new();
    let commit = |script: &str| layout.repo.sh(&layout.worktree, script);
    let said = commit("echo x >>src/main.rs; git commit -q -a -m in");
    assert_eq!(said.to_string(), "--- status 0", "it is in scope");
    let said = commit("chmod u+w README.md; echo x >>README.md; git commit -q -a -m out");
    assert!(
        said.stderr.contains("agentwt: NO task: 1 new violation"),
        "{said}"
    );
    assert_eq!(said.status, 0, "{said}");
    let list = layout
        .repo
        .agentwt_in(&layout.project.join("m"), &["list", "--stored"])
        .ok();
    assert!(list.contains("1 violation just now"), "{list}");
}

#[test]
fn a_repository_further_up_is_not_taken_for_it() {
    let layout = Layout::new();
    layout.repo.git_in(layout.repo.root(), &["init", "-q"]);
    layout.ok(&["verify"]);
    assert_eq!(
        layout.ok(&["path", "task"]),
        "$TMP/project/.agentwt/worktrees/task"
    );
}

#[test]
fn a_redirected_git_file_is_not_believed() {
    let layout = Layout::new();
    // a repository of its own project, with a worktree of the same name
    let other = Layout::new();
    let bare = other.project.join(".bare");
    layout.redirect(&bare);
    layout.finds_none();
    // nor with a record of this path: its worktrees are elsewhere
    let script = format!(
        "sed -i.bak 's|{}|{}|g' '{}/agentwt/worktrees/task/record.toml'",
        other.project.display(),
        layout.project.display(),
        bare.display(),
    );
    layout.repo.sh(&layout.project, &script).ok();
    layout.finds_none();
    // nor one of this project without that record, or with one of another path
    layout.redirect(&layout.project.join(".other"));
    let moved = "sed -i.bak s/project/elsewhere/ .other/agentwt/worktrees/task/record.toml";
    for change in ["rm -r .other/agentwt", moved] {
        let script = format!("rm -rf .other; cp -a .bare .other; {change}");
        layout.repo.sh(&layout.project, &script).ok();
        layout.finds_none();
    }
    std::fs::remove_file(layout.worktree.join(".git")).expect("a file");
    layout.finds_none();
}

#[test]
fn a_redirected_git_file_is_not_asked_where_the_path_leads_to_a_repository() {
    let layout = Layout::new();
    std::fs::write(layout.project.join(".git"), "gitdir: ./.bare\n").expect("a file");
    let forged = layout.project.join(".forged");
    // were it believed, the manifest would be missing
    let script = "cp -a .bare .forged; rm .forged/agentwt/worktrees/task/manifest";
    layout.repo.sh(&layout.project, script).ok();
    layout.redirect(&forged);
    std::fs::remove_file(layout.worktree.join("README.md")).expect("a file");
    let said = layout.repo.findings(&layout.worktree);
    assert!(said.contains("README.md deleted read-only"), "{said}");
    assert!(
        said.contains("integrity"),
        "the redirection is told: {said}"
    );
}

#[test]
fn a_repository_that_an_agent_made_is_not_taken_for_it_in_the_trash() {
    let mut layout = Layout::new();
    let planted = ["init", "-q", "--bare", ".agentwt/repository.git"];
    layout.repo.git_in(&layout.worktree, &planted);
    let main = layout.project.join("m");
    layout
        .repo
        .agentwt_in(&main, &["remove", "--force", "task"])
        .ok();
    let trash = layout.project.join(".agentwt/worktrees/.trash");
    let mut removed = std::fs::read_dir(trash).expect("the trash");
    let entry = removed.next().expect("one that was removed");
    layout.worktree = entry.expect("it is listed").path();
    layout.finds_none();
}
