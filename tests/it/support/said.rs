//! Holds what a command said: stdout, stderr and status together, ready for a snapshot.

use std::fmt;
use std::process::Output;

use super::schema::check_document;

/// Holds what a command said, with the test's own directory written as `$TMP` and ids of
/// commits as they are (dates are fixed, so ids are too).
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "snapshot it, or assert on its status"]
pub struct Said {
    /// What it answered.
    pub stdout: String,
    /// What else it said.
    pub stderr: String,
    /// The status; 128 + n when signal n ended it.
    pub status: i32,
}

impl Said {
    /// Takes the output of a process. A JSON document in it must be as its schema says.
    #[track_caller]
    pub fn of(output: &Output, root: &str) -> Self {
        use std::os::unix::process::ExitStatusExt;
        // the age of the commits of the tests (`hermetic`)
        let then = jiff::Timestamp::from_second(1_767_323_045).expect("a time");
        let days = jiff::Timestamp::now().duration_since(then).as_hours() / 24;
        // a day may have begun since the program wrote it
        let ages = [days, days - 1].map(|days| format!("{days} d ago"));
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).replace(root, "$TMP");
            text.replace(&ages[0], "300 d ago")
                .replace(&ages[1], "300 d ago")
        };
        check_document(&text(&output.stdout));
        let signal = output.status.signal().map_or(-1, |signal| 128 + signal);
        Self {
            stdout: text(&output.stdout),
            stderr: without_root_note(&text(&output.stderr)),
            status: output.status.code().unwrap_or(signal),
        }
    }

    /// What it said, with the time hidden that stands behind each of these beginnings of names.
    #[must_use]
    pub fn without_times(&self, beginnings: &[&str]) -> String {
        let mut text = self.to_string();
        for beginning in beginnings {
            let mut parts = text.split(beginning);
            let mut hidden = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                let rest = part.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
                hidden.push_str(beginning);
                hidden.push_str(if rest.len() < part.len() { "TIME" } else { "" });
                hidden.push_str(rest);
            }
            text = hidden;
        }
        text
    }

    /// Asserts that it ended well; its stdout without the last newline.
    #[track_caller]
    pub fn ok(&self) -> String {
        assert_eq!(self.status, 0, "it should have ended well: {self}");
        self.stdout.trim_end_matches('\n').to_owned()
    }

    /// Asserts that it ended with this status, and gives itself back for more.
    #[track_caller]
    pub fn fails(&self, status: i32) -> &Self {
        assert_eq!(self.status, status, "another status was expected: {self}");
        self
    }
}

/// The suite runs as root and as an ordinary user; one note is only said to root.
fn without_root_note(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    lines
        .filter(|line| !line.starts_with("note: you are root"))
        .collect()
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.stdout.is_empty() {
            writeln!(f, "{}", self.stdout.trim_end_matches('\n'))?;
        }
        if !self.stderr.is_empty() {
            writeln!(f, "--- stderr\n{}", self.stderr.trim_end_matches('\n'))?;
        }
        write!(f, "--- status {}", self.status)
    }
}
