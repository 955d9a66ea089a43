//! Sequences of statuses.
