//! `verify --format sarif` and `--format github`: SARIF is held against the schema of the
//! standard, of ranges as well as of worktrees.
//!
//! `sarif/sarif-schema-2.1.0.json` is the schema of the OASIS standard as the package
//! `serde-sarif` 0.8.0 (MIT) carries it, unchanged.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{TestRepo, write};

// ---- the schema ------------------------------------------------------------------------------

/// Validates JSON against the part of JSON Schema (draft 7) that this schema uses. A keyword that
/// it does not know fails the test: nothing of the schema is passed over.
struct Schema(Value);

impl Schema {
    #[must_use]
    fn sarif() -> Self {
        let text = include_str!("sarif/sarif-schema-2.1.0.json");
        Self(serde_json::from_str(text).expect("the schema is JSON"))
    }

    /// Everything that is wrong with a document.
    #[must_use]
    fn mistakes(&self, document: &Value) -> Vec<String> {
        let mut wrong = Vec::new();
        self.check(&self.0, document, "$", &mut wrong);
        wrong
    }

    fn fits(&self, schema: &Value, value: &Value) -> bool {
        let mut wrong = Vec::new();
        self.check(schema, value, "", &mut wrong);
        wrong.is_empty()
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
        let keywords = schema.as_object().expect("a schema is an object");
        for (keyword, said) in keywords {
            let fits = match keyword.as_str() {
                "$schema" | "$id" | "title" | "description" | "default" | "definitions" => true,
                "$ref" => {
                    let pointer = said.as_str().and_then(|text| text.strip_prefix('#'));
                    let target = self.0.pointer(pointer.expect("it is of this document"));
                    self.check(target.expect("it is defined"), value, at, wrong);
                    true
                }
                "type" => is_of_type(said, value),
                "enum" => said.as_array().is_some_and(|all| all.contains(value)),
                "required" => list(said).iter().all(|name| {
                    let name = name.as_str().expect("a name");
                    value
                        .as_object()
                        .is_none_or(|object| object.contains_key(name))
                }),
                "properties" => {
                    for (name, schema) in said.as_object().expect("an object") {
                        if let Some(value) = value.get(name) {
                            self.check(schema, value, &format!("{at}.{name}"), wrong);
                        }
                    }
                    true
                }
                "additionalProperties" => {
                    let known = schema.get("properties").and_then(Value::as_object);
                    let others = value.as_object().into_iter().flatten();
                    let mut others = others
                        .filter(|(name, _)| known.is_none_or(|known| !known.contains_key(*name)));
                    match said {
                        Value::Bool(allowed) => *allowed || others.next().is_none(),
                        schema => others.all(|(_, value)| self.fits(schema, value)),
                    }
                }
                "items" => {
                    for (index, value) in list(value).iter().enumerate() {
                        self.check(said, value, &format!("{at}[{index}]"), wrong);
                    }
                    true
                }
                "minItems" => value
                    .as_array()
                    .is_none_or(|v| v.len() as u64 >= said.as_u64().expect("a number")),
                "uniqueItems" => value.as_array().is_none_or(|all| {
                    let twice = |(at, one): (usize, &Value)| all[..at].contains(one);
                    said != &json!(true) || !all.iter().enumerate().any(twice)
                }),
                "minimum" => value
                    .as_f64()
                    .is_none_or(|v| v >= said.as_f64().expect("a number")),
                "maximum" => value
                    .as_f64()
                    .is_none_or(|v| v <= said.as_f64().expect("a number")),
                "anyOf" => list(said).iter().any(|schema| self.fits(schema, value)),
                "oneOf" => {
                    list(said)
                        .iter()
                        .filter(|schema| self.fits(schema, value))
                        .count()
                        == 1
                }
                "format" => value.as_str().is_none_or(|text| match said.as_str() {
                    Some("uri-reference") => is_uri_reference(text),
                    Some("uri") => is_uri_reference(text) && text.starts_with("https://"),
                    other => panic!("{at}: the format {other:?} is not checked"),
                }),
                other => panic!("{at}: the keyword {other} is not checked"),
            };
            if !fits {
                wrong.push(format!("{at}: {keyword} {said}, and it is {value}"));
            }
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn is_of_type(said: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        other => panic!("the type {other:?} is not checked"),
    };
    match said {
        Value::Array(names) => names.iter().any(is),
        name => is(name),
    }
}

/// RFC 3986, section 2: reserved and unreserved characters, and `%` with two digits.
fn is_uri_reference(text: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let fits = match byte {
            b'%' => (0..2).all(|_| bytes.next().is_some_and(|b| b.is_ascii_hexdigit())),
            _ => byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=".contains(&byte),
        };
        if !fits {
            return false;
        }
    }
    true
}

/// The log, valid by the schema and by what the standard says beyond it.
#[track_caller]
fn log(text: &str) -> Value {
    let log: Value = serde_json::from_str(text).expect("it is JSON");
    let wrong = Schema::sarif().mistakes(&log);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let runs = list(&log["runs"]);
    assert_eq!(runs.len(), 1);
    let rules = list(&runs[0]["tool"]["driver"]["rules"]);
    for result in list(&runs[0]["results"]) {
        // 3.27.5 and 3.27.6: both say the same rule
        let index = result["ruleIndex"].as_u64().expect("a number");
        let index = usize::try_from(index).expect("a small one");
        assert_eq!(rules[index]["id"], result["ruleId"]);
        let location = &result["locations"][0];
        match location["physicalLocation"]["artifactLocation"].as_object() {
            // 3.4.4: with a base the reference is relative; 3.4.3: it leads nowhere above
            Some(artifact) => {
                assert_eq!(artifact["uriBaseId"], "%SRCROOT%");
                let uri = artifact["uri"].as_str().expect("a text");
                assert!(!uri.starts_with('/') && !uri.contains(':'), "{uri}");
            }
            None => {
                let name = location["logicalLocations"][0]["fullyQualifiedName"].as_str();
                assert!(name.expect("a name").starts_with('@'), "{name:?}");
            }
        }
    }
    log
}

#[test]
fn the_schema_finds_what_is_wrong() {
    let wrong = |document: &str| {
        let document = serde_json::from_str(document).expect("it is JSON");
        Schema::sarif().mistakes(&document).join("\n")
    };
    let run = |inner: &str| {
        let tool = r#""tool": { "driver": { "name": "x" } }"#;
        wrong(&format!(
            r#"{{ "version": "2.1.0", "runs": [{{ {tool}, {inner} }}] }}"#
        ))
    };
    assert_eq!(run(r#""results": [{ "message": { "text": "m" } }]"#), "");
    assert!(wrong(r#"{ "version": "2.1.0" }"#).contains("required"));
    assert!(wrong(r#"{ "version": "2.0.0", "runs": [] }"#).contains("enum"));
    assert!(run(r#""results": [{ "level": "error" }]"#).contains("required"));
    assert!(run(r#""results": [{ "message": {}, "level": "bad" }]"#).contains("enum"));
    assert!(run(r#""invocations": [{}]"#).contains("executionSuccessful"));
    let uri = |uri: &str| {
        let artifact = format!(r#"{{ "artifactLocation": {{ "uri": "{uri}" }} }}"#);
        run(&format!(
            r#""results": [{{ "message": {{ "text": "m" }},
                "locations": [{{ "physicalLocation": {artifact} }}] }}]"#
        ))
    };
    assert_eq!(uri("a/b%20c"), "");
    assert!(uri("a b").contains("uri-reference") && uri("100%").contains("uri-reference"));
}

// ---- what is printed -------------------------------------------------------------------------

/// A worktree with a violation, an excluded file of an odd name, a notice, a touched branch.
#[track_caller]
fn with_everything() -> (TestRepo, std::path::PathBuf) {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    let script = "set -e; chmod u+w README.md; echo more >>README.md; git commit -q -a -m one
        git revert --no-edit HEAD >/dev/null; chmod u+w README.md docs/api.md
        echo x >>docs/guide.md; git checkout -q --detach";
    repo.sh(
        &worktree,
        &script.replace(
            "echo x >>docs/guide.md",
            "chmod u+w docs/guide.md; echo x >>docs/guide.md",
        ),
    )
    .ok();
    write(&worktree, "a:b/100% \u{e9},\r\n#?".as_bytes(), b"x");
    write(&worktree, b"secrets/\xff", b"x");
    (repo, worktree)
}

#[test]
fn sarif_of_a_worktree_is_valid() {
    let (repo, worktree) = with_everything();
    let said = repo.agentwt_in(&worktree, &["verify", "--format", "sarif"]);
    let log = log(&said.fails(1).stdout);
    assert_eq!(said.stderr, "");
    let results = list(&log["runs"][0]["results"]).iter().map(|result| {
        let location = &result["locations"][0];
        let uri = &location["physicalLocation"]["artifactLocation"]["uri"];
        let name = &location["logicalLocations"][0]["fullyQualifiedName"];
        let place = uri.as_str().or(name.as_str()).unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let [level, rule] = [&result["level"], &result["ruleId"]].map(text);
        format!(
            "{level} {rule} {place}\n    {}",
            text(&result["message"]["text"])
        )
    });
    assert_snapshot!(results.collect::<Vec<_>>().join("\n"), @r#"
    error read-only a%3Ab/100%25%20%C3%A9%2C%0D%0A%23%3F
        a:b/100% é,\015\012#? created (task): read-only: read ** (default)
    error read-only docs/guide.md
        docs/guide.md modified (task): read-only: read ** (default)
    error excluded secrets/%FF
        secrets/\377 created (task): excluded: exclude **/secrets/** (--exclude)
    warning history README.md
        README.md modified (task): changed and reset: read ** (default)
    warning integrity @head
        @head ref (task): it is on commit 249d57bf9d, not on agentwt/task
    "#);
}

#[test]
fn sarif_without_findings_says_that_it_was_looked() {
    let repo = TestRepo::project();
    repo.add("task");
    let said = repo.agentwt(&["verify", "--all", "--format=sarif"]);
    let log = log(&said.ok());
    assert_eq!(log["runs"][0]["results"], json!([]));
    assert_eq!(
        log["runs"][0]["invocations"][0]["executionSuccessful"],
        true
    );
    let range = [
        "verify",
        "--range=HEAD..",
        "--write=src/**",
        "--format=sarif",
    ];
    self::log(&repo.agentwt(&range).ok());
}

#[test]
fn sarif_of_a_finding_stays_the_same() {
    let repo = TestRepo::project();
    repo.sh(
        repo.main(),
        "git checkout -q -b work; echo x >>README.md; git commit -q -a -m x",
    )
    .ok();
    let range = [
        "verify",
        "--range=main..work",
        "--write=src/**",
        "--format=sarif",
    ];
    let log = log(&repo.agentwt(&range).fails(1).stdout);
    let result = serde_json::to_string_pretty(&log["runs"][0]["results"][0]).expect("JSON");
    assert_snapshot!(result, @r#"
    {
      "level": "error",
      "locations": [
        {
          "physicalLocation": {
            "artifactLocation": {
              "uri": "README.md",
              "uriBaseId": "%SRCROOT%"
            }
          }
        }
      ],
      "message": {
        "text": "README.md modified (main..work): read-only: read ** (default)"
      },
      "partialFingerprints": {
        "agentwtFinding/v1": "read-only README.md"
      },
      "properties": {
        "kind": "modified",
        "layer": "net",
        "verified": "main..work"
      },
      "ruleId": "read-only",
      "ruleIndex": 0
    }
    "#);
    let rule = serde_json::to_string_pretty(&log["runs"][0]["tool"]["driver"]["rules"][0]);
    assert_snapshot!(rule.expect("JSON"), @r#"
    {
      "defaultConfiguration": {
        "level": "error"
      },
      "fullDescription": {
        "text": "A read pattern of the scope matches this path, and no write pattern."
      },
      "id": "read-only",
      "name": "ReadOnlyPathChanged",
      "shortDescription": {
        "text": "A read-only path was changed."
      }
    }
    "#);
}

#[test]
fn github_gets_one_annotation_a_finding_and_nothing_else() {
    let (repo, worktree) = with_everything();
    let said = repo.agentwt_in(&worktree, &["verify", "--format", "github"]);
    assert_snapshot!(said, @r#"
    ::error file=a%3Ab/100%25 é%2C%0D%0A#?,title=git agentwt%3A read-only::a:b/100%25 é,\015\012#? created (task): read-only: read ** (default)
    ::error file=docs/guide.md,title=git agentwt%3A read-only::docs/guide.md modified (task): read-only: read ** (default)
    ::error file=secrets/\377,title=git agentwt%3A excluded::secrets/\377 created (task): excluded: exclude **/secrets/** (--exclude)
    ::warning file=README.md,title=git agentwt%3A history::README.md modified (task): changed and reset: read ** (default)
    ::warning title=git agentwt%3A integrity::@head ref (task): it is on commit 249d57bf9d, not on agentwt/task
    --- stderr
    NO task: 3 violations, 2 notices, 3 paths changed
    --- status 1
    "#);
    let quiet = repo.agentwt_in(&worktree, &["verify", "-q", "--format", "github"]);
    assert_eq!((quiet.stdout, quiet.stderr.as_str()), (said.stdout, ""));
}

#[test]
fn github_of_a_range_in_scope_prints_nothing_on_stdout() {
    let repo = TestRepo::project();
    let range = [
        "verify",
        "--range=HEAD..",
        "--write=src/**",
        "--format=github",
    ];
    assert_snapshot!(repo.agentwt(&range), @"
    --- stderr
    ok HEAD..: in scope, 0 paths changed
    --- status 0
    ");
}

#[test]
fn only_verify_has_the_forms_of_code_review() {
    let repo = TestRepo::project();
    repo.add("task");
    for form in ["sarif", "github"] {
        repo.agentwt(&["changed", "task", "--format", form])
            .fails(2);
        repo.agentwt(&["list", "--format", form]).fails(2);
    }
}
