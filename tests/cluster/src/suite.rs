//! Real jobs on a real Kubernetes. `tests/cluster/run` brings up the cluster and runs these groups, each by the name
//! of its module:
//!
//! | Group | While it runs |
//! |---|---|
//! | `late` | from the start, beside all others: it takes three minutes |
//! | `demo` | alone, one job after another, so that its times mean something |
//! | `jobs` | in parallel, each test in a namespace of its own |
//! | `mpi` | two at a time: every implementation of MPI, its jobs one after another |
//! | `flavours` | two at a time: implementations of one's own, brought by ConfigMaps |
//! | `operator` | one after another: plugins are swapped, operators killed and counted |
//! | `gang` | in the long form alone, one after another: the operator schedules gangs, with Volcano; on a bed of its own with scheduler-plugins, too |
//! | `native` | not among these: on a bed of its own with native gangs, one after another: Kubernetes' own scheduler places them |
//! | `native_without` | not among these: the same on beds that are without the gate of `COXSWAIN_WITHOUT` |
//! | `namespaced` | alone: the operator of one namespace, with Roles only, in the place of the cluster's |
//! | `switch` | in the long form alone, by itself: the MPI Operator 0.8.2 takes the operator's place, and gives it back |
//! | `outage` | not among these: `tests/cluster/outage` runs it on a bed of another kind, alone |
//! | `record` | last: what the API server's audit log says about all of it |

mod demo;
mod flavours;
mod gang;
mod jobs;
mod late;
mod mpi;
mod namespaced;
mod native;
mod native_without;
mod operator;
mod outage;
mod record;
mod switch;
