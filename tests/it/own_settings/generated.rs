//! Settings: files that are put together at random.

use super::{Answer, ask, text};
use crate::support::TestRepo;

const FILES: usize = 400;

/// Numbers that are the same each time (xorshift64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("it is below a limit")
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

const SECTIONS: &[&str] = &[
    "[agentwt]",
    "[AgentWT] ",
    "[agentwt \"Sub\"]",
    "[agentwt  \"a.b\"]",
    "[agentwt \"a\\\"b\"]",
    "[agentwt \"a\\b\"]",
    "[agentwt.Sub]",
    "[a.B \"c\"]",
    "[a-1]",
    "[2]",
];
const NAMES: &[&str] = &[
    "key", "KEY", " key", "\tother", "k-1", "z9", "key ", "key\t",
];
const PARTS: &[&str] = &[
    "a",
    "b c",
    "  ",
    " ",
    "\"",
    "\"\"",
    "\"x ; y\"",
    "\\n",
    "\\t",
    "\\b",
    "\\\\",
    "\\\"",
    "\\\n",
    "\\\r\n",
    "#",
    ";",
    "\u{e9}",
    "=",
    "[",
    "]",
    "true",
    "~/x",
    "/",
    "'",
    "1",
    "\r",
];
const ENDS: &[&str] = &["\n", "\n", "\n", "\r\n", " \n", "\t\n", "\n\n", "\n \t\n"];
const ODD: &[&str] = &[
    "\t", "=", "]", "[", "\"", "\\", "\\x", "\r", "\u{feff}", "1", "_", "x",
];

fn file(numbers: &mut Numbers) -> String {
    let mut text = String::from("[core]\n\trepositoryformatversion = 0\n");
    for _ in 0..numbers.below(5) {
        text.push_str(numbers.of(SECTIONS));
        text.push_str(numbers.of(&["\n", " ", "\r\n", "; why\n", ""]));
        for _ in 0..numbers.below(4) {
            text.push_str(numbers.of(NAMES));
            if numbers.below(8) > 0 {
                text.push('=');
                for _ in 0..numbers.below(6) {
                    text.push_str(numbers.of(PARTS));
                }
            }
            text.push_str(numbers.of(ENDS));
        }
    }
    // one in four has something in it that belongs nowhere
    if numbers.below(4) == 0 {
        let mut at = numbers.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        text.insert_str(at, numbers.of(ODD));
    }
    if numbers.below(6) == 0 {
        text.truncate(text.trim_end().len());
    }
    text
}

#[test]
fn files_at_random_are_read_as_git_reads_them() {
    let repo = TestRepo::empty();
    let mut numbers = Numbers(0x5eed_0006);
    let mut questions = Vec::new();
    for number in 0..FILES {
        let git_dir = repo.root().join(format!("r{number}"));
        for part in ["objects", "refs"] {
            std::fs::create_dir_all(git_dir.join(part)).expect("a directory");
        }
        std::fs::write(git_dir.join("HEAD"), "ref: refs/heads/main\n").expect("a file");
        std::fs::write(git_dir.join("config"), file(&mut numbers)).expect("a file");
        questions.extend(["list", "typed"].map(|what| format!("{what}|{}", text(&git_dir))));
    }
    let answers = ask(&repo, &questions, |_| {});
    let lists: Vec<&Answer> = answers.iter().step_by(2).collect();
    let own = lists.iter().filter(|answer| answer.starts == 0).count();
    let readable = |answer: &&&Answer| !answer.said.starts_with("an error");
    let read = lists.iter().filter(readable).count();
    assert!(read > FILES / 2, "git reads most of these: {read}");
    assert!(
        own > read / 2,
        "and most of those are read here: {own} of {read}"
    );
}
