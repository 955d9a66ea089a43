use pretty_assertions::assert_eq;

use super::*;
use crate::source::Files;

/// A crate of these files under `src`; out come its arrows, as `a -> b`.
fn arrows(files: &[(&str, &str)]) -> Vec<String> {
    let files: Files =
        files.iter().map(|(name, text)| (format!("src/{name}.rs"), (*text).to_owned())).collect();
    let name = |path: &str| path.trim_start_matches("src/").trim_end_matches(".rs").to_owned();
    let found = of(&Tree::read(&files, "src/lib.rs").unwrap());
    found.iter().map(|arrow| format!("{} -> {}", name(&arrow.from), name(&arrow.to))).collect()
}

#[test]
fn a_declaration_is_no_arrow_and_a_use_is() {
    let found = arrows(&[
        ("lib", "mod a; mod b;"),
        ("a", "use crate::b::Thing; mod inner;"),
        ("a/inner", "use super::super::b;"),
        ("b", "pub struct Thing;"),
    ]);

    assert_eq!(found, ["a -> b"]);
}

#[test]
fn what_is_taken_out_of_an_imported_module_is_an_arrow() {
    let found = arrows(&[
        ("lib", "mod a; mod b;"),
        ("a", "use crate::b::{self as other, deep}; fn f() { deep::f(other::g()) }"),
        ("b", "pub mod deep; pub fn g() {}"),
        ("b/deep", "pub fn f(_: ()) {}"),
    ]);

    assert_eq!(found, ["a -> b", "a -> b/deep"]);
}

#[test]
fn a_re_export_leads_to_where_a_thing_is_defined() {
    let found = arrows(&[
        ("lib", "pub mod a; mod b; pub use b::Thing as Same;"),
        ("a", "use crate::{Same, b::Thing}; fn f(_: crate::b::Every) {}"),
        ("b", "mod c; mod d; pub use self::c::Thing; pub use d::*;"),
        ("b/c", "pub struct Thing;"),
        ("b/d", "pub struct Every;"),
    ]);

    let expected = ["a -> b/c", "a -> b/c", "a -> b/d", "b -> b/c", "b -> b/d", "lib -> b/c"];
    assert_eq!(found, expected);
}

#[test]
fn a_child_that_uses_its_parent_points_at_it_and_the_parent_at_the_child_that_it_calls() {
    let found = arrows(&[
        ("lib", "mod a;"),
        ("a", "mod b; pub struct Draft; fn f() { b::g() }"),
        ("a/b", "use super::Draft; pub fn g() {}"),
    ]);

    assert_eq!(found, ["a -> a/b", "a/b -> a"]);
}

#[test]
fn types_patterns_macros_and_attributes_are_read() {
    let found = arrows(&[
        ("lib", "mod a; mod b; mod c; mod d; mod e;"),
        (
            "a",
            r#"
            use crate::e;
            fn f(_: Vec<crate::b::B>) { if let crate::c::C::One(x) = y {} }
            #[serde(default = "crate::d::d")] struct S;
            fn g() { json!({"a": [e::NAME]}) }
            "#,
        ),
        ("b", "pub struct B;"),
        ("c", "pub enum C { One(u8) }"),
        ("d", "pub fn d() {}"),
        ("e", "pub const NAME: u8 = 1;"),
    ]);

    assert_eq!(found, ["a -> b", "a -> c", "a -> d", "a -> e"]);
}

#[test]
fn what_is_compiled_only_for_tests_is_left_out() {
    let found = arrows(&[
        ("lib", "mod a; mod b;"),
        (
            "a",
            r"
            pub struct A;
            #[cfg(test)] mod tests { use crate::b::B; }
            #[cfg(test)] mod missing;
            #[cfg(all(test, unix))] fn f() { crate::b::f() }
            impl A { #[cfg(test)] fn g() { crate::b::f() } }
            ",
        ),
        ("b", "use crate::a::A; pub struct B; pub fn f() {}"),
    ]);

    assert_eq!(found, ["b -> a"]);
}

#[test]
fn other_crates_visibility_and_imports_that_lead_to_each_other_are_no_arrows() {
    let found = arrows(&[
        ("lib", "mod a; mod b;"),
        (
            "a",
            "use std::fmt; use ::b::X; pub(in crate::a) struct S; fn f(_: fmt::Debug, _: serde_json::Value) {}",
        ),
        ("b", "pub use self::x as y; pub use self::y as x;"),
    ]);

    assert_eq!(found, [] as [&str; 0]);
}

#[test]
fn what_a_macro_makes_is_in_the_module_that_calls_it() {
    let found = arrows(&[
        ("lib", "mod a; mod b;"),
        ("a", "use crate::b::exports::Guest;"),
        ("b", "bindgen!({ path: \"wit\" });"),
    ]);

    assert_eq!(found, ["a -> b"]);
}

#[test]
fn a_module_inside_a_file_belongs_to_it() {
    let found = arrows(&[
        ("lib", "mod a; mod b;"),
        ("a", "mod inner { use super::Thing; use crate::b::Other; } pub struct Thing;"),
        ("b", "pub struct Other;"),
    ]);

    assert_eq!(found, ["a -> b"]);
}
