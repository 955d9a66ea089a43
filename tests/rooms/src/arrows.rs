//! Who uses whom: an arrow runs from the file that names a path to the file that defines what the path leads to, through
//! whatever re-exports. A declaration `mod x;` is no arrow, nor is the import of a module: what is taken out of it is.

use std::{collections::BTreeSet, fmt};

use crate::tree::{Id, Module, Tree};

/// One line that makes one file need another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arrow {
    /// The file that needs.
    pub from: String,
    /// The file that is needed.
    pub to: String,
    /// Where it says so.
    pub line: usize,
    /// What it says.
    pub path: String,
}

impl fmt::Display for Arrow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {} is in {}", self.from, self.line, self.path, self.to)
    }
}

/// Where a path leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Module(Id),
    /// Something that this module defines.
    ItemOf(Id),
}

/// Names that are being looked up, so that imports that lead to each other end.
type Open = BTreeSet<(Id, String)>;

/// All arrows between files of one crate.
pub(crate) fn of(tree: &Tree) -> BTreeSet<Arrow> {
    let mut arrows = BTreeSet::new();
    for (id, module) in tree.modules.iter().enumerate() {
        let imported = module.imports.iter().map(|import| (&import.mention, import.name.is_none()));
        let named = module.mentions.iter().map(|mention| (mention, false));
        for (mention, whole) in imported.chain(named) {
            for target in tree.targets(id, &mention.path, &mut Open::new()) {
                let to = match target {
                    // `use x::*` takes whatever is in there.
                    Target::Module(to) if whole => to,
                    Target::Module(_) => continue,
                    Target::ItemOf(to) => to,
                };
                if let Some(to) = tree.modules.get(to).filter(|to| to.file != module.file) {
                    let (from, to, path) = (module.file.clone(), to.file.clone(), mention.path.join("::"));
                    arrows.insert(Arrow { from, to, line: mention.line, path });
                }
            }
        }
    }
    arrows
}

// === impl Tree ===

impl Tree {
    /// What `path` means in module `from`; nothing if it leads out of the crate. One name may stand for a module and for
    /// something else at once.
    fn targets(&self, from: Id, path: &[String], open: &mut Open) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else { return Vec::new() };
        let mut at = match first.as_str() {
            "crate" => vec![Target::Module(0)],
            "self" => vec![Target::Module(from)],
            "super" => self.parent(from),
            "Self" => return Vec::new(),
            name => self.lookup(from, name, open),
        };
        for name in rest {
            let module = at.iter().find_map(|target| match target {
                Target::Module(id) => Some(*id),
                Target::ItemOf(_) => None,
            });
            // The rest of the path is inside of a type, say.
            let Some(module) = module else { break };
            at = if name == "super" { self.parent(module) } else { self.lookup(module, name, open) };
            if at.is_empty() {
                // Not written out: a macro makes it.
                return vec![Target::ItemOf(module)];
            }
        }
        at
    }

    fn parent(&self, of: Id) -> Vec<Target> {
        self.modules.get(of).and_then(|module| module.parent).map(Target::Module).into_iter().collect()
    }

    fn lookup(&self, within: Id, name: &str, open: &mut Open) -> Vec<Target> {
        let Some(module) = self.modules.get(within) else { return Vec::new() };
        let key = (within, name.to_owned());
        if !open.insert(key.clone()) {
            return Vec::new();
        }
        let child = module.children.get(name).map(|child| Target::Module(*child));
        let item = module.items.contains(name).then_some(Target::ItemOf(within));
        let mut found: Vec<Target> = child.into_iter().chain(item).collect();
        for import in imports(module, name) {
            found.extend(self.targets(within, import, open));
        }
        if found.is_empty() {
            found = self.through_globs(within, module, name, open);
        }
        open.remove(&key);
        found
    }

    fn through_globs(&self, within: Id, module: &Module, name: &str, open: &mut Open) -> Vec<Target> {
        let globs = module.imports.iter().filter(|import| import.name.is_none());
        let mut found = Vec::new();
        for glob in globs {
            for target in self.targets(within, &glob.mention.path, open) {
                if let Target::Module(id) = target {
                    found.extend(self.lookup(id, name, open));
                }
            }
        }
        found
    }
}

fn imports<'a>(module: &'a Module, name: &'a str) -> impl Iterator<Item = &'a [String]> {
    let named = module.imports.iter().filter(move |import| import.name.as_deref() == Some(name));
    named.map(|import| import.mention.path.as_slice())
}

#[cfg(test)]
mod tests;
