//! Looks a setting up in the layers above the config file, under its name in each.

use super::Located;
use super::choice::Choice;
use super::error::Mistake;
use super::settings::{SetBy, Setting};
use super::value::{self, Fault};

/// The names of one setting in the layers that have names.
pub(super) struct Names {
    pub(super) flag: &'static str,
    pub(super) environment: &'static str,
    pub(super) git_config: &'static str,
}

pub(super) const BASE: Names = Names {
    flag: "--base",
    environment: "AGENTWT_BASE",
    git_config: "agentwt.base",
};
pub(super) const BRANCH_PREFIX: Names = Names {
    flag: "--branch-prefix",
    environment: "AGENTWT_BRANCH_PREFIX",
    git_config: "agentwt.branchPrefix",
};
pub(super) const STRATEGY: Names = Names {
    flag: "--strategy",
    environment: "AGENTWT_STRATEGY",
    git_config: "agentwt.strategy",
};
pub(super) const CLIENT: Names = Names {
    flag: "--client",
    environment: "AGENTWT_CLIENT",
    git_config: "agentwt.client",
};
pub(super) const ON_VIOLATION: Names = Names {
    flag: "--on-violation",
    environment: "AGENTWT_ON_VIOLATION",
    git_config: "agentwt.onViolation",
};
pub(super) const SCOPE: Names = Names {
    flag: "--scope",
    environment: "AGENTWT_SCOPE",
    git_config: "agentwt.scope",
};

/// The layers between the flags and the default, and what was found wrong in them.
pub(super) struct Layers<'l> {
    pub(super) environment: &'l [(String, String)],
    pub(super) git_config: &'l [(String, String)],
    pub(super) mistakes: Vec<Mistake>,
}

impl<'l> Layers<'l> {
    /// A setting that any text may be, if it passes the check.
    pub(super) fn text(
        &mut self,
        names: &Names,
        flag: Option<&'l str>,
        check: fn(&str) -> Result<String, Fault>,
        file: Option<&Located<String>>,
    ) -> Option<Setting<String>> {
        match flag {
            Some(text) => self.checked(SetBy::Flag(names.flag), text, check),
            None => self.below_flags(names, check, file),
        }
    }

    /// A setting that is one of a few words.
    pub(super) fn choice<C: Choice>(
        &mut self,
        names: &Names,
        flag: Option<C>,
        file: Option<&Located<C>>,
    ) -> Option<Setting<C>> {
        match flag {
            Some(value) => Some(Setting {
                value,
                set_by: SetBy::Flag(names.flag),
            }),
            None => self.below_flags(names, value::choice, file),
        }
    }

    fn below_flags<T: Clone>(
        &mut self,
        names: &Names,
        check: fn(&str) -> Result<T, Fault>,
        file: Option<&Located<T>>,
    ) -> Option<Setting<T>> {
        if let Some((_, text)) = self
            .environment
            .iter()
            .rfind(|(name, _)| name == names.environment)
            .filter(|(_, text)| !text.is_empty())
        {
            return self.checked(SetBy::Environment(names.environment), text, check);
        }
        // git-config(1): section and variable names are not case sensitive.
        if let Some((_, text)) = self
            .git_config
            .iter()
            .rfind(|(name, _)| name.eq_ignore_ascii_case(names.git_config))
        {
            return self.checked(SetBy::GitConfig(names.git_config), text, check);
        }
        file.map(|located| Setting {
            value: located.value.clone(),
            set_by: SetBy::File(located.line),
        })
    }

    fn checked<T>(
        &mut self,
        set_by: SetBy,
        text: &str,
        check: fn(&str) -> Result<T, Fault>,
    ) -> Option<Setting<T>> {
        match check(text) {
            Ok(value) => Some(Setting { value, set_by }),
            Err(fault) => {
                self.mistakes.push(mistake(&fault, set_by));
                None
            }
        }
    }
}

/// A mistake outside the file, with what to type in the place where it was made.
pub(super) fn mistake(fault: &Fault, set_by: SetBy) -> Mistake {
    let example = &fault.example;
    // A profile may have any name; only one that no shell can misread is offered for typing.
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
    let repair = match set_by {
        _ if example.is_empty() || !example.chars().all(plain) => String::new(),
        SetBy::Flag(name) => format!("; for example `{name} {example}`"),
        SetBy::Environment(name) => format!("; for example `{name}={example}`"),
        SetBy::GitConfig(name) => format!("; for example `git config {name} {example}`"),
        SetBy::File(_) | SetBy::Default => String::new(),
    };
    Mistake {
        kind: fault.kind,
        message: fault.message(&format!("in {set_by}")),
        place: None,
        help: format!("{}{repair}", fault.help()),
    }
}
