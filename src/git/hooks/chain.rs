//! Tells the stubs where the user's hooks are, so that they need not ask git (`hooks/chain.sh`).

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::time::SystemTime;

use super::Hooks;
use super::error::HooksError;

/// The file in our directory that says where the user's hooks are, for the other hooks of one git.
pub(super) const FILE: &str = "chained";

/// Says whether the user has a hook beside ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Users {
    /// There may be one: it goes first, and the stub starts it.
    Hook,
    /// There is none.
    Nothing,
}

impl Hooks {
    /// Writes down for the stubs that this git starts where the user's hooks are, and says whether
    /// the user has one for this event: with none we act at once, and the stub knows it by the word
    /// `alone`. Where nothing can be written down the stub asks git, and calls again.
    ///
    /// # Errors
    /// Fails when git does, or nothing can be written.
    pub fn chain(&self, git: u32, event: &str) -> Result<Users, HooksError> {
        let setting = self.users_setting()?;
        if let Some(path) = setting.as_ref().filter(|path| path.as_str().contains('\n')) {
            let odd = std::io::Error::other("it has more than one line");
            return Err(HooksError::disk("write down", path)(odd));
        }
        let (known, value) = match &setting {
            Some(path) => ("set", path.as_str()),
            None => ("unset", ""),
        };
        let hook = self.directory_of(setting.clone()).join(event);
        let users = match fs::metadata(&hook) {
            Ok(there) if there.is_file() && there.permissions().mode() & 0o111 != 0 => Users::Hook,
            // one that cannot be looked at the stub does not see either
            Ok(_) | Err(_) => Users::Nothing,
        };
        let alone = match users {
            Users::Hook => "",
            Users::Nothing => "alone",
        };
        let file = self.state().join(FILE);
        let text = format!("{git} {known}\n{value}\n{alone}\n");
        let write = || {
            let mut written = fs::File::create(&file)?;
            written.write_all(text.as_bytes())?;
            // the stub holds it against the time of `/proc/<git>`; clocks of file systems tick in
            // hundredths of a second, and may give both the same
            written.set_modified(SystemTime::now())
        };
        write().map_err(HooksError::disk("write", &file))?;
        Ok(users)
    }
}
