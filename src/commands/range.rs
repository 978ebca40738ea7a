//! `git agentwt verify --range`: holds a range of commits against a scope, without a worktree.

use super::{Outcome, Session};
use crate::config::SettingFlags;
use crate::error::Error;
use crate::exit::ExitCode;
use crate::facts::load_config_of;
use crate::facts::range::Span;
use crate::plan::range::{Range, RangeRefusal};
use crate::plan::rules::rules_of;
use crate::scope::Scope;
use crate::verify::{Report, verify};

/// Holds the verdict over a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeVerdict {
    /// The range as it was given, fit for a terminal.
    pub range: String,
    /// The scope profile; none where only lists were given.
    pub profile: Option<String>,
    /// The report.
    pub report: Report,
}

/// Verifies a range. Violations end with 1.
///
/// # Errors
/// Fails when the range, the scope or the commits cannot be read: there is then no verdict.
pub fn run(
    session: &Session,
    options: &crate::cli::Verify,
    range: &str,
) -> Result<Outcome<RangeVerdict>, Error> {
    let range = Range::parse(range)?;
    let span = Span::find(session.repository()?, &range, session.quarantine.as_deref())?;
    let (scope, profile) = scope(session, options, &range, &span)?;
    let (strictness, layers) = (options.strictness(), options.layers());
    let report = verify(&scope, span.changes(&scope)?, layers, strictness);
    let exit = if report.valid() {
        ExitCode::Success
    } else {
        ExitCode::Violations
    };
    let range = range.text;
    let answer = RangeVerdict {
        range,
        profile,
        report,
    };
    Ok(Outcome {
        exit,
        ..Outcome::done(answer)
    })
}

/// The scope of the base side, and the profile that it is.
fn scope(
    session: &Session,
    options: &crate::cli::Verify,
    range: &Range,
    span: &Span<'_>,
) -> Result<(Scope, Option<String>), Error> {
    let (repository, lists) = (&span.repository, &options.lists);
    let flags = SettingFlags {
        scope: lists.profile.clone(),
        ..SettingFlags::default()
    };
    let (text, base) = (range.text.clone(), range.shown_base());
    let bytes = span.config()?;
    let name = format!("{base}:{}", crate::config::CONFIG_PATH);
    let environment = &session.environment;
    let loaded = load_config_of(repository, &flags, environment, &name, bytes.as_deref())?;
    if !loaded.found && lists.write.is_none() && lists.add_write.is_none() {
        return Err(RangeRefusal::NoConfig { range: text, base }.into());
    }
    let profile = loaded.settings.profile(&loaded.config)?;
    let rules = rules_of(&text, profile, lists, loaded.found);
    let rules = rules.map_err(|_nothing_says| RangeRefusal::NoWriteList {
        range: range.text.clone(),
        base,
    })?;
    let name = profile.map(|_| loaded.settings.scope.value.clone());
    let scope = Scope::compile(rules, repository.case()?).map_err(Error::from)?;
    Ok((scope, name))
}
