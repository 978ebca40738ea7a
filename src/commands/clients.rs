//! `git agentwt clients`: the agent programs, where each reads its context, and what each enforces.

use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use textwrap::{Options, WordSplitter};

use crate::answer::Answer;
use crate::answer::table::{Cell, Row};
use crate::answer::text::Text;
use crate::arguments::output::ListOutput;
use crate::client::program::{AgentProgram, Reads};
use crate::client::programs;

/// List the agent programs, the context files that each reads, and what each enforces
///
/// These are the names for `git agentwt add --client` and for `client` in the config. Prints for
/// each program the context files in the order in which they are tried, how the program reads them,
/// the guard that is generated from the scope, what the program enforces with it, is told, and leaves
/// to `verify`, and the version or the date of its documentation. This command needs no repository.
#[derive(Args, Debug)]
pub struct Clients {
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

/// The width of sentences.
const WIDTH: usize = 96;

/// The answer of `clients`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClientsAnswer {
    /// The agent programs.
    pub clients: Vec<&'static AgentProgram>,
}

/// Answers with all agent programs.
pub fn run() -> ClientsAnswer {
    ClientsAnswer {
        clients: programs::ALL.iter().collect(),
    }
}

impl Answer for ClientsAnswer {
    const DOCUMENT: &'static str = "clients";

    fn print(&self, text: &mut Text) {
        for (at, about) in self.clients.iter().enumerate() {
            if at > 0 {
                text.line("");
            }
            text.line(format!("{}: {}", text.paint.name(about.name), about.title));
            text.table(&rows(about), "  ");
            for known in about.known {
                text.line(wrapped("- ", known));
            }
            let guards = about.guards.iter();
            let guards = guards.map(|guard| format!("{}: {}", guard.path, guard.has));
            let guards: Vec<String> = guards.collect();
            let guards: Vec<&str> = guards.iter().map(String::as_str).collect();
            for (head, sentences) in [
                ("guard: ", &*guards),
                ("enforced: ", about.enforced),
                ("told: ", about.told),
                ("left: ", about.left),
            ] {
                for sentence in sentences {
                    text.line(wrapped(head, sentence));
                }
            }
            for document in about.read_in {
                text.line(wrapped("read in ", document));
            }
        }
    }

    fn rows(&self) -> Vec<Row> {
        self.clients.iter().flat_map(|about| rows(about)).collect()
    }
}

/// A row for each file of a program.
fn rows(about: &AgentProgram) -> Vec<Row> {
    let row = |file: &Reads| {
        let cells = [Cell::porcelain(about.name), Cell::both(file.path)];
        Row::new(cells.into_iter().chain([Cell::both(file.when)]).collect())
    };
    about.files.iter().map(row).collect()
}

/// A sentence in lines of [`WIDTH`], indented below its first word.
fn wrapped(head: &str, sentence: &str) -> String {
    let first = format!("  {head}");
    let others = " ".repeat(2 + head.len());
    let options = Options::new(WIDTH).word_splitter(WordSplitter::NoHyphenation);
    let options = options.initial_indent(&first).subsequent_indent(&others);
    textwrap::fill(sentence, options)
}
