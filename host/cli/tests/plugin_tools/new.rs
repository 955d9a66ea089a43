//! `plugin new`: what it writes is built by cargo and held to its own vectors.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::given::{component, coxswain, folder, root};

/// `plugin new`, `cargo plugin` and `plugin check`. What cargo has built in the folder before is built on.
fn written_and_checked(here: &Path, name: &str, more: &[&str]) -> PathBuf {
    let kit = root().join("plugins/kit");
    let words = ["plugin", "new", name, "--dir", here.to_str().unwrap(), "--kit", kit.to_str().unwrap()];
    let said = coxswain(&[&words, more].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let made = here.join(name);
    let built = here.join("target");
    if built.exists() {
        fs::rename(&built, made.join("target")).unwrap();
    }
    build(&made);
    fs::rename(made.join("target"), &built).unwrap();

    let component = made.join(name).with_extension("wasm");
    let vectors = made.join("vectors.json");
    let said =
        coxswain(&["plugin", "check", component.to_str().unwrap(), "--vectors", vectors.to_str().unwrap()]);
    assert_eq!(said.code, Some(0), "{}", said.out);
    assert!(said.out.contains("ok   vectors"), "{}", said.out);
    component
}

/// As its README says. What the test run's own cargo has set is not for another crate.
fn build(made: &Path) {
    let cargo = env::var_os("COXSWAIN_CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.arg("plugin").current_dir(made);
    for (key, _) in env::vars_os() {
        if key.to_str().is_some_and(|key| key.starts_with("CARGO_PKG_") || key.starts_with("CARGO_MANIFEST_"))
        {
            command.env_remove(key);
        }
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_new_launcher_and_a_new_tuner_build_pass_their_vectors_and_render_their_jobs() {
    // Outside every workspace of ours.
    let here = env::temp_dir().join(format!("coxswain-plugin-new-{}", std::process::id()));
    fs::create_dir_all(&here).unwrap();
    let launcher = written_and_checked(&here, "my-mpi", &["--implementation", "MyMPI"]);
    let tuner = written_and_checked(&here, "loud", &["--tuner"]);
    let explained = |component: &Path, words: &[&str]| {
        let job = component.with_file_name("job.yaml");
        let said = coxswain(&[&["render", job.to_str().unwrap(), "--explain"], words].concat());
        assert_eq!(said.code, Some(0), "{said:?}");
        said.out
    };

    let by_launcher = explained(&launcher, &["--plugin", launcher.to_str().unwrap()]);
    let with_tuner =
        explained(&tuner, &["--plugin", &component("openmpi"), "--tuner", tuner.to_str().unwrap()]);

    assert!(by_launcher.contains("MY_MPI_HOSTFILE"), "{by_launcher}");
    assert!(with_tuner.contains("LOUD_LEVEL"), "{with_tuner}");
    fs::remove_dir_all(here).unwrap();
}

#[test]
fn nothing_is_overwritten_and_a_name_is_a_label() {
    let here = folder("new-refused");
    fs::create_dir_all(here.join("taken")).unwrap();
    let kit = root().join("plugins/kit");
    let new = |name: &str| {
        coxswain(&["plugin", "new", name, "--dir", here.to_str().unwrap(), "--kit", kit.to_str().unwrap()])
    };

    assert!(new("taken").err.contains("exists"));
    for name in ["Upper", "1st", "a_b", "../up", ""] {
        let said = new(name);
        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(said.err.contains("cannot be a plugin's name"), "{}", said.err);
    }
    assert_eq!(fs::read_dir(&here).unwrap().count(), 1);
}
