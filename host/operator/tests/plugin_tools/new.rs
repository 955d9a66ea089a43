//! `plugin new`: what it writes is built by cargo and held to its own vectors.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::given::{component, coxswain, folder, root};

/// `plugin new`, `cargo plugin` and `plugin check`, in a folder outside every workspace of ours.
fn written_and_checked(name: &str, more: &[&str]) -> PathBuf {
    let here = env::temp_dir().join(format!("coxswain-plugin-new-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&here);
    fs::create_dir_all(&here).unwrap();
    let kit = root().join("plugins/kit");
    let words = ["plugin", "new", name, "--dir", here.to_str().unwrap(), "--kit", kit.to_str().unwrap()];
    let said = coxswain(&[&words, more].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let made = here.join(name);
    build(&made);

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
fn a_new_launcher_builds_passes_its_vectors_and_renders_its_job() {
    let component = written_and_checked("my-mpi", &["--implementation", "MyMPI"]);

    let job = component.with_file_name("job.yaml");
    let said =
        coxswain(&["render", job.to_str().unwrap(), "--plugin", component.to_str().unwrap(), "--explain"]);

    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("MY_MPI_HOSTFILE"), "{}", said.out);
    fs::remove_dir_all(component.parent().unwrap().parent().unwrap()).unwrap();
}

#[test]
fn a_new_tuner_builds_passes_its_vectors_and_tunes_its_job() {
    let tuner = written_and_checked("loud", &["--tuner"]);

    let job = tuner.with_file_name("job.yaml");
    let said = coxswain(&[
        "render",
        job.to_str().unwrap(),
        "--plugin",
        &component("openmpi"),
        "--tuner",
        tuner.to_str().unwrap(),
        "--explain",
    ]);

    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("LOUD_LEVEL"), "{}", said.out);
    fs::remove_dir_all(tuner.parent().unwrap().parent().unwrap()).unwrap();
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
