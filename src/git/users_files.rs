//! Says where git looks for the user's own files (git-config(1), "FILES").
#![expect(
    clippy::disallowed_methods,
    reason = "the environment says where the user's files are"
)]

use camino::Utf8PathBuf;

use super::run::Git;

impl Git {
    /// Where git looks for the user's ignore rules when `core.excludesFile` is not set
    /// (gitignore(5)).
    #[must_use]
    pub fn default_excludes_file() -> Option<Utf8PathBuf> {
        Self::default_file("git/ignore")
    }

    /// Where git looks for the user's attributes when `core.attributesFile` is not set
    /// (gitattributes(5)).
    #[must_use]
    pub fn default_attributes_file() -> Option<Utf8PathBuf> {
        Self::default_file("git/attributes")
    }

    fn default_file(name: &str) -> Option<Utf8PathBuf> {
        let config = directory_in("XDG_CONFIG_HOME");
        let config = config.or_else(|| Some(directory_in("HOME")?.join(".config")));
        Some(config?.join(name))
    }
}

fn directory_in(variable: &str) -> Option<Utf8PathBuf> {
    let set = std::env::var(variable)
        .ok()
        .filter(|value| !value.is_empty());
    set.map(Utf8PathBuf::from)
}
