//! `git agentwt clients`: the agent programs, where each reads its context, and what each enforces.

use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use textwrap::{Options, WordSplitter};

use crate::answer::Answer;
use crate::answer::table::{Cell, Row};
use crate::answer::text::Text;
use crate::arguments::output::ListOutput;
use crate::client::program::AgentProgram;
use crate::client::programs;

/// List the agent programs, the context files that each reads, and what each enforces
///
/// These are the names for `git agentwt add --client` and for `client` in the config. Prints for
/// each program the context files in the order in which they are tried, how the program reads them,
/// the guard that is generated from the scope, what the program enforces with it, is told, and
/// leaves to `verify`, and the version or the date of its documentation. This command needs no
/// repository.
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
        for (index, program) in self.clients.iter().enumerate() {
            if index > 0 {
                text.line("");
            }
            print_program(program, text);
        }
    }

    fn rows(&self) -> Vec<Row> {
        let programs = self.clients.iter();
        programs.flat_map(|program| rows(program)).collect()
    }
}

fn print_program(program: &AgentProgram, text: &mut Text) {
    let name = text.paint.name(program.name);
    text.line(format!("{name}: {}", program.title));
    text.table(&rows(program), "  ");
    print_sentences("- ", program.known, text);
    for guard in program.guards {
        let sentence = format!("{}: {}", guard.path, guard.has);
        text.line(wrapped("guard: ", &sentence));
    }
    print_sentences("enforced: ", program.enforced, text);
    print_sentences("told: ", program.told, text);
    print_sentences("left: ", program.left, text);
    print_sentences("read in ", program.read_in, text);
}

fn print_sentences(head: &str, sentences: &[&str], text: &mut Text) {
    for sentence in sentences {
        text.line(wrapped(head, sentence));
    }
}

/// A row for each file of a program.
fn rows(program: &AgentProgram) -> Vec<Row> {
    let mut rows = Vec::new();
    for file in program.files {
        rows.push(Row::new(vec![
            Cell::porcelain(program.name),
            Cell::both(file.path),
            Cell::both(file.when),
        ]));
    }
    rows
}

/// A sentence in lines of [`WIDTH`], indented below its first word.
fn wrapped(head: &str, sentence: &str) -> String {
    let first = format!("  {head}");
    let others = " ".repeat(2 + head.len());
    let options = Options::new(WIDTH)
        .word_splitter(WordSplitter::NoHyphenation)
        .initial_indent(&first)
        .subsequent_indent(&others);
    textwrap::fill(sentence, options)
}
