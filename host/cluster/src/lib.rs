//! The only room that talks to Kubernetes: client and limiter, watches and the cache that they fill, writes, events,
//! leadership. What is to be written is decided elsewhere.
#![forbid(unsafe_code)]

pub mod apply;
pub mod aside;
pub mod claims;
pub mod client;
pub mod events;
pub mod failed;
pub mod fold;
pub mod gone;
pub mod index;
pub mod job_row;
pub mod key;
pub mod keys;
pub mod kind;
pub mod kinds;
pub mod last_activity;
pub mod launcher_exits;
pub mod leadership;
pub mod lease;
pub mod limiter;
pub mod live;
pub mod metadata;
pub mod metrics;
pub mod named;
pub mod rate;
pub mod rest;
pub mod table;
pub mod wake;
pub mod watch;
pub mod world;
