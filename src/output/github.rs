//! Prints workflow commands of GitHub Actions: one annotation a finding, and nothing else.
//!
//! The form is that of "Workflow commands for GitHub Actions" in GitHub's documentation; what is
//! escaped, and how, is what `@actions/core` does.

use super::human::findings::{verdict, why};
use crate::answer::{Paint, Text, Verdict};
use crate::change::Place;
use crate::verify::{Finding, Level};

/// Renders the findings; the verdict goes to stderr, where the log of the step shows it.
pub fn render(verdicts: &[Verdict<'_>], text: &mut Text) {
    for one in verdicts {
        text.stderr += &verdict(one.name, one.profile, one.report, Paint::Plain);
        for finding in &one.report.findings {
            text.put(command(one.name, finding));
        }
    }
}

fn command(name: &str, finding: &Finding) -> String {
    let word = match finding.level {
        Level::Violation => "error",
        Level::Notice => "warning",
    };
    let file = match file(&finding.change.place) {
        Some(file) => format!("file={},", property(&file)),
        None => String::new(),
    };
    let title = property(&format!("git agentwt: {}", finding.reason.as_str()));
    let (kind, place) = (finding.change.kind.as_str(), &finding.change.place);
    let message = data(&format!("{place} {kind} ({name}): {}", why(finding)));
    format!("::{word} {file}title={title}::{message}\n")
}

/// The path as GitHub looks it up; escaped where it could not be shown, and none for what is no
/// path.
fn file(place: &Place) -> Option<String> {
    let bytes = place.path()?.as_bstr();
    let plain = |text: &&str| !text.contains(|c: char| c.is_control() && c != '\n' && c != '\r');
    let text = std::str::from_utf8(bytes).ok().filter(plain);
    Some(text.map_or_else(|| crate::path::escape_for_tsv(bytes), ToOwned::to_owned))
}

fn data(text: &str) -> String {
    let text = text.replace('%', "%25");
    text.replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::RepoPath;

    #[test]
    fn what_would_end_a_command_early_is_escaped() {
        assert_eq!(data("100%\r\na:b,c"), "100%25%0D%0Aa:b,c");
        assert_eq!(property("100%\r\na:b,c"), "100%25%0D%0Aa%3Ab%2Cc");
    }

    #[test]
    fn a_path_that_cannot_be_shown_is_escaped_and_other_places_are_no_files() {
        let of = |bytes: &[u8]| file(&Place::Path(RepoPath::parse(bytes).expect("it is normal")));
        assert_eq!(of("d/\u{e9} ,".as_bytes()).as_deref(), Some("d/\u{e9} ,"));
        assert_eq!(of(b"d/\xff\x1b[31m").as_deref(), Some("d/\\377\\033[31m"));
        assert_eq!(file(&Place::Head), None);
    }
}
