//! Prometheus' registry, which also tells what it holds: one that has counted nothing yet shows no vector at all.

use std::sync::{Mutex, PoisonError};

use prometheus::{
    core::{Collector, Desc},
    proto::MetricFamily,
};

/// Instruments by name, and what each is.
#[derive(Default)]
pub struct Registry {
    instruments: prometheus::Registry,
    described: Mutex<Vec<Desc>>,
}

impl Registry {
    /// Adds an instrument.
    ///
    /// # Errors
    ///
    /// There is one of that name.
    pub fn register(&self, instrument: Box<dyn Collector>) -> prometheus::Result<()> {
        let described: Vec<Desc> = instrument.desc().into_iter().cloned().collect();
        self.instruments.register(instrument)?;
        self.described.lock().unwrap_or_else(PoisonError::into_inner).extend(described);
        Ok(())
    }

    /// Name, labels and meaning of every instrument, in the order in which they came.
    pub fn described(&self) -> Vec<Desc> {
        self.described.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Every series.
    pub fn gather(&self) -> Vec<MetricFamily> {
        self.instruments.gather()
    }
}
