// The linear memory: room for what the host writes and reads, and a way out of mistakes.
//
// In a module address 0 is pointer 0, and the module's own bounds checks hold. Natively the memory
// is a block of bytes that the test gives to berth_native_start.

// Room for bytes that are needed until the next call. Pieces keep their place; the room is used
// again in each call.
struct berth__scratch {
  uint8_t *at;
  uint32_t size, used; // multiples of 8
};

#ifdef __wasm__

// Functions of the host (SPEC.md, section 7). The linker leaves out an import that nothing refers
// to, so a module imports what its plugin uses.
#define BERTH__IMPORT(name) __attribute__((import_module("berth"), import_name(#name))) extern
BERTH__IMPORT(log) void berth__host_log(int32_t level, const char *at, uint32_t n);
BERTH__IMPORT(state_get) int32_t berth__host_state_get(const char *key, uint32_t n, uint8_t *to, uint32_t capacity);
BERTH__IMPORT(state_set) int32_t berth__host_state_set(const char *key, uint32_t n, const uint8_t *value, uint32_t size);
BERTH__IMPORT(published_get) int32_t berth__host_published_get(uint32_t index, uint8_t *to, uint32_t capacity);
BERTH__IMPORT(pod_object) int32_t berth__host_pod_object(uint32_t index, uint8_t *to, uint32_t capacity);
BERTH__IMPORT(node_object) int32_t berth__host_node_object(uint32_t row, uint8_t *to, uint32_t capacity);

// What a plugin says of its own end must not be an import that the plugin does not have: a weak
// reference is berth__host_log if something else refers to that, or else a function that traps.
static void berth__last_words(int32_t level, const char *at, uint32_t n)
    __attribute__((weakref("berth__host_log"), import_module("berth"), import_name("log")));

// Ends the call: logs why, if the plugin has logs, and traps.
BERTH__COLD __attribute__((noreturn)) void berth__stop(BerthText why) {
  berth__last_words(3, why.at, why.n);
  __builtin_trap();
}

BERTH__HOT void *berth__pointer(uint32_t address) { return (void *)address; }

BERTH__HOT uint32_t berth__address(const void *at) { return (uint32_t)at; }

// Returns the bytes at an address.
BERTH__HOT void *berth__view(uint32_t address, uint32_t n, uint32_t size) {
  (void)n, (void)size;
  return (void *)address;
}

// The bytes that are free, from next to end: they only move up, by memory.grow.
struct berth__memory {
  uint32_t next, end;
};

extern uint8_t __heap_base; // where the linker's data ends

#else // natively

/// The host of a plugin that runs natively, in a test. Functions have the meaning of SPEC.md,
/// section 7; stop must not return.
typedef struct {
  void (*log)(int32_t level, BerthText text);
  int32_t (*state_get)(BerthText key, uint8_t *to, uint32_t capacity);
  int32_t (*state_set)(BerthText key, BerthBytes value);
  int32_t (*published_get)(uint32_t index, uint8_t *to, uint32_t capacity);
  int32_t (*pod_object)(uint32_t index, uint8_t *to, uint32_t capacity);
  int32_t (*node_object)(uint32_t row, uint8_t *to, uint32_t capacity);
  void (*stop)(BerthText why);
} BerthHost;

struct berth__memory {
  uint32_t next, end; // as in a module
  uint8_t *base;      // address 0
  BerthHost host;
};

#endif

// What all files of a plugin share, as the other variables below. BERTH_PLUGIN defines them.
extern struct berth__memory berth__memory;
extern struct berth__scratch berth__scratch;

#ifndef __wasm__

BERTH__COLD __attribute__((noreturn)) void berth__stop(BerthText why) {
  berth__memory.host.stop(why);
  __builtin_trap();
}

BERTH__HOT void *berth__pointer(uint32_t address) { return berth__memory.base + address; }

BERTH__HOT uint32_t berth__address(const void *at) { return (uint32_t)((const uint8_t *)at - berth__memory.base); }

// Returns the bytes at an address, which must be in bounds.
BERTH__FN void *berth__view(uint32_t address, uint32_t n, uint32_t size) {
  if (n > 0 && (address == 0 || address + (uint64_t)n * size > berth__memory.end)) {
    berth__stop(BERTH_TEXT("berth: the host gave an address that is out of bounds"));
  }
  return berth__pointer(address);
}

BERTH__FN void berth__host_log(int32_t level, const char *at, uint32_t n) {
  berth__memory.host.log(level, (BerthText){at, n});
}

BERTH__FN int32_t berth__host_state_get(const char *key, uint32_t n, uint8_t *to, uint32_t capacity) {
  return berth__memory.host.state_get((BerthText){key, n}, to, capacity);
}

BERTH__FN int32_t berth__host_state_set(const char *key, uint32_t n, const uint8_t *value, uint32_t size) {
  return berth__memory.host.state_set((BerthText){key, n}, (BerthBytes){value, size});
}

BERTH__FN int32_t berth__host_published_get(uint32_t index, uint8_t *to, uint32_t capacity) {
  return berth__memory.host.published_get(index, to, capacity);
}

BERTH__FN int32_t berth__host_pod_object(uint32_t index, uint8_t *to, uint32_t capacity) {
  return berth__memory.host.pod_object(index, to, capacity);
}

BERTH__FN int32_t berth__host_node_object(uint32_t row, uint8_t *to, uint32_t capacity) {
  return berth__memory.host.node_object(row, to, capacity);
}

#endif

// Returns the address of size bytes at a multiple of align, a power of two; 0 if there is no room.
BERTH__COLD uint32_t berth__alloc(uint32_t size, uint32_t align) {
  struct berth__memory *m = &berth__memory;
#ifdef __wasm__
  if (m->next == 0) {
    m->next = (uint32_t)&__heap_base;
    m->end = (uint32_t)__builtin_wasm_memory_size(0) << 16;
  }
#endif
  uint64_t mask = (align == 0 ? 1 : align) - 1;
  uint64_t at = (m->next + mask) & ~mask, after = at + size;
#ifdef __wasm__
  if (after > m->end) {
    uint64_t pages = (after - m->end + 65535) >> 16;
    if ((m->end >> 16) + pages > 65535) return 0;
    uint32_t before = (uint32_t)__builtin_wasm_memory_grow(0, (uint32_t)pages);
    if (before == UINT32_MAX) return 0;
    if (before << 16 != m->end) { // other code grew the memory: begin after it
      m->next = before << 16;
      m->end = (before + (uint32_t)pages) << 16;
      return berth__alloc(size, align);
    }
    m->end += (uint32_t)pages << 16;
  }
#else
  if (after > m->end) return 0;
#endif
  m->next = (uint32_t)after;
  return (uint32_t)at;
}

/// Returns room for size bytes, aligned to 8, which is there for good: for what is made when the
/// plugin is set up or configured. There is no way to give it back.
BERTH__FN void *berth_keep(uint32_t size) {
  uint32_t address = berth__alloc(size, 8);
  if (BERTH__RARE(address == 0)) berth__stop(BERTH_TEXT("berth: out of memory"));
  return berth__pointer(address);
}

// Sees to it that size bytes are left in the scratch room.
BERTH__COLD void berth__scratch_grow(struct berth__scratch *s, uint32_t size) {
  // What was returned before in this call stays where it is.
  uint32_t least = 2 * s->size > 1024 ? 2 * s->size : 1024;
  s->size = size > least ? size : least;
  s->at = berth_keep(s->size);
  s->used = 0;
}

/// Returns room for size bytes, aligned to 8, which is valid until the call returns.
BERTH__FN void *berth_scratch(uint32_t size) {
  struct berth__scratch *s = &berth__scratch;
  uint32_t whole = (size + 7) & ~7u;
  if (BERTH__RARE(whole > s->size - s->used || s->at == NULL)) berth__scratch_grow(s, whole);
  void *at = s->at + s->used;
  s->used += whole;
  return at;
}

// A list that the host can read. It grows by doubling; its earlier memory is not freed, so it
// takes at most twice its size.
struct berth__room {
  uint8_t *at;
  uint32_t n, capacity; // elements
};

// Returns the place of one more element, of size bytes.
BERTH__FN void *berth__room_push(struct berth__room *room, uint32_t size) {
  if (BERTH__RARE(room->n == room->capacity)) {
    uint32_t capacity = room->capacity == 0 ? 8 : 2 * room->capacity;
    uint8_t *at = berth_keep(capacity * size);
    berth__copy(at, room->at, room->n * size);
    room->at = at;
    room->capacity = capacity;
  }
  return room->at + size * room->n++;
}

// Returns room, never freed, for n elements of size bytes that are zero.
BERTH__FN void *berth__keep_zero(uint32_t n, uint32_t size) {
  uint8_t *at = berth_keep(n * size);
  if (n * size > 0) __builtin_memset(at, 0, n * size);
  return at;
}
