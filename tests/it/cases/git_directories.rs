//! What git reads in the git directories beside a worktree, whatever the name of the file is: those
//! of the repository, of plain worktrees and of submodules.

use insta::assert_snapshot;

use super::{Case, prepared};

const SUBMODULE: &str = "git init -q ../lib; git -C ../lib commit -q --allow-empty -m lib
    git -c protocol.file.allow=always submodule -q add ../lib lib 2>/dev/null; git commit -q -m lib; ";

// ---- what runs a program ---------------------------------------------------------------------

#[test]
fn the_second_file_of_settings_of_a_submodule_is_sealed() {
    let case = prepared(SUBMODULE);
    case.does(
        "m=$MAIN/.git/modules/lib; git config --file $m/config extensions.worktreeConfig true
        git config --file $m/config.worktree core.fsmonitor /tmp/x",
    );
    assert_snapshot!(case.findings(), @"@git/modules/lib/config.worktree config shared violation");
}

#[test]
fn a_git_directory_that_takes_its_settings_from_elsewhere_is_a_violation() {
    let case = prepared(&format!("{SUBMODULE} git worktree add -q ../plain"));
    case.does("echo /tmp/evil >$MAIN/.git/worktrees/plain/commondir; echo /tmp/evil >$MAIN/.git/modules/lib/commondir");
    assert_snapshot!(case.findings(), @"
    @git/modules/lib/commondir config shared violation
    @git/worktrees/plain/commondir config shared violation
    ");
    // without the file, the directory is a repository of its own
    case.does("cd $MAIN/.git; rm modules/lib/commondir worktrees/plain/commondir; cp -r objects refs config worktrees/plain/");
    assert_snapshot!(case.findings(), @"
    @git/worktrees/plain/commondir config shared violation
    ");
    // one that came since
    let case = Case::new();
    case.main_does("git worktree add -q ../plain; git worktree add -q ../other");
    case.does("echo /tmp/evil >$MAIN/.git/worktrees/plain/commondir");
    assert_snapshot!(case.findings(), @"@git/worktrees/plain/commondir config shared violation");
}

#[test]
fn a_worktree_whose_dot_git_leads_to_another_repository_is_a_violation() {
    let case = prepared(&format!("{SUBMODULE} git worktree add -q ../plain"));
    case.does(
        "git init -q ../../../../evil; evil=$(cd ../../../../evil/.git; pwd)
        echo \"gitdir: $evil\" >$MAIN/../plain/.git; echo \"gitdir: $evil\" >$MAIN/lib/.git",
    );
    assert_snapshot!(case.findings(), @"
    @main/lib/.git config shared violation
    @outside$TMP/plain/.git config shared violation
    ");
}

#[test]
fn a_plain_worktree_is_sealed_whatever_path_it_says_it_has() {
    let case = prepared("git config extensions.worktreeConfig true; git worktree add -q ../plain");
    case.does(
        "echo /x/.agentwt/worktrees/other/.git >$MAIN/.git/worktrees/plain/gitdir
        git config --file $MAIN/.git/worktrees/plain/config.worktree core.fsmonitor /tmp/x",
    );
    assert_snapshot!(case.findings(), @"@git/worktrees/plain/config.worktree config shared violation");
}

// ---- what is taken for a ref -----------------------------------------------------------------

#[test]
fn a_file_that_git_takes_for_a_branch_or_a_tag_is_a_violation() {
    let case = prepared(&format!(
        "{SUBMODULE} git tag v1; git branch lfs/x; git branch DEV; git branch feature/y
        git worktree add -q ../plain; mkdir .git/lfs"
    ));
    case.does(
        "cd $MAIN/.git; mkdir feature heads
        for name in main v1 lfs/x feature/y heads/main modules/lib/main worktrees/plain/DEV; do
            git rev-parse HEAD >$name
        done; echo 'ref: refs/heads/x' >DEV",
    );
    assert_snapshot!(case.findings(), @"
    @git/DEV integrity shared violation
    @git/feature/y integrity shared violation
    @git/heads/main integrity shared violation
    @git/lfs/x integrity shared violation
    @git/main integrity shared violation
    @git/modules/lib/main integrity shared violation
    @git/v1 integrity shared violation
    @git/worktrees/plain/DEV integrity shared violation
    @git/feature config shared notice
    @git/heads config shared notice
    ");
    case.repo.agentwt(&["accept", "task", "--shared"]).ok();
    case.repo.agentwt(&["accept", "task", "--all"]).ok();
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn a_ref_that_git_takes_for_an_older_one_is_told() {
    let case = prepared(
        "git init -q --bare ../o.git; git remote add origin \"$PWD/../o.git\"; git push -q origin main
        git branch one; git branch two; git branch three",
    );
    case.does(
        "edit src/main.rs; commit; git tag one HEAD~; git tag two HEAD; cd $MAIN/.git
        git rev-parse HEAD >refs/three; mkdir -p refs/heads/origin; git rev-parse HEAD >refs/heads/origin/main",
    );
    assert_snapshot!(case.findings(), @"
    @git/refs/tags/two ref shared violation
    @git/refs/three ref shared violation
    @git/refs/heads/origin/main ref shared notice
    @git/refs/tags/one ref shared notice
    ");
}

// ---- saved work ------------------------------------------------------------------------------

#[test]
fn saved_work_that_was_deleted_is_told() {
    let before = "git update-ref refs/agentwt/rescue/old/20260101T000000Z HEAD; ";
    let case = prepared(before);
    case.does("rm -r $MAIN/.git/refs/agentwt/rescue/old");
    assert_snapshot!(case.findings(), @"@git/refs/agentwt/rescue/old/20260101T000000Z ref shared notice");
    let case = prepared(before);
    case.does("git update-ref refs/agentwt/rescue/old/20260101T000000Z $(git commit-tree -m x HEAD^{tree})");
    assert_snapshot!(case.findings(), @"@git/refs/agentwt/rescue/old/20260101T000000Z ref shared violation");
    // it was saved after this worktree was made
    let case = Case::new();
    case.main_does("git update-ref refs/agentwt/rescue/new/20260101T000000Z HEAD");
    assert_snapshot!(case.findings(), @"");
    case.does("git update-ref -d refs/agentwt/rescue/new/20260101T000000Z");
    assert_snapshot!(case.findings(), @"@git/refs/agentwt/rescue/new/20260101T000000Z ref shared violation");
}

// ---- ordinary work ---------------------------------------------------------------------------

#[test]
fn what_git_writes_in_its_directories_is_nothing() {
    let case = prepared(&format!("{SUBMODULE} git worktree add -q ../plain"));
    case.main_does(
        "git fetch -q . main; echo x >>README.md; git commit -q -a -m x; git reset -q --hard HEAD~; git reset -q --hard ORIG_HEAD
        git branch side HEAD~; git checkout -q side; echo y >>README.md; git commit -q -a -m y
        git merge main >/dev/null 2>&1 || true; git merge --abort
        git rebase main >/dev/null 2>&1 || true; git rebase --abort
        git cherry-pick main >/dev/null 2>&1 || true; git cherry-pick --abort
        git bisect start >/dev/null; git bisect bad >/dev/null; git bisect good main~ >/dev/null; git bisect reset 2>/dev/null
        git checkout -q main; git branch -q -D side; git stash -q || true; git notes add -m n; git notes remove 2>/dev/null; git update-ref -d refs/notes/commits
        git -c gc.reflogExpire=never gc -q --prune=now; git maintenance run --task=commit-graph --task=loose-objects --task=incremental-repack 2>/dev/null
        git update-server-info; git rerere; git worktree add -q ../later; git worktree lock ../later; git worktree unlock ../later
        git worktree move ../later ../moved; git worktree remove ../moved; git worktree move ../plain ../plain3
        git worktree repair; git submodule -q deinit -f lib; git -c protocol.file.allow=always submodule -q update --init
        git -C lib commit -q --allow-empty -m more; git -C lib checkout -q -b topic; git -C lib -c gc.reflogExpire=never gc -q; git submodule -q update
        git worktree prune; git describe --all >/dev/null",
    );
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn what_other_tools_keep_in_the_git_directory_is_nothing() {
    let case = prepared("git branch opencode; git rev-parse HEAD >.git/opencode");
    case.main_does(
        "cd .git; touch gitk.cache index.lock HEAD.lock .COMMIT_EDITMSG.swp config~ .DS_Store gc.pid next-index-17.lock
        mkdir -p lfs/objects/aa svn/refs annex/objects branchless fsmonitor--daemon/cookies gitbutler gk lost-found
        echo x >lfs/objects/aa/b; echo x >svn/.metadata; echo x >annex/index; echo x >branchless/db.sqlite3
        echo x >gitbutler/db; echo x >gk/config; echo x >sourcetreeconfig.json; echo x >machete; echo x >COMMIT_EDITMSG",
    );
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn a_file_that_nobody_knows_is_a_notice() {
    let case = prepared("mkdir .git/tool; echo x >.git/tool/state; echo x >.git/known");
    case.main_does("echo y >.git/unknown; echo y >>.git/tool/more; echo y >>.git/known; mkdir .git/remotes .git/tool2; echo URL: x >.git/remotes/origin");
    assert_snapshot!(case.findings(), @"
    @git/known config shared notice
    @git/remotes/origin config shared notice
    @git/tool config shared notice
    @git/tool2 config shared notice
    @git/unknown config shared notice
    ");
}

/// The directories of git in which a file stands whose name nobody knows: of the repository, of a
/// plain worktree, of a submodule, and of the worktree itself.
const DIRECTORIES: [&str; 17] = [
    ".",
    "info",
    "info/below",
    "objects",
    "objects/info",
    "objects/pack",
    "rr-cache/0123",
    "remotes/below",
    "branches/below",
    "worktrees/plain",
    "worktrees/plain/info",
    "modules/below",
    "modules/lib",
    "modules/lib/info",
    "modules/lib/objects/info",
    "modules/lib/objects/pack",
    "tool/below",
];

#[test]
fn a_file_of_an_unknown_name_is_reported_in_each_git_directory() {
    let case = prepared(&format!(
        "{SUBMODULE} git worktree add -q ../plain; mkdir .git/tool; echo x >.git/tool/state"
    ));
    for directory in DIRECTORIES {
        case.main_does(&format!(
            "mkdir -p .git/{directory}; echo x >.git/{directory}/unknown"
        ));
    }
    case.main_does("echo x >.git/worktrees/unknown");
    case.does(
        "own=$(git rev-parse --git-dir); mkdir -p $own/info/below $own/modules $own/objects $own/hooks
        for directory in . info info/below modules objects hooks; do echo x >$own/$directory/unknown; done
        echo x >$own/config",
    );
    assert_snapshot!(case.findings(), @"
    @git/branches/below config shared notice
    @git/info/below config shared notice
    @git/info/unknown config shared notice
    @git/modules/below/unknown config shared notice
    @git/modules/lib/info/unknown config shared notice
    @git/modules/lib/objects/info/unknown config shared notice
    @git/modules/lib/objects/pack/unknown config shared notice
    @git/modules/lib/unknown config shared notice
    @git/objects/info/unknown config shared notice
    @git/objects/pack/unknown config shared notice
    @git/objects/unknown config shared notice
    @git/remotes/below config shared notice
    @git/rr-cache/0123/unknown config shared notice
    @git/tool config shared notice
    @git/unknown config shared notice
    @git/worktrees/plain/info/unknown config shared notice
    @git/worktrees/plain/unknown config shared notice
    @git/worktrees/unknown config shared notice
    @wt/config config shared notice
    @wt/hooks config shared notice
    @wt/info/below config shared notice
    @wt/info/unknown config shared notice
    @wt/modules/unknown config shared notice
    @wt/objects config shared notice
    @wt/unknown config shared notice
    ");
}

#[test]
fn a_changed_file_of_an_unknown_name_is_reported_in_each_git_directory() {
    let case = prepared(&format!(
        "{SUBMODULE} git worktree add -q ../plain; mkdir .git/tool
        for directory in {}; do mkdir -p .git/$directory; echo x >.git/$directory/unknown; done",
        DIRECTORIES.join(" ")
    ));
    assert_snapshot!(case.findings(), @"");
    for directory in DIRECTORIES {
        case.main_does(&format!("echo y >.git/{directory}/unknown"));
    }
    assert_snapshot!(case.findings(), @"
    @git/branches/below config shared notice
    @git/info/below config shared notice
    @git/info/unknown config shared notice
    @git/modules/below/unknown config shared notice
    @git/modules/lib/info/unknown config shared notice
    @git/modules/lib/objects/info/unknown config shared notice
    @git/modules/lib/objects/pack/unknown config shared notice
    @git/modules/lib/unknown config shared notice
    @git/objects/info/unknown config shared notice
    @git/objects/pack/unknown config shared notice
    @git/objects/unknown config shared notice
    @git/remotes/below config shared notice
    @git/rr-cache/0123/unknown config shared notice
    @git/tool config shared notice
    @git/unknown config shared notice
    @git/worktrees/plain/info/unknown config shared notice
    @git/worktrees/plain/unknown config shared notice
    ");
}

#[test]
fn a_rebase_of_others_that_had_nothing_to_do_is_no_finding() {
    let case = prepared("git branch topic");
    case.main_does("git rebase -q main topic; git symbolic-ref HEAD | grep topic");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn how_a_rebase_of_others_goes_on_is_sealed() {
    let rebase = "git worktree add -q -b side ../plain; cd ../plain; echo side >>README.md; git commit -q -a -m side
        git -C \"$OLDPWD\" commit -q --allow-empty -m main; git rebase -q -s recursive -X ours -x false main >/dev/null 2>&1
        test -f \"$(git rev-parse --git-dir)/rebase-merge/strategy\"";
    let case = prepared(rebase);
    assert_snapshot!(case.findings(), @"");
    case.does("echo evil >$MAIN/.git/worktrees/plain/rebase-merge/strategy");
    assert_snapshot!(case.findings(), @"@git/worktrees/plain/rebase-merge/strategy config shared notice");
    case.main_does("git -C ../plain rebase --abort");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn a_link_in_the_place_of_a_directory_of_git_is_reported() {
    let case = prepared("git worktree add -q ../plain");
    case.does("cd $MAIN/.git; for name in objects logs; do mv $name ../../$name; ln -s ../../$name $name; done");
    assert_snapshot!(case.findings(), @"
    @git/logs config shared notice
    @git/objects config shared notice
    ");
}

#[test]
fn a_link_in_the_place_of_a_directory_of_hooks_is_a_violation() {
    let case = prepared(SUBMODULE);
    case.does(
        "cd $MAIN/.git; mv hooks ../../hooks; ln -s ../../hooks hooks
        cd modules/lib; mv hooks ../../../h; ln -s ../../../h hooks",
    );
    assert_snapshot!(case.findings(), @"
    @git/hooks hook shared violation
    @git/modules/lib/hooks hook shared violation
    ");
    let case = prepared("mkdir my-hooks; git config core.hooksPath my-hooks");
    case.does("cd $MAIN; mv my-hooks ../hooks; ln -s ../hooks my-hooks");
    assert_snapshot!(case.findings(), @"@main/my-hooks hook shared violation");
    // one that stood there before is nothing
    let case = prepared("cd .git; mv hooks h; ln -s h hooks");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn a_seal_of_entries_alone_is_read() {
    let case = prepared(&format!(
        "{SUBMODULE} mkdir -p .git/tool .git/rr-cache/0123 .git/remotes/a; echo x >.git/tool/state
        for file in rr-cache/0123/postimage.1 objects/info/http-alternates remotes/a/b modules/unknown info/x; do echo x >.git/$file; done"
    ));
    // that version sealed a directory by being there, and nothing below those of data
    case.main_does(
        "cd .git/agentwt/worktrees/task; mv shared.toml new
        sed '/^extent = /d; /postimage.1/d; /http-alternates/d; /remotes.a/d; /modules.unknown/d; s/\\(tool. = .directory\\).*\\(.\\)$/\\1\\2/' new >shared.toml
        grep -q 'tool. = .directory.$' shared.toml",
    );
    assert_snapshot!(case.findings(), @"");
    case.main_does("echo y >.git/unknown; echo y >.git/info/x");
    assert_snapshot!(case.findings(), @"
    @git/info/x config shared notice
    @git/unknown config shared notice
    ");
}

#[test]
fn a_record_of_an_older_version_is_read() {
    let case = prepared(&format!(
        "{SUBMODULE} echo x >.git/known; git config --file .git/modules/lib/config.worktree core.sparseCheckout true
        mkdir -p .git/modules/lib/info; echo '* -text' >.git/modules/lib/info/attributes"
    ));
    // that version wrote no list of git directories, and only what it had names for
    case.main_does(
        "cd .git/agentwt/worktrees/task; mv shared.toml new
        sed '/^.sealed.directories.$/,/^$/d; /known\\|lib.info/d; /^.sealed.settings.*lib.config.worktree/,/^$/d' new >shared.toml
        ! grep -q 'known\\|info.attributes\\|sparsecheckout\\|directories' shared.toml",
    );
    assert_snapshot!(case.findings(), @"");
    case.does("git config --file $MAIN/.git/modules/lib/config.worktree core.fsmonitor /tmp/x; echo /x >$MAIN/.git/modules/lib/commondir");
    assert_snapshot!(case.findings(), @"
    @git/modules/lib/commondir config shared violation
    @git/modules/lib/config.worktree config shared violation
    ");
}

#[test]
fn hooks_that_only_look_like_ours_are_a_violation_in_a_new_plain_worktree() {
    for place in [
        "/tmp/evil/worktrees/plain/agentwt/hooks",
        "$MAIN/.git/worktrees/plain/agentwt/hooks",
    ] {
        let case = prepared("git config extensions.worktreeConfig true");
        case.main_does("git worktree add -q ../plain");
        case.does(&format!(
            "hooks=\"$MAIN/.git/worktrees/plain/agentwt/hooks\"; mkdir -p \"$hooks/agentwt.d\"
            echo 'touch /tmp/ran' >\"$hooks/post-checkout\"; chmod +x \"$hooks/post-checkout\"
            git config --file \"$MAIN/.git/worktrees/plain/config.worktree\" core.hooksPath \"{place}\""
        ));
        let found = case.findings();
        let wanted = "@git/worktrees/plain/config.worktree config shared violation";
        assert!(found.contains(wanted), "{place}: {found}");
    }
}
