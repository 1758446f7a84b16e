// Input and output of queue_key (ABI-3.11, ABI-5.10).

/// How a pod stands in the queue.
typedef struct {
  int64_t time;      // at which the pod was queued, in nanoseconds since 1970
  uint32_t attempts; // tries so far
  uint32_t zero;
} BerthQueued;

/// The place of a pod in the queue: up to 64 bytes, to which queue_key appends one part after the
/// other, the most important first. Keys are compared byte by byte, and the smaller one is tried
/// first. The parts below are made so that their own order is that of the bytes; the descending ones
/// reverse it.
///
/// A key that becomes longer than 64 bytes fails the call. Where a part may be long, see
/// berth_key_room.
typedef struct {
  uint32_t length; // as appended, so it may be more than there is
  uint8_t bytes[BERTH__MAX_QUEUE_KEY];
} BerthKey;

_Static_assert(sizeof(BerthQueued) == 16 && sizeof(BerthKey) == 68, "ABI-3.11");

/// How many bytes still fit.
BERTH__COLD uint32_t berth_key_room(const BerthKey *key) {
  return key->length < BERTH__MAX_QUEUE_KEY ? BERTH__MAX_QUEUE_KEY - key->length : 0;
}

BERTH__COLD void berth__key_put(BerthKey *key, uint8_t b, uint8_t mask) {
  if (key->length < BERTH__MAX_QUEUE_KEY) key->bytes[key->length] = b ^ mask;
  key->length++;
}

/// Appends 8 bytes: a smaller number comes first.
BERTH__COLD void berth_key_append_u64(BerthKey *key, uint64_t v) {
  for (int shift = 56; shift >= 0; shift -= 8) berth__key_put(key, (uint8_t)(v >> shift), 0);
}

/// Appends 8 bytes: a larger number comes first.
BERTH__COLD void berth_key_append_u64_descending(BerthKey *key, uint64_t v) { berth_key_append_u64(key, ~v); }

/// Appends 8 bytes: a smaller number comes first, negative ones before 0.
BERTH__COLD void berth_key_append_i64(BerthKey *key, int64_t v) { berth_key_append_u64(key, (uint64_t)v ^ (uint64_t)1 << 63); }

/// Appends 8 bytes: a larger number comes first.
BERTH__COLD void berth_key_append_i64_descending(BerthKey *key, int64_t v) { berth_key_append_i64(key, ~v); }

BERTH__COLD void berth__key_append(BerthKey *key, BerthBytes bytes, uint8_t mask) {
  for (uint32_t i = 0; i < bytes.n; i++) berth__key_put(key, bytes.at[i], mask);
}

/// Appends bytes as they are: a part of a fixed length, or the last one.
BERTH__COLD void berth_key_append_bytes(BerthKey *key, BerthBytes bytes) { berth__key_append(key, bytes, 0); }

/// Appends inverted bytes: a larger one comes first.
BERTH__COLD void berth_key_append_bytes_descending(BerthKey *key, BerthBytes bytes) { berth__key_append(key, bytes, 0xFF); }

// The end of a text is 0 1 and a zero byte in it 0 255, so that the end is less than anything that
// goes on.
BERTH__COLD void berth__key_append_text(BerthKey *key, BerthText text, uint8_t mask) {
  for (uint32_t i = 0; i < text.n; i++) {
    berth__key_put(key, (uint8_t)text.at[i], mask);
    if (text.at[i] == 0) berth__key_put(key, 0xFF, mask);
  }
  berth__key_put(key, 0, mask);
  berth__key_put(key, 1, mask);
}

/// Appends a text of any length and two bytes that end it, so that parts after it do not mix with
/// it: texts are in the order of their bytes, a beginning of another one before it. A zero byte in it
/// takes two.
#define berth_key_append_text(key, text) berth__key_append_text(key, BERTH_TEXT(text), 0)

/// berth_key_append_text with inverted bytes.
#define berth_key_append_text_descending(key, text) berth__key_append_text(key, BERTH_TEXT(text), 0xFF)
