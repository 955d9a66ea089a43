use pretty_assertions::assert_eq;

use super::*;

fn arrows(pairs: &[(&str, &str)]) -> BTreeSet<Arrow> {
    let arrow = |(from, to): &(&str, &str)| Arrow {
        from: (*from).into(),
        to: (*to).into(),
        line: 1,
        path: "x".into(),
    };
    pairs.iter().map(arrow).collect()
}

#[test]
fn a_tree_without_a_circle_has_none() {
    assert_eq!(of(&arrows(&[("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])), []);
}

#[test]
fn the_lines_from_one_file_to_another_stand_together() {
    let mut given = arrows(&[("a", "b"), ("b", "a")]);
    given.insert(Arrow { from: "a".into(), to: "b".into(), line: 7, path: "y::z".into() });

    let texts: Vec<String> = of(&given).iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["2 files form a circle:\n  a:1: x is in b, also 7: y::z\n  b:1: x is in a"]);
}

#[test]
fn a_circle_is_its_files_and_the_arrows_between_them_and_nothing_that_hangs_on_it() {
    let found = of(&arrows(&[
        ("top", "a"),
        ("a", "b"),
        ("b", "c"),
        ("c", "a"),
        ("c", "leaf"),
        ("x", "y"),
        ("y", "x"),
    ]));

    let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "3 files form a circle:\n  a:1: x is in b\n  b:1: x is in c\n  c:1: x is in a",
            "2 files form a circle:\n  x:1: x is in y\n  y:1: x is in x",
        ]
    );
}
