//! Defines what all errors have in common: [`Fault`], and [`Error`], which holds any of them.

use std::any::Any;

use miette::Diagnostic;
use serde::Serialize;

use crate::words::exit::ExitCode;

/// An error of one module: a message, a code and a remedy, and the status of the program.
pub trait Fault: Diagnostic + Any + Send + Sync {
    /// The status with which the program ends.
    fn exit_code(&self) -> ExitCode;
}

/// Holds the error of any module, and what could not be undone after it.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{fault}{}", if left.is_empty() { String::new() } else { format!("; what is left: {}", left.join("; ")) })]
#[diagnostic(forward(fault))]
pub struct Error {
    fault: Box<dyn Fault>,
    left: Vec<String>,
}

impl<F: Fault> From<F> for Error {
    fn from(fault: F) -> Self {
        Self {
            fault: Box::new(fault),
            left: Vec::new(),
        }
    }
}

impl Error {
    /// The status with which the program ends.
    pub fn exit_code(&self) -> ExitCode {
        self.fault.exit_code()
    }

    /// The error of this module, if it is one.
    pub fn find<F: Fault>(&self) -> Option<&F> {
        let fault: &dyn Any = &*self.fault;
        fault.downcast_ref()
    }

    /// The same error, with what could not be undone after it.
    pub fn leaving(mut self, left: Vec<String>) -> Self {
        self.left.extend(left);
        self
    }
}

/// A signal ended the command; everything was undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Diagnostic)]
#[error("interrupted by signal {signal}")]
#[diagnostic(code(agentwt::interrupted), help("everything was undone"))]
pub struct Interrupted {
    /// The signal.
    pub signal: u8,
}

impl Fault for Interrupted {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Signal(self.signal)
    }
}

/// A signal ended the command and its git; what git did by then is not undone.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("interrupted by signal {signal}: {error}")]
#[diagnostic(code(agentwt::interrupted))]
#[diagnostic(help("run the same command again to continue"))]
pub struct Stopped {
    /// The signal.
    pub signal: u8,
    /// What did not end.
    pub error: Error,
}

impl Fault for Stopped {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Signal(self.signal)
    }
}

/// The JSON document of an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct ErrorDocument {
    /// `agentwt.error/1`.
    pub schema: &'static str,
    /// What kind of error it is: `agentwt::<module>::<name>`.
    pub code: String,
    /// What was attempted, and what stopped it.
    pub message: String,
    /// What to do next, one remedy each.
    pub help: Vec<String>,
}

impl ErrorDocument {
    /// Creates the document.
    pub fn new(error: &dyn Diagnostic) -> Self {
        let related = error.related().into_iter().flatten();
        let help = error.help().map(|help| help.to_string());
        let others = related.map(|other| match other.help() {
            Some(help) => format!("{other}; {help}"),
            None => other.to_string(),
        });
        Self {
            schema: "agentwt.error/1",
            code: error
                .code()
                .map(|code| code.to_string())
                .unwrap_or_default(),
            message: error.to_string(),
            help: help.into_iter().chain(others).collect(),
        }
    }

    /// Creates the document of a wrong command line.
    pub fn usage(message: &str) -> Self {
        let mut parts = message.trim().split("\n\n");
        let first = parts.next().unwrap_or_default();
        Self {
            schema: "agentwt.error/1",
            code: "agentwt::cli::usage".to_owned(),
            message: first.trim_start_matches("error: ").to_owned(),
            help: parts.map(|part| part.trim().to_owned()).collect(),
        }
    }
}
