//! Rules for variables: who may set which, to what, and who wins.

use super::{
    cluster_policy::ClusterPolicy,
    findings::{Findings, edits, is_control},
    granted::GrantedEnv,
};
use crate::{
    api::labels,
    plan::{Change, Descriptor, EnvEdit, EnvValue, Plan},
};

/// Longest name.
const MAX_NAME: usize = 128;
/// Longest value: a quarter of what Linux takes for one string of an environment.
const MAX_VALUE: usize = 32 << 10;

/// Withheld from plugins: what decides which code runs, where the cluster and the home are, which devices are seen
/// and who carries the traffic.
const WITHHELD: [&str; 3] = ["PATH", "HOME", "NVIDIA_VISIBLE_DEVICES"];
const WITHHELD_PREFIXES: [&str; 2] = ["LD_", "KUBERNETES_"];
/// In any case.
const PROXIES: [&str; 5] = ["HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY"];

/// The variables of one role in plan order. The last edit of a name wins at the place of the first, but a fallback
/// never takes the place of a forced value.
pub(super) fn grant(
    role: &str,
    plan: &Plan,
    chain: &[&Descriptor],
    policy: &ClusterPolicy,
    found: &mut Findings,
) -> Vec<GrantedEnv> {
    let mut granted: Vec<GrantedEnv> = Vec::new();
    for (by, change) in edits(plan, role) {
        if let Change::Env(edit) = change {
            name(by, &edit.name, chain, policy, found);
            value(by, edit, found);
            merge(&mut granted, by, edit);
        }
    }
    references(&granted, found);
    granted
}

fn merge(granted: &mut Vec<GrantedEnv>, by: &str, edit: &EnvEdit) {
    let new = |replaced| GrantedEnv {
        name: edit.name.clone(),
        value: edit.value.clone(),
        force: edit.force,
        by: by.to_owned(),
        replaced,
    };
    match granted.iter_mut().find(|env| env.name == edit.name) {
        None => granted.push(new(Vec::new())),
        Some(first) if first.force && !edit.force => {}
        Some(first) => {
            let mut replaced = std::mem::take(&mut first.replaced);
            if first.by != by && !replaced.contains(&first.by) {
                replaced.push(std::mem::take(&mut first.by));
            }
            *first = new(replaced);
        }
    }
}

fn name(by: &str, name: &str, chain: &[&Descriptor], policy: &ClusterPolicy, found: &mut Findings) {
    let item = format!("env[{name}]");
    let head = |c: char| c.is_ascii_alphabetic() || c == '_';
    let well_formed = name.starts_with(head) && name.chars().all(|c| head(c) || c.is_ascii_digit());
    if !well_formed || name.len() > MAX_NAME {
        found.refuse(by, &item, format!("a name has letters, digits and '_', at most {MAX_NAME} of them"));
        return;
    }
    let plugin = chain.iter().find(|plugin| plugin.name == by);
    let declared =
        plugin.is_some_and(|plugin| plugin.writes_env.iter().any(|p| name.starts_with(p.as_str())));
    if !declared {
        found.refuse(by, &item, "the plugin does not declare it: it belongs under a prefix of `writes-env`");
    }
    if name == labels::ENV_JOB_ROLE {
        found.refuse(by, &item, "is the operator's own and never a plugin's");
    } else if is_withheld(name) && !policy.env.iter().any(|allowed| allowed == name) {
        found.refuse(by, &item, "is withheld from plugins unless the cluster's policy names it");
    }
}

fn is_withheld(name: &str) -> bool {
    WITHHELD.contains(&name)
        || WITHHELD_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || PROXIES.iter().any(|proxy| name.eq_ignore_ascii_case(proxy))
}

fn value(by: &str, edit: &EnvEdit, found: &mut Findings) {
    let EnvValue::Literal(value) = &edit.value else { return };
    let item = format!("env[{}]", edit.name);
    if value.len() > MAX_VALUE {
        found.refuse(by, &item, format!("{} bytes: at most {MAX_VALUE} are allowed", value.len()));
    }
    if value.contains(is_control) {
        found.refuse(by, &item, "holds a control character: tabs are allowed, line feeds belong into a file");
    }
}

/// `$(NAME)` may only name what a plugin has set before: anything else would read the user's or the cluster's.
fn references(granted: &[GrantedEnv], found: &mut Findings) {
    for (position, env) in granted.iter().enumerate() {
        let EnvValue::Literal(value) = &env.value else { continue };
        for name in referenced(value) {
            if !granted.iter().take(position).any(|earlier| earlier.name == name) {
                let item = format!("env[{}]", env.name);
                let text = format!(
                    "$({name}) names no variable that the plan sets before it: set it first, or write $$({name}) \
                     for the text itself"
                );
                found.refuse(&env.by, &item, text);
            }
        }
    }
}

/// The names in `$(NAME)`, read as the kubelet does: `$$` is a dollar, an unclosed `$(` is text.
pub(super) fn referenced(value: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = value;
    while let Some((_, after)) = rest.split_once('$') {
        rest = after;
        if let Some(after) = rest.strip_prefix('$') {
            rest = after;
        } else if let Some((name, after)) = rest.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
            names.push(name);
            rest = after;
        }
    }
    names
}
