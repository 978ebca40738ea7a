//! Prints SARIF 2.1.0 (OASIS, "Static Analysis Results Interchange Format"), for code scanning.
//!
//! One run; a rule for each reason; a result for each finding. A finding concerns a file as a
//! whole, so no result has a region (section 3.29.4). What is no path of the repository has a
//! logical location.

use serde_json::{Map, Value, json};

use super::human::findings::why;
use crate::answer::Verdict;
use crate::change::Place;
use crate::verify::{Finding, Level, Reason};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Renders one log with one run.
pub fn render(verdicts: &[Verdict<'_>]) -> Vec<u8> {
    let mut results = Vec::new();
    for one in verdicts {
        let findings = one.report.findings.iter();
        results.extend(findings.map(|finding| result(one.name, finding)));
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
    let mut text = serde_json::to_vec_pretty(&log).unwrap_or_default();
    text.push(b'\n');
    text
}

fn rule(reason: Reason) -> Value {
    let (name, short, full) = match reason {
        Reason::ReadOnly => (
            "ReadOnlyPathChanged",
            "A path that may only be read was changed.",
            "The scope lets this path be read, and no rule lets it be edited.",
        ),
        Reason::Excluded => (
            "ExcludedPathTouched",
            "A path that is kept away was touched.",
            "The scope excludes this path, or no rule of it lets the path be seen.",
        ),
        Reason::Outside => (
            "LinkLeadsOutside",
            "A link leads out of the scope.",
            "Writing through this link would change what the scope does not let be edited.",
        ),
        Reason::Integrity => (
            "WorktreeDamaged",
            "The worktree is not as it was made.",
            "The worktree, its index, its branch or its private git directory was changed in a \
             way that could hide what happened in it.",
        ),
        Reason::Shared => (
            "SharedStateChanged",
            "Something that other worktrees share was changed.",
            "A ref, the configuration or a hook of the repository is not as it was recorded.",
        ),
        Reason::History => (
            "TouchedAndPutBack",
            "A commit touched a path outside of the scope, and it is as before again.",
            "Nothing of it would be merged as a change, but the content stays in the history.",
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

fn result(name: &str, finding: &Finding) -> Value {
    let change = &finding.change;
    let (place, kind) = (&change.place, change.kind.as_str());
    let level = match finding.level {
        Level::Violation => "error",
        Level::Notice => "warning",
    };
    let mut object = Map::new();
    object.insert("ruleId".to_owned(), json!(finding.reason.as_str()));
    if let Some(index) = Reason::ALL.iter().position(|one| *one == finding.reason) {
        object.insert("ruleIndex".to_owned(), json!(index));
    }
    object.insert("level".to_owned(), json!(level));
    let text = format!("{place} {kind} ({name}): {}", why(finding));
    object.insert("message".to_owned(), json!({ "text": text }));
    object.insert("locations".to_owned(), json!([location(place)]));
    let fingerprint = format!("{} {}", finding.reason.as_str(), place.to_tsv());
    let fingerprints = json!({ "agentwtFinding/v1": fingerprint });
    object.insert("partialFingerprints".to_owned(), fingerprints);
    let properties = json!({ "verified": name, "kind": kind, "layer": finding.layer().as_str() });
    object.insert("properties".to_owned(), properties);
    Value::Object(object)
}

fn location(place: &Place) -> Value {
    match place {
        Place::Path(path) => {
            let uri = relative_uri(path.as_bstr());
            let artifact = json!({ "uri": uri, "uriBaseId": "%SRCROOT%" });
            json!({ "physicalLocation": { "artifactLocation": artifact } })
        }
        Place::Git(_)
        | Place::Admin(_)
        | Place::Head
        | Place::Worktree
        | Place::Main(_)
        | Place::Outside(_) => {
            json!({ "logicalLocations": [{ "fullyQualifiedName": place.to_tsv() }] })
        }
    }
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
}
