//! Writes the man pages: [`pages`] joins the command line definitions with hand-written sections.
//!
//! It only makes text. What the definitions know (synopsis, options, examples, exit codes) is
//! never written twice; the rest is roff in `man/sections/<page>.roff`. What stands there before
//! its first `.SH` goes on with DESCRIPTION, the rest follows OPTIONS. The pages in `man/` are
//! this output, and a test says when they are not.
//!
//! ```
//! use git_agentwt::cli::man::pages;
//! let pages = pages(|_| String::new(), |_| String::new());
//! assert!(pages.iter().any(|page| page.file == "git-agentwt-add.1"));
//! ```

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::Command;
use clap_mangen::Man;

use crate::cli::{Cli, find_verb};

/// Holds one page: the name of its file, as `man` expects it, and its roff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its file name: `git-agentwt-add.1`.
    pub file: String,
    /// Its text in roff, ended by a newline.
    pub text: String,
}

const CONFIG: &str = "git-agentwt-config";
const CONFIG_ABOUT: &str = "the config of git\\-agentwt, its variables, and what a scope is";
const OTHERS: [(&str, &str); 5] = [
    ("git", "1"),
    ("git-worktree", "1"),
    ("git-sparse-checkout", "1"),
    ("gitignore", "5"),
    ("githooks", "5"),
];

/// Returns every page: git-agentwt(1), one for each command, and git-agentwt-config(5).
///
/// `sections` returns the hand-written sections of a page, by its name without a number; `json`
/// returns the section JSON of a document, which is put before the section EXIT.
pub fn pages(sections: impl Fn(&str) -> String, json: impl Fn(&str) -> String) -> Vec<Page> {
    let root = Cli::whole();
    let mut commands = vec![("git-agentwt".to_owned(), &root)];
    for verb in root.get_subcommands() {
        if !verb.is_hide_set() {
            commands.push((page_name(verb), verb));
        }
    }
    let names = commands.iter().map(|(name, _)| name.as_str());
    let see_also = see_also(names);
    let mut pages = Vec::new();
    for (name, command) in &commands {
        // a command answers with the document of its name; git-agentwt(1) describes that of errors
        let document = name.strip_prefix("git-agentwt-").unwrap_or("error");
        let mut written = sections(name);
        let exit = written.find(".SH EXIT").unwrap_or(written.len());
        written.insert_str(exit, &json(document));
        pages.push(Page {
            file: format!("{name}.1"),
            text: page(command, name, &written) + &see_also,
        });
    }
    pages.push(Page {
        file: format!("{CONFIG}.5"),
        text: header(CONFIG, "5", CONFIG_ABOUT) + &sections(CONFIG) + &see_also,
    });
    pages
}

/// The section SEE ALSO, with the pages of these commands.
fn see_also<'n>(commands: impl Iterator<Item = &'n str>) -> String {
    let mut names: Vec<String> = Vec::new();
    for name in commands {
        names.push(format!(".BR {} (1)", escape(name)));
    }
    for (name, number) in [(CONFIG, "5")].iter().chain(&OTHERS) {
        names.push(format!(".BR {} ({number})", escape(name)));
    }
    format!(".SH \"SEE ALSO\"\n{}\n", names.join(" ,\n"))
}

/// Returns the page that a command line asks for with `--help` (not with `-h`), for a terminal
/// on which man can show it: `git-agentwt-add` for `add --help`, also by an alias.
pub fn page_asked_for(arguments: &[OsString]) -> Option<String> {
    let mut words = arguments.iter().take_while(|word| *word != "--");
    if !words.any(|word| word == "--help") {
        return None;
    }
    match arguments.get(find_verb(arguments)) {
        None => Some("git-agentwt".to_owned()),
        Some(verb) => Cli::whole()
            .find_subcommand(verb)
            .filter(|command| !command.is_hide_set())
            .map(page_name),
    }
}

fn page_name(verb: &Command) -> String {
    format!("git-agentwt-{}", verb.get_name())
}

/// One page of section 1, without SEE ALSO.
fn page(command: &Command, name: &str, sections: &str) -> String {
    let (description, rest) = match sections.find(".SH ") {
        Some(at) => sections.split_at(at),
        None => (sections, ""),
    };
    let mut out = header(name, "1", &escape(&about(command)));
    out.push_str(".SH SYNOPSIS\n");
    out.push_str(&synopsis(command));
    out.push_str(".SH DESCRIPTION\n");
    out.push_str(&long_about(command));
    out.push_str(description);
    out.push_str(&commands(command));
    out.push_str(".SH OPTIONS\n");
    out.push_str(&options(command, OptionsPlace::Page));
    out.push_str(rest);
    out.push_str(&closing(command));
    out
}

/// The title line and NAME. There is no date: a page changes with the version only.
fn header(name: &str, section: &str, about: &str) -> String {
    format!(
        ".\\\" Made from src/cli and man/sections: change those, then UPDATE_MAN=1 cargo test man\n\
         .TH \"{}\" \"{section}\" \"\" \"git\\-agentwt {}\" \"Git Agentwt Manual\"\n\
         .nh\n.ad l\n.SH NAME\n{} \\- {about}\n",
        escape(&name.to_uppercase()),
        env!("CARGO_PKG_VERSION"),
        escape(name),
    )
}

fn about(command: &Command) -> String {
    let about = command.get_about();
    about.map(ToString::to_string).unwrap_or_default()
}

/// The usage lines as the help prints them, one a line.
fn synopsis(command: &Command) -> String {
    let rendered = command.clone().render_usage().to_string();
    let usage = rendered
        .trim_start_matches("Usage:")
        .replace("[OPTIONS]", "[options]");
    let lines: Vec<_> = usage.lines().map(|line| escape(line.trim())).collect();
    format!(".nf\n{}\n.fi\n", lines.join("\n"))
}

/// The paragraphs of the long help but the first, which is NAME.
fn long_about(command: &Command) -> String {
    let about = command.get_long_about();
    let text = about.map(ToString::to_string).unwrap_or_default();
    let paragraphs = text.split("\n\n").skip(1).map(|text| escape(text.trim()));
    paragraphs.collect::<Vec<_>>().join("\n.PP\n") + "\n"
}

/// The commands of a command: with their page at the top, in full below `hooks`.
fn commands(command: &Command) -> String {
    let mut out = String::new();
    let is_top = command.get_name() == "git-agentwt";
    for inner in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        if out.is_empty() {
            out.push_str(".SH COMMANDS\n");
        }
        if is_top {
            let name = escape(&page_name(inner));
            let _ = writeln!(out, ".TP\n.BR {name} (1)\n{}", escape(&about(inner)));
            for alias in inner.get_visible_aliases() {
                let _ = writeln!(out, "(also\n.BR \"git agentwt {alias}\" )");
            }
        } else {
            let _ = writeln!(out, ".SS {}", escape(inner.get_name()));
            out.push_str(&synopsis(inner));
            let _ = writeln!(out, ".PP\n{}.", escape(&about(inner)));
            out.push_str(&options(inner, OptionsPlace::Within));
        }
    }
    out
}

/// Where the options of a command stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OptionsPlace {
    /// On a page of their own: their headings are parts of OPTIONS.
    Page,
    /// Within a page: without headings, and without the common options.
    Within,
}

/// The options and arguments as `clap_mangen` writes them, with the headings that fit the place.
fn options(command: &Command, place: OptionsPlace) -> String {
    let shown = command.clone().mut_args(|argument| {
        let is_common = argument.is_global_set() || argument.get_id() == "help";
        // the help of `--format` lists its values itself
        let is_explained = argument.get_id() == "format";
        argument
            .hide_possible_values(is_explained)
            // clap_mangen leaves out what the short help does not show
            .hide_short_help(false)
            .hide(place == OptionsPlace::Within && is_common)
    });
    let mut bytes = Vec::new();
    let written = Man::new(shown).render_options_section(&mut bytes);
    debug_assert!(written.is_ok(), "writing to memory cannot fail");
    // The string `Aq` is defined in a preamble that we do not take; `aq` is groff_char(7)'s own.
    let text = String::from_utf8_lossy(&bytes).replace("\\*(Aq", "\\(aq");
    let (_, body) = text.split_once(".SH OPTIONS\n").unwrap_or_default();
    let mut out = String::new();
    for line in body.lines() {
        let Some(heading) = line.strip_prefix(".SH ") else {
            let _ = writeln!(out, "{line}");
            continue;
        };
        if place == OptionsPlace::Page {
            let (first, rest) = heading.trim_matches('"').split_at(1);
            let _ = writeln!(out, ".SS {first}{}", rest.to_lowercase());
        }
    }
    out
}

/// The end of the long help, as it stands. A line at the left margin that ends with a colon is the
/// heading of a section.
fn closing(command: &Command) -> String {
    let text = command.get_after_long_help().map(ToString::to_string);
    let mut out = String::new();
    for line in text.unwrap_or_default().lines() {
        let _ = match line.strip_suffix(':').filter(|h| !h.starts_with(' ')) {
            Some(heading) => {
                if !out.is_empty() {
                    out.push_str(".fi\n");
                }
                writeln!(out, ".SH {}\n.nf", escape(&heading.to_uppercase()))
            }
            None => writeln!(out, "{}", escape(line.strip_prefix("  ").unwrap_or(line))),
        };
    }
    if !out.is_empty() {
        out.push_str(".fi\n");
    }
    out
}

/// Makes text safe for roff: a backslash, a dash that can be copied, and a line that would be a
/// request.
fn escape(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let lines = text.lines().map(|line| match line.as_bytes().first() {
        Some(b'.' | b'\'') => format!("\\&{line}"),
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_a_request() {
        assert_eq!(
            escape(".agentwt\n'x' \\ -n"),
            "\\&.agentwt\n\\&'x' \\e \\-n"
        );
    }

    #[test]
    fn long_help_is_a_page_and_short_help_is_not() {
        for (words, page) in [
            ("--help", Some("git-agentwt")),
            ("add --help", Some("git-agentwt-add")),
            ("-C dir rm task-5 --help", Some("git-agentwt-remove")),
            ("hooks install --help", Some("git-agentwt-hooks")),
            ("add -h", None),
            ("scope -- --help", None),
            ("hook post-commit --help", None),
            ("unknown --help", None),
        ] {
            let all = format!("git-agentwt {words}");
            let arguments: Vec<OsString> = all.split(' ').map(OsString::from).collect();
            assert_eq!(page_asked_for(&arguments).as_deref(), page, "{words}");
        }
    }

    #[test]
    fn sections_go_on_with_the_description_and_follow_the_options() {
        let sections = |name: &str| match name {
            "git-agentwt-path" => "More of it.\n.SH OUTPUT\nThe path.".to_owned(),
            _ => String::new(),
        };
        let pages = pages(sections, |_| String::new());
        let page = pages
            .iter()
            .find(|page| page.file == "git-agentwt-path.1")
            .expect("it is a command");
        let at = |needle: &str| page.text.find(needle).unwrap_or(usize::MAX);
        let order = [
            ".SH DESCRIPTION",
            "More of it.",
            ".SH OPTIONS",
            ".SH OUTPUT",
            ".SH EXAMPLES",
            ".SH \"SEE ALSO\"",
        ];
        assert!(order.map(at).is_sorted(), "{}", page.text);
        assert!(at(".SH \"SEE ALSO\"") < usize::MAX);
    }
}
