//! The modules of one crate: what each defines and imports, and which paths it names. What is compiled only for tests
//! is left out.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, bail};
use syn::{Item, ItemMod};

use crate::{
    attributes::{self, is_for_tests},
    mentions::{Import, Mention, Mentions},
    source::Files,
};

/// Place of a module in [`Tree::modules`].
pub(crate) type Id = usize;

/// A crate, or one program of it.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// The root first.
    pub modules: Vec<Module>,
}

/// One module.
#[derive(Debug, Default)]
pub(crate) struct Module {
    /// Where its text stands; a module inside another has that one's file.
    pub file: String,
    /// None of the root.
    pub parent: Option<Id>,
    /// Modules declared in it.
    pub children: BTreeMap<String, Id>,
    /// Names of what it defines itself.
    pub items: BTreeSet<String>,
    /// Its `use` lines, also those inside of functions.
    pub imports: Vec<Import>,
    /// The paths that its code names.
    pub mentions: Vec<Mention>,
}

impl Tree {
    /// Reads the modules that the file at `entry` declares, and all below them.
    pub fn read(files: &Files, entry: &str) -> Result<Self> {
        let mut tree = Self::default();
        let folder = entry.rsplit_once('/').map_or("", |(folder, _)| folder);
        tree.file(files, entry, folder, None)?;
        Ok(tree)
    }

    /// `folder` is where the files of its children stand.
    fn file(&mut self, files: &Files, path: &str, folder: &str, parent: Option<Id>) -> Result<Id> {
        let text = files.get(path).with_context(|| format!("{path} is missing"))?;
        let parsed = syn::parse_file(text).with_context(|| format!("parsing {path}"))?;
        self.module(files, path, folder, parent, &parsed.items)
    }

    fn module(
        &mut self,
        files: &Files,
        file: &str,
        folder: &str,
        parent: Option<Id>,
        items: &[Item],
    ) -> Result<Id> {
        let id = self.modules.len();
        self.modules.push(Module { file: file.to_owned(), parent, ..Module::default() });
        let mut mentions = Mentions::default();
        let (mut names, mut children) = (BTreeSet::new(), BTreeMap::new());
        for item in items.iter().filter(|item| !is_for_tests(attributes::of(item))) {
            if let Item::Mod(child) = item {
                children.insert(child.ident.to_string(), self.child(files, file, folder, id, child)?);
            } else {
                names.extend(name(item));
                mentions.item(item);
            }
        }
        if let Some(module) = self.modules.get_mut(id) {
            module.items = names;
            module.children = children;
            module.imports = mentions.imports;
            module.mentions = mentions.mentions;
        }
        Ok(id)
    }

    fn child(&mut self, files: &Files, file: &str, folder: &str, parent: Id, child: &ItemMod) -> Result<Id> {
        if child.attrs.iter().any(|attribute| attribute.path().is_ident("path")) {
            bail!(
                "{file}: module {} is put elsewhere by #[path], which this lint does not follow",
                child.ident
            );
        }
        let folder = format!("{folder}/{}", child.ident);
        match &child.content {
            Some((_, items)) => self.module(files, file, &folder, Some(parent), items),
            None => self.file(files, &format!("{folder}.rs"), &folder, Some(parent)),
        }
    }
}

/// The name that an item brings into its module.
fn name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}
