//! The kinds of objects that the server knows, and in what they differ.

/// One kind.
#[derive(Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column of a table")]
pub struct Kind {
    /// Empty for the oldest kinds.
    pub group: &'static str,
    /// Of the API.
    pub version: &'static str,
    /// As objects call it.
    pub kind: &'static str,
    /// As paths call it.
    pub plural: &'static str,
    /// Its objects are in namespaces.
    pub is_namespaced: bool,
    /// `status` is written by requests of its own.
    pub has_status: bool,
    /// Changes of what is asked for are counted.
    pub counts_generations: bool,
    /// A DELETE that removes the object answers with it, and not with a `Status`.
    pub returns_deleted: bool,
    /// A PUT that names no version is taken.
    pub takes_any_version: bool,
    /// A PUT can make it.
    pub is_made_by_update: bool,
    /// Defined by a CRD.
    pub is_custom: bool,
}

const PLAIN: Kind = Kind {
    group: "",
    version: "v1",
    kind: "",
    plural: "",
    is_namespaced: true,
    has_status: false,
    counts_generations: false,
    returns_deleted: false,
    takes_any_version: true,
    is_made_by_update: false,
    is_custom: false,
};

const CUSTOM: Kind =
    Kind { has_status: true, counts_generations: true, takes_any_version: false, is_custom: true, ..PLAIN };

/// Of the cluster.
pub static NAMESPACE: Kind = Kind {
    kind: "Namespace",
    plural: "namespaces",
    is_namespaced: false,
    has_status: true,
    returns_deleted: true,
    ..PLAIN
};
/// Workers and launchers.
pub static POD: Kind = Kind {
    kind: "Pod",
    plural: "pods",
    has_status: true,
    counts_generations: true,
    returns_deleted: true,
    ..PLAIN
};
/// Names of a job's pods.
pub static SERVICE: Kind =
    Kind { kind: "Service", plural: "services", has_status: true, returns_deleted: true, ..PLAIN };
/// Host lists, plugins.
pub static CONFIG_MAP: Kind = Kind { kind: "ConfigMap", plural: "configmaps", ..PLAIN };
/// Key pairs.
pub static SECRET: Kind = Kind { kind: "Secret", plural: "secrets", ..PLAIN };
/// What was told.
pub static EVENT: Kind = Kind { kind: "Event", plural: "events", ..PLAIN };
/// The launcher.
pub static JOB: Kind =
    Kind { group: "batch", kind: "Job", plural: "jobs", has_status: true, counts_generations: true, ..PLAIN };
/// Addresses of a Service's pods.
pub static ENDPOINT_SLICE: Kind = Kind {
    group: "discovery.k8s.io",
    kind: "EndpointSlice",
    plural: "endpointslices",
    counts_generations: true,
    ..PLAIN
};
/// Who leads.
pub static LEASE: Kind = Kind {
    group: "coordination.k8s.io",
    kind: "Lease",
    plural: "leases",
    takes_any_version: false,
    is_made_by_update: true,
    ..PLAIN
};
/// Under gang scheduling.
pub static PRIORITY_CLASS: Kind = Kind {
    group: "scheduling.k8s.io",
    kind: "PriorityClass",
    plural: "priorityclasses",
    is_namespaced: false,
    counts_generations: true,
    ..PLAIN
};
/// Jobs.
pub static MPI_JOB: Kind =
    Kind { group: "kubeflow.org", version: "v2beta1", kind: "MPIJob", plural: "mpijobs", ..CUSTOM };
/// Volcano's gangs.
pub static VOLCANO_GROUP: Kind = Kind {
    group: "scheduling.volcano.sh",
    version: "v1beta1",
    kind: "PodGroup",
    plural: "podgroups",
    ..CUSTOM
};
/// scheduler-plugins' gangs.
pub static COSCHEDULING_GROUP: Kind = Kind {
    group: "scheduling.x-k8s.io",
    version: "v1alpha1",
    kind: "PodGroup",
    plural: "podgroups",
    ..CUSTOM
};
/// Devices of a job.
pub static RESOURCE_CLAIM: Kind = Kind {
    group: "resource.k8s.io",
    kind: "ResourceClaim",
    plural: "resourceclaims",
    has_status: true,
    returns_deleted: true,
    ..PLAIN
};
/// The same for each pod.
pub static RESOURCE_CLAIM_TEMPLATE: Kind = Kind {
    group: "resource.k8s.io",
    kind: "ResourceClaimTemplate",
    plural: "resourceclaimtemplates",
    returns_deleted: true,
    ..PLAIN
};

/// All of them.
pub static KINDS: [&Kind; 15] = [
    &NAMESPACE,
    &POD,
    &SERVICE,
    &CONFIG_MAP,
    &SECRET,
    &EVENT,
    &JOB,
    &ENDPOINT_SLICE,
    &LEASE,
    &PRIORITY_CLASS,
    &MPI_JOB,
    &VOLCANO_GROUP,
    &COSCHEDULING_GROUP,
    &RESOURCE_CLAIM,
    &RESOURCE_CLAIM_TEMPLATE,
];

impl Kind {
    /// `v1`, `batch/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// `pods`, `jobs.batch`: as messages call it.
    pub fn resource(&self) -> String {
        self.qualified(self.plural)
    }

    /// `Pod`, `Job.batch`: as other messages call it.
    pub fn qualified_kind(&self) -> String {
        self.qualified(self.kind)
    }

    fn qualified(&self, name: &str) -> String {
        if self.group.is_empty() { name.to_owned() } else { format!("{name}.{}", self.group) }
    }

    /// The path of the collection, in a namespace or of the cluster.
    pub fn path(&self, namespace: Option<&str>) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        let scope = namespace.map(|namespace| format!("/namespaces/{namespace}")).unwrap_or_default();
        format!("{root}/{}{scope}/{}", self.api_version(), self.plural)
    }

    /// The first one of this `kind`.
    pub fn named(kind: &str) -> Option<&'static Self> {
        KINDS.into_iter().find(|known| known.kind == kind)
    }

    /// The kind of this `apiVersion` and `kind`.
    pub fn of(api_version: &str, kind: &str) -> Option<&'static Self> {
        KINDS.into_iter().find(|known| known.kind == kind && known.api_version() == api_version)
    }
}
