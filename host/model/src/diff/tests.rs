//! Tables of steps.
