//! Holds the committed man pages against the definitions, and against man itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::skipped;
use clap::CommandFactory;
use git_agentwt::cli::Cli;
use git_agentwt::cli::man::Page;
use git_agentwt::cli::man::pages;
use git_agentwt::output::schema::man_section;
use git_agentwt::output::schema::schemas;
use git_agentwt::words::exit::ExitCode;

fn man_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("man")
}

/// The pages as they should be, with the sections in `man/sections`.
#[must_use]
#[track_caller]
fn current_pages() -> Vec<Page> {
    let sections = |name: &str| {
        let path = man_directory().join(format!("sections/{name}.roff"));
        fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{} cannot be read: {error}", path.display()))
    };
    pages(sections, man_section)
}

#[test]
fn the_schemas_are_current_and_describe_every_key() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema");
    for (name, schema) in schemas() {
        let file = directory.join(format!("{name}.json"));
        let text = serde_json::to_string_pretty(&schema).expect("it is JSON") + "\n";
        if std::env::var_os("UPDATE_MAN").is_some() {
            fs::create_dir_all(&directory).expect("docs/ can be written");
            fs::write(&file, &text).expect("docs/schema can be written");
        }
        let found = fs::read_to_string(&file).unwrap_or_default();
        assert!(found == text, "{name}.json is not current: UPDATE_MAN=1");
        let section = man_section(name);
        let mut lines = section.lines();
        while let Some(line) = lines.next() {
            if let Some(key) = line.strip_prefix(".B ").filter(|key| *key != "\\-\\-json") {
                let description = lines.next().unwrap_or_default();
                assert!(
                    !description.is_empty() && !description.starts_with('.'),
                    "{name}: {key} has no description"
                );
            }
        }
    }
}

/// A page as a reader sees it, or none if man is not installed.
#[must_use]
#[track_caller]
fn rendered(path: &Path) -> Option<String> {
    let output = Command::new("man")
        .args(["--warnings", "-l", "-Tutf8"])
        .arg(path)
        .env("MANWIDTH", "200")
        .env("LC_ALL", "C.UTF-8")
        .env_remove("MAN_KEEP_FORMATTING")
        .stdin(Stdio::null())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            skipped("man: sudo apt-get install man-db");
            return None;
        }
        Err(error) => panic!("man cannot be started: {error}"),
    };
    let problems = String::from_utf8_lossy(&output.stderr);
    assert!(problems.is_empty(), "{}: {problems}", path.display());
    assert!(output.status.success(), "{}", path.display());
    Some(without_overstriking(&String::from_utf8_lossy(
        &output.stdout,
    )))
}

/// With a device given, man prints bold as a letter, a backspace and the letter again.
fn without_overstriking(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter == '\u{8}' {
            out.pop();
        } else {
            out.push(letter);
        }
    }
    out
}

#[test]
fn man_pages_are_current() {
    let directory = man_directory();
    let wanted = current_pages();
    if std::env::var_os("UPDATE_MAN").is_some() {
        for page in &wanted {
            fs::write(directory.join(&page.file), &page.text).expect("man/ can be written");
        }
    }
    for page in &wanted {
        let found = fs::read_to_string(directory.join(&page.file)).unwrap_or_default();
        assert!(
            found == page.text,
            "man/{} is not current: run UPDATE_MAN=1 cargo test --test it man_pages_are_current",
            page.file
        );
    }
    let wanted: BTreeSet<String> = wanted.into_iter().map(|page| page.file).collect();
    let found = fs::read_dir(&directory).expect("man/ is there");
    let found: BTreeSet<String> = found
        .filter_map(Result::ok)
        .filter(|entry| entry.path().is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(found, wanted, "man/ has these pages and no others");
}

#[test]
fn man_shows_every_page_without_a_warning() {
    for page in current_pages() {
        if let Some(text) = rendered(&man_directory().join(&page.file)) {
            assert!(text.contains("SEE ALSO"), "{}", page.file);
        }
    }
}

#[test]
fn every_flag_stands_in_the_page_of_its_command() {
    let mut root = Cli::command();
    root.build();
    let pages = current_pages();
    let page_of = |name: &str| {
        let file = format!("{name}.1");
        let page = pages.iter().find(|page| page.file == file);
        page.unwrap_or_else(|| panic!("{file} is missing"))
            .text
            .replace("\\fB", "")
            .replace("\\fR", "")
            .replace("\\-", "-")
    };
    let commands = root.get_subcommands().filter(|c| !c.is_hide_set());
    for (command, name) in commands
        .map(|c| (c, format!("git-agentwt-{}", c.get_name())))
        .chain([(&root, "git-agentwt".to_owned())])
    {
        let page = page_of(&name);
        for command in std::iter::once(command)
            .chain(command.get_subcommands())
            .filter(|c| !c.is_hide_set())
        {
            if name == "git-agentwt" && command.get_name() != "git-agentwt" {
                continue;
            }
            for argument in command.get_arguments() {
                let long = argument.get_long().map(|long| format!("--{long}"));
                let short = argument.get_short().map(|short| format!("-{short}"));
                for flag in long.into_iter().chain(short) {
                    assert!(page.contains(&flag), "{flag} is not in {name}(1)");
                }
            }
        }
    }
}

#[test]
fn every_exit_code_stands_in_the_main_page_and_in_the_help() {
    let pages = current_pages();
    let help = Cli::whole().render_long_help().to_string();
    for text in [pages[0].text.as_str(), &help] {
        let lines: Vec<&str> = text
            .lines()
            .skip_while(|line| !line.to_lowercase().contains("exit status"))
            .collect();
        // each status, with the last
        for code in (0..=8).chain([ExitCode::Incomplete.code(), ExitCode::Bug.code()]) {
            let code = code.to_string();
            let stands = lines.iter().any(|line| {
                let mut words = line.split_whitespace();
                words.next() == Some(&code) && words.next().is_some()
            });
            assert!(stands, "exit code {code} is not explained");
        }
        assert!(lines.iter().any(|line| line.starts_with("128+n")));
    }
}

#[test]
fn see_also_names_every_page() {
    let pages = current_pages();
    for page in &pages {
        let (_, see_also) = page
            .text
            .split_once(".SH \"SEE ALSO\"")
            .unwrap_or_else(|| panic!("{} has no SEE ALSO", page.file));
        let see_also = see_also.replace("\\-", "-");
        for other in &pages {
            let (name, section) = other.file.rsplit_once('.').expect("files end in a number");
            assert!(
                see_also.contains(&format!(".BR {name} ({section})")),
                "{} does not name {}",
                page.file,
                other.file
            );
        }
    }
}
