//! Programs that came into the settings, hooks and attributes of git since `add`: no command that
//! `verify` prints runs one of them, whatever the command does.

use insta::assert_snapshot;

use crate::cases::Case;
use crate::support::TestRepo;

/// Lets git run a program that leaves a trace, wherever it can be told to. `$G` is a git directory.
const PLANT: &str = r#"
E="$TRACES/program"; printf '#!/bin/sh\ntouch "%s/$1"; cat\n' "$TRACES" >"$E"; chmod +x "$E"
for key in filter.x.smudge filter.x.clean core.fsmonitor diff.external diff.x.textconv core.pager core.editor gpg.program; do
    git config --file "$G/config" $key "'$E' $key"
done
mkdir -p "$G/info" "$G/hooks"; echo '* filter=x diff=x' >>"$G/info/attributes"
for hook in pre-commit post-commit reference-transaction post-checkout post-index-change post-merge; do
    printf '#!/bin/sh\ntouch "%s/%s"\n' "$TRACES" $hook >"$G/hooks/$hook"; chmod +x "$G/hooks/$hook"
done
"#;

/// A worktree with changes in and out of scope, in commits and on disk, and a branch of its own.
const WORK: &str =
    "edit README.md; echo new >docs/new.md; edit src/main.rs; commit; edit docs/api.md
    touch -d '2 days ago' src/mod/util.rs; cd \"$MAIN\"; ";

#[track_caller]
fn planted(options: &[&str], git_dir: &str) -> Case {
    plant(worked(options), git_dir)
}

#[track_caller]
fn plant(case: Case, git_dir: &str) -> Case {
    case.main_does(&format!(
        "mkdir \"$MAIN/../traces\"; TRACES=$(cd \"$MAIN/../traces\"; pwd); G={git_dir}; {PLANT}"
    ));
    case
}

/// A repository with a worktree in which an agent worked.
#[track_caller]
fn worked(options: &[&str]) -> Case {
    let repo = TestRepo::project();
    let scope = ["--write", "src/**", "--exclude", "**/secrets/**"];
    let words = [&["add", "task"][..], &scope, options].concat();
    repo.agentwt(&words).ok();
    let worktree = repo.worktree("task");
    let case = Case { repo, worktree };
    case.does(WORK);
    case
}

/// The traces of programs that ran.
fn traces(case: &Case) -> Vec<String> {
    let directory = case.repo.root().join("traces");
    let all = std::fs::read_dir(directory).expect("it is a directory");
    let names = all.map(|one| one.expect("it can be read").file_name());
    let mut names: Vec<String> = names
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name != "program")
        .collect();
    names.sort();
    names
}

#[test]
fn no_command_that_verify_prints_runs_what_it_reports() {
    let clone = &["--strategy", "clone"][..];
    for (options, git_dir) in [(&[][..], "$MAIN/.git"), (clone, "$WT/.git")] {
        let case = worked(options);
        case.does("git branch other");
        let case = plant(case, git_dir);
        let said = case.repo.agentwt(&["verify", "task"]);
        assert_eq!(said.status, 1, "{said}");
        let commands = said.stderr.lines().chain(said.stdout.lines());
        let commands = commands.filter(|line| line.starts_with("to "));
        let commands = commands.filter_map(|line| line.split_once(": "));
        let mut commands: Vec<&str> = commands.map(|(_, command)| command).collect();
        assert!(commands.len() > 2, "{said}");
        // and what `verify` prints of a worktree without these
        commands.extend([
            "git agentwt restore task",
            "git agentwt reapply task",
            "git agentwt scope task --add-write /docs/api.md",
            "git agentwt scope task --add-exclude '/docs/**'",
            "git agentwt land task",
            "git agentwt remove task --force --force",
        ]);
        for command in commands {
            let case = worked(options);
            case.does("git branch other");
            let case = plant(case, git_dir);
            let said = case.repo.sh(case.repo.main(), command);
            assert_eq!(traces(&case), Vec::<String>::new(), "{command}: {said}");
        }
    }
}

#[test]
fn what_would_run_it_is_refused_with_what_can_be_done() {
    let case = planted(&[], "$MAIN/.git");
    for (command, words) in [
        ("restore", &["restore", "task"][..]),
        ("undo", &["restore", "task", "--undo"]),
        ("reapply", &["reapply", "task"]),
        ("scope", &["scope", "task", "--add-write", "/docs/api.md"]),
    ] {
        let said = case.repo.agentwt(words);
        assert_eq!(said.status, 4, "{command}: {said}");
        assert!(
            said.stderr.contains("git would use what was changed"),
            "{command}: {said}"
        );
    }
    assert_snapshot!(case.repo.agentwt(&["restore", "task"]), @r"
    --- stderr
    error: cannot restore worktree `task`: git would use what was changed since `add`: @git/hooks/post-checkout, @git/hooks/post-commit, @git/hooks/post-index-change, 12 more
    help: to see what changed: git agentwt verify task; to remove it: git -C $TMP/repo/.agentwt/worktrees/task config --unset-all core.editor; to remove it: git -C $TMP/repo/.agentwt/worktrees/task config --unset-all core.fsmonitor; to remove it: git -C $TMP/repo/.agentwt/worktrees/task config --unset-all core.pager; if you made these changes: git agentwt accept task --shared
    --- status 4
    ");
    // a look changes nothing, and runs nothing
    case.repo.agentwt(&["restore", "task", "-n"]).ok();
    case.repo.agentwt(&["reapply", "task", "-n"]).ok();
    assert_eq!(traces(&case), Vec::<String>::new());
}

#[test]
fn a_hook_that_the_user_removed_stops_nothing() {
    let repo = TestRepo::project();
    repo.write(".git/hooks/pre-commit", "#!/bin/sh\n");
    repo.chmod(".git/hooks/pre-commit", 0o755);
    repo.agentwt(&["add", "task", "--write", "src/**"]).ok();
    std::fs::remove_file(repo.main().join(".git/hooks/pre-commit")).expect("a file");
    // it is reported, and git runs nothing in its place
    let said = repo.agentwt(&["restore", "task"]);
    assert_eq!(said.status, 1, "{said}");
    assert!(!said.stderr.contains("git would use"), "{said}");
    repo.agentwt(&["reapply", "task"]).ok();
}

#[test]
fn without_it_or_with_the_users_word_the_commands_work() {
    let case = planted(&[], "$MAIN/.git");
    case.main_does(
        "cd .git; rm hooks/pre-commit hooks/post-* hooks/reference-transaction info/attributes
        for section in filter.x diff.x diff gpg; do git config --remove-section $section; done
        for key in fsmonitor pager editor; do git config --unset-all core.$key; done",
    );
    case.repo.agentwt(&["restore", "task"]).ok();
    assert_snapshot!(case.findings(), @"
    README.md modified history notice
    docs/new.md modified history notice
    ");
    assert_eq!(traces(&case), Vec::<String>::new());
    let case = planted(&[], "$MAIN/.git");
    case.repo.agentwt(&["accept", "task", "--shared"]).ok();
    case.repo.agentwt(&["restore", "task"]).ok();
    assert!(traces(&case).contains(&"filter.x.smudge".to_owned()));
}

#[test]
fn a_program_in_the_worktrees_own_settings_is_not_run() {
    let case = worked(&[]);
    case.does(
        "mkdir $MAIN/../traces; echo '* filter=x' >src/.gitattributes
        git config --worktree filter.x.clean \"touch $MAIN/../traces/clean; cat\"",
    );
    assert_snapshot!(case.repo.agentwt(&["restore", "task"]), @r"
    --- stderr
    error: cannot restore worktree `task`: git would use what was changed since `add`: filter.x.clean in @wt/config.worktree
    help: to see what changed: git agentwt verify task; to remove it: git config --file $TMP/repo/.git/worktrees/task/config.worktree --unset-all filter.x.clean; if the worktree may have its own: git agentwt accept task --all
    --- status 4
    ");
    case.main_does(
        "git config --file .git/worktrees/task/config.worktree --unset-all filter.x.clean",
    );
    // settings by which nothing runs are put back
    case.does("git sparse-checkout disable");
    let said = case.repo.agentwt(&["restore", "task"]);
    assert!(said.stderr.contains("put back"), "{said}");
    assert_eq!(traces(&case), Vec::<String>::new());
}

#[test]
fn a_removal_runs_the_hooks_that_were_there_and_no_others() {
    let remove = ["remove", "task", "--force", "--force"];
    let case = worked(&[]);
    // another branch has its commits: its own goes
    case.does("git branch other");
    let case = plant(case, "$MAIN/.git");
    let said = case.repo.agentwt(&remove);
    assert!(said.stderr.contains("branch agentwt/task (was"), "{said}");
    case.repo.agentwt(&["remove", "--undo", "task"]).ok();
    assert_eq!(traces(&case), Vec::<String>::new());
    let repo = TestRepo::project();
    repo.sh(
        repo.main(),
        "mkdir ../traces; printf '#!/bin/sh\\ntouch \"%s\"/mine\\n' \"$PWD/../traces\" >.git/hooks/reference-transaction
        chmod +x .git/hooks/reference-transaction",
    )
    .ok();
    let case = Case::of(repo);
    case.main_does("rm -f ../traces/mine");
    case.repo.agentwt(&remove).ok();
    assert_eq!(traces(&case), ["mine"]);
}
