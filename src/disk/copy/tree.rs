//! Arranges paths as directories and what is in each: the order in which all of them are made,
//! moved and finished.

use std::collections::HashMap;

use bstr::{BStr, ByteSlice};

use crate::path::RepoPath;

/// Represents all directories that some paths need; the first is the root.
pub(super) struct Tree<'a> {
    nodes: Vec<Node<'a>>,
}

/// Represents one directory.
pub(super) struct Node<'a> {
    /// Its path; empty for the root.
    pub path: &'a BStr,
    /// The place of its own item; none for one that only others need.
    pub item: Option<usize>,
    /// The directories in it.
    pub directories: Vec<usize>,
    /// The places of the other items in it.
    pub entries: Vec<usize>,
}

/// Says what an item is for the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Is {
    Directory,
    Entry,
}

impl<'a> Tree<'a> {
    /// Arranges items; one is meant by its place.
    pub fn new(items: impl Iterator<Item = (&'a RepoPath, Is)>) -> Self {
        let mut tree = Self {
            nodes: vec![Node::new(b"".as_bstr())],
        };
        let mut known = HashMap::new();
        for (place, (path, is)) in items.enumerate() {
            match is {
                Is::Directory => {
                    let node = tree.node(&mut known, path.as_bstr());
                    tree.nodes[node].item = Some(place);
                }
                Is::Entry => {
                    let node = tree.node(&mut known, above(path.as_bstr()));
                    tree.nodes[node].entries.push(place);
                }
            }
        }
        tree
    }

    fn node(&mut self, known: &mut HashMap<&'a BStr, usize>, path: &'a BStr) -> usize {
        if path.is_empty() {
            return 0;
        }
        if let Some(node) = known.get(path) {
            return *node;
        }
        let above = self.node(known, above(path));
        let node = self.nodes.len();
        self.nodes.push(Node::new(path));
        self.nodes[above].directories.push(node);
        known.insert(path, node);
        node
    }

    /// All directories, one before those in it.
    pub fn nodes(&self) -> &[Node<'a>] {
        &self.nodes
    }

    /// The directory at this place, and all below it.
    pub fn below(&self, node: usize) -> Vec<usize> {
        let mut all = vec![node];
        let mut next = 0;
        while let Some(at) = all.get(next) {
            let directories = &self.nodes[*at].directories;
            next += 1;
            all.extend_from_slice(directories);
        }
        all
    }
}

impl<'a> Node<'a> {
    fn new(path: &'a BStr) -> Self {
        Self {
            path,
            item: None,
            directories: Vec::new(),
            entries: Vec::new(),
        }
    }

    /// Its last component.
    pub fn name(&self) -> &'a [u8] {
        self.path.rsplit(|b| *b == b'/').next().unwrap_or_default()
    }

    /// Its path; not of the root.
    pub fn repo_path(&self) -> RepoPath {
        RepoPath::parse(self.path).expect("a directory of a path is a path")
    }
}

fn above(path: &BStr) -> &BStr {
    let end = path.rfind_byte(b'/').unwrap_or(0);
    path[..end].as_bstr()
}
