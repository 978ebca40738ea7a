//! Says what git's own checkout would go by, beside its settings: who is asked for it, and where
//! the system's attributes are.

use bstr::ByteSlice;
use camino::Utf8PathBuf;

use super::error::GitError;
use super::process::{Git, GitVersion, odd_output};

/// Says who checks out (`GIT_AGENTWT_CHECKOUT=git|own`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckoutBy {
    /// Our own code, where it can.
    Own,
    /// Git, always.
    Git,
}

/// The first git that tells where the system's attributes are (git-var(1), `GIT_ATTR_SYSTEM`).
const TELLS_ATTRIBUTES: GitVersion = GitVersion(2, 41, 0);

/// Where an older git has them, whoever built it.
const USUAL: [&str; 3] = [
    "/etc/gitattributes",
    "/usr/local/etc/gitattributes",
    "/opt/homebrew/etc/gitattributes",
];

#[expect(
    clippy::disallowed_methods,
    reason = "the environment may say who checks out"
)]
impl Git {
    /// Who checks out: `GIT_AGENTWT_CHECKOUT=git|own`.
    #[must_use]
    pub fn checkout_by(&self) -> CheckoutBy {
        match std::env::var_os("GIT_AGENTWT_CHECKOUT") {
            Some(who) if who == "git" => CheckoutBy::Git,
            Some(_) | None => CheckoutBy::Own,
        }
    }

    /// Whether git was told to read attributes from a tree (`GIT_ATTR_SOURCE`, git(1)).
    #[must_use]
    pub fn reads_attributes_elsewhere(&self) -> bool {
        std::env::var_os("GIT_ATTR_SOURCE").is_some()
    }

    fn skips_system_attributes() -> bool {
        std::env::var_os("GIT_ATTR_NOSYSTEM").is_some()
    }

    /// Where the attributes are that hold for every user of this machine; none where git was told
    /// not to read them.
    ///
    /// # Errors
    /// Fails when git does, or the path is not UTF-8.
    pub fn system_attributes(&self) -> Result<Vec<Utf8PathBuf>, GitError> {
        if super::environment::is_usual_git() && !Self::skips_system_attributes() {
            return Ok(vec!["/etc/gitattributes".into()]);
        }
        if self.version()? < TELLS_ATTRIBUTES {
            return Ok(USUAL.map(Utf8PathBuf::from).to_vec());
        }
        let (what, args) = ("find the attributes", ["var", "GIT_ATTR_SYSTEM"]);
        let Some(said) = self.maybe(what, &args)? else {
            return Ok(Vec::new());
        };
        let line = said.strip_suffix(b"\n").unwrap_or(&said);
        let odd = |_| odd_output(what, &args, "it is not UTF-8");
        Ok(vec![line.to_str().map_err(odd)?.into()])
    }
}
