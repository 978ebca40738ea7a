//! Holds the words of the program: types that are parsed once and trusted afterwards.

pub mod entry;
pub mod error;
pub mod exit;
pub mod log;
pub mod name;
pub mod path;
pub mod path_text;
pub mod progress;
pub mod size;
pub mod snippet;
pub mod text;
pub mod time;
pub mod toml_file;
pub mod varint;
