//! Reads and writes the files of the program's own: TOML with a version.

use serde::Serialize;

/// The version of the files' form.
const VERSION: u32 = 4;

/// Says that a file of ours cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TomlFileError {
    /// It was written by another version of the program.
    #[error("it has version {0}, and this program writes version {VERSION}")]
    Version(i64),
    /// It is no file of ours.
    #[error("it is damaged: {0}")]
    Damaged(String),
}

/// Writes a file of ours: its version, then what it holds.
///
/// # Panics
/// Never: the types that are written have no value that TOML cannot hold.
pub fn to_text<T: Serialize>(value: &T) -> String {
    let fields = toml::to_string(value).expect("because these types hold only what TOML can write");
    format!("version = {VERSION}\n{fields}")
}

/// Reads a file of ours.
///
/// # Errors
/// Fails when it is of another version, or damaged.
pub fn from_text<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, TomlFileError> {
    let mut table: toml::Table = text.parse().map_err(|error| damaged(&error))?;
    let version = table.remove("version");
    match version.and_then(|version| version.as_integer()) {
        Some(version) if version == i64::from(VERSION) => {}
        Some(version) => return Err(TomlFileError::Version(version)),
        None => return Err(TomlFileError::Damaged("it has no version".to_owned())),
    }
    table.try_into().map_err(|error| damaged(&error))
}

fn damaged(error: &toml::de::Error) -> TomlFileError {
    TomlFileError::Damaged(error.message().to_owned())
}
