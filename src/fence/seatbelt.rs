//! Renders a policy as a profile of the sandbox of macOS, for `/usr/bin/sandbox-exec -p`.
//!
//! Of the plain filters that match, the last one decides, so the profile goes from the wide to the narrow.
//! (A `require-all` was seen to win against a later plain filter: there is none here.) A pattern is a
//! regular expression, so that new files are judged as the scope judges them. All paths are canonical
//! (`/private/tmp`, not `/tmp`): the kernel compares what a path resolves to.

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

fn add_network(policy: &Policy, lines: &mut Vec<String>) {
    let wishes = &policy.wishes;
    match &wishes.net {
        Net::Host => lines.push("(deny network-outbound (remote unix-socket))".to_owned()),
        Net::None => lines.push("(deny network*)".to_owned()),
        Net::Ports(ports) => {
            lines.push("(deny network*)".to_owned());
            let allow = |port| format!("(allow network-outbound (remote tcp \"*:{port}\"))");
            lines.extend(ports.iter().map(allow));
        }
    }
    let resolver = (wishes.net != Net::None).then_some(Utf8Path::new(RESOLVER));
    let sockets = wishes.sockets.iter().map(Utf8PathBuf::as_path);
    for socket in resolver.into_iter().chain(sockets) {
        lines.push(format!("(allow network-outbound {})", literal(socket)));
    }
}

fn add_writing(policy: &Policy, lines: &mut Vec<String>) {
    let (places, wishes) = (&policy.places, &policy.wishes);
    lines.push("(deny file-write*)".to_owned());
    let mut add = |verb: &str, filter: &str| lines.push(format!("({verb} file-write* {filter})"));
    add("allow", DEVICES);
    let repository = [&places.common_dir, &places.root];
    let is_in = |path: &Utf8Path| repository.iter().any(|place| path.starts_with(place));
    let (inside, around): (Vec<_>, Vec<_>) = wishes.rw.iter().partition(|path| is_in(path));
    let own = policy.own_directories();
    let mut add_all = |verb: &str, paths: &[&Utf8PathBuf]| {
        paths.iter().for_each(|path| add(verb, &subpath(path)));
    };
    add_all("allow", &around);
    add_all("deny", &repository);
    add_all("allow", &inside);
    add_all("deny", &Vec::from_iter(&wishes.read_only));
    add_all("allow", &Vec::from_iter(&own));
    let root = quote_for_regex(places.root.as_str());
    for path in &policy.ignored {
        let regex = quote_for_regex(&String::from_utf8_lossy(path.as_bstr()));
        add("allow", &regex_filter(&format!("^{root}/{regex}/")));
    }
    for regex in &policy.write_regexes {
        add("allow", &regex_filter(&format!("^{root}/{regex}$")));
    }
    for regex in &policy.exclude_regexes {
        add("deny", &regex_filter(&format!("^{root}/{regex}$")));
    }
    for name in [".agentwt", ".git"] {
        add("deny", &subpath(&places.root.join(name)));
    }
}

fn add_reading(policy: &Policy, lines: &mut Vec<String>) {
    let places = &policy.places;
    let mut add = |verb: &str, path: &Utf8Path| {
        lines.push(format!("({verb} file-read-data {})", subpath(path)));
    };
    let (inside, around) = policy.hidden_inside();
    around.iter().for_each(|path| add("deny", path));
    let own = [&places.common_dir, &places.binary].into_iter();
    own.chain(&places.shown).for_each(|path| add("allow", path));
    inside.iter().for_each(|path| add("deny", path));
    add("allow", &places.root);
    if policy.wishes.withholds {
        places.withheld.iter().for_each(|path| add("deny", path));
        add("allow", policy.record());
    }
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
