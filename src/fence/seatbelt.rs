//! Renders a policy as a profile of the sandbox of macOS, for `/usr/bin/sandbox-exec -p`.
//!
//! Of the plain filters that match, the last one decides, so the profile goes from the wide to the
//! narrow. (A `require-all` was seen to win against a later plain filter: there is none here.) A
//! pattern is a regular expression, so that new files are judged as the scope judges them. All
//! paths are canonical (`/private/tmp`, not `/tmp`): the kernel compares what a path resolves to.

use bstr::ByteSlice as _;
use camino::{Utf8Path, Utf8PathBuf};

use crate::config::value::Net;
use crate::fence::policy::Policy;
use crate::scope::reach::quote_for_regex;

/// Devices that every program may write.
const DEVICES: &str = "(literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\") \
     (literal \"/dev/ptmx\") (regex #\"^/dev/ttys[0-9]+$\") (literal \"/dev/dtracehelper\")";
/// The resolver of names, which is reached by a Unix socket.
const RESOLVER: &str = "/private/var/run/mDNSResponder";

/// The profile.
pub fn profile(policy: &Policy) -> String {
    let mut lines = vec!["(version 1)".to_owned(), "(allow default)".to_owned()];
    lines.push("(deny signal (target others))".to_owned());
    // it starts programs outside of the sandbox
    let launcher = "com.apple.coreservices.launchservicesd";
    lines.push(format!("(deny mach-lookup (global-name \"{launcher}\"))"));
    add_network(policy, &mut lines);
    add_writing(policy, &mut lines);
    add_reading(policy, &mut lines);
    lines.push(String::new());
    lines.join("\n")
}

/// Which connections are allowed.
fn add_network(policy: &Policy, lines: &mut Vec<String>) {
    let request = &policy.request;
    match &request.net {
        Net::Host => lines.push("(deny network-outbound (remote unix-socket))".to_owned()),
        Net::None => lines.push("(deny network*)".to_owned()),
        Net::Ports(ports) => {
            lines.push("(deny network*)".to_owned());
            for port in ports {
                lines.push(format!(
                    "(allow network-outbound (remote tcp \"*:{port}\"))"
                ));
            }
        }
    }
    let mut sockets = Vec::new();
    if request.net != Net::None {
        sockets.push(Utf8Path::new(RESOLVER));
    }
    sockets.extend(request.sockets.iter().map(Utf8PathBuf::as_path));
    for socket in sockets {
        lines.push(format!("(allow network-outbound {})", literal(socket)));
    }
}

/// What can be written: later lines win, so the order matters.
fn add_writing(policy: &Policy, lines: &mut Vec<String>) {
    let places = &policy.places;
    let request = &policy.request;
    lines.push("(deny file-write*)".to_owned());
    lines.push(allow_writing(DEVICES));
    let (in_repository, elsewhere): (Vec<_>, Vec<_>) = request
        .rw
        .iter()
        .partition(|path| path.starts_with(&places.common_dir) || path.starts_with(&places.root));
    // `Policy::unable` refuses what is around the repository or the worktree: these are denied again,
    // should one come, and what is in them is opened after that
    for path in elsewhere {
        lines.push(allow_writing(&subpath(path)));
    }
    for path in [&places.common_dir, &places.root] {
        lines.push(deny_writing(&subpath(path)));
    }
    for path in in_repository {
        lines.push(allow_writing(&subpath(path)));
    }
    for path in &request.read_only {
        lines.push(deny_writing(&subpath(path)));
    }
    for path in policy.own_directories() {
        lines.push(allow_writing(&subpath(&path)));
    }
    add_scope(policy, lines);
    for name in [".agentwt", ".git"] {
        lines.push(deny_writing(&subpath(&places.root.join(name))));
    }
}

/// The patterns of the scope, and the directories of ignored output.
fn add_scope(policy: &Policy, lines: &mut Vec<String>) {
    let root = quote_for_regex(policy.places.root.as_str());
    for path in &policy.ignored {
        let regex = quote_for_regex(&path.as_bstr().to_str_lossy());
        lines.push(allow_writing(&regex_filter(&format!("^{root}/{regex}/"))));
    }
    for regex in &policy.write_regexes {
        lines.push(allow_writing(&regex_filter(&format!("^{root}/{regex}$"))));
    }
    for regex in &policy.exclude_regexes {
        lines.push(deny_writing(&regex_filter(&format!("^{root}/{regex}$"))));
    }
}

/// What cannot be read.
fn add_reading(policy: &Policy, lines: &mut Vec<String>) {
    let places = &policy.places;
    for path in policy.hidden_outside_repository() {
        lines.push(deny_reading(path));
    }
    for path in &places.withheld {
        lines.push(deny_reading(path));
    }
    for path in policy.readable_in_git() {
        lines.push(allow_reading(path));
    }
    lines.push(allow_reading(&places.binary));
    for path in &places.shown {
        lines.push(allow_reading(path));
    }
    for path in policy.hidden_in_repository() {
        lines.push(deny_reading(path));
    }
    lines.push(allow_reading(&places.root));
}

fn allow_writing(filter: &str) -> String {
    format!("(allow file-write* {filter})")
}

fn deny_writing(filter: &str) -> String {
    format!("(deny file-write* {filter})")
}

fn allow_reading(path: &Utf8Path) -> String {
    format!("(allow file-read-data {})", subpath(path))
}

fn deny_reading(path: &Utf8Path) -> String {
    format!("(deny file-read-data {})", subpath(path))
}

fn subpath(path: &Utf8Path) -> String {
    format!("(subpath {})", string(path.as_str()))
}

fn literal(path: &Utf8Path) -> String {
    format!("(literal {})", string(path.as_str()))
}

/// A string of the language, a dialect of Scheme.
fn string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}

/// A regular expression: raw where it can be, because a raw string has no way to say a quote.
fn regex_filter(regex: &str) -> String {
    if regex.contains('"') {
        format!("(regex {})", string(regex))
    } else {
        format!("(regex #\"{regex}\")")
    }
}
