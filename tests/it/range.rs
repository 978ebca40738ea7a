//! `verify --range`: a range of commits against the scope of its base side, without a worktree.

use std::path::Path;

use insta::assert_snapshot;

use crate::support::{Said, TestRepo, write};

const CONFIG: &str = "schema_version = \"1.0\"\n\
    [scope.default]\nwrite = [\"src/**\"]\n\
    [scope.docs]\nwrite = [\"docs/**\"]\nexclude = [\"**/secrets/**\"]\n";

/// The small project with a config, on `main`, and a branch `work` from there, checked out.
#[track_caller]
fn scoped_project() -> TestRepo {
    with_config(TestRepo::empty())
}

#[track_caller]
fn with_config(repo: TestRepo) -> TestRepo {
    repo.fill();
    repo.write(".agentwt/config.toml", CONFIG);
    repo.commit_all("config");
    repo.git(&["checkout", "-q", "-b", "work"]);
    repo
}

#[track_caller]
fn sh(repo: &TestRepo, script: &str) {
    repo.sh(repo.main(), &format!("set -e\n{script}")).ok();
}

/// One edit in scope, one beside it, one of something excluded.
#[track_caller]
fn with_violations() -> TestRepo {
    let repo = scoped_project();
    let script = "echo more >>docs/guide.md; echo more >>README.md; git commit -q -a -m one
        echo more >>app/secrets/token; git commit -q -a -m two";
    sh(&repo, script);
    repo
}

#[track_caller]
fn verify(repo: &TestRepo, range: &str) -> Said {
    repo.agentwt(&["verify", "--range", range, "--scope", "docs"])
}

/// The findings as `path kind reason level` lines.
#[track_caller]
fn findings(repo: &TestRepo, dir: &Path, range: &str) -> String {
    let arguments = [
        "verify",
        "--range",
        range,
        "--scope",
        "docs",
        "--format=tsv",
    ];
    let said = repo.agentwt_in(dir, &arguments);
    assert!(said.status < 2, "there is a verdict: {said}");
    said.stdout.replace('\t', " ")
}

// ---- what is said ----------------------------------------------------------------------------

#[test]
fn a_range_in_scope_is_ok() {
    let repo = scoped_project();
    sh(&repo, "echo more >>docs/guide.md; git commit -q -a -m work");
    assert_snapshot!(verify(&repo, "main..HEAD"), @"
    ok main..HEAD: in scope (docs), 1 path changed
    --- status 0
    ");
    assert_snapshot!(verify(&repo, "main..main"), @"
    ok main..main: in scope (docs), 0 paths changed
    --- status 0
    ");
}

#[test]
fn each_violation_of_a_range_names_path_commit_and_rule() {
    let repo = with_violations();
    assert_snapshot!(verify(&repo, "main..work"), @"
    NO main..work: 2 violations (docs), 3 paths changed
      !  modified  README.md          commit d2ca4b73ee  read-only: read ** (default)
      !  modified  app/secrets/token  commit 06811a0573  excluded: exclude **/secrets/**
                                                         (.agentwt/config.toml:6)
    --- status 1
    ");
    let arguments = [
        "verify",
        "--range",
        "main..work",
        "--scope=docs",
        "--porcelain",
    ];
    assert_snapshot!(repo.agentwt(&arguments).stdout, @"
    main..work	violation	modified	read-only	net	commit d2ca4b73ee	default	**	README.md
    main..work	violation	modified	excluded	net	commit 06811a0573	.agentwt/config.toml:6	**/secrets/**	app/secrets/token
    ");
}

#[test]
fn json_of_a_range_has_its_ends_its_profile_and_its_findings() {
    let repo = with_violations();
    let arguments = ["verify", "--range", "main..work", "--scope=docs", "--json"];
    let said = repo.agentwt(&arguments);
    let json: serde_json::Value = serde_json::from_str(&said.fails(1).stdout).expect("JSON");
    let id = |name: &str| repo.git(&["rev-parse", name]);
    assert_eq!(json["schema"], "agentwt.verify/1");
    assert_eq!(json["valid"], false);
    assert_eq!(json["range"], "main..work");
    assert_eq!(json["base"]["commit"], id("main").as_str());
    assert_eq!(json["head"], id("work").as_str());
    assert_eq!(json["scope"]["profile"], "docs");
    assert_eq!(json["notices"], serde_json::json!([]));
    assert_eq!(json["changed"].as_array().map(Vec::len), Some(3));
    assert_eq!(json["violations"][0]["path"], "README.md");
    assert_eq!(json["violations"][0]["reason"], "read-only");
    assert_eq!(json["violations"][0]["commits"][0], id("work~").as_str());
    assert_eq!(json["violations"][1]["rule"]["pattern"], "**/secrets/**");
    assert_eq!(json.get("worktrees"), None);
}

#[test]
fn without_a_profile_the_default_one_and_the_settings_count() {
    let repo = scoped_project();
    sh(&repo, "echo more >>docs/guide.md; git commit -q -a -m work");
    let range = ["verify", "--range", "main.."];
    assert_snapshot!(repo.agentwt(&range), @"
    NO main..: 1 violation (default), 1 path changed
      !  modified  docs/guide.md  commit 7acbf5e1e8  read-only: read ** (default)
    --- status 1
    ");
    repo.git(&["config", "--global", "agentwt.scope", "docs"]);
    assert_snapshot!(repo.agentwt(&range), @"
    ok main..: in scope (docs), 1 path changed
    --- status 0
    ");
}

#[test]
fn lists_replace_those_of_the_profile_or_are_added_to_them() {
    let repo = with_violations();
    let verify = |more: &[&str]| {
        let range = ["verify", "--range", "main..work", "--scope", "docs"];
        repo.agentwt(&[&range, more].concat())
    };
    assert_snapshot!(verify(&["--add-write", "/README.md", "--exclude", ""]), @"
    NO main..work: 1 violation (docs), 3 paths changed
      !  modified  app/secrets/token  commit 06811a0573  read-only: read ** (default)
    --- status 1
    ");
    assert_snapshot!(verify(&["--write", "", "--net"]).stdout, @"
    NO main..work: 3 violations (docs), 3 paths changed
      !  modified  README.md          commit d2ca4b73ee  read-only: read ** (default)
      !  modified  app/secrets/token  commit 06811a0573  excluded: exclude **/secrets/**
                                                         (.agentwt/config.toml:6)
      !  modified  docs/guide.md      commit d2ca4b73ee  read-only: read ** (default)
    ");
}

// ---- what counts as a change -----------------------------------------------------------------

#[test]
fn what_was_taken_over_from_the_base_side_is_not_blamed() {
    let repo = scoped_project();
    let script = "echo more >>docs/guide.md; git commit -q -a -m work
        git checkout -q main; echo up >>README.md; echo up >up; git add -A; git commit -q -m up
        git checkout -q work; git merge -q main; git checkout -q main
        echo later >>README.md; git commit -q -a -m later; git checkout -q work";
    sh(&repo, script);
    for range in ["main..work", "main...work", "main.."] {
        assert_eq!(findings(&repo, repo.main(), range), "", "{range}");
    }
    // what upstream did and the merge dropped is the branch's own change
    sh(
        &repo,
        "git checkout -q main~ -- .; git rm -q -f up; git commit -q -m drop",
    );
    assert_eq!(
        findings(&repo, repo.main(), "main.."),
        "up deleted read-only violation\n"
    );
}

#[test]
fn with_several_common_ancestors_a_path_may_be_as_in_any_of_them() {
    let repo = scoped_project();
    let script = "echo w >>package.json; git commit -q -a -m w1; git branch w1
        git checkout -q main; echo m >>README.md; git commit -q -a -m m1; git branch m1
        git merge -q -m into-main w1; git checkout -q work; git merge -q -m into-work m1
        test $(git merge-base --all main work | wc -l) = 2
        echo w >>docs/api.md; git commit -q -a -m w2";
    sh(&repo, script);
    assert_eq!(findings(&repo, repo.main(), "main..work"), "");
    sh(&repo, "echo w >>README.md; git commit -q -a -m w3");
    assert_eq!(
        findings(&repo, repo.main(), "main..work"),
        "README.md modified read-only violation\n"
    );
}

#[test]
fn what_commits_touched_and_put_back_is_a_notice() {
    let repo = scoped_project();
    let script = "echo more >>README.md; git commit -q -a -m there
        git revert --no-edit HEAD >/dev/null";
    sh(&repo, script);
    assert_snapshot!(verify(&repo, "main..work"), @"
    ok main..work: in scope (docs), 0 paths changed, 1 notice
      -  modified  README.md  commit 5f584da82e  changed and reset: read ** (default)
    --- status 0
    ");
    let range = ["verify", "--range=main..work", "--scope=docs"];
    repo.agentwt(&[&range[..], &["--strict"]].concat()).fails(1);
    let net = repo.agentwt(&[&range[..], &["--net", "--strict"]].concat());
    assert_snapshot!(net, @"
    ok main..work: in scope (docs), 0 paths changed
    --- status 0
    ");
}

#[test]
fn every_kind_of_change_is_seen() {
    let repo = scoped_project();
    let script = "git rm -q package.json; git mv README.md docs/README.md
        chmod +x tests/t.rs; ln -sf nowhere link; rm -r tools; echo file >tools
        git add -A; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub
        git commit -q -m all";
    sh(&repo, script);
    assert_snapshot!(findings(&repo, repo.main(), "main..work"), @"
    README.md deleted read-only violation
    link modified read-only violation
    package.json deleted read-only violation
    sub created read-only violation
    tests/t.rs mode read-only violation
    tools typechange read-only violation
    tools/run.sh deleted read-only violation
    ");
}

#[test]
fn names_that_are_not_text_are_found() {
    let repo = scoped_project();
    write(repo.main(), b"a\xff\n\t\"b", b"x");
    write(repo.main(), b"docs/\xff", b"x");
    repo.commit_all("odd");
    assert_eq!(
        findings(&repo, repo.main(), "main..work"),
        "a\\377\\012\\011\"b created read-only violation\n"
    );
}

#[test]
fn a_repository_that_ignores_case_has_a_scope_that_does() {
    let repo = scoped_project();
    repo.write("DOCS/x", "x\n");
    repo.commit_all("upper");
    assert_eq!(
        findings(&repo, repo.main(), "main..work"),
        "DOCS/x created read-only violation\n"
    );
    repo.git(&["config", "core.ignoreCase", "true"]);
    assert_eq!(findings(&repo, repo.main(), "main..work"), "");
}

#[test]
fn a_replaced_commit_and_a_graft_hide_nothing() {
    let repo = with_violations();
    let before = findings(&repo, repo.main(), "main..work");
    sh(
        &repo,
        "git replace work main; echo $(git rev-parse work) >.git/info/grafts",
    );
    assert_eq!(findings(&repo, repo.main(), "main..work"), before);
    assert_eq!(before.lines().count(), 2);
}

#[test]
fn a_sha256_repository_is_verified() {
    let repo = with_config(TestRepo::empty_with(&["--object-format=sha256"]));
    sh(&repo, "echo more >>README.md; git commit -q -a -m work");
    assert_eq!(
        findings(&repo, repo.main(), "main..HEAD"),
        "README.md modified read-only violation\n"
    );
}

// ---- whose scope -----------------------------------------------------------------------------

#[test]
fn a_branch_that_widens_its_own_scope_breaks_it() {
    let repo = scoped_project();
    let wider = CONFIG.replace("docs/**", "**");
    repo.write(".agentwt/config.toml", &wider);
    sh(&repo, "echo more >>README.md; git commit -q -a -m wider");
    assert_snapshot!(verify(&repo, "main..work"), @"
    NO main..work: 2 violations (docs), 2 paths changed
      !  modified  .agentwt/config.toml  commit 938301dc5c  excluded: exclude /.agentwt (built-in)
      !  modified  README.md             commit 938301dc5c  read-only: read ** (default)
    --- status 1
    ");
    // nor does a list that covers the config let it be changed, nor what lies on the disk
    let arguments = ["verify", "--range=main..work", "--write", "**"];
    assert_snapshot!(repo.agentwt(&arguments), @"
    NO main..work: 1 violation (default), 2 paths changed
      !  modified  .agentwt/config.toml  commit 938301dc5c  excluded: exclude /.agentwt (built-in)
    --- status 1
    ");
}

#[test]
fn the_config_that_counts_is_that_of_the_base_side_now() {
    let repo = scoped_project();
    sh(
        &repo,
        "echo more >>README.md; git commit -q -a -m work; git checkout -q main",
    );
    repo.write(
        ".agentwt/config.toml",
        &CONFIG.replace("docs/**", "/README.md"),
    );
    repo.commit_all("the owner allows it");
    repo.git(&["checkout", "-q", "work"]);
    assert_eq!(findings(&repo, repo.main(), "main..work"), "");
    assert_eq!(
        findings(&repo, repo.main(), "main~..work"),
        "README.md modified read-only violation\n"
    );
}

#[test]
fn a_base_side_without_a_scope_is_an_error() {
    let repo = TestRepo::project();
    repo.git(&["checkout", "-q", "-b", "work"]);
    repo.write(".agentwt/config.toml", CONFIG);
    repo.commit_all("config");
    assert_snapshot!(repo.agentwt(&["verify", "--range", "main.."]), @"
    --- stderr
    error: cannot verify main..: .agentwt/config.toml of `main` does not exist
    help: commit a config there (git agentwt init writes it), name one of its profiles with --scope, or give the scope here: git agentwt verify --range main.. --write 'src/**'
    --- status 3
    ");
    let lists = ["verify", "--range", "main..", "--write=src/**"];
    assert_snapshot!(repo.agentwt(&lists), @"
    NO main..: 1 violation, 1 path changed
      !  created  .agentwt/config.toml  commit 9ca276cef7  excluded: exclude /.agentwt (built-in)
    --- status 1
    ");
    repo.agentwt(&["verify", "--range", "main..", "--scope=docs"])
        .fails(3);
    // it has a config, and that says nothing of what may be edited
    repo.git(&["checkout", "-q", "main"]);
    repo.write(".agentwt/config.toml", "schema_version = \"1.0\"\n");
    repo.commit_all("empty");
    assert_snapshot!(repo.agentwt(&["verify", "--range", "main..work"]), @"
    --- stderr
    error: cannot verify main..work: .agentwt/config.toml of `main` does not say what may be edited
    help: commit a config there (git agentwt init writes it), name one of its profiles with --scope, or give the scope here: git agentwt verify --range main..work --write 'src/**'
    --- status 3
    ");
}

#[test]
fn a_wrong_config_of_the_base_side_is_shown_with_its_revision() {
    let repo = scoped_project();
    repo.write(".agentwt/config.toml", &CONFIG.replace("write", "wirte"));
    repo.commit_all("broken");
    let said = repo.agentwt(&["verify", "--range", "work..HEAD"]);
    assert!(
        said.fails(3).stderr.contains("work:.agentwt/config.toml"),
        "{said}"
    );
    assert_snapshot!(verify(&repo, "main..HEAD").fails(1).stdout, @"
    NO main..HEAD: 1 violation (docs), 1 path changed
      !  modified  .agentwt/config.toml  commit e021b1f847  excluded: exclude /.agentwt (built-in)
    ");
    let unknown = ["verify", "--range", "main..HEAD", "--scope=dosc"];
    assert_snapshot!(repo.agentwt(&unknown), @"
    --- stderr
    error: cannot use the settings: unknown scope profile `dosc` in --scope
    help: did you mean `docs`? write `default` or `docs`, or add a [scope.<profile>] of this name to .agentwt/config.toml
    --- status 3
    ");
    sh(
        &repo,
        "ln -sf /etc/passwd .agentwt/config.toml; git commit -q -a -m link",
    );
    assert_snapshot!(repo.agentwt(&["verify", "--range", "work..HEAD"]), @"
    --- stderr
    error: cannot verify work..HEAD: .agentwt/config.toml of `work` is not a regular file
    help: commit a config there (git agentwt init writes it), name one of its profiles with --scope, or give the scope here: git agentwt verify --range work..HEAD --write 'src/**'
    --- status 3
    ");
}

// ---- from where ------------------------------------------------------------------------------

#[test]
fn a_bare_repository_and_a_detached_checkout_will_do() {
    let repo = with_violations();
    let two = "README.md modified read-only violation\n\
        app/secrets/token modified excluded violation\n";
    sh(
        &repo,
        "git clone -q --bare . ../bare.git; git clone -q . ../ci; cd ../ci
        git checkout -q --detach origin/work; rm -rf .agentwt",
    );
    assert_eq!(
        findings(&repo, &repo.root().join("bare.git"), "main..work"),
        two
    );
    assert_eq!(
        findings(&repo, &repo.root().join("bare.git/refs"), "main.."),
        two
    );
    assert_eq!(
        findings(&repo, &repo.root().join("ci"), "origin/main..HEAD"),
        two
    );
    assert_eq!(
        findings(&repo, &repo.root().join("ci/.git"), "origin/main..HEAD"),
        two
    );
    assert_eq!(
        findings(
            &repo,
            &repo.root().join("ci/docs"),
            "origin/main..origin/main"
        ),
        ""
    );
}

#[test]
fn head_is_that_of_the_worktree_one_stands_in() {
    let repo = scoped_project();
    sh(
        &repo,
        "git worktree add -q ../linked; cd ../linked; echo l >>README.md
        git commit -q -a -m linked",
    );
    let violation = "README.md modified read-only violation\n";
    assert_eq!(
        findings(&repo, &repo.root().join("linked"), "main..HEAD"),
        violation
    );
    assert_eq!(findings(&repo, repo.main(), "main..HEAD"), "");

    let ours = repo.add("task");
    repo.sh(&ours, "echo more >>src/main.rs; git commit -q -a -m task")
        .ok();
    assert_eq!(
        findings(&repo, &ours, "main.."),
        "src/main.rs modified read-only violation\n"
    );
    // the agent's `.git` says which repository it is in, and is not asked
    let script =
        "rm .git; git init -q --separate-git-dir=../../../../x .; git commit -q --allow-empty -m x";
    repo.sh(&ours, script).ok();
    assert_eq!(
        findings(&repo, &ours, "main.."),
        "src/main.rs modified read-only violation\n"
    );
    repo.sh(&ours, "rm .git").ok();
    assert_eq!(
        findings(&repo, &ours, "main.."),
        "src/main.rs modified read-only violation\n"
    );
    // one that nobody recorded
    sh(
        &repo,
        "git worktree add -q --detach .agentwt/worktrees/plain work; rm .agentwt/worktrees/plain/.git",
    );
    let said = repo.agentwt_in(&repo.worktree("plain"), &["verify", "--range", "main.."]);
    assert_snapshot!(said, @"
    --- stderr
    error: there is no worktree named `plain`
    help: there are: task; `git agentwt list` shows them
    --- status 7
    ");
}

// ---- shallow clones --------------------------------------------------------------------------

#[test]
fn a_shallow_clone_that_ends_inside_the_range_is_an_error() {
    let repo = scoped_project();
    let script = "for i in 1 2 3; do echo $i >>docs/guide.md; git commit -q -a -m $i; done
        git checkout -q main; for i in 1 2 3; do git commit -q --allow-empty -m $i; done
        git checkout -q work";
    sh(&repo, script);
    let url = format!("file://{}", repo.main().display());
    let clone = |depth: &str, name: &str| {
        let depth = format!("--depth={depth}");
        repo.git_in(
            repo.root(),
            &["clone", "-q", &depth, "--no-single-branch", &url, name],
        );
        repo.root().join(name)
    };
    let verify = |dir: &Path| {
        let range = "origin/main..origin/work";
        repo.agentwt_in(dir, &["verify", "--range", range, "--scope=docs"])
    };
    let one = clone("1", "one");
    assert_snapshot!(verify(&one), @"
    --- stderr
    error: cannot verify origin/main..origin/work: this clone is shallow, and its history ends inside the range
    help: fetch the rest: git fetch --unshallow (with actions/checkout: `fetch-depth: 0`)
    --- status 5
    ");
    verify(&clone("3", "three")).fails(5);
    assert_snapshot!(verify(&clone("4", "four")), @"
    ok origin/main..origin/work: in scope (docs), 1 path changed
    --- status 0
    ");
    repo.git_in(&one, &["fetch", "-q", "--unshallow"]);
    verify(&one).ok();
}

#[test]
fn a_shallow_clone_does_not_take_an_older_common_ancestor_for_the_best() {
    let repo = scoped_project();
    // `work` takes over `up` and then puts README.md back; the clone does not know that it had it
    let script = "git checkout -q main; echo up >>README.md; git commit -q -a -m up; up=$(git rev-parse HEAD)
        git checkout -q work; git merge -q --no-ff -m merge main
        git checkout -q main~ -- README.md; git commit -q -m undo; undo=$(git rev-parse HEAD)
        git merge -q -s ours --allow-unrelated-histories -m again $(git commit-tree -p main~ -m x main~^{tree})
        git clone -q --bare . ../cut.git; echo $undo >../cut.git/shallow
        test $(git --git-dir=../cut.git merge-base main work) = $(git rev-parse main~)";
    sh(&repo, script);
    let cut = repo.root().join("cut.git");
    let said = repo.agentwt_in(&cut, &["verify", "--range=main..work", "--scope=docs"]);
    said.fails(5);
    assert_eq!(
        findings(&repo, repo.main(), "main..work"),
        "README.md modified read-only violation\n"
    );
}

// ---- errors ----------------------------------------------------------------------------------

#[test]
fn what_is_no_range_is_wrong_usage() {
    let repo = scoped_project();
    assert_snapshot!(verify(&repo, "main"), @"
    --- stderr
    error: `main` is not a range of commits
    help: name the base and what is verified: git agentwt verify --range origin/main..HEAD
    --- status 2
    ");
    assert_snapshot!(verify(&repo, "..HEAD").fails(2).stderr, @"
    error: `..HEAD` is not a range of commits
    help: name the base and what is verified: git agentwt verify --range origin/main..HEAD
    ");
    assert_snapshot!(verify(&repo, "gone..HEAD"), @"
    --- stderr
    error: there is no commit `gone`, in the range gone..HEAD
    help: see what there is: git branch -a; to get what a remote has: git fetch
    --- status 2
    ");
    let zero = format!("main..{}", "0".repeat(40));
    verify(&repo, &zero).fails(2);
    verify(&repo, "main..--all").fails(2);
    verify(&repo, "main..HEAD^{tree}").fails(2);
    sh(
        &repo,
        "git checkout -q --orphan alone; git commit -q -m alone",
    );
    assert_snapshot!(verify(&repo, "main..alone"), @"
    --- stderr
    error: cannot verify main..alone: the two histories have no commit in common
    help: name a base that it started from; to see both: git log --oneline --graph main alone
    --- status 2
    ");
    let outside = repo.agentwt_in(repo.root(), &["verify", "--range", "main..work"]);
    outside.fails(2);
}

#[test]
fn options_of_a_range_are_for_a_range() {
    let repo = scoped_project();
    for arguments in [
        &["verify", "--scope", "docs"][..],
        &["verify", "--all", "--scope", "docs"],
        &["verify", "task", "--write", "x"],
        &["verify", "--range", "main..", "task"],
        &["verify", "--range", "main..", "--all"],
    ] {
        let said = repo.agentwt(arguments);
        said.fails(2);
        assert_eq!(said.stdout, "", "{arguments:?}");
    }
}

#[test]
fn a_missing_object_is_no_verdict() {
    let repo = with_violations();
    let tree = repo.git(&["rev-parse", "work:docs"]);
    let script = format!("rm -f .git/objects/{}/{}", &tree[..2], &tree[2..]);
    sh(&repo, &script);
    let said = verify(&repo, "main..work");
    assert_snapshot!(said.fails(5).stderr.replace(&tree, "[tree]"), @"
    error: cannot read tree [tree]: it is not in the repository
    help: check the repository with `git fsck`
    ");
    assert_eq!(said.stdout, "");
}

// ---- the quarantine --------------------------------------------------------------------------

/// Objects that are not in the repository count only where git itself puts those of a push.
#[test]
fn the_variables_of_a_quarantine_are_not_believed() {
    let repo = scoped_project();
    sh(
        &repo,
        "git clone -q . ../other; cd ../other; git checkout -q work
        echo x >>docs/guide.md; git commit -q -a -m elsewhere",
    );
    let elsewhere = repo.git_in(&repo.root().join("other"), &["rev-parse", "HEAD"]);
    let objects = repo.root().join("other/.git/objects");
    let run = |quarantine: &Path| {
        let range = format!("main..{elsewhere}");
        let mut command = repo.command(crate::support::binary(), repo.main());
        command.args(["verify", "--range", &range, "--scope", "docs"]);
        for name in [
            "GIT_QUARANTINE_PATH",
            "GIT_OBJECT_DIRECTORY",
            "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        ] {
            command.env(name, quarantine);
        }
        repo.said(&command.output().expect("it starts"))
    };
    run(&objects).fails(2);
    // through a link neither
    std::os::unix::fs::symlink(
        &objects,
        repo.main().join(".git/objects/tmp_objdir-incoming-1"),
    )
    .expect("a link");
    run(&repo.main().join(".git/objects/tmp_objdir-incoming-1")).fails(2);
    let real = repo.main().join(".git/objects/tmp_objdir-incoming-2");
    repo.sh(
        repo.main(),
        &format!("cp -r {} {}", objects.display(), real.display()),
    )
    .ok();
    run(&real).ok();
}
