// The compiler, and what everything else is made of: texts and lists.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The version of this file, which berth plugin sbom and push put into bills of materials.
#define BERTH_SDK_VERSION "0.1.0"

#if !defined(__clang__) && !defined(__GNUC__)
#error "berth.h needs clang (or, for native tests, gcc)"
#endif
#if defined(__wasm__) && !defined(__wasm32__)
#error "the ABI has addresses of 32 bits: compile with --target=wasm32"
#endif

// Every file that includes berth.h has its own functions, and all share the state that
// BERTH_PLUGIN defines. So functions that are not used cost nothing.
#ifdef __clang__
#define BERTH__SMALL minsize
#else
#define BERTH__SMALL
#endif
#define BERTH__FN static inline __attribute__((unused, BERTH__SMALL))
#define BERTH__COLD static __attribute__((unused, noinline, cold, BERTH__SMALL))
#define BERTH__HOT static inline __attribute__((unused, always_inline))

// Reports that something is rare, for the compiler's layout of code.
#define BERTH__RARE(condition) __builtin_expect(!!(condition), 0)

/// A text in UTF-8, which is not terminated by a zero byte. A text that the SDK returns in a
/// call is valid until the call returns, if nothing else is said.
typedef struct {
  const char *at;
  uint32_t n; // bytes
} BerthText;

/// Bytes that are no text.
typedef struct {
  const uint8_t *at;
  uint32_t n;
} BerthBytes;

/// Calls of functions with a text as argument take a BerthText or a C string.
#define BERTH_TEXT(text) \
  _Generic((text), BerthText: berth__text, char *: berth__c_string, const char *: berth__c_string)(text)

BERTH__HOT BerthText berth__text(BerthText text) { return text; }

BERTH__HOT BerthText berth__c_string(const char *text) {
  return (BerthText){text, (uint32_t)__builtin_strlen(text)}; // a literal's is known to the compiler
}

// BERTH__TEXTS(a, b) is an array of the texts, and their number.
#define BERTH__TEXTS(...) (const BerthText[]){BERTH__EACH(__VA_ARGS__)}, BERTH__COUNT(__VA_ARGS__)
#define BERTH__COUNT(...) BERTH__17TH(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, )
#define BERTH__17TH(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, count, ...) count
#define BERTH__EACH(...) BERTH__PASTE(BERTH__EACH_, BERTH__COUNT(__VA_ARGS__))(__VA_ARGS__)
#define BERTH__PASTE(a, b) BERTH__PASTED(a, b)
#define BERTH__PASTED(a, b) a##b
#define BERTH__EACH_1(a) BERTH_TEXT(a)
#define BERTH__EACH_2(a, ...) BERTH_TEXT(a), BERTH__EACH_1(__VA_ARGS__)
#define BERTH__EACH_3(a, ...) BERTH_TEXT(a), BERTH__EACH_2(__VA_ARGS__)
#define BERTH__EACH_4(a, ...) BERTH_TEXT(a), BERTH__EACH_3(__VA_ARGS__)
#define BERTH__EACH_5(a, ...) BERTH_TEXT(a), BERTH__EACH_4(__VA_ARGS__)
#define BERTH__EACH_6(a, ...) BERTH_TEXT(a), BERTH__EACH_5(__VA_ARGS__)
#define BERTH__EACH_7(a, ...) BERTH_TEXT(a), BERTH__EACH_6(__VA_ARGS__)
#define BERTH__EACH_8(a, ...) BERTH_TEXT(a), BERTH__EACH_7(__VA_ARGS__)
#define BERTH__EACH_9(a, ...) BERTH_TEXT(a), BERTH__EACH_8(__VA_ARGS__)
#define BERTH__EACH_10(a, ...) BERTH_TEXT(a), BERTH__EACH_9(__VA_ARGS__)
#define BERTH__EACH_11(a, ...) BERTH_TEXT(a), BERTH__EACH_10(__VA_ARGS__)
#define BERTH__EACH_12(a, ...) BERTH_TEXT(a), BERTH__EACH_11(__VA_ARGS__)
#define BERTH__EACH_13(a, ...) BERTH_TEXT(a), BERTH__EACH_12(__VA_ARGS__)
#define BERTH__EACH_14(a, ...) BERTH_TEXT(a), BERTH__EACH_13(__VA_ARGS__)
#define BERTH__EACH_15(a, ...) BERTH_TEXT(a), BERTH__EACH_14(__VA_ARGS__)
#define BERTH__EACH_16(a, ...) BERTH_TEXT(a), BERTH__EACH_15(__VA_ARGS__)

/// Reports whether two texts have the same bytes.
#define berth_text_equals(a, b) berth__equals(BERTH_TEXT(a), BERTH_TEXT(b))

BERTH__FN bool berth__equals(BerthText a, BerthText b) {
  if (a.n != b.n) return false;
  for (uint32_t i = 0; i < a.n; i++) {
    if (a.at[i] != b.at[i]) return false;
  }
  return true;
}

/// The bytes of a text.
#define berth_text_bytes(text) berth__bytes(BERTH_TEXT(text))

BERTH__FN BerthBytes berth__bytes(BerthText text) { return (BerthBytes){(const uint8_t *)text.at, text.n}; }

/// Bytes as a text.
BERTH__FN BerthText berth_bytes_text(BerthBytes bytes) { return (BerthText){(const char *)bytes.at, bytes.n}; }

/// BERTH_EACH(pair, berth_node_labels(node)) { … } goes through a list: pair is a pointer to
/// each element in turn.
#define BERTH_EACH(element, list) \
  for (__typeof__((list).at) element = (list).at, element##__end = (list).n == 0 ? element : element + (list).n; \
       element != element##__end; element++)

// Copies bytes. The rooms do not overlap.
BERTH__FN void berth__copy(void *to, const void *from, uint32_t n) {
  if (n > 0) __builtin_memcpy(to, from, n);
}

// Returns how many bytes the character at a position of UTF-8 has; 0 if it is none (RFC 3629).
BERTH__FN uint32_t berth__character(BerthText text, uint32_t i) {
  const uint8_t *b = (const uint8_t *)text.at + i;
  uint32_t left = text.n - i;
  if (b[0] < 0x80) return 1;
  uint32_t size = b[0] < 0xC2 ? 0 : b[0] < 0xE0 ? 2 : b[0] < 0xF0 ? 3 : b[0] < 0xF5 ? 4 : 0;
  if (size == 0 || size > left) return 0;
  uint8_t low = 0x80, high = 0xBF; // of the second byte: neither too long, nor a surrogate, nor beyond U+10FFFF
  if (b[0] == 0xE0) low = 0xA0;
  if (b[0] == 0xED) high = 0x9F;
  if (b[0] == 0xF0) low = 0x90;
  if (b[0] == 0xF4) high = 0x8F;
  if (b[1] < low || b[1] > high) return 0;
  for (uint32_t k = 2; k < size; k++) {
    if ((b[k] & 0xC0) != 0x80) return 0;
  }
  return size;
}

BERTH__FN bool berth__is_utf8(BerthText text) {
  for (uint32_t i = 0, size; i < text.n; i += size) {
    size = berth__character(text, i);
    if (size == 0) return false;
  }
  return true;
}

// Cuts a text between characters, so that it has at most n bytes.
BERTH__FN BerthText berth__cut(BerthText text, uint32_t n) {
  if (text.n <= n) return text;
  while (n > 0 && ((uint8_t)text.at[n] & 0xC0) == 0x80) n--;
  return (BerthText){text.at, n};
}
