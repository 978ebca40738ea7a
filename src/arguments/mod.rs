//! Holds the options that several commands take, with their help.

pub mod output;
pub mod scope;
