//! Mistakes in a job's spec, worded as the MPI Operator words them (the API machinery's field errors).

use std::fmt;

/// One mistake: where, what kind, what was found, what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// `spec.mpiReplicaSpecs[Launcher].replicas`.
    pub path: String,
    /// Kind of mistake.
    pub kind: FieldErrorKind,
    /// What is wrong, or the supported values.
    pub detail: String,
}

/// Kind of mistake, with the value that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// Something must be there.
    Required,
    /// A text that is not allowed.
    InvalidText(String),
    /// A number that is not allowed.
    InvalidNumber(i64),
    /// A text that is none of the supported ones.
    NotSupported(String),
}

impl FieldError {
    /// `Required value`.
    pub fn required(path: impl Into<String>, detail: &str) -> Self {
        Self { path: path.into(), kind: FieldErrorKind::Required, detail: detail.into() }
    }

    /// `Invalid value` of a text.
    pub fn invalid(path: impl Into<String>, value: &str, detail: impl Into<String>) -> Self {
        Self { path: path.into(), kind: FieldErrorKind::InvalidText(value.into()), detail: detail.into() }
    }

    /// `Invalid value` of a number.
    pub fn invalid_number(path: impl Into<String>, value: i64, detail: &str) -> Self {
        Self { path: path.into(), kind: FieldErrorKind::InvalidNumber(value), detail: detail.into() }
    }

    /// `Unsupported value`; the supported ones are listed sorted, as they stand in the API's answers.
    pub fn not_supported<'a>(
        path: impl Into<String>,
        value: &str,
        supported: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut supported: Vec<String> = supported.into_iter().map(|v| format!("{v:?}")).collect();
        supported.sort();
        supported.dedup();
        let detail = format!("supported values: {}", supported.join(", "));
        Self { path: path.into(), kind: FieldErrorKind::NotSupported(value.into()), detail }
    }

    /// The kind of mistake that Kubernetes calls `Too many`.
    pub(super) fn too_many(path: impl Into<String>, count: usize, most: usize, advice: &str) -> Self {
        let detail = format!("must have at most {most} items: {advice}");
        Self::invalid_number(path, i64::try_from(count).unwrap_or(i64::MAX), &detail)
    }

    /// The same of bytes.
    pub(super) fn too_large(path: impl Into<String>, bytes: usize, most: usize, advice: &str) -> Self {
        let detail = format!("must have at most {most} bytes, of which this is the number: {advice}");
        Self::invalid_number(path, i64::try_from(bytes).unwrap_or(i64::MAX), &detail)
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, kind, detail } = self;
        match kind {
            FieldErrorKind::Required => write!(f, "{path}: Required value: {detail}"),
            FieldErrorKind::InvalidText(value) => write!(f, "{path}: Invalid value: {value:?}: {detail}"),
            FieldErrorKind::InvalidNumber(value) => write!(f, "{path}: Invalid value: {value}: {detail}"),
            FieldErrorKind::NotSupported(value) => {
                write!(f, "{path}: Unsupported value: {value:?}: {detail}")
            }
        }
    }
}

/// One error bare, several as `[e1, e2]`, repeats once.
pub fn aggregate(errors: &[FieldError]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}
