//! Why a configuration is rejected.

use core::fmt;

/// A text for people. Without a heap it has at most 112 bytes, and the rest is cut.
#[derive(Clone, Default)]
pub struct Error {
    #[cfg(feature = "alloc")]
    text: alloc::string::String,
    #[cfg(not(feature = "alloc"))]
    text: Text<112>,
}

impl Error {
    /// An empty text.
    pub fn new() -> Error {
        Error::default()
    }

    /// The text followed by another one.
    pub fn and(mut self, text: &str) -> Error {
        self.text.push_str(text);
        self
    }

    /// The text followed by a number. Formatting with core::fmt would be 3 KB of code.
    pub(crate) fn number(self, n: usize) -> Error {
        let to = if n >= 10 { self.number(n / 10) } else { self };
        to.and(&"0123456789"[n % 10..n % 10 + 1])
    }

    /// The text.
    pub fn text(&self) -> &str {
        self.text.as_str()
    }
}

impl From<&str> for Error {
    fn from(text: &str) -> Error {
        Error::new().and(text)
    }
}

#[cfg(feature = "alloc")]
impl From<alloc::string::String> for Error {
    fn from(text: alloc::string::String) -> Error {
        Error { text }
    }
}

impl fmt::Write for Error {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text.push_str(text);
        Ok(())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// A text of at most N bytes, stored inline; the rest is cut. It needs no heap, which may not
/// exist, or be broken when the plugin panics.
#[cfg_attr(all(feature = "alloc", not(target_arch = "wasm32")), allow(dead_code))]
#[derive(Clone)]
pub(crate) struct Text<const N: usize> {
    bytes: [u8; N],
    used: usize,
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Text<N> {
        Text {
            bytes: [0; N],
            used: 0,
        }
    }
}

#[cfg_attr(all(feature = "alloc", not(target_arch = "wasm32")), allow(dead_code))]
impl<const N: usize> Text<N> {
    pub fn push_str(&mut self, text: &str) {
        let mut end = text.len().min(N - self.used);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.bytes[self.used..self.used + end].copy_from_slice(&text.as_bytes()[..end]);
        self.used += end;
    }

    pub fn as_str(&self) -> &str {
        unsafe { core::str::from_utf8_unchecked(&self.bytes[..self.used]) } // of whole characters
    }
}

impl<const N: usize> fmt::Write for Text<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::fmt::Write;
    use std::string::{String, ToString};

    /// A text that is too long is cut between characters.
    #[test]
    fn cut() {
        let mut text = Text::<120>::default();
        write!(text, "a{}more", "é".repeat(100)).unwrap();
        assert_eq!(text.as_str(), String::from("a") + &"é".repeat(59) + "m");
    }

    #[test]
    fn whole() {
        let mut error = Error::from("a").and("b");
        write!(error, "{}", 1).unwrap();
        assert_eq!(
            (error.to_string(), std::format!("{:?}", error)),
            ("ab1".into(), "ab1".into())
        );
        assert_eq!(Error::from(String::from("x")).text(), "x");
    }
}
