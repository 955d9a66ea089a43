//! How a new leader has all requests looked at again.

use anyhow::Result;
use tokio::sync::{mpsc, oneshot};

/// Asks [`crate::follow`] to look at all requests again, as this process is about to lead, and is notified how that went.
pub struct Reviews(pub(crate) mpsc::Receiver<oneshot::Sender<Result<()>>>);
