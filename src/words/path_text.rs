//! Holds [`PathText`], a path as an answer writes it.

use bstr::ByteSlice;
use schemars::JsonSchema;
use serde::Serialize;

use crate::words::path::{escape_for_terminal, escape_for_tsv};

/// A path; use it flattened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PathText {
    /// The path; escaped as in TSV if it is not UTF-8.
    pub path: String,
    /// The bytes of the path, if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<Vec<u8>>,
}

impl<T: AsRef<[u8]>> From<T> for PathText {
    fn from(path: T) -> Self {
        let bytes = path.as_ref();
        match bytes.to_str() {
            Ok(text) => Self {
                path: text.to_owned(),
                path_bytes: None,
            },
            Err(_) => Self {
                path: escape_for_tsv(bytes),
                path_bytes: Some(bytes.to_vec()),
            },
        }
    }
}

impl PathText {
    /// The path, escaped for a terminal.
    pub fn shown(&self) -> String {
        escape_for_terminal(self.bytes())
    }

    /// The bytes of the path.
    pub fn bytes(&self) -> &[u8] {
        match &self.path_bytes {
            Some(bytes) => bytes,
            None => self.path.as_bytes(),
        }
    }
}

/// Converts paths.
pub fn paths<T: AsRef<[u8]>>(paths: impl IntoIterator<Item = T>) -> Vec<PathText> {
    paths.into_iter().map(PathText::from).collect()
}
