//! Whether a text is JSON.

use crate::scan;

/// Objects and lists may be nested this deep.
const DEPTH: usize = 32;

/// Checks a text against RFC 8259; at is where it stopped.
pub(super) struct Check<'j> {
    text: &'j [u8],
    at: usize,
}

impl<'j> Check<'j> {
    pub fn new(text: &'j [u8]) -> Check<'j> {
        Check { text, at: 0 }
    }

    /// Checks all of it; an error is the line of the first mistake.
    pub fn whole(mut self) -> Result<(), usize> {
        if self.value(0).is_some() && scan::space(self.text, self.at) == self.text.len() {
            return Ok(());
        }
        let before = &self.text[..self.at.min(self.text.len())];
        Err(1 + before.iter().filter(|b| **b == b'\n').count())
    }

    fn peek(&mut self) -> u8 {
        self.at = scan::space(self.text, self.at);
        self.byte()
    }

    /// The next byte; 0, which is nowhere in JSON, at the end.
    fn byte(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn take(&mut self, b: u8) -> Option<()> {
        if self.peek() != b {
            return None;
        }
        self.at += 1;
        Some(())
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        if depth > DEPTH {
            return None;
        }
        match self.peek() {
            b'{' => self.items(depth, b'}'),
            b'[' => self.items(depth, b']'),
            b'"' => self.string(),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    fn items(&mut self, depth: usize, close: u8) -> Option<()> {
        self.at += 1;
        if self.peek() == close {
            self.at += 1;
            return Some(());
        }
        loop {
            if close == b'}' {
                self.peek();
                self.string()?;
                self.take(b':')?;
            }
            self.value(depth + 1)?;
            if self.peek() != b',' {
                return self.take(close);
            }
            self.at += 1;
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        if !self.text[self.at..].starts_with(word) {
            return None;
        }
        self.at += word.len();
        Some(())
    }

    fn string(&mut self) -> Option<()> {
        self.take(b'"')?;
        loop {
            match self.byte() {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => {
                    self.at += 1;
                    let digits = match self.byte() {
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 0,
                        b'u' => 4,
                        _ => return None,
                    };
                    self.at += 1;
                    for _ in 0..digits {
                        if !self.byte().is_ascii_hexdigit() {
                            return None;
                        }
                        self.at += 1;
                    }
                }
                0..=0x1F => return None,
                _ => self.at += 1,
            }
        }
    }

    fn digits(&mut self) -> Option<()> {
        if !self.byte().is_ascii_digit() {
            return None;
        }
        while self.byte().is_ascii_digit() {
            self.at += 1;
        }
        Some(())
    }

    fn number(&mut self) -> Option<()> {
        if self.byte() == b'-' {
            self.at += 1;
        }
        let zero = self.byte() == b'0';
        let from = self.at;
        self.digits()?;
        if zero && self.at > from + 1 {
            return None;
        }
        if self.byte() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.byte(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.byte(), b'+' | b'-') {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }
}
