//! Says what of a policy a fence cannot do, so that it is the wrong fence (`Policy::unable`). What
//! each lets through is in `docs/fences.md`.

use camino::Utf8Path;

use crate::config::value::{Fence, Net};
use crate::fence::policy::{ContainerProgram, Policy};

impl Policy {
    /// The reasons why this fence cannot do at all what was requested; empty if it can. The user
    /// has to take another fence, or request less.
    pub fn unable(&self, fence: Fence) -> Vec<String> {
        let request = &self.request;
        let mut reasons = Vec::new();
        if fence > Fence::Perms {
            // no request may open the git directory, which the host trusts, the whole worktree, nor
            // what is hidden
            let mut requested = request.rw.iter().chain(&request.sockets);
            if let Some(path) = requested.find(|path| self.opens_repository(path)) {
                reasons.push(format!(
                    "`{path}` would make the repository writable with it"
                ));
            }
        }
        let has_shim = matches!(fence, Fence::Landlock | Fence::Seatbelt);
        if has_shim && self.places.private.as_str().contains(':') {
            reasons.push("no directory with `:` in its path can be in PATH".to_owned());
        }
        if fence == Fence::Landlock && request.nested {
            reasons.push("another sandbox cannot start inside of Landlock".to_owned());
        }
        if fence == Fence::Container {
            self.add_unable_container(&mut reasons);
        }
        if matches!(fence, Fence::Perms | Fence::None) {
            if request.net != Net::Host {
                reasons.push("the network cannot be limited".to_owned());
            }
            if request.withholds {
                reasons.push("the shared objects cannot be hidden".to_owned());
            }
        }
        reasons
    }

    /// True if to open a path would open the repository, the worktree or a hidden worktree as a
    /// whole, or something in the git directory.
    fn opens_repository(&self, path: &Utf8Path) -> bool {
        let places = &self.places;
        let mut closed = self.hidden();
        closed.extend([&*places.root, &*places.common_dir]);
        closed.iter().any(|place| place.starts_with(path))
            || path.starts_with(&places.common_dir)
            || path.starts_with(places.root.join(".git"))
    }

    /// Adds what a container of this program and image cannot do.
    fn add_unable_container(&self, reasons: &mut Vec<String>) {
        let container = &self.request.container;
        let has_image = container.image.is_some();
        if has_image && matches!(self.request.net, Net::Ports(_)) {
            reasons.push("the ports of a container with an image cannot be limited".to_owned());
        }
        if !has_image && container.program == ContainerProgram::Docker {
            reasons.push("docker needs an image".to_owned());
        }
    }
}
