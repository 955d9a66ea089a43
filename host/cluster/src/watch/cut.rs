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
}

impl Cutter {
    /// More bytes; calls `found` with everything that ends in them.
    pub fn push(&mut self, bytes: &[u8], found: &mut impl FnMut(Piece)) -> Result<(), Garbled> {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            // Inside of an object's strings nothing matters but their ends.
            if self.in_string && !self.escaped {
                let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')).unwrap_or(rest.len());
                if plain > 0 {
                    let (text, more) = rest.split_at(plain);
                    self.text(text);
                    rest = more;
                    continue;
                }
            }
            self.byte(byte, found)?;
            rest = after;
        }
        if self.around.len() > MOST_AROUND { Err(Garbled) } else { Ok(()) }
    }

    /// Text of a string.
    fn text(&mut self, text: &[u8]) {
        if let Some((cut, _)) = &mut self.cut {
            cut.json.extend_from_slice(text);
            return;
        }
        self.around.extend_from_slice(text);
        if self.depth == 1 {
            self.key.extend(text.iter().take(LONGEST_KEY));
        }
    }

    fn byte(&mut self, byte: u8, found: &mut impl FnMut(Piece)) -> Result<(), Garbled> {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            self.keep(byte);
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
                self.keep(byte);
            }
            b',' if self.cut.is_none() && self.in_items && self.depth == 2 => {}
            _ if self.depth > 0 => {
                if byte == b','
                    && let Some((cut, _)) = &mut self.cut
                {
                    cut.values += 1;
                }
                self.keep(byte);
            }
            _ if byte.is_ascii_whitespace() => {}
            _ => return Err(Garbled),
        }
        Ok(())
    }

    fn open(&mut self, byte: u8) {
        if self.cut.is_none() {
            let is_item = self.in_items && self.depth == 2;
            let is_object = self.depth == 1 && self.key == b"object";
            if byte == b'{' && (is_item || is_object) {
                self.cut = Some((Cut::default(), self.depth));
            } else if byte == b'[' && self.depth == 1 && self.key == b"items" {
                self.in_items = true;
            }
        }
        self.depth += 1;
        if let Some((cut, base)) = &mut self.cut {
            cut.depth = cut.depth.max(self.depth - *base);
            cut.maps += usize::from(byte == b'{');
        }
        self.keep(byte);
    }

    fn close(&mut self, byte: u8, found: &mut impl FnMut(Piece)) -> Result<(), Garbled> {
        self.keep(byte);
        self.depth = self.depth.checked_sub(1).ok_or(Garbled)?;
        match self.cut.take() {
            Some((cut, base)) if base == self.depth => {
                if !self.in_items {
                    self.around.extend_from_slice(b"null");
                }
                found(Piece::Object(cut));
            }
            Some(cut) => self.cut = Some(cut),
            None => {
                if self.depth == 1 {
                    self.in_items = false;
                }
                if self.depth == 0 {
                    found(Piece::Around(std::mem::take(&mut self.around)));
                }
            }
        }
        Ok(())
    }

    fn keep(&mut self, byte: u8) {
        match &mut self.cut {
            Some((cut, _)) => cut.json.push(byte),
            None => self.around.push(byte),
        }
    }
}

#[cfg(test)]
mod tests;
