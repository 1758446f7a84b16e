//! Scanning JSON text, in const functions: export! looks at the manifest when the
//! plugin is compiled, Base when an instance starts, and a configuration is read with the same.
//!
//! Positions are indices of bytes. The functions take JSON that is well-formed at least as far
//! as they read; where it is not they panic.

/// No position.
pub(crate) const NONE: usize = usize::MAX;

/// The position of the first byte from i on that is not a space.
pub(crate) const fn space(s: &[u8], mut i: usize) -> usize {
    while i < s.len() && matches!(s[i], b' ' | b'\n' | b'\r' | b'\t') {
        i += 1;
    }
    i
}

const fn bad() -> ! {
    panic!("berth: manifest.json: not the JSON that is expected (abi/SPEC.md, section 9)")
}

/// The first byte from i on that is not a space.
const fn byte(s: &[u8], i: usize) -> u8 {
    let i = space(s, i);
    if i >= s.len() {
        bad();
    }
    s[i]
}

/// The position after a byte that must come next.
const fn take(s: &[u8], i: usize, b: u8) -> usize {
    if byte(s, i) != b {
        bad();
    }
    space(s, i) + 1
}

/// The position after the next string.
pub(crate) const fn skip_string(s: &[u8], i: usize) -> usize {
    let mut i = take(s, i, b'"');
    while i < s.len() && s[i] != b'"' {
        i += if s[i] == b'\\' { 2 } else { 1 };
    }
    if i >= s.len() {
        bad();
    }
    i + 1
}

/// The position after the next value.
pub(crate) const fn skip(s: &[u8], i: usize) -> usize {
    let mut i = space(s, i);
    let mut depth = 0;
    loop {
        match byte(s, i) {
            b'"' => i = skip_string(s, i),
            b'{' | b'[' => {
                depth += 1;
                i = space(s, i) + 1;
            }
            b'}' | b']' if depth > 0 => {
                depth -= 1;
                i = space(s, i) + 1;
            }
            b',' | b':' if depth > 0 => i = space(s, i) + 1,
            b'a'..=b'z' | b'0'..=b'9' | b'-' => {
                i = space(s, i);
                while i < s.len()
                    && matches!(s[i], b'a'..=b'z' | b'0'..=b'9' | b'+' | b'-' | b'.' | b'E')
                {
                    i += 1;
                }
            }
            _ => bad(),
        }
        if depth == 0 {
            return i;
        }
    }
}

/// Where the first element of a list or an object begins; NONE if there is none. i is at or
/// before the opening bracket.
pub(crate) const fn first(s: &[u8], i: usize) -> usize {
    let open = byte(s, i);
    if open != b'[' && open != b'{' {
        bad();
    }
    let i = space(s, i) + 1;
    if byte(s, i) == if open == b'[' { b']' } else { b'}' } {
        return NONE;
    }
    space(s, i)
}

/// Where the next element begins, i being after one; NONE if that was the last.
pub(crate) const fn next(s: &[u8], i: usize) -> usize {
    match byte(s, i) {
        b',' => space(s, space(s, i) + 1),
        b']' | b'}' => NONE,
        _ => bad(),
    }
}

/// Where the value of the member begins whose key is at i.
pub(crate) const fn value(s: &[u8], i: usize) -> usize {
    space(s, take(s, skip_string(s, i), b':'))
}

/// Where the value of a key begins in the object at i, the last of equal ones; NONE if there is
/// none.
pub(crate) const fn member(s: &[u8], i: usize, key: &str) -> usize {
    let mut found = NONE;
    let mut at = first(s, i);
    while at != NONE {
        let v = value(s, at);
        if is(s, at, key) {
            found = v;
        }
        at = next(s, skip(s, v));
    }
    found
}

/// The index of a string in the list at i; NONE if it is not there. The list ends where something
/// else than a string begins.
pub(crate) const fn index(s: &[u8], i: usize, text: &str) -> usize {
    let mut n = 0;
    let mut at = first(s, i);
    while at != NONE && s[at] == b'"' {
        if is(s, at, text) {
            return n;
        }
        n += 1;
        at = next(s, skip(s, at));
    }
    NONE
}

/// The number of strings with which the list at i begins.
pub(crate) const fn length(s: &[u8], i: usize) -> usize {
    let mut n = 0;
    let mut at = first(s, i);
    while at != NONE && s[at] == b'"' {
        n += 1;
        at = next(s, skip(s, at));
    }
    n
}

/// Reports whether the string at i is text.
pub(crate) const fn is(s: &[u8], i: usize, text: &str) -> bool {
    let mut i = take(s, i, b'"');
    let text = text.as_bytes();
    let mut n = 0;
    while i < s.len() && s[i] != b'"' {
        let (utf8, size, behind) = unescape(s, i);
        let mut k = 0;
        while k < size {
            if n >= text.len() || text[n] != utf8[k] {
                return false;
            }
            n += 1;
            k += 1;
        }
        i = behind;
    }
    n == text.len()
}

/// The next byte of a string, or what an escape stands for: its UTF-8, its size, and the
/// position after it.
pub(crate) const fn unescape(s: &[u8], i: usize) -> ([u8; 4], usize, usize) {
    if s[i] != b'\\' {
        return ([s[i], 0, 0, 0], 1, i + 1);
    }
    let c = match s[i + 1] {
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => {
            let high = hex(s, i + 2);
            if high & 0xFC00 == 0xD800 && i + 7 < s.len() && s[i + 6] == b'\\' && s[i + 7] == b'u' {
                let low = hex(s, i + 8);
                if low & 0xFC00 == 0xDC00 {
                    let c = 0x1_0000 + ((high & 0x3FF) << 10) + (low & 0x3FF);
                    return utf8(c, i + 12);
                }
            }
            return utf8(high, i + 6);
        }
        c => c,
    };
    ([c, 0, 0, 0], 1, i + 2)
}

/// Four hexadecimal digits.
const fn hex(s: &[u8], mut i: usize) -> u32 {
    let end = i + 4;
    let mut n = 0;
    while i < end {
        let digit = if i < s.len() { s[i] } else { bad() };
        n = n << 4
            | match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                b'A'..=b'F' => digit - b'A' + 10,
                _ => bad(),
            } as u32;
        i += 1;
    }
    n
}

/// The UTF-8 of a code point; half of a pair is the replacement character.
const fn utf8(c: u32, behind: usize) -> ([u8; 4], usize, usize) {
    const fn tail(c: u32, shift: u32) -> u8 {
        0x80 | (c >> shift & 0x3F) as u8
    }
    let c = if c >= 0xD800 && c < 0xE000 { 0xFFFD } else { c };
    if c < 0x80 {
        ([c as u8, 0, 0, 0], 1, behind)
    } else if c < 0x800 {
        ([0xC0 | (c >> 6) as u8, tail(c, 0), 0, 0], 2, behind)
    } else if c < 0x1_0000 {
        (
            [0xE0 | (c >> 12) as u8, tail(c, 6), tail(c, 0), 0],
            3,
            behind,
        )
    } else {
        (
            [0xF0 | (c >> 18) as u8, tail(c, 12), tail(c, 6), tail(c, 0)],
            4,
            behind,
        )
    }
}
