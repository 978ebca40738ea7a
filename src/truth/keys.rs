//! Says what a changed setting of git means: whether a program can run by it, or something is hidden;
//! pure.

use crate::config::settings::is_users_only;
use crate::judge::change::Cause;

/// Settings by which git starts a program, or reads more settings (git-config(1)): in each line
/// sections, and the last parts of their keys.
const RUNS_CODE: &str = "\
core: hookspath fsmonitor sshcommand editor pager askpass gitproxy alternaterefscommand
alias pager hook include includeif protocol unreadable: *
filter: clean smudge process required
diff: external command textconv
merge mergetool difftool browser man guitool trailer tar: driver cmd command path
credential gpg sequence interactive: helper program editor difffilter defaultkeycommand
gc uploadpack: recentobjectshook packobjectshook
remote: uploadpack receivepack vcs proxy
submodule: update
imap: tunnel
lfs: path clean smudge
init sendemail: templatedir sendmailcmd tocmd cccmd headercmd smtpserver
web help instaweb: browser httpd
agentwt: client opener";

/// Settings on which depends what git reports of a worktree.
const HIDES: &str = "\
status fsck grep log blame attr: *
diff submodule: ignoresubmodules ignore
core: filemode checkstat trustctime ignorestat ignorecase symlinks excludesfile attributesfile
core: worktree bare autocrlf eol safecrlf quotepath
core: precomposeunicode logallrefupdates usereplacerefs commitgraph alternaterefsprefixes";

/// What a change of a key means, by its new value: empty where the setting was removed, none where
/// the value is not known.
pub fn cause_of(key: &str, value: Option<&str>) -> Cause {
    let (section, rest) = key.split_once('.').unwrap_or((key, ""));
    let last = rest.rsplit('.').next().unwrap_or(rest);
    let has = |words: &str, word: &str| words.split(' ').any(|one| one == word || one == "*");
    let is_in = |table: &str| {
        let mut rows = table.lines().filter_map(|line| line.split_once(": "));
        rows.any(|(sections, parts)| has(sections, section) && has(parts, last))
    };
    if is_harmless(section, last, value) {
        Cause::Unknown
    } else if is_in(RUNS_CODE)
        || ["command", "cmd", "hook"]
            .iter()
            .any(|end| last.ends_with(end))
    {
        Cause::RunsCode
    } else if is_in(HIDES) {
        Cause::Hides
    } else if is_users_only(key) {
        Cause::Loosens
    } else {
        Cause::Unknown
    }
}

/// Whether a key of the tables has a value by which no other program runs: an alias of a git command,
/// git's own file system monitor, a pager that is on or off.
fn is_harmless(section: &str, last: &str, value: Option<&str>) -> bool {
    const SWITCH: [&str; 9] = ["", "true", "false", "yes", "no", "on", "off", "1", "0"];
    let Some(value) = value.map(str::to_ascii_lowercase) else {
        return false;
    };
    match section {
        "alias" => !value.trim_start().starts_with('!'),
        "pager" => SWITCH.contains(&&*value),
        "core" => last == "fsmonitor" && SWITCH.contains(&&*value),
        _any => false,
    }
}

/// The remote of a key that says where it is and what is fetched from there.
pub fn remote_of(key: &str) -> Option<&str> {
    let (name, last) = key.strip_prefix("remote.")?.rsplit_once('.')?;
    matches!(last, "url" | "fetch" | "pushurl").then_some(name)
}

/// Whether a value may be shown: not a password, and short enough for a line.
pub fn may_show(key: &str, value: &str) -> bool {
    const SECRETS: &str = "credential extraheader pass token secret cookie";
    let key = key.to_ascii_lowercase();
    // as in `https://user:password@host`
    let url = value.split_once("://");
    let host = url.and_then(|(_, rest)| rest.split('/').next());
    let has_login = host.is_some_and(|host| host.contains('@'));
    !has_login && value.len() <= 200 && !SECRETS.split(' ').any(|one| key.contains(one))
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
