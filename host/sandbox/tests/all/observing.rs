//! What metrics get to see.

use std::sync::{Arc, Mutex};

use coxswain_sandbox::{Call, Compiler, Function, Observer, Sandbox};
use pretty_assertions::assert_eq;

use crate::given::{BOUND, bytes, job, merged};

/// Function, fuel, bytes, reason of each call.
pub type Observations = Arc<Mutex<Vec<(Function, u64, usize, Option<&'static str>)>>>;

/// A plugin, and what its calls cost.
pub fn observed(name: &str) -> (coxswain_sandbox::Plugin, Observations) {
    let seen = Observations::default();
    let into = Arc::clone(&seen);
    let observer: Observer = Arc::new(move |call: &Call<'_>| {
        assert!(!call.elapsed.is_zero());
        let broken = call.broken.map(coxswain_sandbox::Break::reason);
        into.lock().unwrap().push((call.function, call.fuel, call.output_bytes, broken));
    });
    let sandbox = Sandbox::with(Compiler::Here, observer).unwrap();
    (sandbox.load(name, &bytes(name), BOUND).unwrap(), seen)
}

#[test]
fn every_call_is_reported_with_its_cost() {
    let (plugin, seen) = observed("openmpi");
    let mut job = job("OpenMPI", 8, 1);
    job.settings = merged(&plugin, &[]);

    plugin.render(&job).unwrap();
    plugin.render(&job).unwrap();
    plugin.follow(&job, &[]).unwrap();

    let seen = seen.lock().unwrap();
    let functions: Vec<Function> = seen.iter().map(|(function, ..)| *function).collect();
    assert_eq!(
        functions,
        [Function::Describe, Function::CheckSettings, Function::Render, Function::Render, Function::Follow]
    );
    assert_eq!(seen[2], seen[3], "fuel is exact");
    assert!((10_000..1_000_000).contains(&seen[2].1), "{seen:?}");
    assert!(seen[2].2 > 8 * "pi-worker-0.pi.default.svc slots=1\n".len(), "{seen:?}");
}

#[test]
fn a_break_is_reported_with_its_reason() {
    let (plugin, seen) = observed("hostile");
    let mut job = job("OpenMPI", 1, 1);
    job.settings = merged(&plugin, &[("behaviour", "loop")]);

    plugin.tune(&job, &coxswain_model::plan::Plan::default()).unwrap_err();

    assert_eq!(seen.lock().unwrap().last(), Some(&(Function::Tune, 50_040_000, 0, Some("OutOfFuel"))));
}
