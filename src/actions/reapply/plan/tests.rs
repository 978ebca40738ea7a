use super::*;
use crate::scope::rule::{RuleList, RuleOrigin};
use crate::words::name::WorktreeName;

fn rule(text: &str) -> ScopeRule {
    let (list, pattern) = text.split_once(' ').expect("a list and a pattern");
    let list = match list {
        "read" => RuleList::Read,
        "write" => RuleList::Write,
        _exclude => RuleList::Exclude,
    };
    ScopeRule::new(list, pattern, RuleOrigin::Flag("x".to_owned()))
}

fn rules(texts: &[&str]) -> Vec<ScopeRule> {
    texts.iter().map(|text| rule(text)).collect()
}

fn decision(id: &str, texts: &[&str]) -> Decision {
    Decision {
        id: id.to_owned(),
        at: String::new(),
        user: String::new(),
        host: String::new(),
        worktree: WorktreeName::parse("w").expect("a name"),
        accepted: Vec::new(),
        rules: rules(texts),
    }
}

fn record(scope: &[&str], decisions: Vec<Decision>) -> Record {
    let name = WorktreeName::parse("w").expect("a name");
    let mut record = Record::new(name, "/w".into(), String::new());
    record.scope = rules(scope);
    record.decisions = decisions;
    record
}

fn ids(record: &Record) -> Vec<&str> {
    record.decisions.iter().map(|one| one.id.as_str()).collect()
}

#[test]
fn rules_are_added_once_and_the_last_ones_are_taken_back() {
    let add = |texts: &[&str]| ScopeRequest::Add(rules(texts), decision("new", &[]));
    let both = || vec![decision("1", &["write a"]), decision("accepted", &[])];
    // the scope and decisions before; the request; the scope, decisions and changed rules after
    let table = [
        (
            record(&["write src"], Vec::new()),
            add(&["write a", "exclude b"]),
            (
                vec!["write src", "write a", "exclude b"],
                vec!["new"],
                vec!["write a", "exclude b"],
            ),
        ),
        (
            record(&["write src"], Vec::new()),
            add(&["write src", "read src"]),
            (vec!["write src", "read src"], vec!["new"], vec!["read src"]),
        ),
        (
            record(&["write src"], Vec::new()),
            add(&["write src"]),
            (vec!["write src"], vec![], vec![]),
        ),
        (
            record(&["write src", "write a"], both()),
            ScopeRequest::UndoLast,
            (vec!["write src"], vec!["accepted"], vec!["write a"]),
        ),
    ];
    for (before, request, (scope, decisions, changed)) in table {
        let plan = plan(&before, request).expect("it can be done");
        assert_eq!(plan.record.scope, rules(&scope));
        assert_eq!(plan.scope.rules().len(), plan.record.scope.len());
        assert_eq!(ids(&plan.record), decisions);
        assert_eq!(plan.rules, rules(&changed));
    }
}

#[test]
fn without_a_decision_that_added_rules_there_is_nothing_to_take_back() {
    let before = record(&["write src"], vec![decision("accepted", &[])]);
    let refused = plan(&before, ScopeRequest::UndoLast).expect_err("there is none");
    assert!(refused.to_string().contains("nothing to take back"));
}
