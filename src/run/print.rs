//! Prints the answer of a command on stdout, and what is told besides on stderr.

use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::termios::tcgetwinsize;
use signal_hook::consts::SIGINT;

use crate::answer::Answer;
use crate::answer::paint::Paint;
use crate::answer::text::{Detail, TextStyle};
use crate::arguments::output::{Format, OutputForm};
use crate::cli::{Cli, Command};
use crate::commands::Outcome;
use crate::disk::error::DiskError;
use crate::git::process::Git;
use crate::output::{render, render_error};
use crate::words::error::Error;
use crate::words::exit::ExitCode;

/// Writes to stderr. `eprint!` would panic when its reader is gone.
pub fn tell(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Returns the number of columns: `COLUMNS`, else that of the terminal; none where there is no
/// terminal.
pub fn width_of(stream: impl AsFd) -> Option<usize> {
    let named: Option<usize> = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok());
    let width = match named {
        Some(columns) => columns,
        None => tcgetwinsize(stream).ok()?.ws_col.into(),
    };
    (width > 0).then_some(width)
}

/// Prints an outcome. A reader that closes the pipe ends us quietly, with the same status.
pub fn print<A: Answer>(cli: &Cli, form: OutputForm, outcome: &Outcome<A>) -> ExitCode {
    let stdout = std::io::stdout();
    let to_terminal = stdout.is_terminal();
    let style = TextStyle {
        paint: paint_on(&stdout),
        width: width_of(stdout),
        detail: match cli.common.verbose {
            0 => Detail::Groups,
            _ => Detail::Everything,
        },
    };
    let mut text = render(&outcome.answer, form, style, &outcome.notes);
    if !text.stderr.is_empty() || !text.hints.is_empty() {
        let stderr_style = TextStyle {
            paint: paint_on(&std::io::stderr()),
            ..style
        };
        if stderr_style.paint != style.paint {
            // only one of the two streams is a terminal
            let conversation = render(&outcome.answer, form, stderr_style, &outcome.notes);
            text.stderr = conversation.stderr;
            text.hints = conversation.hints;
        }
    }
    if !cli.common.quiet || A::IGNORES_QUIET {
        tell_notes(&outcome.notes);
        tell(&text.stderr);
    }
    let is_long = matches!(&cli.command, Command::Changed(o) if o.patch || o.commits);
    let wants_pager = is_long && to_terminal && form.format == Format::Human;
    let is_paged = wants_pager && page(&text.stdout);
    let mut exit = outcome.exit;
    if !is_paged && let Err(failed) = write_answer(&text.stdout) {
        exit = failed;
    }
    if !cli.common.quiet {
        tell(&text.hints);
    }
    exit
}

/// Writes each note to stderr, a line each.
fn tell_notes(notes: &[String]) {
    let paint = paint_on(&std::io::stderr());
    for note in notes {
        tell_note(paint, note);
    }
}

/// Writes a note to stderr.
pub fn tell_note(paint: Paint, note: &str) {
    tell(&format!("{} {note}\n", paint.warning("note:")));
}

/// Shows an answer in the pager, which alone decides what Ctrl-C does. Returns false where there is
/// no pager.
pub fn page(bytes: &[u8]) -> bool {
    signal_hook::flag::register(SIGINT, Arc::default()).is_ok() && Git::page(bytes)
}

/// Writes to stdout; where that fails, says so on stderr and returns the status to end with. A
/// reader that closed the pipe has read enough.
pub fn write_answer(bytes: &[u8]) -> Result<(), ExitCode> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        Err(closed) if closed.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(failed) => {
            let error = Error::from(DiskError::new("write to standard output", failed));
            tell(&render_error(&error, Paint::Plain));
            Err(error.exit_code())
        }
    }
}

/// Says whether what goes to a stream is coloured: on a terminal, unless `NO_COLOR`
/// (no-color.org) or git's `color.ui` (git-config(1)) forbids it.
pub fn paint_on(stream: &impl IsTerminal) -> Paint {
    let is_forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    if stream.is_terminal() && !is_forbidden && !is_dumb && Git::wants_colour() {
        Paint::Colour
    } else {
        Paint::Plain
    }
}

/// Writes a text that is not an answer in several forms.
pub fn write_text(text: &str) -> ExitCode {
    match write_answer(text.as_bytes()) {
        Ok(()) => ExitCode::Success,
        Err(failed) => failed,
    }
}

/// True if the progress of a long copy is drawn.
pub fn draws_progress(cli: &Cli) -> bool {
    let copies = matches!(cli.command, Command::Add(_) | Command::Sync(_));
    copies && !cli.common.quiet && std::io::stderr().is_terminal()
}
