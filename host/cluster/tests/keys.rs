//! The key pair is what OpenSSH itself takes it for: its own tools read both halves.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use coxswain_cluster::keys;

#[test]
fn ssh_keygen_derives_the_public_half_from_the_private_one() {
    let folder = std::env::temp_dir().join(format!("coxswain-keys-{}", std::process::id()));
    let private = folder.join("ssh-privatekey");
    let pair = keys::pair().unwrap();
    fs::create_dir_all(&folder).unwrap();
    fs::write(&private, &pair.private_pem).unwrap();
    fs::set_permissions(&private, fs::Permissions::from_mode(0o600)).unwrap();

    let output = Command::new("ssh-keygen").arg("-y").arg("-f").arg(&private).output();
    fs::remove_dir_all(&folder).unwrap();

    let output = output.expect("`make setup` installs ssh-keygen");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), pair.public_line);
}
