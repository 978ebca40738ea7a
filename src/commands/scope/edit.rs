//! Widens or narrows the scope of a worktree that is there, and takes that back.

use schemars::JsonSchema;
use serde::Serialize;

use super::{ScopeAnswer, Session};
use crate::answer::shapes::{PathField, RuleField, paths};
use crate::answer::{Text, count, would};
use crate::commands::Outcome;
use crate::error::{Error, Fault};
use crate::exit::ExitCode;
use crate::placed::PlacedOrigin;
use crate::scope::{Case, Origin, RuleList, Scope, ScopeRule, escape_for_rule};
use crate::worktree::decisions::{new_decision, require_outside};
use crate::worktree::scope_edit::Listing;
use crate::worktree::{Repository, WatchedFile, Worktree};

/// A change of the scope of a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ScopeChange {
    /// The name of the worktree.
    #[serde(rename = "worktree")]
    pub name: String,
    /// Whether nothing was changed (`-n`).
    pub dry_run: bool,
    /// Whether rules were removed that an earlier call added (`--undo`).
    pub undo: bool,
    /// The rules that were added, or with `--undo` removed.
    pub changed_rules: Vec<RuleField>,
    /// The files whose write bits were set or cleared.
    pub write_bits: Vec<PathField>,
    /// The excluded files that were on disk; git removes those without changes.
    pub present: Vec<PathField>,
}

/// Says why a scope is not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[expect(missing_docs, reason = "the message of each documents it")]
pub enum ScopeRefusal {
    #[error("the scope of worktree `{name}` was not changed since `add`: there is nothing to undo")]
    #[diagnostic(code(agentwt::scope::undo))]
    #[diagnostic(help("see the scope: git agentwt scope {name}"))]
    NothingToUndo { name: String },
    #[error("a change of a scope takes the name of one worktree, and no path")]
    #[diagnostic(code(agentwt::scope::one_name))]
    #[diagnostic(help("git agentwt scope <name> --add-write 'docs/**'"))]
    OneName,
}

impl Fault for ScopeRefusal {
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::NothingToUndo { .. } => ExitCode::Refused,
            Self::OneName => ExitCode::Usage,
        }
    }
}

impl ScopeChange {
    /// Prints the rules on stdout; what was done on stderr.
    pub fn print(&self, text: &mut Text) {
        let sign = if self.undo { '-' } else { '+' };
        for rule in &self.changed_rules {
            let pattern = escape_for_rule(&rule.pattern);
            text.line(format!("{sign} {} {pattern}", rule.list));
        }
        let name = text.paint.name(&self.name);
        if self.changed_rules.is_empty() {
            text.tell(format!("{name}: the scope has these rules already"));
            return;
        }
        let done = would(self.dry_run, "changed", "would change");
        let rules = count(self.changed_rules.len(), "rule", "rules");
        let bits = count(self.write_bits.len(), "file", "files");
        text.tell(format!(
            "{name}: {done} {rules}, and the write bits of {bits}"
        ));
        if !self.undo && !self.dry_run {
            text.tell(format!(
                "to take that back: git agentwt scope {} --undo",
                self.name
            ));
        }
    }
}

/// Adds rules to the scope of a worktree, or removes the rules that the last call added.
///
/// # Errors
/// Fails when it is refused, a pattern is invalid, or git or the disk fails; `reapply` then finishes.
pub fn run(
    session: &Session,
    options: &crate::cli::ScopeArguments,
) -> Result<Outcome<ScopeAnswer>, Error> {
    let (Some(name), [], []) = (
        options.args.first(),
        options.args.get(1..).unwrap_or_default(),
        &*options.paths,
    ) else {
        return Err(ScopeRefusal::OneName.into());
    };
    let name = name.to_string_lossy();
    let home = session.repository_to_change()?;
    require_outside(&home, &options.command(&name))?;
    let named = Worktree::of(&home, Some(&name))?;
    let (_lock, known) = Worktree::lock(&home, &named.record.name)?;
    let (next, rules) = if options.undo {
        without_last(&known)?
    } else {
        with_rules(&known, asked_rules(options))
    };
    let next = Worktree {
        scope: Scope::compile(
            next.record.scope.clone(),
            Case::of(known.record.ignore_case),
        )?,
        ..next
    };
    let repository = known.repository(&home);
    let advice = new_advice(&repository, &known, &next)?;
    let changes = !options.dry_run && !rules.is_empty();
    let is_recorded = next.config_is_as_recorded(&repository)?;
    // first the record: a kill leaves the new scope, and `reapply` finishes
    let next = if changes {
        next.write_scope(&repository)?
    } else {
        next
    };
    let reapplied = next.reapply(&repository, !changes)?;
    if changes {
        next.renew_digests(&repository, |file| {
            is_recorded && file == WatchedFile::ConfigWorktree
        })?;
    }
    let mut outcome = Outcome::done(ScopeAnswer {
        whole: None,
        paths: None,
        change: Some(ScopeChange {
            name: known.record.name.to_string(),
            dry_run: options.dry_run,
            undo: options.undo,
            changed_rules: rules.iter().map(RuleField::from).collect(),
            write_bits: paths(&reapplied.bits.changed),
            present: paths(&reapplied.present),
        }),
    });
    outcome.notes.extend(advice);
    outcome.notes.extend(reapplied.notes());
    let placed = known.placed()?;
    let mut placed = placed.files().iter();
    if placed.any(|file| file.origin == PlacedOrigin::Context) {
        let note = "the text for the agent program still states the former scope: tell the agent";
        outcome.notes.push(note.to_owned());
    }
    Ok(outcome)
}

/// The rules that the options add.
fn asked_rules(options: &crate::cli::ScopeArguments) -> Vec<ScopeRule> {
    let lists = [
        (RuleList::Read, &options.add_read),
        (RuleList::Write, &options.add_write),
        (RuleList::Exclude, &options.add_exclude),
    ];
    let rule = |list: RuleList, pattern: &String| {
        let origin = Origin::Flag(format!("scope --add-{list}"));
        ScopeRule::new(list, pattern.as_str(), origin)
    };
    let of_list = |(list, patterns): (RuleList, &Vec<String>)| {
        patterns
            .iter()
            .map(|one| rule(list, one))
            .collect::<Vec<_>>()
    };
    lists.into_iter().flat_map(of_list).collect()
}

/// The worktree with these rules, and those of them that it did not have.
fn with_rules(known: &Worktree, mut rules: Vec<ScopeRule>) -> (Worktree, Vec<ScopeRule>) {
    let mut next = known.clone();
    let has = |rule: &ScopeRule| {
        let mut all = known.record.scope.iter();
        all.any(|one| one.list == rule.list && one.pattern == rule.pattern)
    };
    rules.retain(|rule| !has(rule));
    if !rules.is_empty() {
        next.record.scope.extend(rules.clone());
        let mut decision = new_decision(&known.record.name);
        decision.rules.clone_from(&rules);
        next.record.decisions.push(decision);
    }
    (next, rules)
}

/// The worktree without the rules that were added last, and these.
fn without_last(known: &Worktree) -> Result<(Worktree, Vec<ScopeRule>), ScopeRefusal> {
    let mut next = known.clone();
    let decisions = &mut next.record.decisions;
    let Some(last) = decisions.iter().rposition(|one| !one.rules.is_empty()) else {
        let name = known.record.name.to_string();
        return Err(ScopeRefusal::NothingToUndo { name });
    };
    let rules = decisions.remove(last).rules;
    next.record.scope.retain(|rule| !rules.contains(rule));
    Ok((next, rules))
}

/// What there is to say of the new rules only.
fn new_advice(
    repository: &Repository,
    known: &Worktree,
    next: &Worktree,
) -> Result<Vec<String>, Error> {
    let listing = Listing::read(repository, &known.record.base.commit)?;
    let before = listing.coverage(&known.scope).advice;
    let mut advice = listing.coverage(&next.scope).advice;
    advice.retain(|one| !before.contains(one));
    Ok(advice)
}
