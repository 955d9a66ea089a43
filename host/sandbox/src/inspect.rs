//! Bytes and their types to a verdict, before anything of a plugin runs.

use coxswain_model::pin::Digest;
use wasmparser::{BinaryReaderError, Encoding, Parser, Payload};
use wasmtime::{
    Engine,
    component::{Component, types::ComponentItem},
};

use crate::fault::Refused;

/// Functions of a component. A JavaScript interpreter has about 3,000.
const FUNCTIONS: u32 = 20_000;
/// Bytes of one function: compile time grows faster than linearly with it.
const FUNCTION_BYTES: usize = 256 << 10;
/// Modules and components inside. Tools make four to six.
const PARTS: usize = 64;

/// Checks what can be checked without compiling and returns the identity of the bytes.
///
/// The compiler takes its time with hostile input and does not count that as a fault of its own, so the input is bounded.
pub fn bytes(bytes: &[u8], bound: usize) -> Result<Digest, Refused> {
    if bytes.len() > bound {
        return Err(Refused::TooLarge { size: bytes.len(), bound });
    }
    let (mut parts, mut functions) = (0_usize, 0_u32);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(malformed)? {
            Payload::Version { encoding: Encoding::Module, .. } if parts == 0 => {
                let text = "it is a core module, not a component; `wasm-tools component new` makes one of it";
                return Err(Refused::Malformed(text.into()));
            }
            Payload::Version { .. } => parts = parts.saturating_add(1),
            Payload::CodeSectionStart { count, .. } => functions = functions.saturating_add(count),
            Payload::CodeSectionEntry(body) if body.range().len() > FUNCTION_BYTES => {
                let text = format!(
                    "a function has {} bytes, at most {FUNCTION_BYTES} are allowed",
                    body.range().len()
                );
                return Err(Refused::Malformed(text));
            }
            _ => {}
        }
        if parts > PARTS || functions > FUNCTIONS {
            let text = format!("it has more than {FUNCTIONS} functions or more than {PARTS} modules");
            return Err(Refused::Malformed(text));
        }
    }
    Ok(Digest::of(bytes))
}

/// In one line.
#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn malformed(error: BinaryReaderError) -> Refused {
    let words = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    Refused::Malformed(format!("it is not WebAssembly: {words}"))
}

/// A plugin is pure because there is nothing it could call: imports hold types and nothing else.
pub fn purity(component: &Component, engine: &Engine) -> Result<(), Refused> {
    for (name, import) in component.component_type().imports(engine) {
        let types_only = match import.ty {
            ComponentItem::Type(_) => true,
            ComponentItem::ComponentInstance(instance) => {
                instance.exports(engine).all(|(_, item)| matches!(item.ty, ComponentItem::Type(_)))
            }
            _ => false,
        };
        if !types_only {
            return Err(Refused::Impure(name.to_owned()));
        }
    }
    Ok(())
}

/// The versions under which a component exports an interface of the contract.
pub fn versions(component: &Component, engine: &Engine, interface: &str) -> Vec<String> {
    let prefix = format!("coxswain:plugin/{interface}@");
    let exports = component.component_type();
    exports.exports(engine).filter_map(|(name, _)| name.strip_prefix(&prefix).map(str::to_owned)).collect()
}
