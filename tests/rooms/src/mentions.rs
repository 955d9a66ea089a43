//! What the code of one module imports, and which paths it names: in types, expressions and patterns, inside of macros
//! and in attributes.

use proc_macro2::{Spacing, Span, TokenStream, TokenTree};
use syn::{
    Attribute, ImplItem, Item, ItemUse, Macro, Meta, Path, UseTree, VisRestricted,
    visit::{self, Visit},
};

use crate::attributes::{self, is_for_tests};

/// One name of a `use` line.
#[derive(Debug)]
pub(crate) struct Import {
    /// What it is called here; none of `*`.
    pub name: Option<String>,
    /// Where it comes from.
    pub mention: Mention,
}

/// A path as it stands in the code.
#[derive(Debug)]
pub(crate) struct Mention {
    /// Its segments, without generic arguments.
    pub path: Vec<String>,
    /// Where it stands.
    pub line: usize,
}

/// Gathers them.
#[derive(Debug, Default)]
pub(crate) struct Mentions {
    /// In their order.
    pub imports: Vec<Import>,
    /// In their order; those of one name alone say nothing and are left out.
    pub mentions: Vec<Mention>,
}

impl Mentions {
    /// Reads one item of the module.
    pub fn item(&mut self, item: &Item) {
        self.visit_item(item);
    }

    fn mention(&mut self, path: Vec<String>, at: Span) {
        if path.len() > 1 {
            self.mentions.push(Mention { path, line: at.start().line });
        }
    }

    fn imported(&mut self, tree: &UseTree, before: &[String]) {
        let joined = |last: &syn::Ident| [before, &[last.to_string()]].concat();
        let (name, path, at) = match tree {
            UseTree::Path(path) => return self.imported(&path.tree, &joined(&path.ident)),
            UseTree::Group(group) => return group.items.iter().for_each(|tree| self.imported(tree, before)),
            // `use a::b::{self}` imports `b`.
            UseTree::Name(name) if name.ident == "self" => {
                (before.last().cloned(), before.to_vec(), name.ident.span())
            }
            UseTree::Name(name) => (Some(name.ident.to_string()), joined(&name.ident), name.ident.span()),
            UseTree::Rename(name) if name.ident == "self" => {
                (Some(name.rename.to_string()), before.to_vec(), name.ident.span())
            }
            UseTree::Rename(name) => (Some(name.rename.to_string()), joined(&name.ident), name.ident.span()),
            UseTree::Glob(glob) => (None, before.to_vec(), glob.star_token.span),
        };
        self.imports.push(Import { name, mention: Mention { path, line: at.start().line } });
    }

    /// Paths among the tokens of a macro, which need not be Rust.
    fn tokens(&mut self, tokens: TokenStream, texts: bool) {
        let mut path: Vec<String> = Vec::new();
        let mut start = Span::call_site();
        // Colons since the last name.
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.mention(std::mem::take(&mut path), start);
                    }
                    if path.is_empty() {
                        start = ident.span();
                    }
                    path.push(ident.to_string());
                    colons = 0;
                    continue;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' && !path.is_empty() => {
                    colons = if colons == 1 || mark.spacing() == Spacing::Joint { colons + 1 } else { 3 };
                    continue;
                }
                TokenTree::Group(group) => self.tokens(group.stream(), texts),
                TokenTree::Literal(literal) if texts => self.text(&literal.to_string(), literal.span()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            self.mention(std::mem::take(&mut path), start);
            colons = 0;
        }
        self.mention(path, start);
    }

    /// A path in quotes, as serde's attributes take them.
    fn text(&mut self, literal: &str, at: Span) {
        let quoted = literal.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        if let Some(path) = quoted.and_then(|text| syn::parse_str::<Path>(text).ok()) {
            self.mention(segments(&path), at);
        }
    }
}

impl<'ast> Visit<'ast> for Mentions {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes::of(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !is_for_tests(attributes::of_member(item)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        // After `::` stands another crate.
        if item.leading_colon.is_none() {
            self.imported(&item.tree, &[]);
        }
    }

    fn visit_path(&mut self, path: &'ast Path) {
        if let Some(first) = path.segments.first().filter(|_| path.leading_colon.is_none()) {
            self.mention(segments(path), first.ident.span());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.visit_path(&call.path);
        self.tokens(call.tokens.clone(), false);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.tokens(list.tokens.clone(), true);
        }
    }

    /// Who may see an item says nothing of what the item uses.
    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {}
}

fn segments(path: &Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}
