//! Says what of a policy a fence cannot do, so that it is the wrong fence (`Policy::unable`). What each lets through
//! is in `docs/fences.md`.

use crate::config::value::{Fence, Net};
use crate::fence::policy::{ContainerProgram, Policy};

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
            let says = format!("`{path}` would make the repository writable with it");
            all.push(says);
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
}
