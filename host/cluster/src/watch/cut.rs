//! Cuts the objects out of a list or a stream of watch events while the bytes arrive, so that each is decoded by itself
//! and none of them is held longer than that.
//!
//! In: bytes as they come. Out: each object's own JSON, and behind it what stood around it: the list without its items,
//! the event without its object. No recursion, whatever a tenant nests; how deep and how large an object is to decode is
//! counted on the way.

use std::fmt;

/// What surrounds the objects is a few hundred bytes; an answer with more of that is none of an API server's.
const MOST_AROUND: usize = 1 << 20;

/// A key longer than those that matter need not be kept whole.
const LONGEST_KEY: usize = 16;

/// Most bytes that are set aside for an object that has only begun: a large one must not make room for many small ones.
const LARGEST_USUAL: usize = 8 << 10;

/// One object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Its JSON, as it came.
    pub json: Vec<u8>,
    /// How deep maps and lists are nested in it; 1 for a flat map.
    pub depth: usize,
    /// Maps in it.
    pub maps: usize,
    /// Further values: what commas divide.
    pub values: usize,
}

/// What has come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// An object: an item of a list, or what an event is about.
    Object(Cut),
    /// What stood around the objects since the last one of these. `null` stands for the object of an event.
    Around(Vec<u8>),
}

/// The bytes are no JSON of an API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Garbled;

impl fmt::Display for Garbled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer is not what an API server sends")
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Cutter {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The last string at the top level: the key of a map or list that opens there.
    key: Vec<u8>,
    in_items: bool,
    /// The object under way, and the depth at which it stands.
    cut: Option<(Cut, usize)>,
    around: Vec<u8>,
    /// Bytes of the object before: the next one has about as many, up to [`LARGEST_USUAL`].
    usual: usize,
}

impl Cutter {
    /// More bytes; calls `found` with everything that ends in them.
    pub fn push(&mut self, bytes: &[u8], found: &mut impl FnMut(Piece)) -> Result<(), Garbled> {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            if self.cut.is_some() {
                let own = self.object(rest, found);
                rest = rest.get(own..).unwrap_or_default();
            } else {
                self.byte(byte, found)?;
                rest = after;
            }
        }
        if self.around.len() > MOST_AROUND { Err(Garbled) } else { Ok(()) }
    }

    /// The object under way, up to its end or that of the bytes, which are nearly all of an answer: copied at once. Returns how
    /// many are its own.
    fn object(&mut self, bytes: &[u8], found: &mut impl FnMut(Piece)) -> usize {
        let Some((mut cut, base)) = self.cut.take() else { return 0 };
        let mut own = 0;
        for &byte in bytes {
            own += 1;
            if self.in_string {
                self.in_string(byte);
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => {
                    self.depth += 1;
                    cut.depth = cut.depth.max(self.depth - base);
                    cut.maps += usize::from(byte == b'{');
                }
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == base {
                        break;
                    }
                }
                b',' => cut.values += 1,
                _ => {}
            }
        }
        cut.json.extend_from_slice(bytes.get(..own).unwrap_or_default());
        if self.depth > base {
            self.cut = Some((cut, base));
            return own;
        }
        self.usual = cut.json.len().min(LARGEST_USUAL);
        if !self.in_items {
            self.around.extend_from_slice(b"null");
        }
        found(Piece::Object(cut));
        own
    }

    fn in_string(&mut self, byte: u8) {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => self.in_string = false,
            _ => {}
        }
    }

    /// One byte that stands around the objects, or begins one.
    fn byte(&mut self, byte: u8, found: &mut impl FnMut(Piece)) -> Result<(), Garbled> {
        if self.in_string {
            self.in_string(byte);
            if self.depth == 1 && self.in_string && self.key.len() < LONGEST_KEY {
                self.key.push(byte);
            }
            self.around.push(byte);
            return Ok(());
        }
        match byte {
            b'{' | b'[' => self.open(byte),
            b'}' | b']' => return self.close(byte, found),
            b'"' if self.depth > 0 => {
                self.in_string = true;
                if self.depth == 1 {
                    self.key.clear();
                }
                self.around.push(byte);
            }
            b',' if self.in_items && self.depth == 2 => {}
            _ if self.depth > 0 => self.around.push(byte),
            _ if byte.is_ascii_whitespace() => {}
            _ => return Err(Garbled),
        }
        Ok(())
    }

    fn open(&mut self, byte: u8) {
        let is_item = self.in_items && self.depth == 2;
        let is_object = self.depth == 1 && self.key == b"object";
        self.depth += 1;
        if byte == b'{' && (is_item || is_object) {
            let mut json = Vec::with_capacity(self.usual);
            json.push(byte);
            self.cut = Some((Cut { json, depth: 1, maps: 1, values: 0 }, self.depth - 1));
            return;
        }
        self.in_items |= byte == b'[' && self.depth == 2 && self.key == b"items";
        self.around.push(byte);
    }

    fn close(&mut self, byte: u8, found: &mut impl FnMut(Piece)) -> Result<(), Garbled> {
        self.around.push(byte);
        self.depth = self.depth.checked_sub(1).ok_or(Garbled)?;
        if self.depth == 1 {
            self.in_items = false;
        }
        if self.depth == 0 {
            found(Piece::Around(std::mem::take(&mut self.around)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
