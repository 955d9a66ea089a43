//! Volumes, mount paths, keys and files of a job's pods, exactly as the MPI Operator 0.8.2 has them, and our own.

/// Where the launcher finds `hostfile` and `discover_hosts.sh`.
pub const CONFIG_MOUNT_PATH: &str = "/etc/mpi";
/// Volume of the job's ConfigMap in the launcher.
pub const CONFIG_VOLUME: &str = "mpi-job-config";
/// Key of the host list.
pub const HOSTFILE: &str = "hostfile";
/// Key of the script that prints the running hosts (elastic Horovod calls it).
pub const DISCOVER_HOSTS: &str = "discover_hosts.sh";
/// Volume of the ssh key pair in every pod.
pub const SSH_VOLUME: &str = "ssh-auth";
/// Secret key with the private half, SEC1 PEM.
pub const SSH_PRIVATE_KEY: &str = "ssh-privatekey";
/// Secret key with the public half, an `authorized_keys` line.
pub const SSH_PUBLIC_KEY: &str = "ssh-publickey";
/// Secret key with the `known_hosts` line of a job whose launcher checks host keys.
pub const SSH_KNOWN_HOSTS: &str = "ssh-knownhosts";
/// File of that line beside the key pair.
pub const SSH_KNOWN_HOSTS_FILE: &str = "known_hosts";
/// File of the private half, which is the workers' host key, too, where host keys are checked.
pub const SSH_PRIVATE_KEY_FILE: &str = "id_rsa";
/// Default of `spec.sshAuthMountPath`; only here do the key files get mode 0600, as root's sshd wants them.
pub const ROOT_SSH_PATH: &str = "/root/.ssh";
/// Volume of the files that every pod gets.
pub const FILES_VOLUME: &str = "coxswain-files";
/// Volume behind `/dev/shm` where shared memory is granted.
pub const SHARED_MEMORY_VOLUME: &str = "coxswain-shared-memory";
