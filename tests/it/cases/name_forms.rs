//! Every odd name through every change and every form of output: escaped for people, octal in
//! TSV, byte for byte in porcelain records, and with its bytes in JSON where it is no text.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::Case;
use crate::support::{TestRepo, binary, write};

/// A name, as people are shown it, and as TSV has it.
const NAMES: &[(&[u8], &str, &str)] = &[
    (b"new\nline", r"new\012line", r"new\012line"),
    (b"\n", r"\012", r"\012"),
    (b"tab\tb", r"tab\011b", r"tab\011b"),
    (b"quo\"te", "quo\"te", "quo\"te"),
    (b"back\\slash", r"back\134slash", r"back\134slash"),
    (b"latin\xe9", r"latin\351", r"latin\351"),
    (b"\xff\xfe", r"\377\376", r"\377\376"),
    (b"-rf", "-rf", "-rf"),
    ("c\u{e9}".as_bytes(), "c\u{e9}", r"c\303\251"),
    ("de\u{301}".as_bytes(), "de\u{301}", r"de\314\201"),
    (b"\x1b[31mred", r"\033[31mred", r"\033[31mred"),
    (b" spaces ", " spaces ", " spaces "),
    (
        b"$(x) `y` *?[a]{b}",
        "$(x) `y` *?[a]{b}",
        "$(x) `y` *?[a]{b}",
    ),
];

/// A project that has every name below `docs` (read-only) and `src` (may be edited), or none.
fn with_names(there: bool) -> Case {
    let repo = TestRepo::project();
    if there {
        for (name, ..) in NAMES {
            for directory in ["docs", "src"] {
                let text = [directory.as_bytes(), b" of ", name].concat();
                write(repo.main(), &in_directory(directory, name), &text);
            }
        }
        repo.commit_all("names");
    }
    Case::of(repo)
}

fn in_directory(directory: &str, name: &[u8]) -> Vec<u8> {
    [directory.as_bytes(), b"/", name].concat()
}

impl Case {
    fn file(&self, directory: &str, name: &[u8]) -> PathBuf {
        let path = in_directory(directory, name);
        self.worktree.join(OsStr::from_bytes(&path))
    }

    /// The same findings while it is on disk, staged and committed, in every form.
    fn is_told(&self, expected: &[(&str, &str)]) {
        for place in ["true", "git add -A", "git commit -q -m all"] {
            self.does(place);
            self.is_told_in_tsv(expected);
            self.is_told_raw(expected);
            self.is_told_in_json(expected);
            self.is_told_to_people(expected);
        }
    }

    fn verify(&self, options: &[&str]) -> Vec<u8> {
        let mut command = self.repo.command(binary(), &self.worktree);
        let output = command.arg("verify").args(options).output();
        let output = output.expect("it starts");
        assert_eq!(output.status.code(), Some(1), "{options:?}");
        output.stdout
    }

    fn is_told_in_tsv(&self, expected: &[(&str, &str)]) {
        let lines = NAMES.iter().flat_map(|(_, _, tsv)| {
            let line = move |(directory, kind): &(&str, &str)| {
                format!("{directory}/{tsv}\t{kind}\tread-only\tviolation")
            };
            expected.iter().map(line)
        });
        let said = self.verify(&["--format", "tsv"]);
        let said = String::from_utf8(said).expect("TSV is ASCII");
        assert_eq!(said.lines().count(), NAMES.len() * expected.len());
        assert_eq!(
            said.lines().map(str::to_owned).collect::<BTreeSet<_>>(),
            lines.collect::<BTreeSet<_>>()
        );
    }

    fn is_told_raw(&self, expected: &[(&str, &str)]) {
        let said = self.verify(&["-z"]);
        let records = said.split(|byte| *byte == 0);
        // the last of nine fields; the others have no tab, and a name may
        let path = |record: &[u8]| {
            let path = record.splitn(9, |byte| *byte == b'\t').last();
            path.map(<[u8]>::to_vec)
        };
        let said: Vec<_> = records.filter(|r| !r.is_empty()).filter_map(path).collect();
        let mut wanted: Vec<Vec<u8>> = Vec::new();
        for (directory, _) in expected {
            wanted.extend(NAMES.iter().map(|(name, ..)| in_directory(directory, name)));
        }
        wanted.sort();
        assert_eq!(said, wanted, "in order of the bytes");
    }

    fn is_told_in_json(&self, expected: &[(&str, &str)]) {
        let said: Value = serde_json::from_slice(&self.verify(&["--json"])).expect("it is JSON");
        let violations = said["worktrees"][0]["violations"]
            .as_array()
            .expect("a list");
        assert_eq!(violations.len(), NAMES.len() * expected.len());
        for (directory, kind) in expected {
            for (name, human, _) in NAMES {
                let bytes = in_directory(directory, name);
                let text = std::str::from_utf8(&bytes);
                let is_it = |violation: &&Value| match text {
                    Ok(text) => violation["path"] == text && violation["path_bytes"].is_null(),
                    Err(_) => {
                        violation["path_bytes"] == json!(bytes)
                            && violation["path"] == format!("{directory}/{human}")
                    }
                };
                let found = violations.iter().find(is_it);
                let found = found.unwrap_or_else(|| panic!("{human} is not in {said:#}"));
                assert_eq!(found["kind"], *kind, "{human}");
            }
        }
    }

    fn is_told_to_people(&self, expected: &[(&str, &str)]) {
        let said = String::from_utf8(self.verify(&["-v"])).expect("people read text");
        let odd = |c: char| c.is_control() && c != '\n';
        assert!(
            !said.contains(odd),
            "nothing reaches the terminal raw: {said:?}"
        );
        for (directory, kind) in expected {
            for (_, human, _) in NAMES {
                let path = format!("  {directory}/{human}  ");
                let mut lines = said.lines().filter(|line| line.contains(&path));
                let line = lines
                    .next()
                    .unwrap_or_else(|| panic!("no {path:?} in\n{said}"));
                assert!(line.starts_with(&format!("  !  {kind}")), "{line}");
            }
        }
    }
}

#[test]
fn a_created_file_of_any_name_is_told_in_every_form() {
    let case = with_names(false);
    for (name, ..) in NAMES {
        for directory in ["docs", "src", "new dir"] {
            write(&case.worktree, &in_directory(directory, name), b"new");
        }
    }
    case.is_told(&[("docs", "created"), ("new dir", "created")]);
}

#[test]
fn a_modified_file_of_any_name_is_told_in_every_form() {
    let case = with_names(true);
    for (name, ..) in NAMES {
        for directory in ["docs", "src"] {
            std::fs::remove_file(case.file(directory, name)).expect("it is there");
            write(&case.worktree, &in_directory(directory, name), b"other");
        }
    }
    case.is_told(&[("docs", "modified")]);
}

#[test]
fn a_deleted_file_of_any_name_is_told_in_every_form() {
    let case = with_names(true);
    for (name, ..) in NAMES {
        for directory in ["docs", "src"] {
            std::fs::remove_file(case.file(directory, name)).expect("it is there");
        }
    }
    case.is_told(&[("docs", "deleted")]);
}

#[test]
fn a_renamed_file_of_any_name_is_told_in_every_form() {
    let case = with_names(true);
    case.does("mkdir docs/sub src/sub");
    for (name, ..) in NAMES {
        for (from, to) in [("docs", "docs/sub"), ("src", "src/sub")] {
            std::fs::rename(case.file(from, name), case.file(to, name)).expect("it is there");
        }
    }
    case.is_told(&[("docs", "deleted"), ("docs/sub", "created")]);
}

#[test]
fn a_file_of_any_name_that_left_the_scope_is_told_in_every_form() {
    let case = with_names(true);
    case.does("mkdir docs/sub");
    for (name, ..) in NAMES {
        let (from, to) = (case.file("src", name), case.file("docs/sub", name));
        std::fs::rename(from, to).expect("it is there");
    }
    case.is_told(&[("docs/sub", "created")]);
}

#[test]
fn a_mode_of_a_file_of_any_name_is_told_in_every_form() {
    let case = with_names(true);
    for (name, ..) in NAMES {
        for directory in ["docs", "src"] {
            crate::support::chmod(&case.file(directory, name), 0o755);
        }
    }
    case.is_told(&[("docs", "mode")]);
}

/// The scope itself may have odd names in it: what it allows is allowed, and nothing else.
#[test]
fn a_scope_of_odd_names_allows_exactly_them() {
    let repo = TestRepo::project();
    let writes = [
        "/docs/tab\tb",
        "/docs/c\u{e9}",
        "/docs/back\\\\slash",
        "/docs/-rf",
        "/docs/\\*",
    ];
    let mut arguments = vec!["add", "task"];
    for pattern in writes {
        arguments.extend(["--write", pattern]);
    }
    repo.agentwt(&arguments).ok();
    let worktree = repo.worktree("task");
    let allowed: [&[u8]; 5] = [
        b"tab\tb",
        "c\u{e9}".as_bytes(),
        b"back\\slash",
        b"-rf",
        b"*",
    ];
    for name in allowed {
        write(&worktree, &in_directory("docs", name), b"new");
    }
    assert_eq!(repo.findings(&worktree), "");
    for name in ["tabtb", "ce\u{301}", "backslash", "rf", "x"] {
        write(&worktree, &in_directory("docs", name.as_bytes()), b"new");
    }
    assert_eq!(repo.findings(&worktree).lines().count(), 5);
}
