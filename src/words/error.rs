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

/// The error of any module, and what could not be undone after it.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{fault}{}", describe_remains(remains))]
#[diagnostic(forward(fault))]
pub struct Error {
    fault: Box<dyn Fault>,
    /// What could not be undone.
    remains: Vec<String>,
}

fn describe_remains(remains: &[String]) -> String {
    if remains.is_empty() {
        return String::new();
    }
    format!("; what is left: {}", remains.join("; "))
}

impl<F: Fault> From<F> for Error {
    fn from(fault: F) -> Self {
        Self {
            fault: Box::new(fault),
            remains: Vec::new(),
        }
    }
}

impl Error {
    /// Returns the status with which the program ends.
    pub fn exit_code(&self) -> ExitCode {
        self.fault.exit_code()
    }

    /// Returns the error as one of this module, if it is.
    pub fn find<F: Fault>(&self) -> Option<&F> {
        let fault: &dyn Any = &*self.fault;
        fault.downcast_ref()
    }

    /// True if something could not be undone after it.
    pub fn has_remains(&self) -> bool {
        !self.remains.is_empty()
    }

    /// The message with the remedy after it, for a note.
    pub fn with_help(&self) -> String {
        match self.help() {
            Some(help) => format!("{self}; {help}"),
            None => self.to_string(),
        }
    }

    /// Returns the same error, with what could not be undone after it.
    pub fn leaving(mut self, remains: Vec<String>) -> Self {
        self.remains.extend(remains);
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
        let mut help: Vec<String> = error.help().iter().map(ToString::to_string).collect();
        for related in error.related().into_iter().flatten() {
            help.push(match related.help() {
                Some(remedy) => format!("{related}; {remedy}"),
                None => related.to_string(),
            });
        }
        let code = error.code().map(|code| code.to_string());
        Self {
            schema: "agentwt.error/1",
            code: code.unwrap_or_default(),
            message: error.to_string(),
            help,
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
