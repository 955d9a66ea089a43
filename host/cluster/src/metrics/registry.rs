//! Prometheus' registry, which also tells what it holds: one that has counted nothing yet shows no vector at all.

use std::sync::{Mutex, PoisonError};

use prometheus::{
    Encoder, Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts, TextEncoder,
    core::{Collector, Desc},
    exponential_buckets,
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

    /// Everything in Prometheus' text format.
    pub fn text(&self) -> prometheus::Result<String> {
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.instruments.gather(), &mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

/// Instruments by kind, each made and added. Fails where there is one of that name.
impl Registry {
    /// Only grows.
    pub fn counter(&self, name: &str, help: &str) -> prometheus::Result<IntCounter> {
        self.add(IntCounter::new(name, help)?)
    }

    /// One for each set of labels.
    pub fn counters(&self, name: &str, help: &str, labels: &[&str]) -> prometheus::Result<IntCounterVec> {
        self.add(IntCounterVec::new(Opts::new(name, help), labels)?)
    }

    /// Goes up and down.
    pub fn gauge(&self, name: &str, help: &str) -> prometheus::Result<Gauge> {
        self.add(Gauge::new(name, help)?)
    }

    /// One for each set of labels.
    pub fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> prometheus::Result<GaugeVec> {
        self.add(GaugeVec::new(Opts::new(name, help), labels)?)
    }

    /// Goes up and down in whole steps.
    pub fn int_gauge(&self, name: &str, help: &str) -> prometheus::Result<IntGauge> {
        self.add(IntGauge::new(name, help)?)
    }

    /// One for each set of labels.
    pub fn int_gauges(&self, name: &str, help: &str, labels: &[&str]) -> prometheus::Result<IntGaugeVec> {
        self.add(IntGaugeVec::new(Opts::new(name, help), labels)?)
    }

    /// Seconds, 1 ms to 65 s in powers of two.
    pub fn histogram(&self, name: &str, help: &str) -> prometheus::Result<Histogram> {
        self.add(Histogram::with_opts(seconds(name, help)?)?)
    }

    /// The same, one for each set of labels.
    pub fn histograms(&self, name: &str, help: &str, labels: &[&str]) -> prometheus::Result<HistogramVec> {
        self.add(HistogramVec::new(seconds(name, help)?, labels)?)
    }

    /// The same with buckets of its own.
    pub fn histograms_in(
        &self,
        buckets: Vec<f64>,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> prometheus::Result<HistogramVec> {
        self.add(HistogramVec::new(HistogramOpts::new(name, help).buckets(buckets), labels)?)
    }

    fn add<C: Collector + Clone + 'static>(&self, instrument: C) -> prometheus::Result<C> {
        self.register(Box::new(instrument.clone()))?;
        Ok(instrument)
    }
}

fn seconds(name: &str, help: &str) -> prometheus::Result<HistogramOpts> {
    Ok(HistogramOpts::new(name, help).buckets(exponential_buckets(0.001, 2.0, 17)?))
}
