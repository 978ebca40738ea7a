//! Every kind of change that is out of scope, and how it is put back.

use insta::assert_snapshot;

use super::world::{World, without_time};
use crate::support::{TestRepo, chmod, is_root, text};

/// Each of these goes, and comes back with `--undo`.
#[track_caller]
fn each_goes_and_comes_back(scripts: &[&str]) {
    for script in scripts {
        let world = World::after(script);
        let said = world.goes_and_comes_back(&[]);
        assert!(!said.stdout.is_empty(), "{script}: {said}");
    }
}

#[test]
fn edited_deleted_and_new_files() {
    each_goes_and_comes_back(&[
        "echo x >README.new; mv README.new README.md",
        "rm docs/guide.md",
        "rm -r docs",
        "echo x >docs/new.md; mkdir -p more/deep; echo y >more/deep/y",
        "chmod +x README.md",
        "chmod -x tools/run.sh",
        "mv README.md src/README.md",
    ]);
}

#[test]
fn what_is_staged_is_put_back_in_the_index_as_well() {
    each_goes_and_comes_back(&[
        "rm README.md; echo x >README.md; git add README.md; rm README.md; echo y >README.md",
        "rm README.md; echo x >README.md; git add README.md; git show HEAD:README.md >README.md",
        "git rm -q docs/guide.md",
        "git rm -q --cached docs/guide.md",
        "echo x >docs/new.md; git add docs/new.md; rm docs/new.md",
        "git update-index --chmod=+x README.md",
        "git mv docs elsewhere",
    ]);
}

#[test]
fn links_and_what_takes_the_place_of_something_else() {
    each_goes_and_comes_back(&[
        "rm link; echo file >link",
        "ln -sfn package.json link",
        "rm README.md; ln -s package.json README.md; git add README.md",
        "rm README.md; mkdir README.md; echo x >README.md/x; git add -A README.md",
        "rm -r docs; echo x >docs; git add -A docs",
        "ln -s nowhere dangling",
        "rm README.md; mkdir README.md",
    ]);
}

#[test]
fn links_in_the_place_of_directories_lead_nothing_outside() {
    let world = World::after(
        "mkdir \"$MAIN/../outside\"; mv docs \"$MAIN/../outside/docs\"
         ln -s \"$MAIN/../outside/docs\" docs; echo mine >docs/guide.md.new; mv docs/guide.md.new docs/guide.md",
    );
    let _ = world.goes_and_comes_back(&[]);
    let _ = world.restore(&["docs/guide.md"]).fails(1);
    let outside = world.repo.root().join("outside/docs");
    assert_eq!(
        text(&outside.join("guide.md")),
        "mine\n",
        "it is not written through"
    );
    assert_eq!(text(&outside.join("api.md")), "api v1\n");
    assert_eq!(text(&world.worktree.join("docs/guide.md")), "guide\n");
    let docs = world
        .worktree
        .join("docs")
        .symlink_metadata()
        .expect("it is there");
    assert!(docs.is_dir());
}

#[test]
fn a_link_in_the_place_of_a_directory_in_scope_goes_and_what_it_led_to_stays() {
    let world = World::after(
        "cp -r src \"$MAIN/../out\"; rm -r src; ln -s \"$MAIN/../out\" src; echo w >src/w.rs",
    );
    let said = world.restore(&[]);
    assert_eq!(said.status, 0, "{said}");
    assert!(!world.worktree.join("src").exists(), "{said}");
    assert_eq!(text(&world.repo.root().join("out/w.rs")), "w\n");
    assert!(
        !world.findings().contains(" violation"),
        "deleting is in scope"
    );
    world.restore(&["--undo"]).ok();
    assert_eq!(text(&world.worktree.join("src/w.rs")), "w\n");
}

#[test]
fn what_the_scope_excludes_leaves_the_disk_and_stays_absent() {
    let scripts = [
        "mkdir -p secrets; git show HEAD:secrets/key.pem >secrets/key.pem",
        "mkdir -p secrets; echo mine >secrets/key.pem",
        "mkdir -p secrets; echo new >secrets/new; echo l >secrets/x.log",
        "mkdir -p secrets; echo mine >secrets/key.pem; git add --sparse secrets/key.pem",
        "git rm -q --cached --sparse secrets/key.pem",
        "git sparse-checkout disable",
    ];
    for script in scripts {
        let world = World::after(script);
        let before = world.everything(".");
        let said = world.restore(&[]);
        assert_eq!(said.status, 0, "{script}: {said}");
        assert!(
            !world.findings().contains(" violation"),
            "{script}: {}",
            world.findings()
        );
        assert!(!world.worktree.join("secrets").exists(), "{script}");
        let flags = world.git(&["ls-files", "-t", "secrets", "app"]);
        assert_eq!(flags, "S app/secrets/token\nS secrets/key.pem", "{script}");
        world.restore(&["--undo"]).ok();
        assert_eq!(world.everything("."), before, "{script}");
    }
}

#[test]
fn sparse_patterns_that_were_narrowed_are_put_back() {
    let world = World::after(
        "git reset -q src/later.rs; git stash -q; printf '/src/\\n/tests/\\n/package.json\\n' | git sparse-checkout set --no-cone --stdin; git stash pop -q",
    );
    assert!(!world.worktree.join("README.md").exists());
    let said = world.restore(&[]);
    assert_eq!(said.status, 0, "{said}");
    assert!(said.stderr.contains("and the sparse patterns"), "{said}");
    assert!(
        !world.findings().contains(" violation"),
        "{}",
        world.findings()
    );
    assert_eq!(text(&world.worktree.join("README.md")), "read me\n");
}

#[test]
fn index_flags_that_hide_a_change_are_cleared() {
    for flag in ["assume-unchanged", "skip-worktree"] {
        let world = World::after(&format!(
            "git update-index --{flag} README.md; rm README.md; echo x >README.md"
        ));
        let _ = world.goes_and_comes_back(&[]);
        world.restore(&[]).ok();
        assert_eq!(world.git(&["ls-files", "-v", "README.md"]), "H README.md");
    }
}

#[test]
fn a_fifo_is_removed_and_named() {
    let world = World::after("mkfifo docs/pipe; echo x >>docs/new");
    let said = world.restore(&[]);
    assert_snapshot!(without_time(&said), @"
    created  docs/new
    created  docs/pipe
    --- stderr
    note: docs/pipe is not a regular file: its content cannot be saved, and --undo does not make it again
    task: put back 2 paths
    saved what was there as refs/agentwt/rescue/task/TIME; to bring it back: git agentwt restore task --undo
    --- status 0
    ");
    assert!(!world.worktree.join("docs/pipe").exists());
    let undone = world.restore(&["--undo"]);
    assert_snapshot!(without_time(&undone), @"
    docs/new
    --- stderr
    note: docs/pipe was no file, and is not made again
    task: brought back 1 path from refs/agentwt/rescue/task/TIME
    --- status 0
    ");
    assert!(!world.worktree.join("docs/pipe").exists());
}

#[test]
fn names_of_any_bytes_go_and_come_back() {
    let world = World::after(
        r#"printf a >"$(printf 'docs/new\nline')"; printf b >./-rf; printf c >"$(printf 'docs/\377\\"x')"
           printf d >'*'; printf e >':(top)x'; git add -A docs; mkdir "$(printf 'a\tb')"; printf f >"$(printf 'a\tb/c ')""#,
    );
    let _ = world.goes_and_comes_back(&[]);
    let said = world.restore(&["--", "-rf", "*"]);
    assert_eq!(said.stdout, "created  *\ncreated  -rf\n", "{said}");
}

#[test]
fn write_bits_are_put_back_without_saving_anything() {
    let world = World::after("chmod u+w README.md docs/api.md");
    let said = world.restore(&["docs"]);
    assert_snapshot!(said, @"
    perm  docs/api.md
    --- stderr
    task: put back 1 path
    --- status 0
    ");
    let bits = world.sh("stat -c %a README.md docs/api.md");
    assert_eq!(bits, "644\n444");
}

#[test]
fn read_only_files_are_read_only_again() {
    let world = World::after("rm README.md; echo x >README.md; chmod 644 README.md");
    world.restore(&[]).ok();
    assert_eq!(world.sh("stat -c %a README.md"), "444");
}

#[test]
fn directories_that_somebody_made_read_only_are_no_obstacle() {
    let world = World::after("echo x >docs/new.md; rm docs/api.md; chmod 555 docs");
    world.restore(&[]).ok();
    assert!(!world.findings().contains(" violation"));
}

#[test]
fn files_are_written_as_a_checkout_writes_them() {
    let repo = TestRepo::project();
    repo.git(&["config", "filter.caesar.clean", "tr b-za a-z"]);
    repo.git(&["config", "filter.caesar.smudge", "tr a-z b-za"]);
    repo.write(
        ".gitattributes",
        "*.txt eol=crlf text\ndocs/c filter=caesar\ndocs/u text working-tree-encoding=UTF-16LE\n",
    );
    repo.write("docs/a.txt", "one\ntwo\n");
    repo.commit_all("attributes");
    repo.sh(
        repo.main(),
        r"printf 'ifmmp\n' >docs/c; printf 'h\0i\0\n\0' >docs/u; git add -A; git commit -qm more",
    )
    .ok();
    let world = World::of(repo);
    let read = "cd docs; od -c a.txt c u";
    let before = world.sh(read);
    assert!(
        before.contains("\\r") && before.contains("i   f   m"),
        "{before}"
    );
    assert_eq!(world.findings(), "");
    world.sh("rm -f docs/* .gitattributes; echo x >docs/c; echo '* -text' >.gitattributes");
    let _ = world.goes_and_comes_back(&[]);
    world.restore(&[]).ok();
    assert_eq!(world.sh(read), before);
}

#[test]
fn a_filter_of_the_worktrees_own_configuration_is_not_run() {
    let world = World::after(
        "git config --worktree filter.evil.smudge \"touch '$MAIN/../ran'; cat\"
         echo '* filter=evil' >\"$MAIN/.git/info/attributes\"; rm README.md",
    );
    let said = world.restore(&[]);
    assert_eq!(said.status, 4, "{said}");
    assert!(!world.repo.root().join("ran").exists());
}

#[test]
fn what_could_not_be_put_back_is_said_and_is_no_success() {
    let world = World::after(
        "mkdir -p ~/.config/git; echo 'README.md text working-tree-encoding=UTF-16LE' >~/.config/git/attributes
         rm README.md; echo x >README.md",
    );
    let said = world.restore(&[]);
    assert_eq!(said.status, 1, "{said}");
    assert!(
        said.stderr.contains("a violation is left: README.md"),
        "{said}"
    );
}

#[test]
fn a_repository_inside_is_refused_and_the_rest_can_be_named() {
    let world = World::after("git init -q docs/n; echo x >docs/n/new.md; rm README.md");
    assert_snapshot!(world.refuses(4, &[]), @"
    --- stderr
    error: cannot restore worktree `task`: a repository is inside it: docs/n
    help: no commit can save its history: mv $TMP/repo/.agentwt/worktrees/task/docs/n/.git <elsewhere>
    --- status 4
    ");
    let _ = world.restore(&["README.md"]).fails(1);
    assert_eq!(text(&world.worktree.join("README.md")), "read me\n");
}

#[test]
fn work_in_scope_that_is_in_the_way_is_refused() {
    let repo = TestRepo::project();
    let arguments = ["add", "task", "--write", "*.rs"];
    repo.agentwt(&arguments).ok();
    let worktree = repo.worktree("task");
    let world = World { repo, worktree };
    world.sh("rm README.md; mkdir README.md; echo mine >README.md/a.rs");
    assert_snapshot!(world.refuses(4, &[]), @"
    --- stderr
    error: cannot restore README.md in worktree `task`: README.md/a.rs, which is in scope or ignored, is in its way
    help: move it first: mv $TMP/repo/.agentwt/worktrees/task/README.md/a.rs <elsewhere>
    --- status 4
    ");
}

/// What is in the way only in a commit goes by a commit.
#[test]
fn work_in_the_way_that_is_committed_goes_by_what_is_printed() {
    let repo = TestRepo::project();
    repo.agentwt(&["add", "task", "--write", "*.rs"]).ok();
    let worktree = repo.worktree("task");
    let world = World { repo, worktree };
    world.sh("rm README.md; mkdir README.md; echo mine >README.md/a.rs; git add -A; git commit -q --no-verify -m x");
    for place in ["the disk", "the branch"] {
        let said = world.refuses(4, &[]);
        let (_, way) = said.stderr.split_once("first: ").expect("a way");
        let line = way.lines().next().expect("a line");
        let root = world.repo.root().to_str().expect("UTF-8");
        let line = line.replace("$TMP", root);
        let line = line.replace("<elsewhere>", "../elsewhere.rs");
        let line = line.replace(" commit", " commit -q --no-verify -m moved");
        assert_eq!(line.starts_with("mv "), place == "the disk", "{line}");
        world.sh(&line);
    }
    world.restore(&[]).ok();
    assert_eq!(text(&world.worktree.join("README.md")), "read me\n");
}

#[test]
fn a_submodule_at_another_commit_is_refused() {
    let repo = TestRepo::project();
    repo.sh(
        repo.root(),
        "git init -q lib && cd lib && git commit -q --allow-empty -m 1",
    )
    .ok();
    repo.git(&["submodule", "--quiet", "add", "../lib", "lib"]);
    repo.commit_all("a submodule");
    let world = World::of(repo);
    world.sh("git submodule --quiet update --init; git -C lib commit -q --allow-empty -m 2");
    let said = world.refuses(4, &[]);
    assert!(
        said.stderr
            .contains("the submodule lib is not as in the base"),
        "{said}"
    );
    world.sh("git -C lib checkout -q HEAD~; git rm -q --cached lib");
    world.restore(&[]).ok();
    assert!(
        !world.findings().contains(" violation"),
        "{}",
        world.findings()
    );
}

#[test]
fn a_committed_move_of_a_submodule_is_restored_after_the_command_that_the_refusal_prints() {
    let repo = TestRepo::project();
    repo.sh(
        repo.root(),
        "git init -q lib && cd lib && for n in 1 2; do git commit -q --allow-empty -m $n; done",
    )
    .ok();
    repo.git(&["submodule", "--quiet", "add", "../lib", "lib"]);
    repo.commit_all("a submodule");
    let world = World::of(repo);
    let script = "git submodule --quiet update --init; git -C lib checkout -q HEAD~
        git commit -q --no-verify -a -m moved";
    world.sh(script);
    let said = world.refuses(4, &[]);
    let (_, command) = said
        .stderr
        .split_once("save what is in it, then: ")
        .expect("a command");
    let root = world.repo.root().to_str().expect("UTF-8");
    let line = command.lines().next().expect("a line");
    world.sh(&line.replace("$TMP", root));
    world.restore(&[]).ok();
    assert!(
        !world.findings().contains(" violation"),
        "{}",
        world.findings()
    );
    assert_eq!(world.git(&["status", "--porcelain", "lib"]), "");
}

#[test]
fn a_path_that_is_in_scope_is_refused() {
    let world = World::after("rm README.md; echo x >docs/new.md");
    assert_snapshot!(world.refuses(2, &["src/main.rs"]), @"
    --- stderr
    error: src/main.rs is not an out-of-scope change of worktree `task`
    help: see the 2 that there are: git agentwt verify task
    --- status 2
    ");
    let docs = world.worktree.join("docs");
    let said = world.repo.agentwt_in(&docs, &["restore", "new.md"]);
    assert_eq!(said.stdout, "created  docs/new.md\n", "{said}");
}

#[test]
fn nothing_to_restore_is_said() {
    let world = World::new();
    assert_snapshot!(world.refuses(0, &[]), @"
    --- stderr
    task: nothing to restore
    --- status 0
    ");
}

#[test]
fn a_dry_run_says_what_a_restore_says_and_does_nothing() {
    let world = World::after("rm README.md; echo x >docs/new.md; git add -A docs");
    let dry = world.refuses(0, &["-n"]);
    assert_snapshot!(dry, @"
    deleted  README.md
    created  docs/new.md
    --- stderr
    task: would put back 2 paths
    --- status 0
    ");
    assert_eq!(world.restore(&[]).stdout, dry.stdout);
}

#[test]
fn as_root_an_ordinary_user_can_restore() {
    if !is_root() {
        return; // all other tests have shown it
    }
    let world = World::after(
        "rm README.md; echo x >README.md; git add README.md; rm -r docs; ln -s /etc docs; mkdir secrets; echo s >secrets/key.pem",
    );
    let root = world.repo.root().display().to_string();
    world
        .repo
        .sh(world.repo.root(), "chown -R 65534:65534 . && chmod 755 .")
        .ok();
    let program = crate::support::binary();
    // the program may stand where only root can go
    world
        .repo
        .sh(
            world.repo.root(),
            &format!("cp '{}' bin && chmod 755 bin", program.display()),
        )
        .ok();
    let line =
        format!("setpriv --reuid=65534 --regid=65534 --clear-groups '{root}/bin' restore task");
    let said = world.repo.sh(world.repo.main(), &line);
    assert_eq!(said.status, 0, "{said}");
    let line = line.replace("restore task", "verify task");
    let verified = world.repo.sh(world.repo.main(), &line);
    assert_eq!(verified.status, 0, "{verified}");
    let readme = world.worktree.join("README.md");
    chmod(&readme, 0o644);
    assert_eq!(text(&readme), "read me\n");
}

#[test]
fn a_name_whose_record_is_damaged_is_not_taken_for_a_path() {
    let world = World::after("chmod u+w docs/api.md; echo more >>docs/api.md");
    let record = ".git/agentwt/worktrees/other/record.toml";
    world.repo.add("other");
    std::fs::write(world.repo.main().join(record), "damaged").expect("it is ours");
    for command in ["restore", "scope"] {
        let said = (world.repo).agentwt_in(&world.worktree, &[command, "other", "docs/api.md"]);
        assert_eq!(said.status, 6, "{said}");
        assert!(said.stderr.contains("record of worktree `other`"), "{said}");
    }
    let text = world.sh("tail -n 1 docs/api.md");
    assert_eq!(text, "more", "it is of another worktree");
}
