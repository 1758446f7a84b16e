//! The names that a plugin may read: those of the manifest, and after them those that the
//! configuration brings (ABI-9.15).

use crate::error::{Error, Text};
use crate::json::Value;
use crate::manifest::Manifest;
use crate::memory::{Memory, View};
use crate::room::{keep, Room};

pub(crate) struct Declared {
    pub manifest: Manifest,
    brought: Room<Brought>,
}

/// A name of the configuration.
#[derive(Clone, Copy)]
pub(crate) struct Brought {
    /// Where its list is in the manifest's text.
    list: usize,
    name: View<u8>,
}

impl Declared {
    pub const fn new(manifest: Manifest) -> Declared {
        Declared {
            manifest,
            brought: Room::new(),
        }
    }

    /// The number of names in a list of `reads`.
    pub fn length(&self, list: &str) -> usize {
        self.manifest.length(list) + self.brought_to(self.manifest.list(list)).count()
    }

    /// The index of a name in a list of `reads`.
    pub fn index(&self, list: &str, name: &str) -> Option<u32> {
        self.manifest.index(list, name).or_else(|| {
            let mut brought = self.brought_to(self.manifest.list(list));
            let i = brought.position(|b| b == name.as_bytes())?;
            Some((self.manifest.length(list) + i) as u32)
        })
    }

    fn brought_to(&self, list: usize) -> impl Iterator<Item = &[u8]> {
        let all = self.brought.slice().iter();
        all.filter(move |b| b.list == list).map(|b| b.name.slice())
    }

    /// Adds the names of a configuration, as the host does. An error is about a configuration that
    /// the host refuses, of which some may be added.
    pub fn bring(&mut self, memory: &Memory, config: &[u8]) -> Result<(), Error> {
        let config = Value::parse(config)?;
        for (_, list) in self.manifest.parse()?.need("reads")?.fields()? {
            for element in list.elements()?.filter(|e| e.begins_with(b'{')) {
                match at(config, element.need("fromConfig")?)? {
                    Some(names) if names.begins_with(b'[') => {
                        for name in names.elements()? {
                            self.add(memory, list, name);
                        }
                    }
                    Some(name) => self.add(memory, list, name),
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// Adds a name to a list, if it is a string that is not there.
    fn add(&mut self, memory: &Memory, list: Value<'_>, name: Value<'_>) {
        let mut fixed = list.elements().into_iter().flatten();
        if !name.begins_with(b'"') || fixed.any(|f| f.chars().eq(name.chars())) {
            return;
        }
        let size = name.chars().map(char::len_utf8).sum();
        let view = View {
            at: keep(memory, size),
            len: size as u32,
        };
        let mut rest = unsafe { view.slice_mut() }; // nobody else has it
        for c in name.chars() {
            let n = c.encode_utf8(rest).len();
            rest = &mut rest[n..];
        }
        let list = list.position();
        if self.brought_to(list).all(|b| b != view.slice()) {
            self.brought.push(memory, Brought { list, name: view });
        }
    }
}

/// The value at a JSON pointer that leads through objects; None if there is none.
fn at<'j>(mut value: Value<'j>, pointer: Value<'_>) -> Result<Option<Value<'j>>, Error> {
    let mut chars = pointer.chars().skip(1).peekable();
    loop {
        let mut token = Text::<256>::default(); // of a pointer of at most 256 bytes
        while let Some(c) = chars.next_if(|c| *c != '/') {
            let c = match c {
                '~' if chars.next() == Some('1') => '/',
                c => c, // ~0 is ~
            };
            token.push_str(c.encode_utf8(&mut [0; 4]));
        }
        match value.get(token.as_str())? {
            Some(next) if chars.next().is_some() => value = next,
            end => return Ok(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const M: Manifest = Manifest::new(
        r#"{"reads":{"feeds":["a:milli",{"fromConfig":"/f"}],"nodeLabels":[{"fromConfig":"/l"}]}}"#,
    );
    // The same when compiling.
    const _: () = assert!(M.brings() && !Manifest::new(r#"{"reads":{"pod":["now"]}}"#).brings());

    /// Each list has its own names, and a name that does not fit has no other index.
    #[test]
    fn lists() {
        let mut bytes = std::vec![0_u64; 4000];
        let m = Memory::new(bytes.as_mut_ptr().cast(), 32000, 64);
        let mut d = Declared::new(M);
        assert_eq!((d.length("feeds"), d.length("nodeLabels")), (1, 0));
        let config = br#"{"f": ["b:milli", "a:milli"], "l": "b:milli"}"#;
        d.bring(&m, config).unwrap();
        let at = |list, name| d.index(list, name);
        assert_eq!((d.length("feeds"), d.length("nodeLabels")), (2, 1));
        assert_eq!(
            (at("feeds", "a:milli"), at("feeds", "b:milli")),
            (Some(0), Some(1))
        );
        assert_eq!(at("nodeLabels", "b:milli"), Some(0));
        for list in ["nodeLabels", "podLabels", "resources"] {
            assert_eq!(at(list, "a:milli"), None, "{}", list);
        }
    }
}
