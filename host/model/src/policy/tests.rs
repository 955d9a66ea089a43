use coxswain_test_support::job::Job;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{
    kind::{LAUNCHER, WORKER},
    plan::{CapabilityRequest, Change, Edit, EnvEdit, EnvValue, Note, Place, PodField, Port},
    testing::parsed,
};

fn job(workers: u32, annotations: &[(&str, &str)]) -> ValidJob {
    job_with(workers, annotations, |_| ())
}

/// The same after a change of its `spec`.
fn job_with(workers: u32, annotations: &[(&str, &str)], change: impl FnOnce(&mut Value)) -> ValidJob {
    let mut job = Job::new("pi", workers)
        .stored("default", "u")
        .containers("image", "i")
        .containers("command", json!(["mpirun"]))
        .containers("args", json!(["-n", "2", "pi"]));
    for (key, value) in annotations {
        job = job.annotate(key, value);
    }
    let mut manifest = job.manifest().clone();
    change(&mut manifest["spec"]);
    parsed(&manifest.into())
}

fn launcher_container(spec: &mut Value) -> &mut Value {
    &mut spec["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
}

fn plugin(name: &str, prefixes: &[&str]) -> Descriptor {
    let writes_env = prefixes.iter().map(|&prefix| prefix.to_owned()).collect();
    Descriptor { name: name.into(), writes_env, ..Descriptor::default() }
}

fn env(by: &str, name: &str, value: &str, force: bool) -> Edit {
    let value = EnvValue::Literal(value.into());
    let change = Change::Env(EnvEdit { name: name.into(), value, force });
    Edit { by: by.into(), group: Some("launcher".into()), change }
}

fn edit(change: Change) -> Edit {
    Edit { by: "ompi".into(), group: None, change }
}

fn request(kind: &str, parameter: Option<&str>) -> Edit {
    edit(Change::Capability(CapabilityRequest { kind: kind.into(), parameter: parameter.map(Into::into) }))
}

fn file(name: &str, place: Place, content: &str) -> File {
    File { by: "ompi".into(), name: name.into(), place, executable: false, content: content.into() }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn review(job: &ValidJob, plan: &Plan, policy: &ClusterPolicy) -> Result<Granted, Vec<Violation>> {
    let (ompi, nccl) =
        (plugin("ompi", &["OMPI_", "LD_", "PATH", "http"]), plugin("nccl", &["NCCL_", "OMPI_"]));
    grant(job, plan, &[&ompi, &nccl], policy)
}

fn edits(edits: Vec<Edit>) -> Plan {
    Plan { edits, ..Plan::default() }
}

fn files(files: Vec<File>) -> Plan {
    Plan { files, ..Plan::default() }
}

fn granted(plan: &Plan) -> Granted {
    review(&job(2, &[]), plan, &ClusterPolicy::default()).unwrap()
}

/// Each violation as one line.
fn refused(plan: &Plan) -> Vec<String> {
    let violations = review(&job(2, &[]), plan, &ClusterPolicy::default()).unwrap_err();
    violations.into_iter().map(|v| format!("{}: {}", v.path, v.text)).collect()
}

#[test]
fn an_edit_without_a_group_reaches_both_roles() {
    let all = Edit { group: None, ..env("ompi", "OMPI_A", "1", true) };

    let granted = granted(&edits(vec![all, env("ompi", "OMPI_B", "2", false)]));

    let names = |grant: &Grant| grant.env.iter().map(|env| env.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(granted.of(LAUNCHER)), ["OMPI_A", "OMPI_B"]);
    assert_eq!(names(granted.of(WORKER)), ["OMPI_A"]);
}

#[test]
fn the_last_edit_of_a_variable_wins_at_the_place_of_the_first_and_is_recorded() {
    let granted = granted(&edits(vec![
        env("ompi", "OMPI_A", "1", false),
        env("ompi", "OMPI_B", "1", true),
        env("nccl", "OMPI_A", "2", false),
        env("nccl", "OMPI_B", "2", false),
    ]));

    let [a, b] = granted.of(LAUNCHER).env.as_slice() else { panic!("{granted:?}") };
    assert_eq!((a.value.clone(), a.by.as_str()), (EnvValue::Literal("2".into()), "nccl"));
    assert_eq!(a.replaced, ["ompi"]);
    assert_eq!(
        (b.value.clone(), b.by.as_str()),
        (EnvValue::Literal("1".into()), "ompi"),
        "force beats fallback"
    );
}

#[test]
fn every_variable_out_of_bounds_is_named_with_its_plugin() {
    let long = "x".repeat(129);
    let bad = [
        env("ompi", "OMPI-A", "", true),
        env("ompi", &format!("OMPI_{long}"), "", true),
        env("ompi", "NCCL_DEBUG", "", true),
        env("ompi", "LD_PRELOAD", "", true),
        env("ompi", "PATH", "", true),
        env("ompi", "http_proxy", "", true),
        env("ompi", "OMPI_NUL", "a\0", true),
        env("ompi", "OMPI_LINES", "a\nb", true),
        env("ompi", "OMPI_LONG", &"x".repeat((32 << 10) + 1), true),
        env("stranger", "OMPI_A", "", true),
    ];

    let lines = refused(&edits(bad.into()));

    let starts = [
        "plugins[stranger].edits: is not in",
        "plugins[ompi].env[OMPI-A]: a name has",
        "plugins[ompi].env[OMPI_xxx",
        "plugins[ompi].env[NCCL_DEBUG]: the plugin does not declare it",
        "plugins[ompi].env[LD_PRELOAD]: is withheld",
        "plugins[ompi].env[PATH]: is withheld",
        "plugins[ompi].env[http_proxy]: is withheld",
        "plugins[ompi].env[OMPI_NUL]: holds a control character",
        "plugins[ompi].env[OMPI_LINES]: holds a control character",
        "plugins[ompi].env[OMPI_LONG]: 32769 bytes",
        "plugins[stranger].env[OMPI_A]: the plugin does not declare it",
    ];
    assert_eq!(lines.len(), starts.len(), "{lines:#?}");
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
}

#[test]
fn a_withheld_variable_needs_policy_and_declaration() {
    let policy = ClusterPolicy { env: words(&["LD_PRELOAD", "HOME"]), ..ClusterPolicy::default() };
    let set = |name| review(&job(2, &[]), &edits(vec![env("ompi", name, "x", true)]), &policy);

    assert!(set("LD_PRELOAD").is_ok());
    assert!(set("LD_LIBRARY_PATH").is_err());
    assert!(set("HOME").is_err(), "allowed but not declared");
}

#[test]
fn references_reach_back_to_variables_of_the_plan_only() {
    let earlier = [env("ompi", "OMPI_A", "1", true), env("nccl", "NCCL_B", "$(OMPI_A)/$$(HOME)/$(", true)];
    assert!(review(&job(2, &[]), &edits(earlier.into()), &ClusterPolicy::default()).is_ok());

    let lines = refused(&edits(vec![
        env("ompi", "OMPI_A", "$(OMPI_B)", true),
        env("ompi", "OMPI_B", "x$(AWS_SECRET)y", true),
    ]));
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("plugins[ompi].env[OMPI_A]: $(OMPI_B) names no variable"), "{}", lines[0]);
    assert!(lines[1].starts_with("plugins[ompi].env[OMPI_B]: $(AWS_SECRET) names no"), "{}", lines[1]);
}

#[test]
fn references_are_read_as_the_kubelet_reads_them() {
    assert_eq!(variables::referenced("$(A)$$(B)$(C"), ["A"]);
    assert_eq!(variables::referenced("$$$(A)"), ["A"]);
    assert_eq!(variables::referenced("$A $"), Vec::<&str>::new());
}

#[test]
fn a_field_of_the_pod_is_no_text_to_check() {
    let change =
        Change::Env(EnvEdit { name: "OMPI_IP".into(), value: EnvValue::Field(PodField::Ip), force: true });

    let granted = granted(&edits(vec![edit(change)]));
    assert_eq!(granted.of(WORKER).env[0].value, EnvValue::Field(PodField::Ip));
}

#[test]
fn too_many_edits_notes_ports_or_files_are_refused_with_the_number() {
    let many = |n: usize| (0..n).map(|i| env("ompi", &format!("OMPI_{i}"), "", true)).collect::<Vec<_>>();
    assert!(review(&job(2, &[]), &edits(many(256)), &ClusterPolicy::default()).is_ok());
    assert_eq!(refused(&edits(many(257))), ["plugins[ompi].edits: 257 edits: at most 256 are allowed"]);

    let note = Note { by: "ompi".into(), warning: false, text: "n".into() };
    let notes = Plan { notes: vec![note; 17], ..Plan::default() };
    assert_eq!(refused(&notes), ["plugins[ompi].notes: 17 notes: at most 16 are allowed"]);

    let port = |i: u16| edit(Change::Port(Port { name: format!("p{i}"), number: 2000 + i }));
    assert_eq!(
        refused(&edits((0..17).map(port).collect())),
        ["plugins[ompi].ports: 17 ports: at most 16 are allowed"]
    );

    let many = (0..17).map(|i| file(&format!("f{i}"), Place::Job, "")).collect();
    assert_eq!(refused(&files(many)), ["plugins[ompi].files: 17 files: at most 16 are allowed"]);
}

#[test]
fn notes_are_single_lines() {
    let note = |text: &str| Note { by: "ompi".into(), warning: true, text: text.into() };
    let plan = |text: &str| Plan { notes: vec![note(text)], ..Plan::default() };

    assert_eq!(granted(&plan("fine")).notes, [note("fine")]);
    assert!(refused(&plan("a\nb"))[0].contains("single line"));
    assert!(refused(&plan(&"x".repeat(1025)))[0].contains("1024 bytes"));
}

#[test]
fn ports_are_unprivileged_unique_and_named_as_services() {
    let port = |name: &str, number| edit(Change::Port(Port { name: name.into(), number }));

    let granted = granted(&edits(vec![port("a", 2000), port("b", 2001), port("a", 2002)]));
    assert_eq!(granted.of(WORKER).ports.iter().map(|p| p.number).collect::<Vec<_>>(), [2002, 2001]);

    let lines = refused(&edits(vec![port("ssh", 22), port("Bad", 2000), port("x", 3000), port("y", 3000)]));
    assert_eq!(lines[0], "plugins[ompi].ports[ssh]: port 22: must be 1024 to 65535");
    assert!(lines[1].starts_with("plugins[ompi].ports[Bad]: a name has"), "{}", lines[1]);
    assert_eq!(lines[2], "plugins[ompi].ports[y]: port 3000 is taken by \"x\": choose another number");
}

#[test]
fn a_command_is_rendered_exactly_where_the_job_asks() {
    let asking = job(2, &[("coxswain.dev/launch-command", "render")]);
    let command = edits(vec![edit(Change::LaunchCommand(words(&["mpirun", "pi"])))]);
    let policy = ClusterPolicy::default();

    assert_eq!(review(&asking, &command, &policy).unwrap().launch_command, Some(words(&["mpirun", "pi"])));
    assert!(refused(&command)[0].contains("does not ask for a rendered command"));
    let none = review(&asking, &Plan::default(), &policy).unwrap_err();
    assert_eq!(none[0].path, "metadata.annotations[coxswain.dev/launch-command]");
}

#[test]
fn the_users_own_words_are_not_counted_in_a_rendered_command() {
    let script = "x".repeat(5000);
    let asking = job_with(2, &[("coxswain.dev/launch-command", "render")], |spec| {
        *launcher_container(spec).get_mut("args").unwrap() = json!(["bash", "-c", script]);
    });
    let command = |words: &[&str]| edits(vec![edit(Change::LaunchCommand(self::words(words)))]);
    let policy = ClusterPolicy::default();

    assert!(review(&asking, &command(&["mpirun", "bash", "-c", &script]), &policy).is_ok());
    let longer = format!("{script}y");
    assert!(review(&asking, &command(&["mpirun", &longer]), &policy).is_err());
    let many: Vec<String> = (0..65).map(|i| format!("--{i}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(review(&asking, &command(&many), &policy).is_err());
}

#[test]
fn a_prefix_needs_the_policy_and_a_command_to_stand_before() {
    let plan = edits(vec![edit(Change::PrefixCommand(words(&["nsys"])))]);
    let allowing = ClusterPolicy { prefix_command: words(&["ompi"]), ..ClusterPolicy::default() };
    let image_command = job_with(2, &[], |spec| {
        launcher_container(spec).as_object_mut().unwrap().remove("command");
    });

    assert!(refused(&plan)[0].starts_with("plugins[ompi].prefix-command: the cluster's policy"));
    assert_eq!(review(&job(2, &[]), &plan, &allowing).unwrap().prefix_command, ["nsys"]);
    let noted = review(&image_command, &plan, &allowing).unwrap();
    assert_eq!(noted.prefix_command, Vec::<String>::new());
    assert!(noted.notes[0].text.contains("write the command"));
}

#[test]
fn the_earlier_name_of_an_annotation_grants_and_is_noted() {
    let plan = edits(vec![request("lock-memory", None)]);
    let job = job(2, &[("coxswain.dev/allow-wants", "lock-memory")]);

    let granted = review(&job, &plan, &ClusterPolicy::default()).unwrap();

    assert!(granted.lock_memory);
    let [note] = granted.notes.as_slice() else { panic!("{:?}", granted.notes) };
    assert_eq!(
        (note.by.as_str(), note.text.as_str()),
        (
            "annotation coxswain.dev/allow-wants",
            "is called coxswain.dev/allow-capabilities now; the old name is read for one more release"
        )
    );
}

#[test]
fn a_capability_request_is_granted_by_cluster_or_job_and_otherwise_noted() {
    let plan = edits(vec![
        request("shared-memory", Some("8Gi")),
        request("lock-memory", None),
        request("wait-for-members", None),
        request("teleport", None),
    ]);
    let cluster = ClusterPolicy { capabilities: words(&["lock-memory"]), ..ClusterPolicy::default() };
    let asking = job(2, &[("coxswain.dev/allow-capabilities", "shared-memory")]);

    let refused = granted(&plan);
    assert_eq!((refused.shared_memory, refused.lock_memory), (None, false));
    let texts: Vec<&str> = refused.notes.iter().map(|note| note.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "requests capability \"shared-memory\", which is not granted: annotation coxswain.dev/allow-capabilities: \
             shared-memory on the job grants it, and --allow-capabilities=shared-memory of the operator to every job",
            "requests capability \"lock-memory\", which is not granted: annotation coxswain.dev/allow-capabilities: \
             lock-memory on the job grants it, and --allow-capabilities=lock-memory of the operator to every job",
            "requests capability \"teleport\", which this operator does not know",
        ]
    );
    let both = review(&asking, &plan, &cluster).unwrap();
    assert_eq!((both.shared_memory.as_deref(), both.lock_memory), (Some("8Gi"), true));
}

#[test]
fn what_the_workers_have_themselves_is_not_told() {
    let plan = edits(vec![request("shared-memory", None), request("lock-memory", None)]);
    let pod = json!({"spec": {"containers": [{
        "name": "main",
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
        "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
    }]}});
    let equipped = |launcher_runs_ranks: bool| {
        job_with(2, &[], |spec| {
            spec["runLauncherAsWorker"] = json!(launcher_runs_ranks);
            spec["mpiReplicaSpecs"]["Worker"]["template"] = pod.clone();
        })
    };

    let granted = review(&equipped(false), &plan, &ClusterPolicy::default()).unwrap();
    let in_the_launcher = review(&equipped(true), &plan, &ClusterPolicy::default()).unwrap();

    assert_eq!((granted.notes.len(), in_the_launcher.notes.len()), (0, 2));
}

#[test]
fn a_size_that_is_none_is_refused() {
    let line = &refused(&edits(vec![request("shared-memory", Some("lots"))]))[0];

    assert_eq!(line, "plugins[ompi].capabilities[shared-memory]: \"lots\" is no size: write it like 8Gi");
}

#[test]
fn an_unknown_group_is_refused() {
    let edit = Edit { group: Some("chief".into()), ..env("ompi", "OMPI_A", "", true) };

    assert!(refused(&edits(vec![edit]))[0].contains("unknown group \"chief\""));
}

#[test]
fn a_later_file_of_the_same_name_and_place_wins() {
    let nccl = |file: File| File { by: "nccl".into(), ..file };
    let conf = || Place::Everywhere("nccl-conf".into());
    let plan = files(vec![
        file("hostfile", Place::Job, "a"),
        file("nccl.conf", conf(), "a"),
        nccl(file("other.conf", conf(), "b")),
        file("hostfile", Place::Job, "c"),
        file("x", Place::Everywhere("attic".into()), ""),
    ]);

    let granted = granted(&plan);

    assert_eq!(granted.job_files, [file("hostfile", Place::Job, "c")]);
    assert_eq!(granted.everywhere, [nccl(file("other.conf", conf(), "b"))]);
    assert!(granted.notes[0].text.contains("replaces the one of plugin ompi"));
    assert!(granted.notes[1].text.contains("knows no place \"attic\""));
}

#[test]
fn names_and_contents_of_files_are_checked() {
    let lines = refused(&files(vec![
        file("a/b", Place::Job, ""),
        file("ssh-privatekey", Place::Job, ""),
        file("crlf", Place::Job, "a\r\n"),
        file("..", Place::Job, ""),
    ]));

    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[0].starts_with("plugins[ompi].files[a/b]: a name has"));
    assert!(lines[1].starts_with("plugins[ompi].files[ssh-privatekey]: names that begin"));
    assert!(lines[2].starts_with("plugins[ompi].files[crlf]: holds a CR"));
}

fn with_hostfile(workers: u32) -> (ValidJob, Plan) {
    let job = job(workers, &[]);
    let hosts: Vec<String> =
        (0..workers).map(|i| format!("pi-worker-{i}.pi.default.svc slots=1\n")).collect();
    let hosts = hosts.concat();
    let plan = files(vec![
        file("hostfile", Place::Job, &hosts),
        file("discover_hosts.sh", Place::Job, "#!/bin/sh\n"),
    ]);
    (job, plan)
}

#[test]
fn a_host_list_that_fits_no_config_map_names_the_largest_number_of_workers() {
    let policy = ClusterPolicy::default();
    let (job, plan) = with_hostfile(12_500);

    let violations = review(&job, &plan, &policy).unwrap_err();

    assert_eq!(violations[0].path, "spec.mpiReplicaSpecs[Worker].replicas");
    let largest: u32 = violations[0].text.rsplit(' ').nth(1).unwrap().parse().unwrap();
    let (fits, plan) = with_hostfile(largest);
    assert!(review(&fits, &plan, &policy).is_ok(), "{largest}");
    let (one_more, plan) = with_hostfile(largest + 1);
    assert!(review(&one_more, &plan, &policy).is_err(), "{largest}");
}

#[test]
fn files_that_are_too_large_by_themselves_are_the_plugins_fault() {
    let large = "x".repeat((900 << 10) + 1);
    let everywhere = file("nccl.conf", Place::Everywhere("nccl-conf".into()), &large);

    assert!(
        refused(&files(vec![file("big", Place::Job, &large)]))[0].starts_with("plugins[ompi].files[big]")
    );
    assert!(refused(&files(vec![everywhere]))[0].starts_with("plugins[ompi].files[nccl.conf]"));
}

#[test]
fn files_that_follow_the_pods_change_contents_alone() {
    let (job, plan) = with_hostfile(2);
    let granted = review(&job, &plan, &ClusterPolicy::default()).unwrap();
    let script = File { executable: true, ..file("discover_hosts.sh", Place::Job, "#!/bin/sh\necho h\n") };

    let followed = follow(&job, &granted, &[script]).unwrap();

    assert_eq!(followed.job_files[1].content, "#!/bin/sh\necho h\n");
    assert_eq!(followed.job_files[1].executable, granted.job_files[1].executable);
    let stranger = follow(&job, &granted, &[file("new", Place::Job, "")]).unwrap_err();
    assert!(stranger[0].text.contains("was not rendered"));
}

fn any_edit() -> impl Strategy<Value = Edit> {
    let text = || {
        prop_oneof![any::<String>(), "[A-Z_]{1,8}", Just("OMPI_A".to_owned()), Just("$(OMPI_A)".to_owned())]
    };
    let group = prop::option::of(prop_oneof![
        Just("launcher".to_owned()),
        Just("worker".to_owned()),
        any::<String>()
    ]);
    let change = prop_oneof![
        (text(), text(), any::<bool>()).prop_map(|(name, value, force)| Change::Env(EnvEdit {
            name,
            value: EnvValue::Literal(value),
            force
        })),
        prop::collection::vec(text(), 0..4).prop_map(Change::LaunchCommand),
        prop::collection::vec(text(), 0..4).prop_map(Change::PrefixCommand),
        (text(), any::<u16>()).prop_map(|(name, number)| Change::Port(Port { name, number })),
        (text(), prop::option::of(text()))
            .prop_map(|(kind, parameter)| Change::Capability(CapabilityRequest { kind, parameter })),
    ];
    (prop_oneof![Just("ompi"), Just("nccl")], group, change).prop_map(|(by, group, change)| Edit {
        by: by.to_owned(),
        group,
        change,
    })
}

proptest! {
    #[test]
    fn whatever_is_granted_keeps_every_rule(
        list in prop::collection::vec(any_edit(), 0..8), names in prop::collection::vec("[-._a-zA-Z0-9/]{0,6}", 0..4),
    ) {
        let plan = Plan {
            edits: list,
            files: names.iter().map(|name| file(name, Place::Job, name)).collect(),
            notes: vec![],
        };
        let Ok(granted) = review(&job(2, &[]), &plan, &ClusterPolicy::default()) else { return Ok(()) };

        for env in granted.groups.iter().flat_map(|(_, grant)| &grant.env) {
            prop_assert!(env.name.starts_with("OMPI_") || env.name.starts_with("NCCL_") || env.name.starts_with("http"));
            prop_assert!(env.name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
            let EnvValue::Literal(value) = &env.value else { continue };
            prop_assert!(!value.contains(['\0', '\n', '\r']));
        }
        for (_, grant) in &granted.groups {
            for (position, env) in grant.env.iter().enumerate() {
                prop_assert!(grant.env[..position].iter().all(|earlier| earlier.name != env.name));
            }
            prop_assert!(grant.ports.iter().all(|port| port.number >= 1024));
        }
        prop_assert_eq!(granted.launch_command, None);
        prop_assert_eq!(granted.prefix_command, Vec::<String>::new());
        prop_assert!(granted.shared_memory.is_none() && !granted.lock_memory);
        prop_assert!(granted.job_files.iter().all(|file| !file.name.contains('/') && !file.name.is_empty()));
    }
}
