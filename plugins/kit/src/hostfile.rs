//! Host lists in the dialects of the launchers. Lines end in LF (Open MPI refuses CRLF) and carry no comment (MPICH
//! refuses trailing ones).

use alloc::string::String;

use crate::{
    decimal, plan,
    types::{File, HostEntry, Job},
};

/// The name under which the MPI Operator has always mounted it.
pub const NAME: &str = "hostfile";

/// Room for one line, so that ten thousand of them do not reallocate often.
const LINE: usize = 64;

/// How a launcher wants its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `host slots=N`: Open MPI and PRRTE.
    Slots,
    /// `host:N`: MPICH, Intel MPI, MVAPICH. Open MPI accepts it silently and ignores the N.
    Colon,
    /// `host`.
    Plain,
}

/// The absolute path of the host list in the driver's pod.
pub fn path(job: &Job) -> String {
    [&job.files_dir, "/", NAME].concat()
}

/// The host list as a file of a plan.
pub fn file(content: String) -> File {
    plan::job_file(NAME, content)
}

/// One line per host, in the order given. Empty without hosts.
pub fn write<'a>(hosts: impl Iterator<Item = &'a HostEntry>, dialect: Dialect) -> String {
    let mut text = String::with_capacity(hosts.size_hint().0.saturating_mul(LINE));
    for host in hosts {
        push(&mut text, &host.name, host.slots, dialect);
    }
    text
}

/// Appends one line. Use it where a host goes by another name than [`HostEntry::name`].
pub fn push(text: &mut String, name: &str, slots: u32, dialect: Dialect) {
    text.push_str(name);
    match dialect {
        Dialect::Slots => text.push_str(" slots="),
        Dialect::Colon => text.push(':'),
        Dialect::Plain => {}
    }
    if dialect != Dialect::Plain {
        decimal::push(text, slots.into());
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{groups, sample};

    #[test]
    fn each_dialect_has_its_line() {
        let job = sample::job(2, 3);
        let written = |dialect| write(groups::rank_hosts(&job), dialect);

        assert_eq!(
            written(Dialect::Slots),
            "pi-worker-0.pi.default.svc slots=3\npi-worker-1.pi.default.svc slots=3\n"
        );
        assert_eq!(written(Dialect::Colon), "pi-worker-0.pi.default.svc:3\npi-worker-1.pi.default.svc:3\n");
        assert_eq!(written(Dialect::Plain), "pi-worker-0.pi.default.svc\npi-worker-1.pi.default.svc\n");
    }

    #[test]
    fn no_hosts_give_an_empty_file() {
        assert_eq!(write([].iter(), Dialect::Slots), "");
    }
}
