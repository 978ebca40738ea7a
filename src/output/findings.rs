//! Prints findings for other programs: SARIF and workflow commands of GitHub Actions.
//!
//! SARIF is version 2.1.0 (OASIS, "Static Analysis Results Interchange Format"), for code scanning:
//! one run, a rule for each reason, a result for each finding. A finding concerns a file as a
//! whole, so that no result has a region (section 3.29.4). A place that is not a path of the
//! repository has a logical location.
//!
//! Of GitHub ("Workflow commands for GitHub Actions") there is one annotation for each finding;
//! what is escaped, and how, is what `@actions/core` does.

use serde_json::{Value, json};

use crate::answer::paint::Paint;
use crate::answer::text::Text;
use crate::answer::verdict::VerdictReport;
use crate::judge::change::Change;
use crate::judge::finding::{Finding, Level, Reason};
use crate::output::json::json;
use crate::words::path::escape_for_tsv;
use crate::words::path_text::PathText;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Renders one log with one run.
pub fn render_sarif(verdicts: &[&VerdictReport]) -> Vec<u8> {
    let mut results: Vec<Value> = Vec::new();
    for verdict in verdicts {
        for finding in verdict.findings() {
            results.push(result(verdict.verified(), finding));
        }
    }
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "git-agentwt",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": Reason::ALL.map(rule),
            } },
            "invocations": [{ "executionSuccessful": true }],
            "results": results,
        }],
    });
    json(&log)
}

/// The rule of SARIF for a reason (`reportingDescriptor`).
fn rule(reason: Reason) -> Value {
    let (name, short, full) = match reason {
        Reason::ReadOnly => (
            "ReadOnlyPathChanged",
            "A read-only path was changed.",
            "A read pattern of the scope matches this path, and no write pattern.",
        ),
        Reason::Excluded => (
            "ExcludedPathTouched",
            "An excluded path was changed.",
            "The scope excludes this path, or no read or write pattern matches.",
        ),
        Reason::Outside => (
            "LinkLeadsOutside",
            "A link leads out of the scope.",
            "A write through this link would change a file that is not in scope.",
        ),
        Reason::Integrity => (
            "WorktreeDamaged",
            "The worktree is not as it was created.",
            "The worktree, its index, its branch or its private git directory was changed in a \
             way that could hide what happened in it.",
        ),
        Reason::Shared => (
            "SharedStateChanged",
            "Something that the worktrees share was changed.",
            "A ref, the configuration or a hook of the repository is not as it was recorded.",
        ),
        Reason::History => (
            "TouchedAndPutBack",
            "A commit changed a path that is not in scope, and the change was reset.",
            "A merge would not change the path, but the content stays in the history.",
        ),
    };
    let level = match reason {
        Reason::ReadOnly | Reason::Excluded | Reason::Outside | Reason::Integrity => "error",
        Reason::Shared | Reason::History => "warning",
    };
    json!({
        "id": reason.as_str(),
        "name": name,
        "shortDescription": { "text": short },
        "fullDescription": { "text": full },
        "defaultConfiguration": { "level": level },
    })
}

fn result(verified: &str, finding: &Finding) -> Value {
    let change = &finding.change;
    let reason = finding.reason;
    let fingerprint = format!("{} {}", reason.as_str(), change.place.to_tsv());
    let level = match finding.level {
        Level::Violation => "error",
        Level::Notice => "warning",
    };
    json!({
        "ruleId": reason,
        "ruleIndex": Reason::ALL.iter().position(|one| *one == reason),
        "level": level,
        "message": { "text": finding.message(verified) },
        "locations": [location(change)],
        "partialFingerprints": { "agentwtFinding/v1": fingerprint },
        "properties": { "verified": verified, "kind": change.kind, "layer": reason.layer() },
    })
}

fn location(change: &Change) -> Value {
    let Some(path) = change.place.path_bytes() else {
        let name = change.place.to_tsv();
        return json!({ "logicalLocations": [{ "fullyQualifiedName": name }] });
    };
    let artifact = json!({ "uri": relative_uri(path), "uriBaseId": "%SRCROOT%" });
    json!({ "physicalLocation": { "artifactLocation": artifact } })
}

/// A relative reference (RFC 3986, 4.2): every byte but the unreserved ones is encoded, so that a
/// colon in the first segment makes no scheme of it.
fn relative_uri(path: &[u8]) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(*byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// Renders the findings; the verdict goes to stderr, where the log of the step shows it.
pub fn render_github(verdicts: &[&VerdictReport], text: &mut Text) {
    for verdict in verdicts {
        text.stderr += &verdict.line(Paint::Plain);
        for finding in verdict.findings() {
            text.line(command(verdict.verified(), finding));
        }
    }
}

fn command(verified: &str, finding: &Finding) -> String {
    let word = match finding.level {
        Level::Violation => "error",
        Level::Notice => "warning",
    };
    let file = match finding.change.place.path_bytes() {
        Some(path) => format!("file={},", property(&file(path))),
        None => String::new(),
    };
    let title = property(&format!("git agentwt: {}", finding.reason.as_str()));
    let message = data(&finding.message(verified));
    format!("::{word} {file}title={title}::{message}")
}

/// The path as GitHub looks it up; escaped where it could not be shown.
fn file(path: &[u8]) -> String {
    let text = PathText::from(path);
    let is_odd = |c: char| c.is_control() && c != '\n' && c != '\r';
    if text.path_bytes.is_none() && text.path.contains(is_odd) {
        return escape_for_tsv(path);
    }
    text.path
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

    #[test]
    fn a_path_is_a_relative_reference_whatever_is_in_it() {
        assert_eq!(relative_uri(b"src/a-b_c.~1"), "src/a-b_c.~1");
        assert_eq!(
            relative_uri(b"a:b/c d%?#\n\xff"),
            "a%3Ab/c%20d%25%3F%23%0A%FF"
        );
    }

    #[test]
    fn what_would_end_a_command_early_is_escaped() {
        assert_eq!(data("100%\r\na:b,c"), "100%25%0D%0Aa:b,c");
        assert_eq!(property("100%\r\na:b,c"), "100%25%0D%0Aa%3Ab%2Cc");
    }

    #[test]
    fn a_path_that_cannot_be_shown_is_escaped() {
        assert_eq!(file("d/\u{e9} ,".as_bytes()), "d/\u{e9} ,");
        assert_eq!(file(b"d/\xff\x1b[31m"), "d/\\377\\033[31m");
        assert_eq!(file(b"d/\x1b[31m"), "d/\\033[31m");
    }
}
