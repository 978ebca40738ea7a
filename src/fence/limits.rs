//! Says what of a policy a fence cannot do: what makes it the wrong fence (`Policy::unable`), and what it
//! lets through although the user asked for more (`Policy::limits`).

use super::policy::{ContainerProgram, Policy};
use super::{Fence, Net};

impl Policy {
    /// What was asked for and this fence cannot do at all: another fence has to be taken, or less asked
    /// for. Empty where it can.
    pub fn unable(&self, fence: Fence) -> Vec<String> {
        let (wishes, places) = (&self.wishes, &self.places);
        let asks = &wishes.container;
        // what the host trusts is writable in no fence, and what is hidden is not shown by a wish
        let covers_repository = wishes.rw.iter().chain(&wishes.sockets).find(|path| {
            let around = [&*places.root, &*places.common_dir].into_iter();
            let mut around = around.chain(self.hidden());
            around.any(|place| place.starts_with(path))
                || path.starts_with(&places.common_dir)
                || path.starts_with(places.root.join(".git"))
        });
        let mut all = Vec::new();
        if let Some(path) = covers_repository.filter(|_| fence > Fence::Perms) {
            all.push(format!(
                "`{path}` would make the repository writable with it"
            ));
        }
        let has_shim = matches!(fence, Fence::Landlock | Fence::Seatbelt);
        if has_shim && places.private.as_str().contains(':') {
            all.push("no directory with `:` in its path can be in PATH".to_owned());
        }
        if fence == Fence::Landlock && wishes.nested {
            all.push("another sandbox cannot start inside of Landlock".to_owned());
        }
        if fence == Fence::Container {
            if asks.image.is_some() && matches!(wishes.net, Net::Ports(_)) {
                all.push("the ports of a container with an image cannot be limited".to_owned());
            }
            if asks.image.is_none() && asks.program == ContainerProgram::Docker {
                all.push("docker needs an image".to_owned());
            }
        }
        let is_weak = matches!(fence, Fence::Perms | Fence::None);
        if is_weak && wishes.net != Net::Host {
            all.push("the network cannot be limited".to_owned());
        }
        if is_weak && wishes.withholds {
            all.push("the shared objects cannot be hidden".to_owned());
        }
        all
    }

    /// What this fence lets through although the user may expect otherwise, a sentence each.
    pub fn limits(&self, fence: Fence) -> Vec<&'static str> {
        let wishes = &self.wishes;
        let mut all = Vec::new();
        let is_linux = matches!(fence, Fence::Landlock | Fence::Mount | Fence::Container);
        let has_image = fence == Fence::Container && wishes.container.image.is_some();
        if is_linux && !wishes.sockets.is_empty() {
            all.push(match fence {
                Fence::Landlock => "the command can connect to every Unix socket of the user",
                _ if has_image => "the command can connect to the Unix sockets that it was given",
                _ => "the command can connect to every Unix socket outside of /tmp and /run",
            });
        }
        if is_linux && matches!(wishes.net, Net::Ports(_)) {
            all.push("the ports limit TCP; UDP is not limited");
        }
        if fence == Fence::Landlock && !wishes.read_only.is_empty() {
            all.push("the settings and hooks of the program itself are writable");
        }
        if matches!(fence, Fence::Mount | Fence::Container) && !wishes.read_only.is_empty() {
            all.push(
                "settings and hooks of the program that are missing or links can be made anew",
            );
        }
        if fence == Fence::Landlock {
            all.push("what is made beside the hidden worktrees during the run cannot be read");
        }
        if fence == Fence::Landlock {
            all.push("modes and times of the user's own files can be changed anywhere");
            all.push("the user's other terminals and /dev/shm can be read and written");
        }
        if fence == Fence::Container && !has_image {
            all.push("modes and times of files on a file system below another can be changed");
        }
        if has_image && wishes.net != Net::None {
            all.push("the command can connect to the abstract Unix sockets of the machine");
        }
        all
    }
}
