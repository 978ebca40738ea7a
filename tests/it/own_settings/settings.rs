//! Settings: odd files, all files that count, includes, and what git is asked for.

use std::path::Path;

use super::{Answer, ask, text};
use crate::support::TestRepo;

const PLAIN: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";

/// Says who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// Our own code: git is not started.
    Own,
    /// Git, for some of it at least.
    Git,
}

/// Asks everything about settings in the main worktree.
#[track_caller]
fn in_main(repo: &TestRepo, variables: &[(&str, &str)]) -> Answer {
    let git_dir = repo.main().join(".git");
    let question = format!("settings|user|{}|{}", text(&git_dir), text(repo.main()));
    let mut answers = ask(repo, &[question], |command| {
        command.envs(variables.iter().copied());
    });
    answers.remove(0)
}

fn by(answer: &Answer) -> By {
    if answer.starts == 0 { By::Own } else { By::Git }
}

fn config(repo: &TestRepo, more: &[u8]) {
    let config = [PLAIN.as_bytes(), more].concat();
    std::fs::write(repo.main().join(".git/config"), config).expect("a file");
}

/// Files as nobody writes them, and whether they are certain enough to be read here. A boolean or
/// a path that is none is git's to refuse: the keys that are asked for so are `agentwt.*`.
const ODD: &[(&str, By)] = &[
    ("[agentwt]\n\tkey = true\n", By::Own),
    ("[agentwt] key=yes\n", By::Own),
    ("[AGENTWT]\n\tKEY = ON\n", By::Own),
    ("[agentwt]\nkey\nother = \n", By::Own),
    ("[agentwt]\nkey =\n", By::Own),
    ("[agentwt]\nkey = \"\"\n", By::Own),
    ("[agentwt]\nkey = 1\n[agentwt]\nkey = 0\n", By::Own),
    ("[agentwt]\nkey = 01\n", By::Git),
    ("[agentwt]\nkey = 1k\n", By::Git),
    ("[agentwt]\nkey = -1\n", By::Git),
    ("[agentwt]\nkey = 2\n", By::Git),
    ("[agentwt]\nkey = maybe\nkey = true\n", By::Git),
    ("[agentwt]\nkey = \"a b\" c # comment\n", By::Git),
    (
        "[agentwt \"Sub\"]\nkey = false ; comment\n[agentwt \"sub\"]\nkey=no\n",
        By::Own,
    ),
    ("[agentwt.Sub]\nkey = no\n", By::Own),
    ("[agentwt.a.b]\nkey = no\n", By::Own),
    ("[agentwt \"a.b\"]\nkey = no\n", By::Own),
    ("[agentwt.A \"b\"]\nkey = no\n", By::Own),
    ("[agentwt \"a\\\"b\\\\c\"]\nkey = off\n", By::Own),
    ("[agentwt \"\"]\nkey = off\n", By::Own),
    ("[agentwt\t \"Sub\"]key = off\n", By::Own),
    ("[agentwt \"Sub\" ]\nkey = off\n", By::Git),
    ("[agentwt \"Sub]\nkey = off\n", By::Git),
    ("[agentwt Sub]\nkey = off\n", By::Git),
    ("[agent_wt]\nkey = off\n", By::Git),
    ("[]\nkey = off\n", By::Git),
    ("[.sub]\nkey = off\n", By::Git),
    ("[agentwt]\n1key = off\n", By::Git),
    ("[agentwt]\nk_y = off\n", By::Git),
    ("[agentwt]\nkey-1 = off\n", By::Own),
    ("[agentwt]\nkey off\n", By::Git),
    ("[agentwt]\nkey : off\n", By::Git),
    (
        "; all\n# comments\n   # indented\n[agentwt] ; here\n key = on#here\n",
        By::Own,
    ),
    ("[agentwt]\r\n\tkey = on\r\n\tkey = off   \r\n", By::Own),
    ("[agentwt]\n\tkey = o\\\nn\n", By::Own),
    ("[agentwt]\n\tkey = o\\\r\nn\n", By::Own),
    ("[agentwt]\n\tother = a\tb\n", By::Git),
    ("[agentwt]\n\tkey = on\t \n", By::Own),
    ("[agentwt]\n\tkey = \"on", By::Git),
    ("[agentwt]\n\tkey = \"o\nn\"\n", By::Git),
    ("[agentwt]\n\tkey = on\\", By::Own),
    ("[agentwt]\n\tkey = on", By::Own),
    ("[agentwt]\n\tkey = o\\x\n", By::Git),
    ("[agentwt]\n\tkey = on\0f\n", By::Git),
    ("[agentwt", By::Git),
    ("[agentwt]", By::Own),
    ("\u{feff}", By::Git),
    (
        "[include]\n\tpath = not/there\n[agentwt]\nkey = on\n",
        By::Own,
    ),
    ("[include]\n\tpath\n", By::Git),
    (
        "[include]\n\tpath = ../more\n[agentwt]\nkey = no\n",
        By::Own,
    ),
    (
        "[agentwt]\nkey = no\n[include]\n\tpath = ../more\n",
        By::Own,
    ),
    ("[include]\n\tpath = config\n", By::Git),
    ("[include]\n\tpath = ~/more\n", By::Own),
    ("[include]\n\tpath = ~root/more\n", By::Git),
    ("[includeIf \"gitdir:/\"]\n\tpath = ../more\n", By::Git),
    (
        "[IncludeIf \"gitdir:/nowhere/\"]\n\tpath = ../more\n",
        By::Git,
    ),
    ("[extensions]\n\tunknown = true\n", By::Git),
    ("[extensions]\n\tworktreeConfig = true\n", By::Own),
    ("[extensions]\n\tworktreeConfig = perhaps\n", By::Git),
    ("[core]\n\tbare = perhaps\n\tbare = false\n", By::Git),
    ("[core]\n\trepositoryformatversion = 9\n", By::Git),
    ("[core]\n\tworktree = ../elsewhere\n", By::Git),
    ("[core]\n\tworktree = ..\n", By::Own),
];

#[test]
fn odd_files_are_read_as_git_reads_them() {
    let repo = TestRepo::project();
    repo.write("more", "[agentwt]\n\tkey = true\n\tother = included\n");
    let home = "[agentwt]\n\tother = ~/of the home\n";
    std::fs::write(repo.home().join("more"), home).expect("a file");
    for (text, expected) in ODD {
        config(&repo, text.as_bytes());
        assert_eq!(by(&in_main(&repo, &[])), *expected, "{text:?}");
    }
}

#[test]
fn a_file_in_other_bytes_is_gits() {
    let repo = TestRepo::project();
    for (more, expected) in [
        (&b"[agentwt]\n\tother = \xff\n"[..], By::Git),
        (b"[agentwt \"\xff\"]\n\tkey = on\n", By::Git),
        (b"# \xff\n[agentwt]\n\tkey = on\n", By::Own),
    ] {
        config(&repo, more);
        assert_eq!(by(&in_main(&repo, &[])), expected, "{more:?}");
    }
    let marked = [b"\xef\xbb\xbf", PLAIN.as_bytes(), b"[agentwt]\nkey = on\n"].concat();
    std::fs::write(repo.main().join(".git/config"), marked).expect("a file");
    assert_eq!(
        by(&in_main(&repo, &[])),
        By::Own,
        "a mark of the byte order"
    );
}

#[test]
fn a_git_directory_that_is_damaged_is_for_git_to_refuse() {
    let repo = TestRepo::project();
    let git_dir = repo.main().join(".git");
    assert_eq!(by(&in_main(&repo, &[])), By::Own);
    let away = repo.root().join("away");
    for part in ["HEAD", "objects", "refs"] {
        std::fs::rename(git_dir.join(part), &away).expect("it is there");
        let answer = in_main(&repo, &[]);
        assert_eq!(by(&answer), By::Git, "without {part}");
        // git reads the files of the user then, and not those of what is no repository
        assert!(!answer.said.contains("\"local\""), "{part}: {answer:?}");
        std::fs::rename(&away, git_dir.join(part)).expect("it is there");
    }
    std::fs::write(git_dir.join("HEAD"), "nothing\n").expect("a file");
    assert_eq!(
        by(&in_main(&repo, &[])),
        By::Git,
        "a HEAD that names nothing"
    );
    std::fs::write(git_dir.join("commondir"), "nowhere\n").expect("a file");
    assert_eq!(
        by(&in_main(&repo, &[])),
        By::Git,
        "a common directory that is not there"
    );
}

#[test]
fn what_is_no_key_is_for_git_to_refuse() {
    let repo = TestRepo::project();
    let question = format!("no keys|{}", text(&repo.main().join(".git")));
    let answer = ask(&repo, &[question], |_| {}).remove(0);
    assert!(answer.starts >= super::NO_KEYS.len(), "{answer:?}");
}

#[test]
fn paths_are_expanded_as_git_expands_them() {
    let repo = TestRepo::project();
    for (value, expected) in [
        ("~/x", By::Own),
        ("~", By::Own),
        ("/abs/~/x", By::Own),
        ("rel/x", By::Own),
        ("\"~/a b\"", By::Own),
        ("~root/x", By::Git),
        ("~nobody-here/x", By::Git),
        ("%(prefix)/x", By::Git),
        (":(optional)/x", By::Git),
    ] {
        config(
            &repo,
            format!("[core]\n\texcludesFile = {value}\n").as_bytes(),
        );
        let git_dir = repo.main().join(".git");
        let question = format!("settings|user|{}|{}", text(&git_dir), text(repo.main()));
        // git refuses most of these as booleans; what is asked in the end is who expanded it
        ask(&repo, &[question], |_| {});
        let list = format!("typed|{}", text(&git_dir));
        config(
            &repo,
            format!("[agentwt]\n\tkey = on\n\tkey = {value}\n").as_bytes(),
        );
        let answer = ask(&repo, &[list], |_| {}).remove(0);
        // one start is the boolean's, with that of the version
        let starts = if expected == By::Own { 2 } else { 3 };
        assert_eq!(answer.starts, starts, "{value}: {answer:?}");
    }
}

#[test]
fn every_file_that_counts_is_read_in_gits_order() {
    let repo = TestRepo::project();
    let more = |name: &str| format!("[agentwt]\n\tkey = on\n\tother = {name}\n");
    let put = |file: &Path, name: &str| {
        std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
        std::fs::write(file, more(name)).expect("a file");
    };
    config(&repo, more("local").as_bytes());
    let linked = repo.root().join("linked");
    repo.git(&["worktree", "add", "-q", "--detach", text(&linked)]);
    put(&repo.main().join(".git/config.worktree"), "main");
    put(
        &repo.main().join(".git/worktrees/linked/config.worktree"),
        "linked",
    );
    put(&repo.home().join(".config/git/config"), "xdg");
    put(&repo.home().join(".gitconfig"), "home");
    let files = ["system", "global", "elsewhere/git/config"].map(|name| repo.root().join(name));
    files.iter().for_each(|file| put(file, "named"));
    let [system, global, _] = files.each_ref().map(|file| text(file));
    let elsewhere = repo.root().join("elsewhere");
    let environments: [(&[(&str, &str)], By); 12] = [
        (&[], By::Own),
        (
            &[("GIT_CONFIG_NOSYSTEM", "0"), ("GIT_CONFIG_SYSTEM", system)],
            By::Own,
        ),
        (&[("GIT_CONFIG_NOSYSTEM", "0")], By::Own),
        (
            &[
                ("GIT_CONFIG_NOSYSTEM", "TRUE"),
                ("GIT_CONFIG_SYSTEM", system),
            ],
            By::Git,
        ),
        (&[("GIT_CONFIG_NOSYSTEM", "perhaps")], By::Git),
        (&[("GIT_CONFIG_GLOBAL", global)], By::Own),
        (&[("GIT_CONFIG_GLOBAL", "/dev/null")], By::Own),
        (&[("GIT_CONFIG_GLOBAL", "global")], By::Git),
        (&[("GIT_CONFIG_GLOBAL", "")], By::Git),
        (&[("XDG_CONFIG_HOME", text(&elsewhere))], By::Own),
        (&[("XDG_CONFIG_HOME", "")], By::Own),
        (&[("HOME", "")], By::Git),
    ];
    for worktree_config in ["", "[extensions]\n\tworktreeConfig = true\n"] {
        config(
            &repo,
            format!("{}{worktree_config}", more("local")).as_bytes(),
        );
        for (variables, expected) in environments {
            let places = [
                (repo.main().join(".git"), repo.main().to_owned()),
                (repo.main().join(".git/worktrees/linked"), linked.clone()),
            ];
            let questions = places.iter().flat_map(|(git_dir, tree)| {
                ["user", "hardened"].map(|mode| question("files", mode, git_dir, tree))
            });
            let questions: Vec<String> = questions.collect();
            for answer in ask(&repo, &questions, |command| {
                command.envs(variables.iter().copied());
            }) {
                assert_eq!(by(&answer), expected, "{variables:?}: {}", answer.said);
            }
        }
    }
}

fn question(what: &str, mode: &str, git_dir: &Path, work_tree: &Path) -> String {
    format!("{what}|{mode}|{}|{}", text(git_dir), text(work_tree))
}

#[test]
fn settings_in_the_environment_are_gits_unless_they_are_not_believed() {
    let repo = TestRepo::project();
    let git_dir = repo.main().join(".git");
    let injected: [&[(&str, &str)]; 2] = [
        &[
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "agentwt.key"),
            ("GIT_CONFIG_VALUE_0", "true"),
        ],
        &[("GIT_CONFIG_PARAMETERS", "'agentwt.key'='true'")],
    ];
    for variables in injected {
        let modes =
            ["user", "hardened"].map(|mode| question("settings", mode, &git_dir, repo.main()));
        let answers = ask(&repo, &modes, |command| {
            command.envs(variables.iter().copied());
        });
        assert!(
            answers[0]
                .said
                .contains("(\"command\", \"agentwt.key\", \"true\")")
        );
        assert_eq!(by(&answers[0]), By::Git);
        assert!(!answers[1].said.contains("(\"command\", \"agentwt.key\""));
        assert_eq!(by(&answers[1]), By::Own);
    }
}

#[test]
fn the_file_of_the_machine_is_known_of_a_git_in_its_usual_place_only() {
    let repo = TestRepo::project();
    let shims = repo.root().join("shims");
    std::fs::create_dir(&shims).expect("a directory");
    let real = repo.sh(repo.main(), "command -v git").ok();
    let script = format!("#!/bin/sh\nexec {real} \"$@\"\n", real = real.trim());
    std::fs::write(shims.join("git"), script).expect("a script");
    crate::support::chmod(&shims.join("git"), 0o755);
    let old = std::env::var("PATH").expect("a search path");
    let path = format!("{}:{old}", shims.display());
    let answer = in_main(&repo, &[("GIT_CONFIG_NOSYSTEM", "0"), ("PATH", &path)]);
    assert_eq!(by(&answer), By::Git);
    let answer = in_main(&repo, &[("GIT_CONFIG_NOSYSTEM", "1"), ("PATH", &path)]);
    assert_eq!(
        by(&answer),
        By::Own,
        "where no such file counts the git does not matter"
    );
}
