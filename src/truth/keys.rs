//! Says what a changed setting of git means: whether a program can run by it, or something is
//! hidden; pure.

use crate::config::settings::is_users_only;
use crate::judge::change::Cause;

/// Holds settings that mean the same.
struct KeyGroup {
    /// The first parts of their keys.
    sections: &'static [&'static str],
    /// The last parts of their keys.
    names: KeyNames,
}

/// Says which last parts of keys are meant.
enum KeyNames {
    Any,
    Of(&'static [&'static str]),
}

impl KeyGroup {
    fn has(&self, section: &str, name: &str) -> bool {
        let has_name = match self.names {
            KeyNames::Any => true,
            KeyNames::Of(names) => names.contains(&name),
        };
        has_name && self.sections.contains(&section)
    }
}

/// Settings by which git starts a program, or reads more settings (git-config(1)).
const RUNS_CODE: &[KeyGroup] = &[
    KeyGroup {
        sections: &["core"],
        names: KeyNames::Of(&[
            "hookspath",
            "fsmonitor",
            "sshcommand",
            "editor",
            "pager",
            "askpass",
            "gitproxy",
            "alternaterefscommand",
        ]),
    },
    KeyGroup {
        sections: &[
            "alias",
            "pager",
            "hook",
            "include",
            "includeif",
            "protocol",
            "unreadable",
        ],
        names: KeyNames::Any,
    },
    KeyGroup {
        sections: &["filter"],
        names: KeyNames::Of(&["clean", "smudge", "process", "required"]),
    },
    KeyGroup {
        sections: &["diff"],
        names: KeyNames::Of(&["external", "command", "textconv"]),
    },
    KeyGroup {
        sections: &[
            "merge",
            "mergetool",
            "difftool",
            "browser",
            "man",
            "guitool",
            "trailer",
            "tar",
        ],
        names: KeyNames::Of(&["driver", "cmd", "command", "path"]),
    },
    KeyGroup {
        sections: &["credential", "gpg", "sequence", "interactive"],
        names: KeyNames::Of(&[
            "helper",
            "program",
            "editor",
            "difffilter",
            "defaultkeycommand",
        ]),
    },
    KeyGroup {
        sections: &["gc", "uploadpack"],
        names: KeyNames::Of(&["recentobjectshook", "packobjectshook"]),
    },
    KeyGroup {
        sections: &["remote"],
        names: KeyNames::Of(&["uploadpack", "receivepack", "vcs", "proxy"]),
    },
    KeyGroup {
        sections: &["submodule"],
        names: KeyNames::Of(&["update"]),
    },
    // with a line break in it, a rebase takes what follows for a step (git-rebase(1), `exec`)
    KeyGroup {
        sections: &["rebase"],
        names: KeyNames::Of(&["instructionformat"]),
    },
    KeyGroup {
        sections: &["svn"],
        names: KeyNames::Of(&["authorsprog"]),
    },
    KeyGroup {
        sections: &["imap"],
        names: KeyNames::Of(&["tunnel"]),
    },
    KeyGroup {
        sections: &["lfs"],
        names: KeyNames::Of(&["path", "clean", "smudge"]),
    },
    KeyGroup {
        sections: &["init", "sendemail"],
        names: KeyNames::Of(&[
            "templatedir",
            "sendmailcmd",
            "tocmd",
            "cccmd",
            "headercmd",
            "smtpserver",
        ]),
    },
    KeyGroup {
        sections: &["web", "help", "instaweb"],
        names: KeyNames::Of(&["browser", "httpd"]),
    },
    KeyGroup {
        sections: &["agentwt"],
        names: KeyNames::Of(&["client", "opener"]),
    },
];

/// Settings on which depends what git reports of a worktree.
const HIDES: &[KeyGroup] = &[
    KeyGroup {
        sections: &["status", "fsck", "grep", "log", "blame", "attr"],
        names: KeyNames::Any,
    },
    KeyGroup {
        sections: &["diff", "submodule"],
        names: KeyNames::Of(&["ignoresubmodules", "ignore"]),
    },
    KeyGroup {
        sections: &["core"],
        names: KeyNames::Of(&[
            "filemode",
            "checkstat",
            "trustctime",
            "ignorestat",
            "ignorecase",
            "symlinks",
            "excludesfile",
            "attributesfile",
            "worktree",
            "bare",
            "autocrlf",
            "eol",
            "safecrlf",
            "quotepath",
            "precomposeunicode",
            "logallrefupdates",
            "usereplacerefs",
            "commitgraph",
            "alternaterefsprefixes",
        ]),
    },
];

/// Returns what a change of a key means, by its new value: empty where the setting was removed,
/// none if the value is not known.
pub fn cause_of(key: &str, value: Option<&str>) -> Cause {
    let (section, rest) = key.split_once('.').unwrap_or((key, ""));
    let name = rest.rsplit('.').next().unwrap_or(rest);
    let is_command = ["command", "cmd", "hook"]
        .iter()
        .any(|end| name.ends_with(end));
    if is_harmless(section, name, value) {
        Cause::Unknown
    } else if is_command || RUNS_CODE.iter().any(|group| group.has(section, name)) {
        Cause::RunsCode
    } else if HIDES.iter().any(|group| group.has(section, name)) {
        Cause::Hides
    } else if is_users_only(key) {
        Cause::Loosens
    } else {
        Cause::Unknown
    }
}

/// True if a key of the tables has a value by which no other program runs: an alias of a git
/// command, git's own file system monitor, a pager that is on or off.
fn is_harmless(section: &str, name: &str, value: Option<&str>) -> bool {
    const SWITCH: [&str; 9] = ["", "true", "false", "yes", "no", "on", "off", "1", "0"];
    let Some(value) = value.map(str::to_ascii_lowercase) else {
        return false;
    };
    match section {
        "alias" => !value.trim_start().starts_with('!'),
        "pager" => SWITCH.contains(&&*value),
        "core" => name == "fsmonitor" && SWITCH.contains(&&*value),
        _any => false,
    }
}

/// Returns the remote of a key that says where it is and what is fetched from there.
pub fn remote_of(key: &str) -> Option<&str> {
    let (remote, name) = key.strip_prefix("remote.")?.rsplit_once('.')?;
    matches!(name, "url" | "fetch" | "pushurl").then_some(remote)
}

/// Words in the keys of settings that may hold a password.
const SECRETS: [&str; 6] = [
    "credential",
    "extraheader",
    "pass",
    "token",
    "secret",
    "cookie",
];

/// True if a value may be shown: not a password, and short enough for a line.
pub fn may_show(key: &str, value: &str) -> bool {
    let lower_key = key.to_ascii_lowercase();
    // as in `https://user:password@host`
    let has_login = value
        .split_once("://")
        .and_then(|(_, rest)| rest.split('/').next())
        .is_some_and(|host| host.contains('@'));
    let may_be_secret = SECRETS.iter().any(|word| lower_key.contains(word));
    !has_login && value.len() <= 200 && !may_be_secret
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_says_what_its_change_means() {
        for (key, value, cause) in [
            ("core.hookspath", "", Cause::RunsCode),
            ("core.sshcommand", "", Cause::RunsCode),
            ("filter.lfs.clean", "", Cause::RunsCode),
            ("alias.st", "!rm", Cause::RunsCode),
            ("alias.st", "status", Cause::Unknown),
            ("pager.log", "less", Cause::RunsCode),
            ("pager.log", "false", Cause::Unknown),
            ("core.fsmonitor", "true", Cause::Unknown),
            ("core.fsmonitor", "/tmp/x", Cause::RunsCode),
            ("core.untrackedcache", "true", Cause::Unknown),
            ("core.sparsecheckout", "true", Cause::Unknown),
            ("includeif.gitdir:/x/.path", "x", Cause::RunsCode),
            ("remote.origin.uploadpack", "x", Cause::RunsCode),
            ("credential.https://a.b/.helper", "x", Cause::RunsCode),
            ("submodule.lib.update", "x", Cause::RunsCode),
            ("gc.recentobjectshook", "x", Cause::RunsCode),
            ("gpg.ssh.defaultkeycommand", "x", Cause::RunsCode),
            ("imap.tunnel", "x", Cause::RunsCode),
            ("rebase.instructionformat", "%s\nexec x", Cause::RunsCode),
            ("svn.authorsprog", "x", Cause::RunsCode),
            ("annex.a-new-command", "x", Cause::RunsCode),
            ("lfs.customtransfer.a.path", "x", Cause::RunsCode),
            ("agentwt.client", "codex", Cause::RunsCode),
            ("agentwt.fence", "none", Cause::Loosens),
            ("agentwt.base", "x", Cause::Unknown),
            ("core.filemode", "false", Cause::Hides),
            ("core.checkstat", "minimal", Cause::Hides),
            ("diff.ignoresubmodules", "all", Cause::Hides),
            ("submodule.lib.ignore", "all", Cause::Hides),
            ("user.name", "x", Cause::Unknown),
            ("gc.auto", "0", Cause::Unknown),
            ("branch.main.merge", "x", Cause::Unknown),
            ("remote.origin.url", "x", Cause::Unknown),
            ("submodule.lib.url", "x", Cause::Unknown),
        ] {
            assert_eq!(cause_of(key, Some(value)), cause, "{key}={value}");
        }
        assert_eq!(cause_of("alias.st", None), Cause::RunsCode, "it is unknown");
    }

    #[test]
    fn what_may_be_a_password_is_not_shown() {
        for (key, value, expected) in [
            ("user.email", "a@b.c", true),
            ("remote.origin.url", "https://example.org/a@b", true),
            ("remote.origin.url", "ssh://git@example.org/x", false),
            ("http.https://a/.extraheader", "Authorization: x", false),
            ("credential.helper", "store", false),
            ("imap.pass", "x", false),
        ] {
            assert_eq!(may_show(key, value), expected, "{key}={value}");
        }
    }
}
