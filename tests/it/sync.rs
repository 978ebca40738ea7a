//! `sync`: untracked files between the main worktree and an agent's.

mod adding;
mod interrupted;
mod read_only_directory;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use insta::assert_snapshot;

use crate::support::{TestRepo, chmod};

/// A project whose config syncs these patterns, with the worktree `task` made without syncing.
#[track_caller]
fn with_patterns(patterns: &str) -> (TestRepo, PathBuf) {
    let repo = TestRepo::project();
    repo.write(
        ".agentwt/config.toml",
        &format!(
            "schema_version = \"1.0\"\n[worktree.file_sync]\noptional_patterns = [{patterns}]\n\
            [scope.default]\nwrite = [\"src/**\"]\nexclude = [\"**/*.pem\"]\n"
        ),
    );
    repo.agentwt(&["add", "task"]).ok();
    let worktree = repo.worktree("task");
    (repo, worktree)
}

fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn sync_copies_what_is_selected_and_says_so() {
    let (repo, worktree) = with_patterns("'.env*', 'config/**', 'certs'");
    repo.write(".env", "A=1\n");
    repo.write("config/local.json", "{}\n");
    repo.write("certs/a/key.pem", "PEM\n");
    repo.write("certs/a/crt", "CRT\n");
    assert_snapshot!(repo.agentwt(&["sync", "task", "-n"]), @r#"
    would copy 3 files (11 B) into task
      certs/a/key.pem is not copied: exclude "**/*.pem" (.agentwt/config.toml:6)
      .env
      certs/a/crt
      config/local.json
    --- status 0
    "#);
    assert!(!worktree.join(".env").exists(), "-n copies nothing");
    assert_snapshot!(repo.agentwt(&["sync", "task"]), @"
    copied 3 files (11 B) into task
      certs/a/key.pem is not copied: exclude \"**/*.pem\" (.agentwt/config.toml:6)
    --- status 0
    ");
    assert_eq!(read(worktree.join("certs/a/crt")), "CRT\n");
    assert!(!worktree.join("certs/a/key.pem").exists());
    assert_snapshot!(repo.agentwt(&["sync", "task"]), @"
    task: 3 files are as in the main worktree
      certs/a/key.pem is not copied: exclude \"**/*.pem\" (.agentwt/config.toml:6)
    --- status 0
    ");
    assert_eq!(repo.sh(&worktree, "git status --porcelain").ok(), "");
    assert_snapshot!(repo.agentwt(&["verify", "task"]), @"
    ok task: in scope, 0 paths changed
    --- status 0
    ");
}

#[test]
fn mode_and_time_are_kept_and_what_may_only_be_read_is_read_only() {
    let (repo, worktree) = with_patterns("'**/*.local'");
    for name in ["a.local", "src/b.local"] {
        repo.write(name, "x\n");
        repo.sh(
            repo.main(),
            &format!("chmod 750 {name}; touch -d '2001-02-03 04:05:06.789' {name}"),
        )
        .ok();
    }
    repo.agentwt(&["sync", "task"]).ok();
    for (name, bits) in [("a.local", 0o550), ("src/b.local", 0o750)] {
        let (source, copy) = (repo.main().join(name), worktree.join(name));
        let (source, copy) = (
            source.metadata().expect("a file"),
            copy.metadata().expect("a file"),
        );
        assert_eq!(copy.permissions().mode() & 0o7777, bits, "{name}");
        let time = |meta: &std::fs::Metadata| (meta.mtime(), meta.mtime_nsec());
        assert_eq!(time(&copy), time(&source), "{name}");
    }
}

#[test]
fn links_stay_links_and_empty_directories_come_too() {
    let (repo, worktree) = with_patterns("'d/**'");
    repo.sh(
        repo.main(),
        "mkdir -p d/empty d/sub; ln -s /nowhere/at/all d/absolute; ln -s gone d/dangling; \
        ln -s sub d/to-dir; ln -s ../README.md d/up; echo x >d/sub/f; ln d/sub/f d/hard",
    )
    .ok();
    repo.agentwt(&["sync", "task"]).ok();
    let links = repo.sh(
        &worktree,
        "cd d; for l in absolute dangling to-dir up; do readlink $l; done; ls -d empty; cat hard",
    );
    assert_snapshot!(links.ok(), @"
    /nowhere/at/all
    gone
    sub
    ../README.md
    empty
    x
    ");
    assert_snapshot!(repo.agentwt(&["verify", "task"]), @"
    ok task: in scope, 0 paths changed
    --- status 0
    ");
}

#[test]
fn a_newer_source_is_copied_again_and_an_edited_copy_is_refused() {
    let (repo, worktree) = with_patterns("'.env', 'other'");
    repo.write(".env", "A=1\n");
    repo.write("other", "o\n");
    repo.agentwt(&["sync", "task"]).ok();
    repo.write(".env", "A=2\n");
    assert_snapshot!(repo.agentwt(&["sync", "--status", "task"]), @"
    source newer  .env
    same          other
    --- status 0
    ");
    assert_snapshot!(repo.agentwt(&["sync", "task"]), @"
    copied 1 file (4 B) into task
    --- status 0
    ");
    assert_eq!(read(worktree.join(".env")), "A=2\n");
    chmod(&worktree.join(".env"), 0o644);
    std::fs::write(worktree.join(".env"), "A=agent\n").expect("it is written");
    repo.write(".env", "A=3\n");
    std::fs::remove_file(worktree.join("other")).expect("it is removed");
    assert_snapshot!(repo.agentwt(&["sync", "--status", "task"]), @"
    edited here, source newer  .env
    missing                    other
    --- status 0
    ");
    let before = repo.fingerprint();
    assert_snapshot!(repo.agentwt(&["sync", "task"]), @"
    --- stderr
    error: cannot sync into `task`: a file was edited there and is not as in the main worktree:
      $TMP/repo/.agentwt/worktrees/task/.env and $TMP/repo/.env
    help: to keep what is in the worktree: git agentwt sync task --pull .env; to replace it, saved first: git agentwt sync task --force
    --- status 4
    ");
    assert_eq!(repo.fingerprint(), before, "a refusal touches nothing");
    let forced = repo.agentwt(&["sync", "task", "--force", "--json"]).ok();
    assert_eq!(
        (read(worktree.join(".env")), read(worktree.join("other"))),
        ("A=3\n".into(), "o\n".into())
    );
    let json: serde_json::Value = serde_json::from_str(&forced).expect("it is JSON");
    let rescue = json["worktrees"][0]["rescue"]["ref"]
        .as_str()
        .expect("what was replaced is saved");
    assert_eq!(repo.git(&["show", &format!("{rescue}:.env")]), "A=agent");
}

#[test]
fn pull_brings_an_edit_back_and_never_over_a_newer_file() {
    let (repo, worktree) = with_patterns("'.env', 'd/**'");
    repo.write(".env", "A=1\n");
    repo.write("d/x", "x\n");
    repo.chmod(".env", 0o600);
    repo.agentwt(&["sync", "task"]).ok();
    chmod(&worktree.join(".env"), 0o644);
    std::fs::write(worktree.join(".env"), "A=agent\n").expect("it is written");
    assert_snapshot!(repo.agentwt(&["sync", "task", "--pull", "nothing"]), @"
    --- stderr
    error: cannot pull nothing from worktree `task`: it was not synced
    help: see what was synced: git agentwt sync task --status; to copy it in again: git agentwt sync task
    --- status 4
    ");
    assert_snapshot!(repo.agentwt(&["sync", "task", "-n", "--pull", ".env", "d"]), @"
    would pull 1 file from task
      .env
    --- status 0
    ");
    assert_eq!(read(repo.main().join(".env")), "A=1\n");
    assert_snapshot!(repo.agentwt(&["sync", "task", "--pull", ".env", "d"]), @"
    pulled 1 file from task
      .env
    --- status 0
    ");
    let main = repo.main().join(".env");
    assert_eq!(read(&main), "A=agent\n");
    assert_eq!(
        main.metadata().expect("a file").permissions().mode() & 0o777,
        0o600
    );
    assert_snapshot!(repo.agentwt(&["sync", "--status", "task"]), @"
    same  .env
    same  d/x
    --- status 0
    ");
    // both sides
    std::fs::write(worktree.join(".env"), "A=again\n").expect("it is written");
    repo.write(".env", "A=mine\n");
    assert_snapshot!(repo.agentwt(&["sync", "task", "--pull", ".env"]), @r#"
    --- stderr
    error: cannot pull .env from worktree `task`: the main worktree has changed it as well
    help: compare .env with "$(git agentwt path task)"/.env; to replace the main worktree's, saved first: git agentwt sync task --force --pull .env
    --- status 4
    "#);
    assert_eq!(read(&main), "A=mine\n");
    let forced = repo
        .agentwt(&["sync", "task", "--force", "--pull", ".env", "--json"])
        .ok();
    assert_eq!(read(&main), "A=again\n");
    let json: serde_json::Value = serde_json::from_str(&forced).expect("it is JSON");
    let rescue = json["worktrees"][0]["rescue"]["ref"]
        .as_str()
        .expect("what was replaced is saved");
    assert_eq!(repo.git(&["show", &format!("{rescue}:.env")]), "A=mine");
}

#[test]
fn pull_takes_paths_from_where_one_stands() {
    let (repo, worktree) = with_patterns("'src/conf/x'");
    repo.write("src/conf/x", "x\n");
    repo.agentwt(&["sync", "task"]).ok();
    std::fs::write(worktree.join("src/conf/x"), "edited\n").expect("it may be edited");
    let below = worktree.join("src/conf");
    let said = repo.agentwt_in(&below, &["sync", "-n", "--pull", "x"]).ok();
    assert!(said.contains("src/conf/x"), "{said}");
    // an agent does not write into the main worktree
    let said = repo.agentwt_in(&below, &["sync", "--pull", "x"]);
    assert_eq!(said.status, 4, "{said}");
    assert_eq!(read(repo.main().join("src/conf/x")), "x\n");
}

#[test]
fn clean_removes_what_nobody_touched_and_names_the_rest() {
    let (repo, worktree) = with_patterns("'.env', 'd/**', 'keep/**'");
    repo.write(".env", "A=1\n");
    repo.write("d/e/x", "x\n");
    repo.write("keep/y", "y\n");
    repo.agentwt(&["sync", "task"]).ok();
    chmod(&worktree.join(".env"), 0o644);
    std::fs::write(worktree.join(".env"), "A=agent\n").expect("it is written");
    std::fs::write(worktree.join("keep/mine"), "mine\n").expect("it is written");
    assert_snapshot!(repo.agentwt(&["sync", "task", "--clean", "-n"]), @"
    would remove 2 files from task
      kept, edited here  .env
    --- status 0
    ");
    assert!(worktree.join("d/e/x").exists());
    assert_snapshot!(repo.agentwt(&["sync", "task", "--clean"]), @"
    removed 2 files from task
      kept, edited here  .env
    --- status 0
    ");
    assert!(
        !worktree.join("d").exists(),
        "a directory that was made for it goes too"
    );
    assert_eq!(read(worktree.join("keep/mine")), "mine\n");
    assert_eq!(read(worktree.join(".env")), "A=agent\n");
    assert_snapshot!(repo.agentwt(&["sync", "--status", "task"]), @"
    edited here  .env
    --- status 0
    ");
}

#[test]
fn all_worktrees_are_synced_and_one_refusal_stops_no_other() {
    let (repo, worktree) = with_patterns("'.env'");
    let other = repo.add("zeta");
    repo.write(".env", "A=1\n");
    repo.agentwt(&["sync", "task"]).ok();
    chmod(&worktree.join(".env"), 0o644);
    std::fs::write(worktree.join(".env"), "A=agent\n").expect("it is written");
    assert_snapshot!(repo.agentwt(&["sync", "--all"]), @"
    copied 1 file (4 B) into zeta
    --- stderr
    note: task: cannot sync into `task`: a file was edited there and is not as in the main worktree:
      $TMP/repo/.agentwt/worktrees/task/.env and $TMP/repo/.env; to keep what is in the worktree: git agentwt sync task --pull .env; to replace it, saved first: git agentwt sync task --force
    --- status 4
    ");
    assert_eq!(read(other.join(".env")), "A=1\n");
}

#[test]
fn nothing_is_written_through_a_link_of_the_worktree() {
    let (repo, worktree) = with_patterns("'conf/local'");
    let outside = repo.root().join("outside");
    std::fs::create_dir(&outside).expect("a directory");
    repo.write("conf/local", "secret\n");
    // the agent's branch has a link where the main worktree has a directory
    repo.sh(
        &worktree,
        &format!(
            "ln -s {} conf; git add -f conf; git commit -qm link",
            outside.display()
        ),
    )
    .ok();
    assert_snapshot!(repo.agentwt(&["sync", "task"]), @r#"
    --- stderr
    error: cannot sync into `task`: conf is a file or a link there, and has to be a directory
    help: look at it: ls -ld "$(git agentwt path task)"/conf; move it away, then: git agentwt sync task
    --- status 4
    "#);
    assert_eq!(std::fs::read_dir(&outside).expect("a directory").count(), 0);
}

#[test]
fn a_tracked_path_is_never_overwritten() {
    let (repo, worktree) = with_patterns("'local.conf'");
    repo.sh(
        &worktree,
        "echo tracked >src/x; echo mine >local.conf; git add -f local.conf src/x; git commit -qm x",
    )
    .ok();
    repo.write("local.conf", "main's\n");
    assert_snapshot!(repo.agentwt(&["sync", "task", "--force"]), @"
    task: there is nothing to copy
      local.conf is not copied: it is tracked in task
    --- status 0
    ");
    assert_eq!(read(worktree.join("local.conf")), "mine\n");
}

#[test]
fn the_users_own_excludes_still_count() {
    let (repo, worktree) = with_patterns("'.env'");
    std::fs::create_dir_all(repo.home().join(".config/git")).expect("a directory");
    std::fs::write(repo.home().join(".config/git/ignore"), "*.swp").expect("a file");
    repo.write(".env", "A=1\n");
    repo.agentwt(&["sync", "task"]).ok();
    repo.sh(&worktree, "touch x.swp new").ok();
    assert_eq!(repo.sh(&worktree, "git status --porcelain").ok(), "?? new");
    // the main worktree and others see no difference
    assert_eq!(
        repo.sh(repo.main(), "git status --porcelain .env").ok(),
        "?? .env"
    );
}

#[test]
fn placed_names_that_look_like_patterns_are_hidden_as_they_are() {
    let (repo, worktree) = with_patterns("'odd/**'");
    for name in [
        "odd/#x",
        "odd/a b ",
        "odd/[ab]*",
        "odd/new\nline",
        "odd/\\back",
        "odd/!x",
    ] {
        repo.write(name, "x\n");
    }
    repo.agentwt(&["sync", "task"]).ok();
    assert_eq!(repo.sh(&worktree, "git status --porcelain").ok(), "");
    repo.sh(&worktree, "touch odd/ab odd/other").ok();
    let said = repo.sh(&worktree, "git status --porcelain -uall").ok();
    assert_eq!(said, "?? odd/ab\n?? odd/other");
}

#[test]
fn a_bare_repository_has_nothing_to_sync_with() {
    let (repo, _) = with_patterns("'.env'");
    repo.git(&["config", "core.bare", "true"]);
    let said = repo.agentwt(&["sync", "--status", "task"]);
    assert!(said.status == 0 || said.status == 7, "{said}");
}

#[test]
fn the_last_copies_stay_in_a_bare_repository_whatever_is_below_its_root() {
    let (repo, worktree) = with_patterns("'.env'");
    repo.write(".env", "A=1\n");
    repo.agentwt(&["sync", "task"]).ok();
    repo.sh(
        repo.main(),
        "cp -p .env .git/.env; git config core.bare true",
    )
    .ok();
    let said = repo.sh(&worktree, "git agentwt sync task --clean");
    assert!(worktree.join(".env").exists(), "{said}");
}

#[test]
fn names_and_modes_that_contradict_each_other_are_usage_errors() {
    let (repo, _) = with_patterns("'.env'");
    for arguments in [
        &["sync", "task", "--all"][..],
        &["sync", "task", "--status", "--clean"],
        &["sync", "--all", "--pull", "x"],
        &["sync", "task", "--clean", "--force"],
        &["sync"],
    ] {
        repo.agentwt(arguments).fails(2);
    }
    repo.agentwt(&["sync", "nobody"]).fails(7);
}

#[test]
fn a_config_that_switches_it_off_is_said_so() {
    let (repo, worktree) = with_patterns("'.env'");
    let config = read(repo.main().join(".agentwt/config.toml"));
    let off = config.replace("optional_patterns", "enabled = false\noptional_patterns");
    repo.write(".agentwt/config.toml", &off);
    repo.write(".env", "A=1\n");
    assert_snapshot!(repo.agentwt(&["sync", "task"]), @"
    task: there is nothing to copy
    --- stderr
    note: [worktree.file_sync] says `enabled = false`
    --- status 0
    ");
    assert!(!worktree.join(".env").exists());
}

#[test]
fn records_end_with_nul_and_names_are_bytes() {
    let (repo, _) = with_patterns("'odd*'");
    repo.write("odd\n", "x\n");
    let said = repo.agentwt(&["sync", "task", "-z"]);
    assert_eq!(said.stdout, "task\tcopied\todd\n\t2\0");
    let said = repo.agentwt(&["sync", "task", "--status", "--porcelain"]);
    assert_eq!(said.stdout, "task\tsame\todd\\012\tsynced\n");
}

#[test]
fn pull_brings_the_executable_bit_and_refuses_what_is_no_edit() {
    let (repo, worktree) = with_patterns("'tool', 'a', 'tracked'");
    for name in ["tool", "a", "tracked"] {
        repo.write(name, "x\n");
    }
    repo.agentwt(&["sync", "task"]).ok();
    chmod(&worktree.join("tool"), 0o755);
    repo.agentwt(&["sync", "task", "--pull", "tool"]).ok();
    let mode = repo.main().join("tool").metadata().expect("a file");
    assert_eq!(mode.permissions().mode() & 0o777, 0o755);
    std::fs::remove_file(worktree.join("a")).expect("it is removed");
    std::os::unix::fs::symlink("/etc/passwd", worktree.join("a")).expect("a link");
    assert_snapshot!(repo.agentwt(&["sync", "task", "--pull", "a"]), @r#"
    --- stderr
    error: cannot pull a from worktree `task`: it is a link there, and was placed as a file
    help: look at it: ls -ld "$(git agentwt path task)"/a; to pull it all the same: git agentwt sync task --force --pull a
    --- status 4
    "#);
    chmod(&worktree.join("tracked"), 0o644);
    std::fs::write(worktree.join("tracked"), "agent\n").expect("it is written");
    repo.git(&["add", "-f", "tracked"]);
    assert_snapshot!(repo.agentwt(&["sync", "task", "--pull", "tracked"]), @r#"
    --- stderr
    error: cannot pull tracked from worktree `task`: the main worktree tracks it by now
    help: compare them: git diff --no-index -- tracked "$(git agentwt path task)"/tracked
    --- status 4
    "#);
    let other = repo.agentwt(&["add", "other"]);
    assert_eq!(other.status, 0, "{other}");
    repo.agentwt(&["sync", "task", "other", "--pull", "a"])
        .fails(2);
}

#[test]
fn a_pull_from_inside_is_refused_with_a_command_that_names_the_worktree() {
    let (repo, worktree) = with_patterns("'.env'");
    repo.write(".env", "A=1\n");
    repo.agentwt(&["sync", "task"]).ok();
    let said = repo.agentwt_in(&worktree, &["sync", "--pull", ".env"]);
    said.fails(4);
    assert!(
        said.stderr.contains("git agentwt sync task --pull .env"),
        "{said}"
    );
}

#[test]
fn a_command_that_is_printed_takes_any_name() {
    let (repo, worktree) = with_patterns("'my *'");
    let name = "my $(touch it) note's";
    repo.write(name, "x\n");
    repo.agentwt(&["sync", "task"]).ok();
    chmod(&worktree.join(name), 0o644);
    std::fs::write(worktree.join(name), "agent\n").expect("it is written");
    repo.write(name, "main\n");
    let said = repo.agentwt(&["sync", "task", "--pull", name]);
    said.fails(4);
    let (_, command) = said
        .stderr
        .split_once("saved first: ")
        .expect("there is a command");
    let typed = command.lines().next().expect("a line");
    repo.sh(repo.main(), typed).ok();
    assert_eq!(read(repo.main().join(name)), "agent\n");
    assert!(!repo.main().join("it").exists());
}

#[test]
fn pull_replaces_no_tracked_file_where_the_index_has_whole_directories() {
    let (repo, worktree) = with_patterns("'tracked'");
    repo.write("tracked", "x\n");
    repo.agentwt(&["sync", "task"]).ok();
    chmod(&worktree.join("tracked"), 0o644);
    std::fs::write(worktree.join("tracked"), "agent\n").expect("it is written");
    let line = "git sparse-checkout set --sparse-index src; git add -f tracked
        git ls-files --sparse | grep /$";
    repo.sh(repo.main(), line).ok();
    let said = repo.agentwt(&["sync", "task", "--force", "--pull", "tracked"]);
    assert!(
        said.fails(4).stderr.contains("the main worktree tracks it"),
        "{said}"
    );
}

#[test]
fn force_is_named_only_where_a_pull_with_it_would_work() {
    let (repo, worktree) = with_patterns("'a'");
    repo.write("a", "x\n");
    repo.agentwt(&["sync", "task"]).ok();
    std::fs::remove_file(worktree.join("a")).expect("it is removed");
    std::fs::create_dir(worktree.join("a")).expect("a directory");
    assert_snapshot!(repo.agentwt(&["sync", "task", "--force", "--pull", "a"]), @r#"
    --- stderr
    error: cannot pull a from worktree `task`: it is a directory there, and was placed as a file
    help: look at it: ls -ld "$(git agentwt path task)"/a
    --- status 4
    "#);
}

#[test]
fn the_last_copy_is_not_cleaned_away() {
    let (repo, worktree) = with_patterns("'a', 'b'");
    repo.write("a", "x\n");
    repo.write("b", "x\n");
    repo.agentwt(&["sync", "task"]).ok();
    std::fs::remove_file(repo.main().join("a")).expect("it is removed");
    assert_snapshot!(repo.agentwt(&["sync", "task", "--clean"]), @"
    removed 1 file from task
      kept, gone at source  a
    --- status 0
    ");
    assert_eq!(read(worktree.join("a")), "x\n");
}

#[test]
fn a_directory_in_place_of_a_file_is_named_as_that() {
    let (repo, worktree) = with_patterns("'a'");
    repo.write("a", "x\n");
    std::fs::create_dir(worktree.join("a")).expect("a directory");
    assert_snapshot!(repo.agentwt(&["sync", "task", "--force"]), @r#"
    --- stderr
    error: cannot sync into `task`: a is a directory there, and has to be a file or a link
    help: look at it: ls -ld "$(git agentwt path task)"/a; move it away, then: git agentwt sync task
    --- status 4
    "#);
}
