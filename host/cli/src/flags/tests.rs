use super::*;

fn read(line: &str) -> Result<Flags, clap::Error> {
    Flags::read(line.split_whitespace().map(str::to_owned))
}

#[test]
fn the_mpi_operators_manifests_are_understood() {
    let flags = read("-alsologtostderr --lock-namespace=kubeflow").unwrap();

    assert_eq!(flags.lock_namespace, "kubeflow");
}

#[test]
fn one_dash_and_two_are_the_same() {
    let flags = read("-threadiness 3 --threadiness=4 -kubeConfig=/k -v=4 -namespace n -version").unwrap();

    assert_eq!((flags.threadiness, flags.kubeconfig.as_str()), (Some(4), "/k"));
    assert_eq!((flags.verbosity, flags.namespace.as_str(), flags.version), (4, "n", true));
    assert!(!read("--version=false").unwrap().version);
}

#[test]
fn klogs_flags_vanish_with_their_values() {
    let flags = read(
        "-logtostderr=false --stderrthreshold INFO -log_dir /x --log_file_max_size=1 --skip_headers \
         -legacy_stderr_threshold_behavior=false --monitoring-port 9090",
    )
    .unwrap();

    assert_eq!(flags.monitoring_port, 9090);
}

#[test]
fn unknown_flags_are_usage_errors() {
    for line in ["--kubectl-delivery-image=x", "--no-such-flag", "-x", "--threadiness=0", "--kube-api-qps=0"]
    {
        assert_eq!(read(line).unwrap_err().exit_code(), 2, "{line}");
    }
    assert_eq!(read("--help").unwrap_err().exit_code(), 0);
}

#[test]
fn only_capabilities_that_there_are_can_be_granted() {
    assert_eq!(read("").unwrap().allow_capabilities, [""; 0]);
    assert_eq!(
        read("--allow-capabilities=shared-memory,lock-memory").unwrap().allow_capabilities,
        ["shared-memory", "lock-memory"]
    );
    assert_eq!(read("--allow-capabilities=lock-memroy").unwrap_err().exit_code(), 2);
}

#[test]
fn a_flag_is_read_by_its_earlier_name_too_unless_the_new_one_is_there_and_help_names_the_new_one() {
    let allowed = |line| read(line).unwrap().options().unwrap().rules.policy.capabilities;

    assert_eq!(allowed("--allow-wants=lock-memory"), ["lock-memory"]);
    assert_eq!(allowed("--allow-wants=lock-memory --allow-capabilities=shared-memory"), ["shared-memory"]);
    assert_eq!(read("").unwrap().renamed(), []);
    assert_eq!(
        read("-allow-wants=lock-memory").unwrap().renamed(),
        [("--allow-wants", "--allow-capabilities")]
    );
    let help = read("--help").unwrap_err().to_string();
    assert!(help.contains("--allow-capabilities") && !help.contains("--allow-wants"), "{help}");
}

#[test]
fn rates_bound_only_where_they_are_set() {
    let unset = read("").unwrap();
    let set = read("--kube-api-qps=50 --controller-queue-burst=7").unwrap();

    assert_eq!((unset.api_rate(), unset.reconcile_rate()), (None, None));
    assert_eq!(set.api_rate(), Some(Rate { qps: 50.0, burst: 10.0 }));
    assert_eq!(set.reconcile_rate(), Some(Rate { qps: 10.0, burst: 7.0 }));
}

#[test]
fn gang_scheduling_names_volcano_or_a_scheduler() {
    let gang = |line| read(line).unwrap().gang();

    assert_eq!(gang(""), Gang::Off);
    assert_eq!(gang("--gang-scheduling=volcano"), Gang::Volcano);
    assert_eq!(gang("--gang-scheduling=native"), Gang::Native);
    assert_eq!(gang("--gang-scheduling=native-by-job"), Gang::NativeByJob);
    assert_eq!(gang("--gang-scheduling=x"), Gang::SchedulerPlugins("x".into()));
}

#[test]
fn the_version_has_the_six_lines_that_tools_read() {
    let version = version();

    let names: Vec<&str> =
        version.lines().filter_map(|line| line.split_once(": ").map(|(name, _)| name)).collect();
    assert_eq!(names, ["API Version", "Version", "Git SHA", "Built", "Go Version", "Go OS/Arch"]);
}
