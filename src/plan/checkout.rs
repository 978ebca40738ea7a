//! Decides who checks a new worktree out: our own code, or git.
//!
//! Our own writes each file once, in its final mode, and knows then what stands on disk. It does
//! so only where a file on disk is the blob, byte for byte, and the index is the plain one. For
//! everything else, and for whatever it does not know, it is git.

mod attributes;
mod settings;

use std::fmt;

use bstr::BString;

use crate::config::Strategy;
use crate::entry::{Entry, Mode};
use crate::path::RepoPath;

/// Says who is to check out (`GIT_AGENTWT_CHECKOUT=git|own`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Our own code, where it can.
    Own,
    /// Git, always.
    Git,
}

/// Holds what is decided on.
#[derive(Clone, Debug)]
pub struct CheckoutFacts<'a> {
    /// Who is to do it.
    pub asked: Asked,
    /// How the worktree is made.
    pub strategy: Strategy,
    /// Whether the git that is asked runs on the files of this machine.
    pub is_local: bool,
    /// Every setting that git sees in the worktree, in git's order; keys in lower case.
    pub settings: Vec<(String, BString)>,
    /// Every file of attributes that counts, by its name (gitattributes(5)).
    pub attributes: Vec<(String, Vec<u8>)>,
    /// Whether git was told to read attributes from elsewhere (`GIT_ATTR_SOURCE`, git(1)).
    pub attribute_source: bool,
    /// What is checked out.
    pub entries: &'a [(RepoPath, Entry)],
    /// A hook of the user's that git's checkout would run, if there is one.
    pub hook: Option<&'static str>,
    /// Whether objects are replaced by others (git-replace(1)).
    pub replaced: bool,
    /// Whether the file system of the worktree takes `A` for `a`.
    pub folds_case: bool,
}

/// Says who checks out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checkout {
    /// Our own code.
    Own,
    /// Git, and why.
    Git(Reason),
}

/// Says why it is git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The user chose so.
    Asked,
    /// The worktree is a clone.
    Clone,
    /// A program that uses the library runs git its own way.
    Runner,
    /// A setting changes what is written.
    Setting(String),
    /// A file of attributes has one that may change content.
    Attribute {
        /// The file.
        file: String,
        /// The attribute.
        attribute: String,
    },
    /// Attributes come from elsewhere.
    AttributeSource,
    /// A hook would run.
    Hook(&'static str),
    /// Objects are replaced.
    Replaced,
    /// Names that differ in case are one file.
    FoldsCase,
    /// A path has a name that git may refuse.
    Name(RepoPath),
    /// What stands in the index cannot be in order.
    Order(RepoPath),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("`GIT_AGENTWT_CHECKOUT` says so"),
            Self::Clone => f.write_str("the worktree is a clone"),
            Self::Runner => f.write_str("a program runs it its own way"),
            Self::Setting(key) => write!(f, "`{key}` is set"),
            Self::Attribute { file, attribute } => write!(f, "`{file}` names {attribute}"),
            Self::AttributeSource => f.write_str("attributes come from another tree"),
            Self::Hook(hook) => write!(f, "there is a {hook} hook"),
            Self::Replaced => f.write_str("objects are replaced (`git replace`)"),
            Self::FoldsCase => f.write_str("the file system takes `A` for `a`"),
            Self::Name(path) => write!(f, "it may refuse the name {path}"),
            Self::Order(path) => write!(f, "the tree is out of order at {path}"),
        }
    }
}

/// Decides.
#[must_use]
pub fn plan(facts: &CheckoutFacts<'_>) -> Checkout {
    match reason(facts) {
        Some(reason) => Checkout::Git(reason),
        None => Checkout::Own,
    }
}

fn reason(facts: &CheckoutFacts<'_>) -> Option<Reason> {
    match facts.asked {
        Asked::Git => return Some(Reason::Asked),
        Asked::Own => {}
    }
    match facts.strategy {
        Strategy::Clone => return Some(Reason::Clone),
        Strategy::Worktree => {}
    }
    if !facts.is_local {
        return Some(Reason::Runner);
    }
    if facts.replaced {
        return Some(Reason::Replaced);
    }
    if facts.folds_case {
        return Some(Reason::FoldsCase);
    }
    if facts.attribute_source {
        return Some(Reason::AttributeSource);
    }
    let hook = facts.hook.map(Reason::Hook);
    let setting = || settings::unusual(&facts.settings).map(Reason::Setting);
    hook.or_else(setting)
        .or_else(|| attribute(&facts.attributes))
        .or_else(|| names(facts.entries))
}

/// Whether a checkout may write other bytes than git stores: by these settings (keys in lower case),
/// these files of attributes, or attributes that come from elsewhere.
#[must_use]
pub fn converts(
    settings: &[(String, BString)],
    attributes: &[(String, Vec<u8>)],
    attribute_source: bool,
) -> bool {
    attribute_source || settings::converting(settings) || attribute(attributes).is_some()
}

fn attribute(files: &[(String, Vec<u8>)]) -> Option<Reason> {
    files.iter().find_map(|(file, text)| {
        let attribute = attributes::converting(text)?;
        Some(Reason::Attribute {
            file: file.clone(),
            attribute: attribute.to_owned(),
        })
    })
}

/// The first path that git may not write, or that has no place in an index.
fn names(entries: &[(RepoPath, Entry)]) -> Option<Reason> {
    let mut before: Option<&RepoPath> = None;
    for (path, entry) in entries {
        let mut parts = path.as_bstr().split(|byte| *byte == b'/');
        if parts.any(may_be_git) || entry.mode == Mode::Link && may_be_rules(path.file_name()) {
            return Some(Reason::Name(path.clone()));
        }
        if before.is_some_and(|before| before >= path) {
            return Some(Reason::Order(path.clone()));
        }
        before = Some(path);
    }
    None
}

/// Whether a name may stand for `.git` on some file system: `core.protectNTFS`, `core.protectHFS`
/// (git-config(1)). Git knows which do; this knows all that could.
fn may_be_git(name: &[u8]) -> bool {
    // most names are neither
    let suspect = |byte: &u8| !byte.is_ascii() || matches!(byte, b'\\' | b'~');
    if !name.starts_with(b".") && !name.iter().any(suspect) {
        return false;
    }
    let ascii = plain(name);
    let is_git = match ascii.strip_prefix(b".git") {
        Some([]) => true,
        // NTFS ignores what comes at the end
        Some([next, ..]) => matches!(next, b' ' | b'.' | b':' | b'\\'),
        None => false,
    };
    is_git || ascii.starts_with(b"git~") || name.contains(&b'\\')
}

/// The ASCII of a name in lower case: HFS+ ignores some characters that are none.
fn plain(name: &[u8]) -> Vec<u8> {
    let ascii = name.iter().filter(|byte| byte.is_ascii());
    ascii.map(u8::to_ascii_lowercase).collect()
}

/// Whether a link may have one of the names that git reads rules from, on some file system.
fn may_be_rules(name: &[u8]) -> bool {
    let ascii = plain(name);
    ascii.starts_with(b".git") || ascii.starts_with(b"gi")
}

#[cfg(test)]
mod tests;
