//! Finding a name in a whole object.

/// metadata.name in a whole object: field 1 of field 1, both with a length.
pub fn metadata_name(object: &[u8]) -> &[u8] {
    field(field(object, 1), 1)
}

/// A field of a protobuf message that has a length; empty if it does not have it.
fn field(mut message: &[u8], number: u64) -> &[u8] {
    while !message.is_empty() {
        let (tag, rest) = varint(message);
        message = match tag & 7 {
            0 => varint(rest).1,
            1 => &rest[rest.len().min(8)..],
            2 => {
                let (n, data) = varint(rest);
                let n = n.min(data.len() as u64) as usize;
                if tag >> 3 == number {
                    return &data[..n];
                }
                &data[n..]
            }
            5 => &rest[rest.len().min(4)..],
            _ => return &[],
        };
    }
    &[]
}

fn varint(bytes: &[u8]) -> (u64, &[u8]) {
    let mut v = 0;
    for (i, b) in bytes.iter().enumerate().take(10) {
        v |= u64::from(b & 0x7F) << (7 * i);
        if *b < 0x80 {
            return (v, &bytes[i + 1..]);
        }
    }
    (v, &[])
}
