//! Reads what the user wants of a fence: options, then the user's own settings of git, then the
//! repository's configuration and the config.
//!
//! An agent can write the last two. So what they say only counts where it narrows: a stronger
//! fence, less network, limits of a container. What would widen (`rw`) or start an image counts
//! from the command line or from `git config --global` only.

use std::ffi::OsString;
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};

use crate::commands::Session;
use crate::commands::exec::arguments::FenceOptions;
use crate::config::FenceConfig;
use crate::config::value::{Choice as _, Fence, Net};
use crate::disk::files;
use crate::fence::policy::{ContainerRequest, FenceRequest};
use crate::fence::presets::{Preset, StandIn, UserEnvironment};
use crate::fence::probe::container_program;
use crate::refusal::Refusal;
use crate::system::environment;
use crate::words::error::Error;
use crate::words::path::{escape_for_terminal, shell_word};
use crate::worktree::settings::Loaded;

/// What is asked of a fence.
pub(super) struct FenceSettings {
    /// The fence.
    pub fence: Fence,
    /// What the policy is computed from.
    pub request: FenceRequest,
    /// The directories of presets, which are created where they are missing.
    pub preset_directories: Vec<Utf8PathBuf>,
    /// The directories in whose place clients get others.
    pub stand_ins: Vec<StandIn>,
    /// Which settings of the repository or the config do not count.
    pub notes: Vec<String>,
}

/// Where the settings of a fence come from.
pub(super) struct Sources<'a> {
    /// What the program was started with.
    pub session: &'a Session,
    /// The settings of git and the config.
    pub loaded: &'a Loaded,
    /// The options.
    pub options: &'a FenceOptions,
    /// The command, whose program can have a preset.
    pub command: &'a [OsString],
    /// The directory in which the command starts.
    pub start: &'a Utf8Path,
    /// The roots of all worktrees.
    pub worktrees: &'a [Utf8PathBuf],
}

/// The paths of all presets that count.
#[derive(Default)]
struct JoinedPresetPaths {
    rw: Vec<Utf8PathBuf>,
    directories: Vec<Utf8PathBuf>,
    stand_ins: Vec<StandIn>,
}

/// Reads what is asked of a fence.
///
/// 1. The fence and its network.
/// 2. Paths and sockets of the options and the user's settings; those of the config do not count.
/// 3. The image, and the paths of presets.
/// 4. Each path is resolved, without links that an earlier command can have created.
///
/// # Errors
/// Fails when a value is unknown.
pub(super) fn read(sources: &Sources<'_>) -> Result<FenceSettings, Error> {
    let config = &sources.loaded.config.fence;
    let options = sources.options;
    // 1
    let git_settings = &sources.loaded.git_settings;
    let mut notes = git_settings.notes(&["agentwt.rw", "agentwt.socket"]);
    let fence = sources.fence(&mut notes)?;
    let net = sources.net(&mut notes)?;
    // 2
    let mut rw = sources.paths(&options.rw, "agentwt.rw", "--rw")?;
    let sockets = sources.paths(&options.socket, "agentwt.socket", "--socket")?;
    for path in &config.rw {
        if !rw.contains(&from_home(sources.session, &path.value)) {
            notes.push(does_not_count("`rw`", "--add agentwt.rw", &path.value));
        }
    }
    // 3
    let image = sources.image(&mut notes);
    let presets = sources.preset_paths()?;
    rw.extend(presets.rw);
    let read_only = read_only(&presets.stand_ins, image.as_deref());
    // 4; every command in a landlock fence may write in /dev/shm
    let writable = [sources.worktrees, &rw, &[home(), "/dev/shm".into()]].concat();
    let mut ignored_notes = Vec::new();
    let request = FenceRequest {
        net,
        sockets: resolve_all(&sockets, &writable, &mut notes),
        rw: resolve_all(&rw, &writable, &mut notes),
        // without notes: a link cannot be protected anyway, as a command can replace it
        read_only: resolve_all(&read_only, &writable, &mut ignored_notes),
        nested: options.nested,
        withholds: options.withhold,
        strict: options.strict,
        container: container_request(config, fence, image),
    };
    Ok(FenceSettings {
        fence,
        request,
        preset_directories: resolve_all(&presets.directories, &writable, &mut ignored_notes),
        stand_ins: presets.stand_ins,
        notes,
    })
}

impl Sources<'_> {
    /// The fence that is asked for: by `--fence` or `--image`, or else by the user's setting;
    /// `auto` where nothing that counts asks for one. An agent can write the repository's
    /// configuration and the config, so these only count where they ask for `mount` or `container`.
    fn fence(&self, notes: &mut Vec<String>) -> Result<Fence, Error> {
        const KEY: &str = "agentwt.fence";
        let git_settings = &self.loaded.git_settings;
        if let Some(word) = &self.options.fence {
            return parse_fence(KEY, word);
        }
        if self.options.image.is_some() {
            // no other fence starts an image
            return Ok(Fence::Container);
        }
        if let Some(word) = git_settings.last(KEY) {
            notes.extend(git_settings.notes(&[KEY]));
            return parse_fence(KEY, word);
        }
        let of_repository = git_settings.uncounted(KEY).and_then(Fence::parse);
        if let Some(strong @ (Fence::Mount | Fence::Container)) = of_repository {
            return Ok(strong);
        }
        notes.extend(git_settings.notes(&[KEY]));
        let Some(configured) = &self.loaded.config.fence.kind else {
            return Ok(Fence::Auto);
        };
        Ok(match configured.value {
            strong @ (Fence::Mount | Fence::Container) => strong,
            weak @ (Fence::None | Fence::Perms) => {
                notes.push(does_not_count("the fence", KEY, weak.as_str()));
                Fence::Auto
            }
            // `auto` takes what is stronger, where it works
            Fence::Landlock | Fence::Seatbelt | Fence::Auto => Fence::Auto,
        })
    }

    /// The network: the option or the user's setting; the repository's configuration and the config
    /// may only take some of it away. With the option, only the config may.
    fn net(&self, notes: &mut Vec<String>) -> Result<Net, Error> {
        const KEY: &str = "agentwt.net";
        let git_settings = &self.loaded.git_settings;
        let mut net = Net::Host;
        if let Some(text) = &self.options.net {
            net = parse_net("--net", text)?;
        } else {
            if let Some(text) = git_settings.last(KEY) {
                net = parse_net(KEY, text)?;
            }
            if let Some(text) = git_settings.uncounted(KEY) {
                match narrower(text, &net) {
                    Some(of_repository) => net = of_repository,
                    None => notes.extend(git_settings.notes(&[KEY])),
                }
            }
        }
        if let Some(configured) = &self.loaded.config.fence.net
            && let Some(of_config) = narrower(&configured.value, &net)
        {
            net = of_config;
        }
        Ok(net)
    }

    /// The paths of an option, which must be there, and those of a setting of the user.
    fn paths(
        &self,
        given: &[Utf8PathBuf],
        key: &str,
        option: &'static str,
    ) -> Result<Vec<Utf8PathBuf>, Error> {
        let mut paths = Vec::new();
        for path in given {
            let typed = self.session.resolve(path);
            if files::canonical(&typed).is_err() {
                let expected = "the path of something that is there";
                return Err(unknown_value(option, path.as_str(), expected));
            }
            paths.push(typed);
        }
        for path in self.loaded.git_settings.all(key) {
            paths.push(from_home(self.session, path));
        }
        Ok(paths)
    }

    /// The image: the option or the user's setting.
    fn image(&self, notes: &mut Vec<String>) -> Option<String> {
        const KEY: &str = "agentwt.image";
        if let Some(image) = &self.options.image {
            return Some(image.clone());
        }
        let git_settings = &self.loaded.git_settings;
        notes.extend(git_settings.notes(&[KEY]));
        if let Some(image) = git_settings.last(KEY) {
            return Some(image.to_owned());
        }
        if let Some(image) = &self.loaded.config.fence.container.image {
            notes.push(does_not_count("the image", KEY, &image.value));
        }
        None
    }

    /// The paths of the presets that are named, and of that of the program.
    fn preset_paths(&self) -> Result<JoinedPresetPaths, Error> {
        let mut all = JoinedPresetPaths::default();
        for preset in presets(self.options, self.command)? {
            let paths = preset.paths(UserEnvironment {
                home: &home(),
                start: self.start,
                variable: &variable,
            });
            all.rw.extend(paths.rw);
            all.directories.extend(paths.made);
            for stand_in in paths.stand_ins {
                if !all.stand_ins.contains(&stand_in) {
                    all.stand_ins.push(stand_in);
                }
            }
        }
        Ok(all)
    }
}

/// Says that something of the config does not count, and how the user allows it.
fn does_not_count(what: &str, setting: &str, value: &str) -> String {
    let value = shell_word(value);
    format!(
        "{what} of the config does not count, as an agent can change it; to allow it: git \
            config --global {setting} {value}"
    )
}

/// What a command sees and cannot write, though it is not of the system: an image has none of the
/// home directory.
fn read_only(stand_ins: &[StandIn], image: Option<&str>) -> Vec<Utf8PathBuf> {
    let mut read_only = Vec::new();
    if image.is_some() {
        for stand_in in stand_ins {
            read_only.push(stand_in.directory.clone());
        }
        return read_only;
    }
    // a fence has its own `/tmp`, `/run` and `/dev`: a home directory there has to stay visible
    let mut covering = ["/tmp", "/run", "/dev"].iter();
    if covering.any(|place| home().starts_with(place)) {
        read_only.push(home());
    }
    read_only
}

fn container_request(
    config: &FenceConfig,
    fence: Fence,
    image: Option<String>,
) -> ContainerRequest {
    let container = &config.container;
    let mut request = ContainerRequest {
        image,
        memory: container.memory.as_ref().map(|memory| memory.value.clone()),
        cpus: container.cpus,
        user: container.user.as_ref().map(|user| user.value.clone()),
        ..ContainerRequest::default()
    };
    if fence == Fence::Container {
        request.program = container_program();
    }
    request
}

/// Resolves these paths, without links that an earlier command can have created: a path that such a
/// link would lead elsewhere is left out, with a note.
///
/// A command can have created the last part of each path, and everything below a place in
/// `writable_places`.
fn resolve_all(
    paths: &[Utf8PathBuf],
    writable_places: &[Utf8PathBuf],
    notes: &mut Vec<String>,
) -> Vec<Utf8PathBuf> {
    if paths.is_empty() {
        return Vec::new();
    }
    let mut writable = Vec::new();
    for place in writable_places {
        writable.push(WritablePlace {
            path: place_of(place),
            target: target_of(place),
        });
    }
    let mut resolved = Vec::new();
    for path in paths {
        let untrusted = highest_untrusted(path, &writable);
        let below = path.strip_prefix(untrusted).unwrap_or(path);
        let without_links = join(place_of(untrusted), below);
        let target = target_of(path);
        if target.as_ref() == Some(&without_links) {
            resolved.push(without_links);
        } else {
            let target_text = target.as_deref().map_or("its target", Utf8Path::as_str);
            notes.push(format!(
                "{path} is not followed, as a command can have made the link; if \
                you made it, name {target_text}"
            ));
        }
    }
    resolved
}

/// The highest part of a path that a command can have created: directly below a writable place, or
/// else the path itself.
fn highest_untrusted<'p>(path: &'p Utf8Path, writable: &[WritablePlace]) -> &'p Utf8Path {
    let mut highest = path;
    for ancestor in path.ancestors() {
        let place = place_of(ancestor);
        if writable.iter().any(|above| above.is_above(&place)) {
            highest = ancestor;
        }
    }
    highest
}

/// A place in which a command can write, or could in an earlier run.
struct WritablePlace {
    /// Its path; at the end there may be a link.
    path: Utf8PathBuf,
    /// Where the link leads; `None` if it cannot be followed.
    target: Option<Utf8PathBuf>,
}

impl WritablePlace {
    /// True if a path is inside, and not the place itself.
    fn is_above(&self, path: &Utf8Path) -> bool {
        let Some(target) = &self.target else {
            return false;
        };
        path != self.path && path.starts_with(target)
    }
}

/// The place of a path: links in the directory above are followed, a link at the path is not.
fn place_of(path: &Utf8Path) -> Utf8PathBuf {
    let directory = path.parent().and_then(target_of).unwrap_or_default();
    directory.join(path.file_name().unwrap_or("/"))
}

/// Where a path leads when all its links are followed; parts that do not exist are taken as they
/// are.
fn target_of(path: &Utf8Path) -> Option<Utf8PathBuf> {
    let nearest = path.ancestors().find(files::exists).unwrap_or(path);
    let target = files::canonical(nearest).ok()?;
    Some(join(target, path.strip_prefix(nearest).unwrap_or(path)))
}

/// Adds the names of a path one by one: to add an empty path at once would add a slash at the end.
fn join(directory: Utf8PathBuf, below: &Utf8Path) -> Utf8PathBuf {
    below.iter().fold(directory, |path, name| path.join(name))
}

/// The presets that are named, and that of the program.
fn presets(options: &FenceOptions, command: &[OsString]) -> Result<Vec<&'static Preset>, Error> {
    let mut presets = Vec::new();
    for name in &options.preset {
        let Some(preset) = Preset::of(Path::new(name)) else {
            let programs: Vec<&str> = Preset::all().iter().map(|preset| &*preset.name).collect();
            let expected = format!("{}, or give a path: --rw <path>", programs.join(", "));
            return Err(unknown_value("--preset", name, &expected));
        };
        presets.push(preset);
    }
    let program = command.first().map(Path::new);
    presets.extend(program.and_then(Preset::of));
    Ok(presets)
}

fn parse_fence(by: &'static str, word: &str) -> Result<Fence, Error> {
    Fence::parse(word).ok_or_else(|| unknown_value(by, word, &Fence::words().join(", ")))
}

fn parse_net(by: &'static str, text: &str) -> Result<Net, Error> {
    Net::parse(text).ok_or_else(|| unknown_value(by, text, "host, none, or ports:443,22"))
}

/// A network, if it allows nothing that the other does not.
fn narrower(text: &str, net: &Net) -> Option<Net> {
    Net::parse(text).filter(|wanted| wanted.is_within(net))
}

/// Refuses the value of an option or setting, with those that are possible.
fn unknown_value(by: &'static str, text: &str, expected: &str) -> Error {
    let text = escape_for_terminal(text.as_bytes());
    let known = expected.to_owned();
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
