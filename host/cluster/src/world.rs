//! What a process has around it beside the API server: the time of day, chance, threads to compute on, the system's random
//! numbers for keys, an engine for plugins. Everything of ours asks here, and nothing of it asks the machine by itself.
//!
//! In production that is the machine ([`World`] is never made). The simulator puts another world around each replica, while
//! the tasks of that replica are polled ([`World::hold`]); whatever is spawned there is held by the same world ([`held`]).

use std::{
    any::Any,
    cell::RefCell,
    fmt,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    thread::available_parallelism,
};

use coxswain_model::desired::secret::KeyPair;
use jiff::Timestamp;
use rand::{
    RngExt, SeedableRng,
    distr::{Distribution, StandardUniform},
    rngs::StdRng,
};

use crate::keys;

/// Is shown something of a process.
pub type Onlooker = Arc<dyn Fn(&dyn Any) + Send + Sync>;

/// Another one than the machine's. It computes in place: order of completion is no chance there.
#[derive(Clone)]
pub struct World {
    /// The time of day.
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// A number by chance.
    pub dice: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// A key pair.
    pub keys: Arc<dyn Fn() -> anyhow::Result<KeyPair> + Send + Sync>,
    /// What makes plugins of components: what it is, the crate of plugins knows.
    pub engine: Arc<dyn Any + Send + Sync>,
    /// Of the lease's holder.
    pub identity: String,
    /// Of the machine.
    pub cores: usize,
    /// Is shown the cache, to look at and never to change.
    pub shown: Onlooker,
    /// The process stands still, and this one is woken when it goes on.
    pub stands_still: Arc<dyn Fn(&Waker) -> bool + Send + Sync>,
}

thread_local! {
    static HERE: RefCell<Option<Arc<World>>> = const { RefCell::new(None) };
}

/// The world whose task is being polled; nothing on a real machine.
fn here() -> Option<Arc<World>> {
    HERE.with_borrow(Option::clone)
}

impl World {
    /// The future, and whatever it spawns, in this world.
    pub fn hold<F: Future>(self: Arc<Self>, future: F) -> Held<F> {
        Held { world: Some(self), future: Box::pin(future) }
    }
}

/// A future in the world of whoever spawns it.
pub fn held<F: Future>(future: F) -> Held<F> {
    Held { world: here(), future: Box::pin(future) }
}

/// See [`held`].
pub struct Held<F> {
    world: Option<Arc<World>>,
    future: Pin<Box<F>>,
}

impl<F: Future> Future for Held<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Some(world) = self.world.clone() else { return self.future.as_mut().poll(context) };
        if (world.stands_still)(context.waker()) {
            return Poll::Pending;
        }
        let outside = HERE.replace(Some(world));
        let poll = catch_unwind(AssertUnwindSafe(|| self.future.as_mut().poll(context)));
        HERE.set(outside);
        poll.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// The time of day.
pub fn now() -> Timestamp {
    here().map_or_else(Timestamp::now, |world| (world.now)())
}

/// By chance.
pub fn random<T>() -> T
where
    StandardUniform: Distribution<T>,
{
    here().map_or_else(rand::random, |world| StdRng::seed_from_u64((world.dice)()).random())
}

/// A new key pair. Takes a millisecond of computing.
pub fn key_pair() -> anyhow::Result<KeyPair> {
    here().map_or_else(keys::pair, |world| (world.keys)())
}

/// What makes plugins of components in place of an engine of this process's own.
pub fn engine<T: Any + Send + Sync>() -> Option<Arc<T>> {
    Arc::clone(&here()?.engine).downcast().ok()
}

/// Who runs for the lease, if that is not to be made up.
pub fn identity() -> Option<String> {
    here().map(|world| world.identity.clone())
}

/// Shows something of this process to whoever wants to look at it from outside.
pub fn show(what: &dyn Any) {
    if let Some(world) = here() {
        (world.shown)(what);
    }
}

/// Cores to compute on, at least one.
pub fn cores() -> usize {
    here().map_or_else(|| available_parallelism().map_or(2, std::num::NonZero::get), |world| world.cores)
}

/// A computation ended with a panic.
#[derive(Debug)]
pub struct Panicked(String);

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Panicked {}

/// Computes on a thread for that.
pub async fn compute<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Panicked> {
    if here().is_some() {
        return catch_unwind(AssertUnwindSafe(work)).map_err(|_| Panicked("it panicked".to_owned()));
    }
    tokio::task::spawn_blocking(work).await.map_err(|panicked| Panicked(panicked.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(seed: u64) -> Arc<World> {
        Arc::new(World {
            now: Arc::new(|| Timestamp::UNIX_EPOCH),
            dice: Arc::new(move || seed),
            keys: Arc::new(keys::pair),
            engine: Arc::new(()),
            identity: format!("replica-{seed}"),
            cores: 1,
            shown: Arc::new(|_| {}),
            stands_still: Arc::new(|_| false),
        })
    }

    #[tokio::test]
    async fn what_a_world_holds_and_what_that_spawns_is_in_it_and_nothing_else() {
        let spawned = world(1).hold(async {
            let spawned = tokio::spawn(held(async { (now(), identity(), compute(|| 7).await.unwrap()) }));
            (spawned.await.unwrap(), random::<u64>() == random::<u64>())
        });

        let (inside, same) = tokio::spawn(spawned).await.unwrap();

        assert_eq!(inside, (Timestamp::UNIX_EPOCH, Some("replica-1".to_owned()), 7));
        assert!(same, "chance is that of the world");
        assert!(identity().is_none() && now() > Timestamp::UNIX_EPOCH, "outside there is the machine");
    }

    #[tokio::test]
    async fn a_panic_inside_leaves_the_machine_outside() {
        let inside = AssertUnwindSafe(world(2).hold(async { panic!("inside") }));

        assert!(futures::FutureExt::catch_unwind(inside).await.is_err());
        assert!(identity().is_none());
    }
}
