//! Runs the commands of `docs/decisions/0011-collector.md` and compares every line.

use std::fs;
use std::path::Path;

use crate::support::TestRepo;

/// A command and the lines that it prints, as the page says.
type Step = (String, String);

/// The preparation, and the blocks of commands.
#[must_use]
fn page() -> (String, Vec<Vec<Step>>) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/decisions/0011-collector.md");
    let text = fs::read_to_string(file).expect("the page");
    let (mut setup, mut blocks) = (String::new(), Vec::new());
    for part in text.split("\n```").collect::<Vec<_>>().chunks(2) {
        let [_, fenced] = part else { continue };
        match fenced.split_once('\n') {
            Some(("sh", lines)) => lines.clone_into(&mut setup),
            Some(("console", lines)) => blocks.push(steps(lines)),
            Some(_) | None => panic!("a fence of no known kind: {fenced}"),
        }
    }
    (setup, blocks)
}

fn steps(lines: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in lines.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push((command.to_owned(), String::new())),
            (None, Some((_, output))) => output.push_str(&format!("{line}\n")),
            (None, None) => panic!("output before a command: {line}"),
        }
    }
    steps
}

#[test]
fn every_command_of_the_page_prints_what_the_page_says() {
    let (setup, blocks) = page();
    assert_eq!(blocks.len(), 10, "all blocks were read");
    for steps in blocks {
        let repo = TestRepo::empty();
        let mut script = format!("{{\n{setup}\n}} >/dev/null 2>&1\nexec 2>/dev/null\n");
        for (command, _) in &steps {
            script.push_str(&format!("echo '@step'\n{command}\n"));
        }
        let said = repo.sh(repo.root(), &script);
        let printed: Vec<&str> = said.stdout.split("@step\n").skip(1).collect();
        assert_eq!(printed.len(), steps.len(), "{said}");
        for ((command, expected), printed) in steps.iter().zip(printed) {
            assert_eq!(printed.replace('\t', "  "), *expected, "$ {command}");
        }
    }
}
