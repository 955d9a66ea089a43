//! `plugin pack`.

use std::fs;

use coxswain_model::pin::Digest;
use coxswain_plugins::{
    signature::Keys,
    source::{self, PluginRequest},
    vectors,
};
use k8s_openapi::api::core::v1::ConfigMap;
use pretty_assertions::assert_eq;

use super::given::{Said, component, coxswain, file, folder};

/// Made for this test by `openssl genpkey -algorithm ed25519`, and by `openssl pkey -pubout` of it.
const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIACjWd/n/nDTXHaqvi6SWdl8ZAcujw4gp1ulfIWdg8GK
-----END PRIVATE KEY-----
";
const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAzzlKWmxHpoSn1cm31JprQS+TmN06dHP6ADuahGwfxoQ=
-----END PUBLIC KEY-----
";

fn map(said: &Said) -> ConfigMap {
    assert_eq!(said.code, Some(0), "{}", said.err);
    let object: serde_json::Value = serde_saphyr::from_str(&said.out).unwrap();
    serde_json::from_value(object).unwrap()
}

#[test]
fn what_is_packed_is_what_the_operator_reads() {
    let here = folder("pack");
    let settings = file(&here, "settings", "# ours\ntree-spawn: false\n");
    let vectors_file = file(
        &here,
        "vectors.yaml",
        "- name: x\n  job: pi.yaml\n  expect: { files: { hostfile: { contains: pi-worker-0 } } }\n",
    );
    fs::copy(super::given::root().join("examples/pi.yaml"), here.join("pi.yaml")).unwrap();
    let key = file(&here, "key.pem", PRIVATE);
    let bytes = fs::read(component("openmpi")).unwrap();

    let said = coxswain(&[
        "plugin",
        "pack",
        &component("openmpi"),
        "--settings",
        &settings,
        "--vectors",
        &vectors_file,
        "--sign",
        &key,
        "--namespace",
        "mpi-operator",
    ]);

    let map = map(&said);
    let candidate = PluginRequest::read("openmpi", &map).unwrap().candidate;
    assert_eq!(candidate.bytes, bytes);
    assert_eq!(candidate.settings["tree-spawn"], "false");
    assert_eq!(map.metadata.namespace.as_deref(), Some("mpi-operator"));
    assert_eq!(map.metadata.labels.as_ref().unwrap()["coxswain.dev/plugin"], "openmpi");
    let data = map.data.unwrap();
    assert_eq!(data["sha256"], Digest::of(&bytes).to_string());
    assert_eq!(vectors::parse(&data["vectors"]).unwrap().len(), 1, "the job is in it");
    let keys = Keys::parse(PUBLIC).unwrap();
    assert_eq!(keys.verify("openmpi", &candidate.digest, &data["signature"]), Ok("84146a407009b629".into()));
    assert!(keys.verify("mpich", &candidate.digest, &data["signature"]).is_err());
}

#[test]
fn a_packed_component_is_the_same_plugin() {
    let said = coxswain(&["plugin", "pack", &component("mpich"), "--gzip"]);

    let map = map(&said);
    assert!(map.binary_data.as_ref().unwrap().contains_key(source::WASM_GZ));
    assert_eq!(
        PluginRequest::read("mpich", &map).unwrap().candidate.bytes,
        fs::read(component("mpich")).unwrap()
    );
}

#[test]
fn who_may_use_it_and_whether_it_waits_for_approval_is_packed_too() {
    let said = coxswain(&["plugin", "pack", &component("mpich"), "--only-for", "team-a,hpc-*", "--hold"]);

    let map = map(&said);
    let data = map.data.as_ref().unwrap();
    assert_eq!((&*data["namespaces"], &*data["onChange"]), ("team-a, hpc-*", "hold"));
    assert!(PluginRequest::read("mpich", &map).unwrap().holds);
    let said = coxswain(&["plugin", "pack", &component("mpich"), "--only-for", "Team A"]);
    assert!(said.code == Some(1) && said.err.contains("data.namespaces"), "{said:?}");
}

#[test]
fn several_components_are_one_manifest() {
    let said = coxswain(&["plugin", "pack", &component("mpich"), &component("openmpi"), "--only-for", "hpc"]);

    let maps: Vec<serde_json::Value> = serde_saphyr::from_multiple(&said.out).unwrap();
    let names: Vec<_> = maps.iter().map(|map| map["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["mpich", "openmpi"], "{said:?}");
    assert!(maps.iter().all(|map| map["data"]["namespaces"] == "hpc"));

    let settings = file(&folder("pack-several"), "settings", "tree-spawn: false\n");
    let said =
        coxswain(&["plugin", "pack", &component("mpich"), &component("openmpi"), "--settings", &settings]);
    assert!(said.code == Some(1) && said.out.is_empty(), "{said:?}");
    assert!(said.err.contains("--settings would hold for each of 2 components"), "{}", said.err);
}

#[test]
fn what_the_operator_would_refuse_is_not_packed() {
    let here = folder("pack-refused");
    let settings = file(&here, "settings", "tree-spawn: maybe\n");
    let vectors = file(&here, "vectors", "- { name: x, expect: { files: { hostfile: nonsense } } }\n");
    let text = file(&here, "x.wasm", "nonsense");

    for (words, why) in [
        (vec!["--settings", &*settings], "settings: tree-spawn"),
        (vec!["--vectors", &*vectors], "vectors: x: file hostfile must be \"nonsense\""),
        (vec!["--sign", &*settings], "reading the private key as PEM"),
    ] {
        let said = coxswain(&[&["plugin", "pack", &component("openmpi")], words.as_slice()].concat());
        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(said.err.contains(why) && said.out.is_empty(), "{}", said.err);
    }
    let said = coxswain(&["plugin", "pack", &text]);
    assert!(said.err.contains("it is not WebAssembly"), "{}", said.err);
}
