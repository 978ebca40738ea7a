//! Reads what the user wants of a fence: options, then the user's own settings of git, then the
//! repository's configuration and the config.
//!
//! An agent can write the last two. So what they say only counts where it narrows: a stronger fence, less
//! network, limits of a container. What would widen (`rw`) or start an image counts from the command line
//! or from `git config --global` only.

use std::ffi::OsString;
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};

use crate::commands::Session;
use crate::commands::exec::arguments::FenceOptions;
use crate::config::value::{Choice as _, Fence, Net};
use crate::config::{FenceConfig, Located};
use crate::disk::files;
use crate::fence::policy::{ContainerWishes, Wishes};
use crate::fence::presets::{Preset, StandIn, Surroundings};
use crate::fence::probe::container_program;
use crate::refusal::Refusal;
use crate::system::environment;
use crate::words::error::Error;
use crate::words::path::{escape_for_terminal, shell_word};
use crate::worktree::settings::{GitSettings, Loaded};

/// Holds what is asked for.
pub(super) struct Asked {
    /// The fence.
    pub fence: Fence,
    /// What the policy is made with.
    pub wishes: Wishes,
    /// The directories of presets, which are made where they are missing.
    pub made: Vec<Utf8PathBuf>,
    /// The directories in whose place clients get others.
    pub stand_ins: Vec<StandIn>,
    /// What of the config does not count.
    pub notes: Vec<String>,
}

/// Reads it.
///
/// # Errors
/// Fails when a value is none that is known.
pub(super) fn read(
    session: &Session,
    loaded: &Loaded,
    options: &FenceOptions,
    command: &[OsString],
    start: &Utf8Path,
    worktrees: &[Utf8PathBuf],
) -> Result<Asked, Error> {
    let own = &loaded.git_settings;
    let config = &loaded.config.fence;
    let mut notes = own.notes(&["agentwt.rw", "agentwt.socket"]);
    let uncounted = |what: &str, setting: &str, value: &str| {
        let value = shell_word(value);
        format!(
            "{what} of the config does not count, as an agent can change it; to allow it: git \
                config --global {setting} {value}"
        )
    };
    let (fence, weak) = fence(options, own, config, &mut notes)?;
    notes.extend(weak.map(|weak| uncounted("the fence", "agentwt.fence", weak)));
    let net = net(options, own, config, &mut notes)?;
    let paths = |given: &[Utf8PathBuf], key: &str, option| -> Result<Vec<Utf8PathBuf>, Error> {
        let mut paths = Vec::new();
        for path in given {
            let typed = session.resolve(path);
            let known = "the path of something that is there";
            files::canonical(&typed).map_err(|_| unknown(option, path.as_str(), known))?;
            paths.push(typed);
        }
        paths.extend(
            own.all(key)
                .into_iter()
                .map(|path| from_home(session, path)),
        );
        Ok(paths)
    };
    let mut rw = paths(&options.rw, "agentwt.rw", "--rw")?;
    let sockets = paths(&options.socket, "agentwt.socket", "--socket")?;
    for path in &config.rw {
        let wanted = from_home(session, &path.value);
        if !rw.contains(&wanted) {
            notes.push(uncounted("`rw`", "--add agentwt.rw", &path.value));
        }
    }
    let image = options.image.clone();
    if image.is_none() {
        notes.extend(own.notes(&["agentwt.image"]));
    }
    let image = image.or_else(|| own.last("agentwt.image").map(ToOwned::to_owned));
    if let (None, Some(image)) = (&image, &config.container.image) {
        notes.push(uncounted("the image", "agentwt.image", &image.value));
    }
    let mut made = Vec::new();
    let mut stand_ins = Vec::<StandIn>::new();
    for preset in presets(options, command)? {
        let paths = preset.paths(Surroundings {
            home: &home(),
            start,
            variable: &variable,
        });
        rw.extend(paths.rw);
        made.extend(paths.made);
        let is_new = |one: &StandIn| !stand_ins.contains(one);
        let new: Vec<StandIn> = paths.stand_ins.into_iter().filter(is_new).collect();
        stand_ins.extend(new);
    }
    // an image has none of the home directory
    let shown = stand_ins.iter().filter(|_| image.is_some());
    let mut read_only: Vec<Utf8PathBuf> = shown.map(|one| one.directory.clone()).collect();
    // a fence has a `/tmp` of its own, and a home directory there is to be seen
    let mut covering = ["/tmp", "/run", "/dev"].iter();
    let covered = covering.any(|place| home().starts_with(place));
    read_only.extend((covered && image.is_none()).then(home));
    let value = |given: &Option<Located<String>>| given.as_ref().map(|given| given.value.clone());
    let program = (fence == Fence::Container).then(container_program);
    let container = ContainerWishes {
        image,
        memory: value(&config.container.memory),
        cpus: config.container.cpus,
        user: value(&config.container.user),
        program: program.unwrap_or_default(),
    };
    // at landlock, every command may write in the last
    let places = [worktrees, &rw, &[home(), "/dev/shm".into()]].concat();
    let wishes = Wishes {
        net,
        sockets: resolved(&sockets, &places, &mut notes),
        rw: resolved(&rw, &places, &mut notes),
        // a link is not protected, and a command can replace it
        read_only: resolved(&read_only, &places, &mut Vec::new()),
        nested: options.nested,
        withholds: options.withhold,
        strict: options.strict,
        container,
    };
    Ok(Asked {
        fence,
        wishes,
        made: resolved(&made, &places, &mut Vec::new()),
        stand_ins,
        notes,
    })
}

/// Where the paths are, without those at which an earlier command can have put a link: the last part of each, and
/// all below one of these `places`, that are or were writable.
fn resolved(
    paths: &[Utf8PathBuf],
    places: &[Utf8PathBuf],
    notes: &mut Vec<String>,
) -> Vec<Utf8PathBuf> {
    let join =
        |above: Utf8PathBuf, below: &Utf8Path| below.iter().fold(above, |to, name| to.join(name));
    // what is missing is where its directory is
    let find = |path: &Utf8Path| {
        let there = path.ancestors().find(|one: &&Utf8Path| files::exists(one));
        let there = there.unwrap_or(path);
        let to = files::canonical(there).ok()?;
        Some(join(to, path.strip_prefix(there).unwrap_or(path)))
    };
    // where a path stands, whatever it is
    let place = |path: &Utf8Path| {
        let above = path.parent().and_then(find).unwrap_or_default();
        above.join(path.file_name().unwrap_or("/"))
    };
    let places = places.iter().filter(|_| !paths.is_empty());
    let places: Vec<_> = places.map(|path| (place(path), find(path))).collect();
    let is_below = |path: &&Utf8Path| {
        let at = place(path);
        let is_in = |to: &Utf8PathBuf| at.starts_with(to);
        let mut places = places.iter();
        places.any(|(other, to)| at != *other && to.as_ref().is_some_and(is_in))
    };
    let mut all = Vec::new();
    for path in paths {
        let top = path.ancestors().filter(is_below).last().unwrap_or(path);
        let plain = join(place(top), path.strip_prefix(top).unwrap_or(path));
        let leads = find(path).unwrap_or_else(|| "its target".into());
        if leads == plain {
            all.push(plain);
        } else {
            notes.push(format!(
                "{path} is not followed, as a command can have made the link; if \
                you made it, name {leads}"
            ));
        }
    }
    all
}

/// The presets that are named, and that of the program.
fn presets(options: &FenceOptions, command: &[OsString]) -> Result<Vec<Preset>, Error> {
    let find = |name: &String| {
        Preset::of(Path::new(name)).ok_or_else(|| {
            let known: Vec<&str> = Preset::all().map(|preset| preset.program).collect();
            let known = format!("{}, or give a path: --rw <path>", known.join(", "));
            unknown("--preset", name, &known)
        })
    };
    let mut all: Vec<Preset> = options.preset.iter().map(find).collect::<Result<_, _>>()?;
    let program = command.first().map(Path::new);
    all.extend(program.and_then(Preset::of));
    Ok(all)
}

/// The fence: the option, the user's setting, or what the repository's configuration or the config names, where that
/// enforces something; with it the word in the config that does not count.
fn fence(
    options: &FenceOptions,
    own: &GitSettings,
    config: &FenceConfig,
    notes: &mut Vec<String>,
) -> Result<(Fence, Option<&'static str>), Error> {
    const KEY: &str = "agentwt.fence";
    let given = options.fence.clone();
    // the host's own files are no image
    let container = || Fence::Container.as_str().to_owned();
    let given = given.or_else(|| options.image.as_ref().map(|_| container()));
    let users = given.or_else(|| own.last(KEY).map(ToOwned::to_owned));
    if let Some(word) = users {
        if options.fence.is_none() && options.image.is_none() {
            notes.extend(own.notes(&[KEY]));
        }
        let known = Fence::words().join(", ");
        let fence = Fence::parse(&word).ok_or_else(|| unknown(KEY, &word, &known))?;
        return Ok((fence, None));
    }
    let wanted = own.uncounted(KEY).and_then(Fence::parse);
    if let Some(strict @ (Fence::Mount | Fence::Container)) = wanted {
        return Ok((strict, None));
    }
    notes.extend(own.notes(&[KEY]));
    Ok(match config.kind.as_ref().map(|kind| kind.value) {
        Some(weak @ (Fence::None | Fence::Perms)) => (Fence::Auto, Some(weak.as_str())),
        Some(kind @ (Fence::Mount | Fence::Container)) => (kind, None),
        // `auto` takes what is stronger, where it works
        Some(Fence::Landlock | Fence::Seatbelt | Fence::Auto) | None => (Fence::Auto, None),
    })
}

/// The network: the option or the user's setting; the repository's configuration and the config may only take some
/// of it away.
fn net(
    options: &FenceOptions,
    own: &GitSettings,
    config: &FenceConfig,
    notes: &mut Vec<String>,
) -> Result<Net, Error> {
    const KEY: &str = "agentwt.net";
    let given = options.net.as_deref().map(|text| ("--net", text));
    let given = given.or_else(|| own.last(KEY).map(|text| (KEY, text)));
    let parse = |(by, text): (&'static str, &str)| {
        let net = Net::parse(text);
        net.ok_or_else(|| unknown(by, text, "host, none, or ports:443,22"))
    };
    let mut net = given.map(parse).transpose()?.unwrap_or(Net::Host);
    if let (None, Some(text)) = (&options.net, own.uncounted(KEY)) {
        match Net::parse(text).filter(|wanted| wanted.is_within(&net)) {
            Some(wanted) => net = wanted,
            None => notes.extend(own.notes(&[KEY])),
        }
    }
    let wanted = config.net.as_ref().and_then(|net| Net::parse(&net.value));
    let wanted = wanted.filter(|wanted| wanted.is_within(&net));
    Ok(wanted.unwrap_or(net))
}

fn unknown(by: &'static str, text: &str, known: &str) -> Error {
    let text = escape_for_terminal(text.as_bytes());
    let known = known.to_owned();
    Refusal::UnknownFenceValue { by, text, known }.into()
}

/// A variable of the environment, if it is text.
fn variable(name: &str) -> Option<String> {
    environment::variable(name)?.into_string().ok()
}

fn home() -> Utf8PathBuf {
    variable("HOME").map_or_else(|| "/nonexistent".into(), Into::into)
}

/// A path of a setting: `~/` is the user's home directory (git-config(1), "pathname").
fn from_home(session: &Session, path: &str) -> Utf8PathBuf {
    let below = path.strip_prefix("~/").map(|rest| home().join(rest));
    below.unwrap_or_else(|| session.resolve(path.into()))
}
