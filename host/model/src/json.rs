//! Reading JSON whose form nobody has checked.

use serde_json::Value;

/// The value at a JSON pointer; absent reads as null, which no field of a pod distinguishes.
pub(crate) fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    const NULL: &Value = &Value::Null;
    value.pointer(pointer).unwrap_or(NULL)
}
