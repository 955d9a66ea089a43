use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::job::{ValidJob, Verdict};

fn raw(workers: i64) -> Value {
    let template = json!({"spec": {"containers": [{"name": "main"}]}});
    json!({
        "metadata": {"name": "pi", "namespace": "team-a", "uid": "u"},
        "spec": {"mpiReplicaSpecs": {
            "Launcher": {"template": template},
            "Worker": {"replicas": workers, "template": template},
        }},
    })
}

fn parse(raw: &Value) -> Verdict {
    ValidJob::parse(&serde_json::from_value(raw.clone()).unwrap(), None)
}

fn mistakes(raw: &Value) -> Vec<String> {
    match parse(raw) {
        Verdict::Valid(_) => Vec::new(),
        Verdict::Invalid(errors) => errors.iter().map(ToString::to_string).collect(),
        Verdict::NotOurs => panic!("{raw}"),
    }
}

fn with(pointer: &str, value: Value) -> Value {
    let mut raw = raw(2);
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    raw.pointer_mut(parent).unwrap()[key] = value;
    raw
}

const POD: &str = "/spec/mpiReplicaSpecs/Worker/template/spec";

/// The old operator made two billion names of it, and was killed.
#[test]
fn two_billion_workers_are_refused_at_once_and_the_number_that_fits_is_named() {
    let expected = "spec.mpiReplicaSpecs[Worker].replicas: Invalid value: 2147483647: host list and script of so many \
                    workers take more than 900 KiB, which no ConfigMap holds: must be at most";
    let suspended = {
        let mut raw = raw(i32::MAX.into());
        raw["spec"]["runPolicy"] = json!({"suspend": true});
        raw
    };
    let running = raw(i32::MAX.into());
    let finished = {
        let mut raw = raw(i32::MAX.into());
        let condition = json!({"type": "Succeeded", "status": "True"});
        raw["status"] = json!({"conditions": [condition], "completionTime": "2026-01-01T00:00:00Z"});
        raw
    };
    // What counted its way there would not come back.
    for raw in [suspended, running, finished] {
        let found = mistakes(&raw);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(expected), "{found:?}");
    }
}

#[test]
fn the_number_that_is_named_is_accepted_and_what_is_refused_no_launcher_could_be_given() {
    let found = mistakes(&raw(200_000));
    let fitting: i64 = found[0].rsplit(' ').next().unwrap().parse().unwrap();
    assert_eq!(mistakes(&raw(fitting)), [""; 0]);

    let largest = (fitting..200_000).find(|workers| !mistakes(&raw(*workers)).is_empty()).unwrap() - 1;
    let names = |count: i64| (0..count).map(|index| format!("pi-worker-{index}.pi.team-a.svc"));
    let bytes =
        |count| -> usize { names(count).map(|host| format!("{host}:1\necho {host}:1\n").len()).sum() };
    assert!(bytes(largest) <= CONFIG_MAP && bytes(largest + 1) > CONFIG_MAP, "{largest}");
    let longest =
        |count| -> usize { names(count).map(|host| format!("{host} slots=1\necho {host}:1\n").len()).sum() };
    assert!(longest(fitting) <= CONFIG_MAP && longest(fitting + 1) > CONFIG_MAP, "{fitting}");
}

#[test]
fn more_ranks_than_mpi_counts_are_refused() {
    let with_slots = |slots: i32| with("/spec/slotsPerWorker", json!(slots));

    assert_eq!(
        mistakes(&with_slots(i32::MAX)),
        [
            "spec.slotsPerWorker: Invalid value: 2147483647: must be at most 1073741823 on 2 hosts: MPI counts no more \
          than 2147483647 ranks"
        ]
    );
    assert_eq!(mistakes(&with_slots(1_073_741_823)), [""; 0]);
    let mut alone = with_slots(i32::MAX);
    alone["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = json!(1);
    assert_eq!(mistakes(&alone), [""; 0], "as many as it counts are none too many");
}

#[test]
fn what_is_large_by_number_is_refused_with_its_field_and_a_way_out() {
    let container = json!({"name": "c", "image": "i"});
    let variable = json!({"name": "A", "value": "b"});
    let claim = json!({"name": "nic", "resourceClaimName": "nic"});
    let condition = json!({"type": "x", "status": "True"});
    for (raw, expected) in [
        (
            with(&format!("{POD}/containers"), vec![container; 8_000].into()),
            "spec.mpiReplicaSpecs[Worker].template.spec.containers: Invalid value: 8000: must have at most 256 items: run \
             more in each of them, init containers included",
        ),
        (
            with(
                &format!("{POD}/containers"),
                json!([{"name": "a"}, {"name": "c", "env": vec![variable; 5_000]}]),
            ),
            "spec.mpiReplicaSpecs[Worker].template.spec.containers[1].env: Invalid value: 5000: must have at most 4096 \
             items: put them into a ConfigMap and name it in envFrom",
        ),
        (
            with(&format!("{POD}/resourceClaims"), vec![claim; 65].into()),
            "spec.mpiReplicaSpecs[Worker].template.spec.resourceClaims: Invalid value: 65: must have at most 64 items: \
             ask for several devices in one claim",
        ),
        (
            with("/status", json!({"conditions": vec![condition; 65]})),
            "status.conditions: Invalid value: 65: must have at most 64 items: take those out that the operator did not \
             write",
        ),
        (
            with("/metadata/annotations", json!({"coxswain.dev/tuners": "a,".repeat(33)})),
            "metadata.annotations[coxswain.dev/tuners]: Invalid value: 33: must have at most 32 items: name those that \
             the job needs",
        ),
    ] {
        assert_eq!(mistakes(&raw), [expected]);
    }
}

#[test]
fn what_is_large_by_bytes_is_refused_with_its_field_and_a_way_out() {
    let large = "x".repeat(TEMPLATE);
    let argument = with(&format!("{POD}/containers"), json!([{"name": "main", "args": [large]}]));
    let found = mistakes(&argument);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("spec.mpiReplicaSpecs[Worker].template: Invalid value: 52"), "{found:?}");
    assert!(found[0].ends_with("put what is large into a ConfigMap, a volume or the image"), "{found:?}");

    let settings =
        with("/metadata/annotations", json!({"openmpi.coxswain.dev/ssh-args": "x".repeat(SETTINGS)}));
    let found = mistakes(&settings);
    assert!(
        found[0].starts_with("metadata.annotations[PLUGIN.coxswain.dev/KEY]: Invalid value: 8200"),
        "{found:?}"
    );

    let condition = json!({"type": "x", "status": "True", "message": "x".repeat(STATUS)});
    let found = mistakes(&with("/status", json!({"conditions": [condition]})));
    assert!(found[0].starts_with("status: Invalid value: 262"), "{found:?}");
}

/// They used to be pasted into paths as they were: to other objects, or to a request that was never sent.
#[test]
fn names_of_claims_are_names_before_they_become_paths() {
    for (field, name) in [
        ("resourceClaimName", "../../../../../api/v1/namespaces/kube-system/secrets/x"),
        ("resourceClaimTemplateName", "a b"),
        ("resourceClaimName", "nic?watch=true"),
        ("resourceClaimTemplateName", "Nic"),
    ] {
        let claims = json!([{"name": "ok", "resourceClaimName": "ok.ok"}, {"name": "nic", field: name}]);
        let found = mistakes(&with(&format!("{POD}/resourceClaims"), claims));
        let expected = format!(
            "spec.mpiReplicaSpecs[Worker].template.spec.resourceClaims[1].{field}: Invalid value: {name:?}: "
        );
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(&expected), "{found:?}");
    }
    // The launcher's, too; and one that Kubernetes would prefer does not hide the other.
    let both = json!([{"name": "nic", "resourceClaimName": "..", "resourceClaimTemplateName": "ok"}]);
    let found = mistakes(&with("/spec/mpiReplicaSpecs/Launcher/template/spec/resourceClaims", both));
    assert!(
        found[0]
            .starts_with("spec.mpiReplicaSpecs[Launcher].template.spec.resourceClaims[0].resourceClaimName")
    );
}
