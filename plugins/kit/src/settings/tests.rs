use alloc::vec;

use super::*;

const TABLE: &[Declared] = &[
    Declared { key: "ssh-args", kind: Kind::Text, default: "-q", summary: "" },
    Declared { key: "tree-spawn", kind: Kind::Flag, default: "true", summary: "" },
    Declared { key: "radix", kind: Kind::Number(2, 256), default: "64", summary: "" },
    Declared { key: "wait", kind: Kind::Duration, default: "10m", summary: "" },
    Declared { key: "more", kind: Kind::Words, default: "", summary: "" },
    Declared { key: "pml", kind: Kind::OneOf(&["ob1", "ucx"]), default: "ob1", summary: "" },
];

fn given(pairs: &[(&str, &str)]) -> Vec<Setting> {
    pairs.iter().map(|(key, value)| Setting { key: (*key).into(), value: (*value).into() }).collect()
}

fn complaint(key: &str, value: &str) -> Option<String> {
    check(TABLE, &given(&[(key, value)])).pop().map(|violation| violation.text)
}

#[test]
fn given_values_win_over_defaults() {
    let given =
        given(&[("radix", "8"), ("more", "--bind-to none"), ("tree-spawn", "false"), ("wait", "1h30m")]);
    let settings = Settings::parse(TABLE, &given).unwrap();

    assert_eq!(settings.text("ssh-args"), "-q");
    assert_eq!(settings.number("radix"), 8);
    assert!(!settings.flag("tree-spawn"));
    assert_eq!(settings.seconds("wait"), 5400);
    assert_eq!(settings.words("more"), ["--bind-to", "none"]);
}

#[test]
fn an_unknown_key_gets_the_likely_one_named() {
    assert_eq!(complaint("ssh-arg", "x").unwrap(), "is not a setting; did you mean \"ssh-args\"?");
    assert!(complaint("something-else", "x").unwrap().contains("ssh-args, tree-spawn, radix"));
}

#[test]
fn each_kind_refuses_what_it_is_not() {
    assert_eq!(complaint("tree-spawn", "yes").unwrap(), "must be \"true\" or \"false\", not \"yes\"");
    assert_eq!(complaint("radix", "1").unwrap(), "must be a whole number from 2 to 256, not \"1\"");
    assert!(complaint("wait", "10").is_some());
    assert!(complaint("wait", "m").is_some());
    assert!(complaint("wait", "").is_some());
    assert!(complaint("more", "'open").is_some());
    assert_eq!(complaint("pml", "cm").unwrap(), "must be one of ob1, ucx, not \"cm\"");
    assert!(complaint("ssh-args", "a\nb").is_some());
    assert_eq!(complaint("wait", "0"), None);
}

#[test]
fn all_violations_are_reported_at_once() {
    let given = given(&[("radix", "x"), ("tree-spawn", "x")]);
    let Err(Failure::Invalid(violations)) = Settings::parse(TABLE, &given) else { panic!("accepted") };

    assert_eq!(violations.iter().map(|v| &*v.path).collect::<Vec<_>>(), vec!["radix", "tree-spawn"]);
}
