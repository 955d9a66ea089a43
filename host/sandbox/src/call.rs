//! One call: a store of its own, a budget, and a reason where it ends badly.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use coxswain_model::pin::Digest;
use wasmtime::{Engine, ResourceLimiter, Store, StoreLimits, StoreLimitsBuilder, Trap, WasmBacktrace};

use crate::{
    engine::{MEMORY_BYTES, TICK},
    fault::Break,
};

/// Instructions of every call. A render for 8 hosts takes about 30,000.
const FUEL: u64 = 50_000_000;
/// Instructions more for each host and member in the input; the shipped plugins need about 600, 1,200 for members.
const FUEL_PER_HOST: u64 = 20_000;
/// The second fence, behind fuel.
const DEADLINE: Duration = Duration::from_secs(2);
/// Bytes that a result may make the host allocate; lists that all point to one string count each time. A hostfile for
/// 10,000 hosts has 380 KB.
const RESULT_BYTES: usize = 4 << 20;

/// Who is notified of every call.
pub type Observer = Arc<dyn Fn(&Call<'_>) + Send + Sync>;

/// What a call cost, for metrics.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// Name of the plugin.
    pub plugin: &'a str,
    /// Its bytes.
    pub digest: &'a Digest,
    /// What was asked.
    pub function: Function,
    /// Instructions, as the engine counts them.
    pub fuel: u64,
    /// Instructions that it had; fuel is at most this.
    pub budget: u64,
    /// Wall-clock time, instantiation and conversion included.
    pub elapsed: Duration,
    /// Bytes of text in the result.
    pub output_bytes: usize,
    /// How it broke, if it did. That a plugin refuses a job is not a break.
    pub broken: Option<&'a Break>,
}

/// The functions of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Function {
    Describe,
    CheckSettings,
    Render,
    Follow,
    Tune,
}

impl Function {
    /// As the contract spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Describe => "describe",
            Self::CheckSettings => "check-settings",
            Self::Render => "render",
            Self::Follow => "follow",
            Self::Tune => "tune",
        }
    }
}

/// Makes calls of one plugin.
pub struct Caller {
    pub name: String,
    pub digest: Digest,
    pub engine: Engine,
    pub observer: Option<Observer>,
}

impl Caller {
    /// Runs `enter` in a fresh store, then `leave` on what came out, which also says how many bytes that is.
    ///
    /// `hosts` is the size of the input: it makes the budget.
    pub fn run<Raw, Out>(
        &self,
        function: Function,
        hosts: usize,
        enter: impl FnOnce(&mut Store<Limits>) -> wasmtime::Result<Raw>,
        leave: impl FnOnce(Raw) -> Result<(Out, usize), Break>,
    ) -> Result<Out, Break> {
        let span = tracing::debug_span!(
            "plugin call",
            plugin = self.name,
            digest = %self.digest,
            function = function.name(),
            hosts,
            fuel = tracing::field::Empty,
            broken = tracing::field::Empty,
        );
        let _in_span = span.enter();
        let begin = Instant::now();
        let budget =
            FUEL.saturating_add(FUEL_PER_HOST.saturating_mul(u64::try_from(hosts).unwrap_or(u64::MAX)));
        let mut left = budget;
        // A bug in the engine must cost one call, not the process. Nothing of the store is used after a panic.
        let result = catch_unwind(AssertUnwindSafe(|| {
            let mut store = self.store(budget).map_err(|error| Break::Trapped(format!("{error:#}")))?;
            let raw = enter(&mut store);
            left = store.get_fuel().unwrap_or_default();
            let raw = raw.map_err(|error| reason(&error, store.data(), budget))?;
            leave(raw)
        }))
        .unwrap_or_else(|panic| Err(Break::panicked(panic.as_ref())));

        span.record("fuel", budget.saturating_sub(left));
        if let Err(how) = &result {
            span.record("broken", how.reason());
        }
        if let Some(observe) = &self.observer {
            observe(&Call {
                plugin: &self.name,
                digest: &self.digest,
                function,
                fuel: budget.saturating_sub(left),
                budget,
                elapsed: begin.elapsed(),
                output_bytes: result.as_ref().map_or(0, |(_, bytes)| *bytes),
                broken: result.as_ref().err(),
            });
        }
        result.map(|(out, _)| out)
    }

    /// Runs `enter` in a fresh store. The outer error is a trap's, the inner one what the engine finds wrong before
    /// anything runs. Only for loading, which guards against panics itself.
    pub fn trial(
        &self,
        enter: impl FnOnce(&mut Store<Limits>) -> wasmtime::Result<()>,
    ) -> Result<wasmtime::Result<()>, Break> {
        let mut store = self.store(FUEL).map_err(|error| Break::Trapped(format!("{error:#}")))?;
        let result = enter(&mut store);
        match &result {
            Err(error) if error.is::<Trap>() || store.data().refused => {
                Err(reason(error, store.data(), FUEL))
            }
            _ => Ok(result),
        }
    }

    /// The only way to a store.
    fn store(&self, fuel: u64) -> wasmtime::Result<Store<Limits>> {
        let limits = StoreLimitsBuilder::new()
            .memory_size(MEMORY_BYTES)
            .memories(1)
            .tables(4)
            .table_elements(10_000)
            // A component consists of several core instances.
            .instances(8)
            .build();
        let mut store = Store::new(&self.engine, Limits { limits, refused: false });
        store.limiter(|limits| limits);
        store.set_hostcall_fuel(RESULT_BYTES);
        store.set_max_component_handles(0);
        store.set_epoch_deadline(u64::try_from(DEADLINE.as_millis() / TICK.as_millis()).unwrap_or(u64::MAX));
        store.set_fuel(fuel)?;
        Ok(store)
    }
}

/// Limits of a store that remember whether memory was refused: a guest that is refused memory aborts, and its trap alone
/// does not say why.
pub struct Limits {
    limits: StoreLimits,
    refused: bool,
}

impl ResourceLimiter for Limits {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let granted = self.limits.memory_growing(current, desired, maximum)?;
        self.refused |= !granted;
        Ok(granted)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.limits.table_growing(current, desired, maximum)
    }

    fn instances(&self) -> usize {
        self.limits.instances()
    }

    fn tables(&self) -> usize {
        self.limits.tables()
    }

    fn memories(&self) -> usize {
        self.limits.memories()
    }
}

/// Why the engine stopped a call.
fn reason(error: &wasmtime::Error, limits: &Limits, fuel: u64) -> Break {
    /// The engine's error for too large a result has a private type; a test holds on to its words.
    const COPIED: &str = "too much data is being copied";

    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => return Break::OutOfFuel { fuel },
        Some(Trap::Interrupt) => return Break::OutOfTime,
        Some(Trap::StackOverflow) => return Break::OutOfStack,
        _ if limits.refused => return Break::OutOfMemory,
        _ => {}
    }
    let cause = error.root_cause().to_string();
    if cause.contains(COPIED) {
        return Break::ResultTooLarge(format!("more than {RESULT_BYTES} bytes in all"));
    }
    let cause = cause.strip_prefix("wasm trap: ").unwrap_or(&cause);
    let frames = error.downcast_ref::<WasmBacktrace>().map(WasmBacktrace::frames).unwrap_or_default();
    match frames.iter().find_map(wasmtime::FrameInfo::func_name) {
        Some(function) => Break::Trapped(format!("{cause}, in {function}")),
        None => Break::Trapped(cause.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use wasmtime::{Instance, Module};

    use super::*;
    use crate::engine;

    fn caller() -> Caller {
        Caller { name: "x".into(), digest: Digest::of(b""), engine: engine::start().unwrap(), observer: None }
    }

    #[test]
    fn the_clock_stops_what_fuel_does_not() {
        let caller = caller();
        let text = "(module (func $s (loop (br 0))) (start $s))";
        let module = Module::new(&caller.engine, wat::parse_str(text).unwrap()).unwrap();
        let begin = Instant::now();

        // A budget that saturates lasts for centuries.
        let enter = |store: &mut Store<Limits>| Instance::new(store, &module, &[]);
        let result = caller.run(Function::Render, usize::MAX, enter, |_| Ok(((), 0)));

        assert_eq!(result, Err(Break::OutOfTime));
        assert!(begin.elapsed() >= Duration::from_millis(1_900), "{:?}", begin.elapsed());
    }

    #[test]
    fn a_panic_in_the_engine_costs_one_call() {
        let result = caller().run(
            Function::Render,
            0,
            |_| -> wasmtime::Result<()> { panic!("a bug in the engine") },
            |()| Ok(((), 0)),
        );

        assert_eq!(result, Err(Break::EnginePanicked("a bug in the engine".into())));
    }
}
