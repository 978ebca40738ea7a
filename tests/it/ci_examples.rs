//! What `docs/ci.md` gives to copy: the server hooks with real pushes to a bare repository, and
//! the workflow's own lines in a clone.

use std::path::{Path, PathBuf};

use insta::assert_snapshot;

use crate::support::{Said, TestRepo, chmod, gits};

const HOOKS: [&str; 2] = ["update", "pre-receive"];

const CONFIG: &str = "schema_version = \"1.0\"\n\
    [scope.default]\nwrite = [\"src/**\"]\n\
    [scope.docs]\nwrite = [\"docs/**\"]\n";

#[must_use]
fn example(name: &str) -> PathBuf {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    project.join("docs/examples").join(name)
}

/// The small project with a config on `main`, and a branch `work` from there, checked out.
#[track_caller]
fn fill(repo: &TestRepo) {
    repo.fill();
    repo.write(".agentwt/config.toml", CONFIG);
    repo.commit_all("config");
    repo.git(&["checkout", "-q", "-b", "work"]);
}

/// A server with a hook and the scope `docs`, and a repository that pushes to it.
struct Server {
    repo: TestRepo,
    bare: PathBuf,
}

impl Server {
    #[track_caller]
    fn with(hook: &str, repo: TestRepo) -> Self {
        fill(&repo);
        repo.git(&[
            "clone",
            "-q",
            "--bare",
            "--branch",
            "main",
            ".",
            "../server.git",
        ]);
        let bare = repo.root().join("server.git");
        repo.git_in(&bare, &["branch", "-q", "-D", "work"]);
        repo.git_in(&bare, &["config", "agentwtHook.scope", "docs"]);
        let installed = bare.join("hooks").join(hook);
        std::fs::copy(example(hook), &installed).expect("it can be copied");
        chmod(&installed, 0o755);
        repo.git(&["remote", "add", "server", "../server.git"]);
        Self { repo, bare }
    }

    #[track_caller]
    fn commit(&self, path: &str) {
        self.repo
            .sh(self.repo.main(), &format!("echo more >>{path}"))
            .ok();
        self.repo.commit_all(path);
    }

    #[track_caller]
    fn push(&self, arguments: &[&str]) -> Said {
        let arguments = [&["push", "-q", "server"], arguments].concat();
        self.repo.try_git(self.repo.main(), &arguments)
    }

    /// The branches that the server has.
    #[track_caller]
    fn branches(&self) -> String {
        let names = ["for-each-ref", "--format=%(refname:short)"];
        self.repo.git_in(&self.bare, &names).replace('\n', " ")
    }

    /// Asserts that a push was refused for this reason, and that nothing of it is there; what the
    /// pusher read.
    #[track_caller]
    fn refuses(&self, arguments: &[&str], reason: &str) -> String {
        let before = self.repo.git_in(&self.bare, &["for-each-ref"]);
        let said = self.push(arguments);
        said.fails(1);
        assert!(said.stderr.contains(reason), "{reason}: {said}");
        assert_eq!(self.repo.git_in(&self.bare, &["for-each-ref"]), before);
        said.stderr
    }
}

/// What a push says, without the ids and the trailing spaces that git pads with.
#[must_use]
fn shown(server: &Server, stderr: &str) -> String {
    let id = server.repo.git(&["rev-parse", "HEAD"]);
    let text = stderr.replace(&id, "[new]").replace(&id[..10], "[new]");
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    lines.join("\n")
}

// ---- the server hooks ------------------------------------------------------------------------

#[test]
fn a_push_in_scope_is_accepted_and_one_out_of_it_is_refused_with_the_report() {
    for (version, git) in gits() {
        for hook in HOOKS {
            let server = Server::with(hook, TestRepo::empty().with_git(&git));
            server.commit("docs/guide.md");
            let said = server.push(&["work:agentwt/a"]);
            said.ok();
            assert!(
                said.stderr.contains("in scope (docs), 1 path changed"),
                "{version}: {said}"
            );
            assert_eq!(server.branches(), "agentwt/a main", "{version} {hook}");
            server.commit("README.md");
            server.refuses(&["work:agentwt/a"], "README.md");
            server.refuses(&["work:agentwt/b"], "it leaves the scope docs");
        }
    }
}

#[test]
fn the_pusher_reads_what_is_wrong() {
    let server = Server::with("update", TestRepo::empty());
    server.commit("README.md");
    let said = server.refuses(&["work:agentwt/a"], "README.md");
    assert_snapshot!(shown(&server, &said), @"
    remote: NO refs/heads/main..[new]: 1 violation (docs), 1 path changed
    remote:   !  modified  README.md  commit [new]  read-only: read ** (default)
    remote: agentwt: refs/heads/agentwt/a is refused: it leaves the scope docs
    remote: error: hook declined to update refs/heads/agentwt/a
    To ../server.git
     ! [remote rejected] work -> agentwt/a (hook declined)
    error: failed to push some refs to '../server.git'
    ");
    let server = Server::with("pre-receive", TestRepo::empty());
    server.commit("README.md");
    let said = server.refuses(&["work:agentwt/a"], "README.md");
    assert_snapshot!(shown(&server, &said), @"
    remote: NO refs/heads/main..[new]: 1 violation (docs), 1 path changed
    remote:   !  modified  README.md  commit [new]  read-only: read ** (default)
    remote: agentwt: refs/heads/agentwt/a is refused: it leaves the scope docs
    To ../server.git
     ! [remote rejected] work -> agentwt/a (pre-receive hook declined)
    error: failed to push some refs to '../server.git'
    ");
}

/// While `pre-receive` runs the objects are in quarantine: as files, or as a pack.
#[test]
fn what_is_pushed_is_read_loose_and_packed_and_beside_borrowed_objects() {
    for (limit, hook) in [
        ("1", "update"),
        ("1", "pre-receive"),
        ("1000", "update"),
        ("1000", "pre-receive"),
    ] {
        let server = Server::with(hook, TestRepo::empty());
        server
            .repo
            .git_in(&server.bare, &["config", "receive.unpackLimit", limit]);
        // everything that the server has is in another repository
        let script = "git clone -q --bare . ../pool.git; git -C ../server.git repack -q -a -d
            echo ../../pool.git/objects >../server.git/objects/info/alternates
            rm -rf ../server.git/objects/pack/* ../server.git/objects/??";
        server.repo.sh(server.repo.main(), script).ok();
        for name in ["docs/a", "docs/b", "docs/c"] {
            server.commit(name);
        }
        server.push(&["work:agentwt/a"]).ok();
        let packs = "ls objects/pack/*.pack 2>/dev/null | wc -l";
        let packs = server.repo.sh(&server.bare, packs).ok();
        assert_eq!(packs.trim(), if limit == "1" { "1" } else { "0" }, "{hook}");
        server.commit("README.md");
        server.refuses(&["work:agentwt/a"], "README.md");
    }
}

#[test]
fn new_forced_and_deleted_branches_are_handled() {
    for hook in HOOKS {
        for options in [&[][..], &["--object-format=sha256"]] {
            let server = Server::with(hook, TestRepo::empty_with(options));
            server.commit("docs/guide.md");
            server.push(&["work:agentwt/a"]).ok();
            // rewritten, in scope
            server.repo.git(&["commit", "-q", "--amend", "-m", "again"]);
            server.push(&["--force", "work:agentwt/a"]).ok();
            // rewritten, out of scope, although what is new since the last push is in scope
            server.repo.git(&["reset", "-q", "--hard", "main"]);
            server.commit("README.md");
            server.commit("docs/guide.md");
            server.refuses(&["--force", "work:agentwt/a"], "README.md");
            server.push(&[":agentwt/a"]).ok();
            assert_eq!(server.branches(), "main", "{hook}");
        }
    }
}

#[test]
fn other_refs_are_nobodys_business() {
    for hook in HOOKS {
        let server = Server::with(hook, TestRepo::empty());
        server.commit("README.md");
        server
            .push(&["work:feature", "work:refs/tags/agentwt/v1"])
            .ok();
        server.repo.git_in(
            &server.bare,
            &["config", "agentwtHook.prefix", "refs/heads/bots/"],
        );
        server.push(&["work:agentwt/a"]).ok();
        server.refuses(&["work:bots/a"], "README.md");
    }
}

#[test]
fn a_push_is_taken_whole_or_not_at_all_by_pre_receive_and_in_parts_by_update() {
    for (hook, there) in [("pre-receive", "main"), ("update", "agentwt/good main")] {
        let server = Server::with(hook, TestRepo::empty());
        server.commit("docs/guide.md");
        server.repo.git(&["branch", "good"]);
        server.commit("README.md");
        server
            .push(&["good:agentwt/good", "work:agentwt/bad"])
            .fails(1);
        assert_eq!(server.branches(), there);
    }
}

#[test]
fn a_branch_does_not_widen_its_scope_not_even_with_main_in_the_same_push() {
    for hook in HOOKS {
        let server = Server::with(hook, TestRepo::empty());
        server
            .repo
            .write(".agentwt/config.toml", &CONFIG.replace("docs/**", "**"));
        server.commit("README.md");
        server.refuses(&["work:agentwt/a"], ".agentwt/config.toml");
    }
    let server = Server::with("pre-receive", TestRepo::empty());
    server
        .repo
        .write(".agentwt/config.toml", &CONFIG.replace("docs/**", "**"));
    server.commit("README.md");
    server.refuses(&["work:agentwt/a", "work:main"], "README.md");
}

#[test]
fn a_server_that_finds_no_bare_repository_by_itself_verifies_in_its_hooks() {
    for hook in HOOKS {
        let server = Server::with(hook, TestRepo::empty());
        let explicit = ["config", "--global", "safe.bareRepository", "explicit"];
        server.repo.git(&explicit);
        server.commit("docs/guide.md");
        server.push(&["work:agentwt/a"]).ok();
        server.commit("README.md");
        let said = server.push(&["work:agentwt/a"]);
        assert!(said.fails(1).stderr.contains("README.md"), "{said}");
    }
}

#[test]
fn what_cannot_be_told_is_refused_with_the_reason() {
    for hook in HOOKS {
        let server = Server::with(hook, TestRepo::empty());
        server.commit("docs/guide.md");
        let push = ["work:agentwt/a"];
        let config = |key: &str, value: &str| {
            server.repo.git_in(&server.bare, &["config", key, value]);
        };
        config("agentwtHook.base", "refs/heads/gone");
        let said = server.refuses(&push, "there is no commit `refs/heads/gone`");
        assert!(said.contains("it could not be verified"), "{said}");
        config("agentwtHook.base", "refs/heads/main");
        config("agentwtHook.scope", "nope");
        server.refuses(&push, "unknown scope profile `nope`");
        config("agentwtHook.scope", "docs");

        let alone = ["alone:agentwt/a"];
        let script = "git checkout -q --orphan alone; git commit -q -m alone; git checkout -q work";
        server.repo.sh(server.repo.main(), script).ok();
        server.refuses(&alone, "no commit in common");

        // without the program
        let script = "mkdir ../only-git; ln -s $(command -v git) ../only-git/git
            PATH=$(cd ../only-git && pwd) git push -q server work:agentwt/a";
        let said = server.repo.sh(server.repo.main(), script);
        assert!(
            said.fails(1)
                .stderr
                .contains("git-agentwt is not on the PATH"),
            "{said}"
        );

        let script = "git config --unset agentwtHook.base
            git update-ref --no-deref HEAD main";
        server.repo.sh(&server.bare, script).ok();
        server.refuses(&push, "HEAD names no branch");
        assert_eq!(server.branches(), "main", "{hook}");
    }
}

#[test]
fn the_examples_are_executable_and_clean() {
    use std::os::unix::fs::PermissionsExt;
    for hook in HOOKS {
        let mode = example(hook)
            .metadata()
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o111, 0o111, "{hook}");
        let Ok(checked) = std::process::Command::new("shellcheck")
            .arg(example(hook))
            .output()
        else {
            eprintln!("not run: shellcheck is not installed, which ./test.sh names");
            continue;
        };
        assert!(
            checked.status.success(),
            "{}",
            String::from_utf8_lossy(&checked.stdout)
        );
    }
}

// ---- the workflow ----------------------------------------------------------------------------

/// The `run:` lines of the workflow, in order.
#[must_use]
fn run_lines() -> Vec<String> {
    let text = std::fs::read_to_string(example("github-workflow.yml")).expect("it is there");
    let lines = text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("run: "));
    let lines: Vec<String> = lines.map(ToOwned::to_owned).collect();
    assert_eq!(
        text.matches("run:").count(),
        lines.len(),
        "every run: is a line"
    );
    assert!(
        lines
            .iter()
            .all(|line| !line.starts_with('|') && !line.starts_with('>'))
    );
    lines
}

/// What an event of GitHub gives the workflow.
struct Event {
    /// The base branch: `pull_request.base.ref`, or `merge_group.base_ref`.
    base: &'static str,
    /// The commit: `pull_request.head.sha`, or `merge_group.head_sha`.
    proposed: String,
}

/// A pull request to `main`, as it is now.
#[track_caller]
fn pull_request(repo: &TestRepo, number: &str) -> Event {
    let head = format!("refs/pull/{number}/head");
    Event {
        base: "refs/heads/main",
        proposed: repo.git(&["rev-parse", &head]),
    }
}

/// Runs the workflow as a runner does, in a fresh clone of the default branch.
#[track_caller]
fn run_workflow(repo: &TestRepo, event: &Event) -> Said {
    let clone = repo.root().join("runner");
    repo.sh(repo.root(), "rm -rf runner").ok();
    repo.git_in(
        repo.root(),
        &[
            "clone",
            "-q",
            "--branch",
            "main",
            "repo",
            &clone.to_string_lossy(),
        ],
    );
    let mut all = Said {
        stdout: String::new(),
        stderr: String::new(),
        status: 0,
    };
    for line in run_lines() {
        // as "Exit codes and error action preference" of GitHub's documentation says
        let mut command = repo.command("bash", &clone);
        command.args(["-e", "-c", &line]);
        command.env("BASE", event.base).env("SCOPE", "docs");
        command.env("PROPOSED", &event.proposed);
        command.env("GITHUB_ACTIONS", "true");
        let said = repo.said(&command.output().expect("bash starts"));
        all.stdout += &said.stdout;
        all.stderr += &said.stderr;
        all.status = said.status;
        if said.status != 0 {
            break;
        }
    }
    all
}

#[test]
fn the_workflow_accepts_a_pull_request_in_scope_and_annotates_one_out_of_it() {
    let repo = TestRepo::empty();
    fill(&repo);
    let script = "set -e; echo more >>docs/guide.md; git commit -q -a -m good
        git update-ref refs/pull/7/head HEAD
        echo more >>README.md; git commit -q -a -m bad; git update-ref refs/pull/8/head HEAD
        git reset -q --hard main; sed -i 's#docs/#**/#' .agentwt/config.toml; rm -r tools
        git commit -q -a -m widen; git update-ref refs/pull/9/head HEAD
        git checkout -q main; echo up >>README.md; git commit -q -a -m upstream";
    repo.sh(repo.main(), script).ok();
    let installed = |said: &Said| {
        let (first, rest) = said.stdout.split_once('\n').expect("the program was found");
        assert!(first.ends_with("/git-agentwt"), "{said}");
        rest.to_owned()
    };
    let good = run_workflow(&repo, &pull_request(&repo, "7"));
    assert_eq!(good.status, 0, "{good}");
    assert_eq!(installed(&good), "");
    assert!(
        good.stderr.contains("in scope (docs), 1 path changed"),
        "{good}"
    );
    let bad = run_workflow(&repo, &pull_request(&repo, "8"));
    assert_eq!(bad.status, 1, "{bad}");
    assert_snapshot!(installed(&bad), @"::error file=README.md,title=git agentwt%3A read-only::README.md modified (refs/scope/base..refs/scope/proposed): read-only: read ** (default)");
    let widen = run_workflow(&repo, &pull_request(&repo, "9"));
    assert_eq!(widen.status, 1, "{widen}");
    assert_snapshot!(installed(&widen), @"
    ::error file=.agentwt/config.toml,title=git agentwt%3A excluded::.agentwt/config.toml modified (refs/scope/base..refs/scope/proposed): excluded: exclude /.agentwt (built-in)
    ::error file=tools/run.sh,title=git agentwt%3A read-only::tools/run.sh deleted (refs/scope/base..refs/scope/proposed): read-only: read ** (default)
    ");
}

#[test]
fn a_pull_request_is_judged_by_its_own_base_branch_and_by_the_commit_of_the_event() {
    let repo = TestRepo::empty();
    fill(&repo);
    // on `release` a task may edit the README and no documents; `main` went on
    let script = "set -e; git checkout -q -b release main
        sed -i 's#docs/[*][*]#README*#' .agentwt/config.toml; git commit -q -a -m release
        git checkout -q main; echo fix >>tools/run.sh; git commit -q -a -m fix
        git checkout -q -b good release; echo more >>README.md; git commit -q -a -m good
        git update-ref refs/pull/7/head HEAD
        git checkout -q -b bad release; echo more >>docs/guide.md; git commit -q -a -m bad
        git update-ref refs/pull/8/head HEAD
        git checkout -q -b backport release; git cherry-pick main >/dev/null
        git update-ref refs/pull/9/head HEAD; git checkout -q main";
    repo.sh(repo.main(), script).ok();
    let to_release = |number: &str| Event {
        base: "refs/heads/release",
        ..pull_request(&repo, number)
    };
    let good = run_workflow(&repo, &to_release("7"));
    assert_eq!(good.status, 0, "{good}");
    for (number, file) in [("8", "docs/guide.md"), ("9", "tools/run.sh")] {
        let said = run_workflow(&repo, &to_release(number));
        assert_eq!(said.status, 1, "{said}");
        assert!(
            said.stdout.contains(&format!("::error file={file},")),
            "{said}"
        );
    }
    // pushed over while the runner starts: the status is that of the commit of the event
    let event = to_release("8");
    repo.git(&["update-ref", "refs/pull/8/head", "good"]);
    let said = run_workflow(&repo, &event);
    assert_eq!(said.status, 1, "{said}");
}

#[test]
fn a_merge_queue_is_judged_by_the_branch_that_it_merges_into() {
    let text = std::fs::read_to_string(example("github-workflow.yml")).expect("it is there");
    assert!(
        text.contains("\n  pull_request_target:\n  merge_group:\n"),
        "{text}"
    );
    for (name, queue, pull_request) in [
        (
            "BASE",
            "base_ref",
            "format('refs/heads/{0}', github.event.pull_request.base.ref)",
        ),
        ("PROPOSED", "head_sha", "github.event.pull_request.head.sha"),
    ] {
        let line = format!(
            "      {name}: ${{{{ github.event.merge_group.{queue} || {pull_request} }}}}\n"
        );
        assert!(text.contains(&line), "{line}");
    }
    let repo = TestRepo::empty();
    fill(&repo);
    let script = "set -e; git checkout -q -b queue main; echo more >>docs/guide.md
        git commit -q -a -m one; echo more >>README.md; git commit -q -a -m two; git checkout -q main";
    repo.sh(repo.main(), script).ok();
    for (commit, status) in [("queue~", 0), ("queue", 1)] {
        let event = Event {
            base: "refs/heads/main",
            proposed: repo.git(&["rev-parse", commit]),
        };
        let said = run_workflow(&repo, &event);
        assert_eq!(said.status, status, "{said}");
    }
}

/// What the workflow's lines take from their surroundings is given to them by the file.
#[test]
fn every_variable_of_the_workflow_is_set_in_it() {
    let text = std::fs::read_to_string(example("github-workflow.yml")).expect("it is there");
    for line in run_lines() {
        for used in line.split('$').skip(1) {
            let name: String = used
                .chars()
                .take_while(|c| c.is_ascii_uppercase() || *c == '_')
                .collect();
            let is_set = |indent: &str| text.contains(&format!("\n{indent}{name}: "));
            assert!(is_set("          ") || is_set("      "), "{name}");
        }
    }
    assert!(
        text.contains("fetch-depth: 0"),
        "a shallow clone gives no verdict"
    );
}
