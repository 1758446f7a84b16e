//! Reading a configuration: typed access to JSON, with errors that name the field.
//!
//! ```
//! use berth::json::Value;
//! use berth::Error;
//!
//! fn read(text: &[u8]) -> Result<(i64, Vec<String>), Error> {
//!     let config = Value::parse(text)?;
//!     config.only(&["limit", "exempt"])?;
//!     let mut exempt = Vec::new();
//!     for namespace in config.list("exempt")? {
//!         exempt.push(namespace.string()?);
//!     }
//!     Ok((config.get("limit")?.map_or(Ok(0), |n| n.i64())?, exempt))
//! }
//!
//! assert_eq!(read(br#"{"limit": 3, "exempt": ["kube-system"]}"#).unwrap().0, 3);
//! assert_eq!(
//!     read(br#"{"exempt": [1]}"#).unwrap_err().text(),
//!     "exempt[0]: expected a string, found a number"
//! );
//! ```
//!
//! Nothing is copied and there is no heap: a value is a place in the text, which `parse` has
//! checked. Looking a field up walks through its object, so it is for configure, once an
//! instance.

mod check;

use crate::error::Error;
use crate::scan::{self, NONE};
use check::Check;

/// A value in a JSON text.
#[derive(Clone, Copy)]
pub struct Value<'j> {
    text: &'j [u8],
    at: usize,
}

impl<'j> Value<'j> {
    /// Checks a whole text (RFC 8259) and returns its value. A null is as good as nothing: get
    /// and list take it for an absent field.
    pub fn parse(text: &'j [u8]) -> Result<Value<'j>, Error> {
        if core::str::from_utf8(text).is_err() {
            return Err(Error::from("the configuration is not UTF-8"));
        }
        match Check::new(text).whole() {
            Ok(()) => Ok(Value {
                text,
                at: scan::space(text, 0),
            }),
            Err(line) => Err(Error::from("line ").number(line).and(": this is not JSON")),
        }
    }

    /// What kind of value it is, as people say.
    fn kind(self) -> &'static str {
        match self.text[self.at] {
            b'{' => "an object",
            b'[' => "a list",
            b'"' => "a string",
            b't' | b'f' => "true or false",
            b'n' => "null",
            _ => "a number",
        }
    }

    /// Where the value is in the text.
    pub(crate) fn position(self) -> usize {
        self.at
    }

    /// Reports whether the value's text begins with a byte, which says what it is.
    pub(crate) fn begins_with(self, first: u8) -> bool {
        self.text[self.at] == first
    }

    /// An error about this value, which begins with its path.
    pub fn error(self, text: &str) -> Error {
        let path = Value {
            text: self.text,
            at: scan::space(self.text, 0),
        }
        .path(Error::new(), self.at);
        if path.text().is_empty() {
            return Error::from("the configuration: ").and(text);
        }
        path.and(": ").and(text)
    }

    /// Adds the path from this value to the one at a position.
    fn path(self, path: Error, to: usize) -> Error {
        let open = self.text[self.at];
        if self.at == to || open != b'{' && open != b'[' {
            return path;
        }
        let mut at = scan::first(self.text, self.at);
        let mut i = 0;
        while at != NONE {
            let value = match open {
                b'{' => scan::value(self.text, at),
                _ => at,
            };
            let end = scan::skip(self.text, value);
            if value <= to && to < end || at == to {
                let path = if open == b'[' {
                    path.and("[").number(i).and("]")
                } else {
                    let dot = if path.text().is_empty() { "" } else { "." };
                    let key = Value {
                        text: self.text,
                        at,
                    };
                    key.chars().fold(path.and(dot), |path, c| {
                        path.and(c.encode_utf8(&mut [0; 4]))
                    })
                };
                if at == to && open == b'{' {
                    return path; // the key itself
                }
                return Value {
                    text: self.text,
                    at: value,
                }
                .path(path, to);
            }
            i += 1;
            at = scan::next(self.text, end);
        }
        path
    }

    fn expect(self, first: &[u8], what: &str) -> Result<(), Error> {
        if first.contains(&self.text[self.at]) {
            return Ok(());
        }
        Err(self.error(
            Error::from("expected ")
                .and(what)
                .and(", found ")
                .and(self.kind())
                .text(),
        ))
    }

    /// The value of a key of this object, the last of equal ones; None if it is absent or null.
    pub fn get(self, key: &str) -> Result<Option<Value<'j>>, Error> {
        self.expect(b"{", "an object")?;
        match scan::member(self.text, self.at, key) {
            NONE => Ok(None),
            at if self.text[at] == b'n' => Ok(None),
            at => Ok(Some(Value {
                text: self.text,
                at,
            })),
        }
    }

    /// The value of a key of this object, which must be there.
    pub fn need(self, key: &str) -> Result<Value<'j>, Error> {
        match self.get(key)? {
            Some(value) => Ok(value),
            None => Err(self.error(Error::from("the field ").and(key).and(" is missing").text())),
        }
    }

    /// Refuses keys of this object other than those named.
    pub fn only(self, keys: &[&str]) -> Result<(), Error> {
        for (key, _) in self.fields()? {
            if keys.iter().any(|known| key.is(known)) {
                continue;
            }
            let mut known = Error::from("there is no such field; there are ");
            for (i, key) in keys.iter().enumerate() {
                known = known.and(if i == 0 { "" } else { ", " }).and(key);
            }
            return Err(key.error(known.text()));
        }
        Ok(())
    }

    /// The keys, which are strings, and values of this object.
    pub fn fields(self) -> Result<impl Iterator<Item = (Value<'j>, Value<'j>)>, Error> {
        self.expect(b"{", "an object")?;
        let text = self.text;
        let mut at = scan::first(text, self.at);
        Ok(core::iter::from_fn(move || {
            if at == NONE {
                return None;
            }
            let (key, value) = (at, scan::value(text, at));
            at = scan::next(text, scan::skip(text, value));
            Some((Value { text, at: key }, Value { text, at: value }))
        }))
    }

    /// The elements of this list.
    pub fn elements(self) -> Result<impl Iterator<Item = Value<'j>>, Error> {
        self.expect(b"[", "a list")?;
        let text = self.text;
        let mut at = scan::first(text, self.at);
        Ok(core::iter::from_fn(move || {
            if at == NONE {
                return None;
            }
            let value = Value { text, at };
            at = scan::next(text, scan::skip(text, at));
            Some(value)
        }))
    }

    /// The elements of the list under a key of this object; none if it is absent or null.
    pub fn list(self, key: &str) -> Result<impl Iterator<Item = Value<'j>>, Error> {
        let elements = match self.get(key)? {
            Some(list) => Some(list.elements()?),
            None => None,
        };
        Ok(elements.into_iter().flatten())
    }

    /// This value as true or false.
    pub fn bool(self) -> Result<bool, Error> {
        self.expect(b"tf", "true or false")?;
        Ok(self.text[self.at] == b't')
    }

    /// The text of this number.
    fn digits(self) -> Result<&'j str, Error> {
        self.expect(b"-0123456789", "a number")?;
        let digits = &self.text[self.at..scan::skip(self.text, self.at)];
        Ok(unsafe { core::str::from_utf8_unchecked(digits) }) // Check saw ASCII
    }

    /// This number, if it is a whole one of 64 bits.
    pub fn i64(self) -> Result<i64, Error> {
        let digits = self.digits()?;
        digits.parse().map_err(|_| {
            self.error(
                Error::from(digits)
                    .and(" is not a whole number of 64 bits")
                    .text(),
            )
        })
    }

    /// This number. It brings 10 KB of code.
    pub fn f64(self) -> Result<f64, Error> {
        let digits = self.digits()?;
        digits
            .parse()
            .map_err(|_| self.error("the number cannot be read"))
    }

    /// Reports whether this is a string with a text.
    pub fn is(self, text: &str) -> bool {
        self.text[self.at] == b'"' && scan::is(self.text, self.at, text)
    }

    /// One of a few texts, as its index.
    pub fn one_of(self, texts: &[&str]) -> Result<usize, Error> {
        if let Some(i) = texts.iter().position(|text| self.is(text)) {
            return Ok(i);
        }
        let mut known = Error::from("expected one of ");
        for (i, text) in texts.iter().enumerate() {
            known = known.and(if i == 0 { "" } else { ", " }).and(text);
        }
        Err(self.error(known.text()))
    }

    /// The characters of this string; none if it is something else.
    pub fn chars(self) -> impl Iterator<Item = char> + 'j {
        let text = self.text;
        let mut at = if text[self.at] == b'"' {
            self.at + 1
        } else {
            text.len()
        };
        core::iter::from_fn(move || {
            if at >= text.len() || text[at] == b'"' {
                return None;
            }
            let (mut utf8, mut size, mut behind) = scan::unescape(text, at);
            if text[at] != b'\\' {
                // The bytes of a character stand as they are.
                size = match text[at] {
                    0..=0x7F => 1,
                    0x80..=0xDF => 2,
                    0xE0..=0xEF => 3,
                    _ => 4,
                };
                utf8[..size].copy_from_slice(&text[at..at + size]);
                behind = at + size;
            }
            at = behind;
            let c = unsafe { core::str::from_utf8_unchecked(&utf8[..size]) }; // parse saw UTF-8
            c.chars().next()
        })
    }

    /// This string.
    #[cfg(feature = "alloc")]
    pub fn string(self) -> Result<alloc::string::String, Error> {
        self.expect(b"\"", "a string")?;
        Ok(self.chars().collect())
    }
}

impl core::fmt::Debug for Value<'_> {
    /// The value's text.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let text = &self.text[self.at..scan::skip(self.text, self.at)];
        f.write_str(core::str::from_utf8(text).unwrap_or(""))
    }
}
