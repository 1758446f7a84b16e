// Input and output of queueKey (ABI-3.11, ABI-5.10).

import { MAX_QUEUE_KEY } from "./abi";
import { encode, scratch, utf8Length } from "./memory";

/** How a pod stands in the queue. */
@final @unmanaged
export class Queued {
  /** At which the pod was queued, in nanoseconds since 1970. */
  time: i64;
  /** Tries so far. */
  attempts: u32;
  private zero: u32;
}

/**
 * The place of a pod in the queue: up to 64 bytes, to which queueKey appends one part after the other,
 * the most important first. Keys are compared byte by byte, and the smaller one is tried first. The parts
 * below are made so that their own order is that of the bytes; the Descending ones reverse it.
 *
 * A key that becomes longer than 64 bytes fails the call. Where a part may be long, see `room`.
 */
@final @unmanaged
export class Key {
  // Of the SDK: as appended, so it may be more than there is. The bytes follow.
  _length: u32;

  /** How many bytes still fit. */
  room(): u32 {
    return this._length < MAX_QUEUE_KEY ? MAX_QUEUE_KEY - this._length : 0;
  }

  private put(b: u8, mask: u8): void {
    if (this._length < MAX_QUEUE_KEY) store<u8>(changetype<usize>(this) + 4 + this._length, b ^ mask);
    this._length++;
  }

  /** Appends 8 bytes: a smaller number comes first. */
  appendU64(v: u64): void {
    for (let shift = 56; shift >= 0; shift -= 8) this.put(<u8>(v >> shift), 0);
  }

  /** Appends 8 bytes: a larger number comes first. */
  appendU64Descending(v: u64): void {
    this.appendU64(~v);
  }

  /** Appends 8 bytes: a smaller number comes first, negative ones before 0. */
  appendI64(v: i64): void {
    this.appendU64(<u64>v ^ ((<u64>1) << 63));
  }

  /** Appends 8 bytes: a larger number comes first. */
  appendI64Descending(v: i64): void {
    this.appendI64(~v);
  }

  private bytes(bytes: Uint8Array, mask: u8): void {
    for (let i = 0; i < bytes.length; i++) this.put(bytes[i], mask);
  }

  /** Appends bytes as they are: a part of a fixed length, or the last one. */
  appendBytes(bytes: Uint8Array): void {
    this.bytes(bytes, 0);
  }

  /** Appends inverted bytes: a larger one comes first. */
  appendBytesDescending(bytes: Uint8Array): void {
    this.bytes(bytes, 0xff);
  }

  // The end of a text is 0 1 and a zero byte in it 0 255, so that the end is less than anything that
  // goes on.
  private text(text: string, mask: u8): void {
    const n = utf8Length(text), at = scratch(n);
    encode(text, at);
    for (let i: u32 = 0; i < n; i++) {
      const b = load<u8>(at + i);
      this.put(b, mask);
      if (b == 0) this.put(0xff, mask);
    }
    this.put(0, mask);
    this.put(1, mask);
  }

  /**
   * Appends a text of any length and two bytes that end it, so that parts after it do not mix with it:
   * texts are in the order of their bytes, a beginning of another one before it. A zero byte in it takes
   * two.
   */
  appendText(text: string): void {
    this.text(text, 0);
  }

  /** appendText with inverted bytes. */
  appendTextDescending(text: string): void {
    this.text(text, 0xff);
  }
}
