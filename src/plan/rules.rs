//! Joins the lists of a scope profile with those on the command line; pure.

use super::refusal::Refusal;
use crate::cli::ScopeLists;
use crate::config::{CONFIG_PATH, Located, ScopeProfile};
use crate::scope::{Origin, RuleList, ScopeRule};

/// Joins a profile's lists with those of the flags: `--write` replaces, `--add-write` adds.
/// `name` is for the message.
///
/// # Errors
/// Refuses when nothing says what may be edited.
pub fn rules_of(
    name: &str,
    profile: Option<&ScopeProfile>,
    lists: &ScopeLists,
    config_found: bool,
) -> Result<Vec<ScopeRule>, Refusal> {
    let write = list(
        RuleList::Write,
        profile.and_then(|p| p.write.as_deref()),
        lists.write.as_deref(),
        lists.add_write.as_deref(),
    );
    let Some(write) = write else {
        return Err(Refusal::NoWriteList {
            name: name.to_owned(),
            config_found,
        });
    };
    let read = list(
        RuleList::Read,
        profile.and_then(|p| p.read.as_deref()),
        lists.read.as_deref(),
        lists.add_read.as_deref(),
    );
    let everything = || vec![ScopeRule::new(RuleList::Read, "**", Origin::Default)];
    let exclude = list(
        RuleList::Exclude,
        profile.and_then(|p| p.exclude.as_deref()),
        lists.exclude.as_deref(),
        lists.add_exclude.as_deref(),
    );
    let mut rules = read.unwrap_or_else(everything);
    rules.extend(write);
    rules.extend(exclude.unwrap_or_default());
    Ok(rules)
}

/// One list; none when nobody said anything of it.
fn list(
    list: RuleList,
    profile: Option<&[Located<String>]>,
    flag: Option<&[String]>,
    added: Option<&[String]>,
) -> Option<Vec<ScopeRule>> {
    if profile.is_none() && flag.is_none() && added.is_none() {
        return None;
    }
    let from_flag = |patterns: &[String], flag: String| -> Vec<ScopeRule> {
        let patterns = patterns.iter().filter(|pattern| !pattern.is_empty());
        patterns
            .map(|p| ScopeRule::new(list, p, Origin::Flag(flag.clone())))
            .collect()
    };
    let mut rules = match (flag, profile) {
        (Some(patterns), _) => from_flag(patterns, format!("--{list}")),
        (None, Some(patterns)) => patterns
            .iter()
            .map(|pattern| {
                let origin = Origin::File {
                    path: CONFIG_PATH.to_owned(),
                    line: pattern.line,
                };
                ScopeRule::new(list, pattern.value.as_str(), origin)
            })
            .collect(),
        (None, None) if list == RuleList::Read => {
            // adding to what may be seen starts from the default: everything
            vec![ScopeRule::new(list, "**", Origin::Default)]
        }
        (None, None) => Vec::new(),
    };
    rules.extend(from_flag(
        added.unwrap_or_default(),
        format!("--add-{list}"),
    ));
    Some(rules)
}
