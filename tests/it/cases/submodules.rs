//! Submodules, which are a commit to the repository and a directory on disk.

use insta::assert_snapshot;

use super::Case;
use crate::support::TestRepo;

/// A project with a submodule at `vendor/lib`.
#[track_caller]
fn with_submodule() -> Case {
    Case::of(TestRepo::with_submodule())
}

#[test]
fn a_submodule_that_was_never_filled_is_no_finding() {
    assert_snapshot!(with_submodule().findings(), @"");
}

/// A pattern with a slash at its end matches it, as it does for git.
#[test]
fn a_submodule_that_is_excluded_as_a_directory_is_no_finding() {
    let repo = with_submodule().repo;
    let exclude = ["--write", "src/**", "--exclude", "vendor/lib/"];
    repo.agentwt(&[&["add", "other"][..], &exclude].concat())
        .ok();
    assert_snapshot!(repo.agentwt(&["verify", "other"]), @"
    ok other: in scope, 0 paths changed
    --- status 0
    ");
}

#[test]
fn a_submodule_that_was_filled_is_no_finding() {
    let case = with_submodule();
    case.does("git submodule --quiet update --init");
    assert_snapshot!(case.findings(), @"");
    assert_snapshot!(case.changes(), @"");
}

#[test]
fn a_commit_in_a_submodule_is_found() {
    let case = with_submodule();
    case.does(
        "git submodule --quiet update --init; cd vendor/lib; echo x >lib.c; git commit -q -a -m x",
    );
    assert_snapshot!(case.findings(), @"
    vendor/lib modified read-only violation
    vendor/lib/lib.c modified read-only violation
    ");
}

#[test]
fn a_committed_move_of_a_submodule_is_found() {
    let case = with_submodule();
    case.does("git submodule --quiet update --init; (cd vendor/lib; git commit -q --allow-empty -m x); git add -A; git commit -q -m moved");
    assert_snapshot!(case.findings(), @"vendor/lib modified read-only violation");
    case.does("cd vendor/lib; echo x >lib.c; git commit -q -a -m x; cd ../..; git add -A; git commit -q -m moved");
    assert_snapshot!(case.findings(), @"
    vendor/lib modified read-only violation
    vendor/lib/lib.c modified read-only violation
    ");
}

#[test]
fn upstreams_move_of_a_submodule_is_no_change() {
    let case = with_submodule();
    case.does("git submodule --quiet update --init");
    case.main_does("git -C ../lib commit -q --allow-empty -m two; git -C vendor/lib pull -q; git commit -q -a -m moved");
    case.does("git merge -q main; git submodule --quiet update");
    assert_snapshot!(case.findings(), @"");
    assert_snapshot!(case.changes(), @"");
}

/// `git merge` moves the commit of a submodule, `git submodule update` its files.
#[test]
fn a_submodule_before_its_update_is_no_finding_unless_it_is_staged() {
    let case = with_submodule();
    case.does("git submodule --quiet update --init");
    case.main_does("git -C ../lib commit -q --allow-empty -m two; git -C vendor/lib pull -q; git commit -q -a -m moved");
    case.does("git merge -q main");
    assert_snapshot!(case.findings(), @"");
    case.does("echo x >>vendor/lib/lib.c");
    assert_snapshot!(case.findings(), @"
    vendor/lib modified read-only violation
    vendor/lib/lib.c modified read-only violation
    ");
    case.does("git -C vendor/lib checkout -q lib.c; git add vendor/lib");
    assert_snapshot!(case.findings(), @"vendor/lib modified read-only violation");
}

#[test]
fn the_files_of_a_submodule_that_upstream_removed_are_no_finding_until_one_is_edited() {
    let case = with_submodule();
    case.does("git submodule --quiet update --init");
    case.main_does("git rm -q -f vendor/lib; git commit -q -m gone");
    case.does("git merge -q main; test -f vendor/lib/lib.c");
    assert_snapshot!(case.findings(), @"");
    case.does("echo x >>vendor/lib/lib.c");
    assert_snapshot!(case.findings(), @"
    vendor/lib created read-only violation
    vendor/lib/lib.c modified read-only violation
    ");
    case.does("git -C vendor/lib commit -q -a -m own");
    assert_snapshot!(case.findings(), @"
    vendor/lib created read-only violation
    vendor/lib/lib.c modified read-only violation
    ");
}

#[test]
fn a_file_in_the_directory_of_an_unfilled_submodule_is_found() {
    let case = with_submodule();
    case.does("echo x >vendor/lib/x");
    assert_snapshot!(case.findings(), @"
    vendor/lib deleted read-only violation
    vendor/lib/x created read-only violation
    ");
}

#[test]
fn a_file_in_place_of_a_submodule_is_found() {
    let case = with_submodule();
    case.does("rmdir vendor/lib; echo x >vendor/lib");
    assert_snapshot!(case.findings(), @"vendor/lib typechange read-only violation");
}

#[test]
fn a_submodule_that_was_removed_is_found() {
    let case = with_submodule();
    case.does("rm -rf vendor");
    assert_snapshot!(case.findings(), @"vendor/lib deleted read-only violation");
}

#[test]
fn an_edit_in_a_submodule_is_found() {
    let case = with_submodule();
    case.does(
        "git submodule --quiet update --init; echo x >vendor/lib/lib.c; echo n >vendor/lib/n",
    );
    assert_snapshot!(case.findings(), @"
    vendor/lib modified read-only violation
    vendor/lib/lib.c modified read-only violation
    vendor/lib/n created read-only violation
    ");
}

#[test]
fn a_deletion_or_a_mode_in_a_submodule_is_found() {
    let case = with_submodule();
    case.does("git submodule --quiet update --init; rm vendor/lib/lib.c");
    assert_snapshot!(case.findings(), @"
    vendor/lib modified read-only violation
    vendor/lib/lib.c deleted read-only violation
    ");
    case.does("git -C vendor/lib config core.fileMode false; git -C vendor/lib checkout -q .; chmod +x vendor/lib/lib.c");
    assert_snapshot!(case.findings(), @"
    vendor/lib modified read-only violation
    vendor/lib/lib.c mode read-only violation
    ");
}

/// No file on disk shows it, but the next commit in the submodule has it.
#[test]
fn content_that_is_only_staged_in_a_submodule_is_found() {
    for script in [
        "h=$(echo evil | git hash-object -w --stdin); git update-index --cacheinfo 100644,$h,lib.c",
        "h=$(echo evil | git hash-object -w --stdin); git update-index --add --cacheinfo 100644,$h,new",
        "git update-index --chmod=+x lib.c",
        "git rm -q --cached lib.c",
        "h=$(git rev-parse :lib.c); git rm -q --cached lib.c; printf '100644 %s 1\tlib.c\n100644 %s 2\tlib.c\n' $h $h | git update-index --index-info",
        "git rm -q --cached lib.c; git add -N lib.c",
        "printf evil >\"$G/index\"",
        "rm \"$G/index\"",
    ] {
        let case = with_submodule();
        case.does("git submodule --quiet update --init");
        case.does(&format!(
            "cd vendor/lib; G=$(git rev-parse --absolute-git-dir); {script}"
        ));
        let modified = "vendor/lib modified read-only violation";
        assert_eq!(case.findings().trim_end(), modified, "{script}");
    }
}

#[test]
fn an_index_of_a_submodule_that_has_what_its_head_has_is_no_finding() {
    for script in [
        "git update-index --split-index",
        "git update-index --index-version 4",
        "git update-index --force-remove lib.c; git reset -q",
        "touch -d 2001-01-01 lib.c",
        "git config core.fileMode false; git checkout -q .",
    ] {
        let case = with_submodule();
        case.does("git submodule --quiet update --init");
        case.does(&format!(
            "cd vendor/lib; G=$(git rev-parse --absolute-git-dir); {script}"
        ));
        assert_eq!(case.findings(), "", "{script}");
    }
}

/// A `config.worktree` in the submodule's git directory need not set a conversion.
#[test]
fn a_sparse_submodule_with_converted_files_is_no_finding() {
    let repo = TestRepo::project();
    let script = "git init -q ../lib; cd ../lib; echo '*.bat eol=crlf' >.gitattributes; mkdir d; echo a >d/a.bat
        git add .; git commit -q -m lib; cd -; git submodule --quiet add ../lib vendor/lib; git commit -q -m lib";
    repo.sh(repo.main(), script).ok();
    let case = Case::of(repo);
    case.does("git submodule --quiet update --init; git -C vendor/lib sparse-checkout set d; grep -c . vendor/lib/d/a.bat");
    assert_snapshot!(case.findings(), @"");
    case.does("git -C vendor/lib config --worktree core.autocrlf true");
    assert_snapshot!(case.findings(), @"
    vendor/lib modified read-only violation
    vendor/lib/d/a.bat modified read-only violation
    ");
}

/// Nothing that can be set in the submodule's own git directory hides what is on disk.
#[test]
fn an_edit_in_a_submodule_that_is_hidden_from_its_git_is_found() {
    for script in [
        "git update-index --assume-unchanged lib.c; echo evil >lib.c",
        "git update-index --skip-worktree lib.c; echo evil >lib.c",
        "git config filter.f.clean 'echo lib'; echo '*.c filter=f' >\"$G/info/attributes\"; echo evil >lib.c",
        "git config filter.f.smudge 'echo evil'; echo '*.c filter=f' >\"$G/info/attributes\"; rm lib.c; git checkout -q lib.c",
        "cp -a . ../../../copy; git config core.worktree \"$PWD/../../../copy\"; echo evil >lib.c",
        "git config core.autocrlf true; printf 'lib\\r\\n' >lib.c",
        "echo \"$PWD/../../../mine\" >../../../mine; git config core.attributesFile \"$PWD/../../../mine\"; echo '*.c eol=crlf' >../../../mine; printf 'lib\\r\\n' >lib.c",
    ] {
        let case = with_submodule();
        case.does("git submodule --quiet update --init");
        case.does(&format!(
            "cd vendor/lib; G=$(git rev-parse --absolute-git-dir); mkdir -p \"$G/info\"; {script}"
        ));
        let findings = case.findings();
        let mut findings: Vec<&str> = findings.lines().collect();
        // what git would run is told as well
        findings.retain(|line| *line != "@wt/modules/vendor/lib/config config shared violation");
        assert_eq!(
            findings,
            [
                "vendor/lib modified read-only violation",
                "vendor/lib/lib.c modified read-only violation"
            ],
            "{script}"
        );
    }
}

#[test]
fn a_file_in_a_submodule_that_is_hidden_from_its_git_is_found() {
    for script in [
        "echo new >>\"$G/info/exclude\"; echo x >new",
        "git config core.excludesFile \"$PWD/../../../mine\"; echo new >../../../mine; echo x >new",
        "git init -q inner; echo x >inner/new",
    ] {
        let case = with_submodule();
        case.does("git submodule --quiet update --init");
        case.does(&format!(
            "cd vendor/lib; G=$(git rev-parse --absolute-git-dir); mkdir -p \"$G/info\"; {script}"
        ));
        let findings = case.findings();
        assert!(
            findings.contains("new created read-only"),
            "{script}: {findings}"
        );
    }
}

#[test]
fn what_a_submodule_itself_ignores_is_build_output_there() {
    let repo = TestRepo::project();
    let script = "git init -q ../lib; echo lib >../lib/lib.c; echo '*.o' >../lib/.gitignore; git -C ../lib add .
        git -C ../lib commit -q -m lib; git submodule --quiet add ../lib vendor/lib; git commit -q -m lib";
    repo.sh(repo.main(), script).ok();
    let case = Case::of(repo);
    case.does("git submodule --quiet update --init; echo x >vendor/lib/lib.o; mkdir -p vendor/lib/sub; echo x >vendor/lib/sub/a.o");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn line_ends_and_filters_of_the_user_are_no_edit_of_a_submodule() {
    let repo = TestRepo::project();
    let script = "git init -q ../lib; echo lib >../lib/lib.c; echo up >../lib/u.up; printf '*.c eol=crlf\\n*.up filter=up\\n' >../lib/.gitattributes
        git config --global filter.up.clean 'tr A-Z a-z'; git config --global filter.up.smudge 'tr a-z A-Z'
        git -C ../lib add .; git -C ../lib commit -q -m lib; git submodule --quiet add ../lib vendor/lib; git commit -q -m lib";
    repo.sh(repo.main(), script).ok();
    let case = Case::of(repo);
    case.does("git submodule --quiet update --init; grep -q UP vendor/lib/u.up");
    assert_snapshot!(case.findings(), @"");
    case.does("echo EVIL >vendor/lib/u.up");
    assert_snapshot!(case.findings(), @"
    vendor/lib modified read-only violation
    vendor/lib/u.up modified read-only violation
    ");
}

/// As Git LFS has it: the file and what it would be made of again are edited together.
#[test]
fn a_store_of_a_filter_that_was_edited_with_the_file_of_a_submodule_is_found() {
    let repo = TestRepo::project();
    let filter = repo.root().join("filter");
    let smudge = "h=$(sed -n 's/^oid sha256://p'); cat \"$(git rev-parse --git-dir)/lfs/$h\"\n";
    std::fs::write(&filter, smudge).expect("it can be written");
    let script = format!(
        "git config --global filter.store.smudge 'sh {}'; git init -q ../lib; cd ../lib
        echo large >content; h=$(sha256sum <content | cut -d' ' -f1); mkdir .git/lfs; mv content .git/lfs/$h
        printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize 6\\n' $h >f.bin
        git add f.bin; echo '*.bin filter=store' >.gitattributes; git add .gitattributes; git commit -qm lib
        cd ../repo; git submodule --quiet add ../lib vendor/lib 2>/dev/null; mkdir -p .git/modules/vendor/lib/lfs
        cp ../lib/.git/lfs/* .git/modules/vendor/lib/lfs; git commit -qm lib",
        filter.display()
    );
    repo.sh(repo.main(), &script).ok();
    let case = Case::of(repo);
    case.does(
        "git submodule --quiet update --init 2>/dev/null; G=$(git -C vendor/lib rev-parse --absolute-git-dir)
        mkdir $G/lfs; cp $MAIN/.git/modules/vendor/lib/lfs/* $G/lfs; rm vendor/lib/f.bin; git -C vendor/lib checkout -q f.bin; grep -q large vendor/lib/f.bin",
    );
    assert_snapshot!(case.findings(), @"");
    case.does(
        "G=$(git -C vendor/lib rev-parse --absolute-git-dir); chmod u+w vendor/lib/f.bin
        for f in $G/lfs/* vendor/lib/f.bin; do echo evil >$f; done",
    );
    assert_snapshot!(case.findings(), @"
    vendor/lib modified read-only violation
    vendor/lib/f.bin modified read-only violation
    ");
}

#[test]
fn what_is_printed_for_a_submodule_with_an_edit_ends_it() {
    let case = with_submodule();
    case.does(
        "git submodule --quiet update --init; echo x >>vendor/lib/lib.c; echo x >vendor/lib/new.c",
    );
    let said = case.repo.agentwt(&["verify", "task"]);
    assert!(!said.stderr.contains("accept task vendor/lib "), "{said}");
    let said = case.repo.agentwt(&["restore", "task"]);
    let (_, way) = said.stderr.split_once("then: ").expect("a way");
    let way = way.lines().next().expect("a line");
    let root = case.repo.root().to_str().expect("UTF-8");
    case.main_does(&way.replace("$TMP", root));
    assert_eq!(case.findings(), "");
}

#[test]
fn a_submodule_in_a_submodule_is_looked_into() {
    let repo = TestRepo::project();
    let script = "git init -q ../deep; echo deep >../deep/d.c; git -C ../deep add .; git -C ../deep commit -q -m deep
        git init -q ../lib; echo lib >../lib/lib.c; git -C ../lib submodule --quiet add ../deep in; git -C ../lib add .
        git -C ../lib commit -q -m lib; git submodule --quiet add ../lib vendor/lib; git commit -q -m lib";
    repo.sh(repo.main(), script).ok();
    let case = Case::of(repo);
    case.does("git submodule --quiet update --init");
    assert_snapshot!(case.findings(), @"");
    case.does("git submodule --quiet update --init --recursive");
    assert_snapshot!(case.findings(), @"");
    case.does("echo evil >vendor/lib/in/d.c");
    assert_snapshot!(case.findings(), @"
    vendor/lib modified read-only violation
    vendor/lib/in modified read-only violation
    vendor/lib/in/d.c modified read-only violation
    ");
}

#[test]
fn a_submodule_whose_git_cannot_be_read_is_found() {
    let case = with_submodule();
    case.does("git submodule --quiet update --init; echo 'gitdir: /nowhere' >vendor/lib/.git");
    assert_snapshot!(case.findings(), @"
    vendor/lib modified read-only violation
    vendor/lib integrity integrity violation
    ");
}

/// git strips `\r` from the end of a `.git` file, so what it reads is not what stands at that path.
#[test]
fn a_git_file_that_ends_in_a_carriage_return_is_read_as_git_reads_it() {
    let case = with_submodule();
    case.does(
        "git submodule --quiet update --init; cd vendor/lib; real=$(git rev-parse --absolute-git-dir)
        cd ..; cp -R \"$real\" g; git config -f g/config --unset core.worktree; ln -s \"$real\" \"$(printf 'g\\r')\"
        rm lib/.git; printf 'gitdir: ../g\\r\\n' >lib/.git",
    );
    let found = case.findings();
    assert!(found.contains("vendor/lib integrity"), "{found}");
}
