// A guest without an SDK: directories are read once in an epoch and layout, strings once in an epoch, and how many pods of a team are
// in a zone goes from pre_filter to filter as names and numbers in the state.
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;

__asm__(".section .custom_section.berth.manifest,\"\",@\n.incbin \"manifest.json\"\n.text\n");
#define EXPORT(n) __attribute__((export_name(#n), used)) i32 n
#define IMPORT(n) __attribute__((import_module("berth"), import_name(#n)))
IMPORT(state_get) i32 state_get(const void *key, u32 n, void *to, u32 room);
IMPORT(state_set) i32 state_set(const void *key, u32 n, const void *value, u32 length);
IMPORT(log) void host_log(u32 level, const char *text, u32 n);

#define W(a) (*(u32 *)(a))
#define D(a) (*(u64 *)(a))

extern u8 __heap_base;
static u32 top;
static u32 grab(u32 size, u32 align) {
  if (!top) top = (u32)(uintptr_t)&__heap_base;
  top = (top + align - 1) / align * align;
  u32 at = top;
  top += size;
  while (top > __builtin_wasm_memory_size(0) * 65536)
    if (__builtin_wasm_memory_grow(0, 1) == (u32)-1) return 0;
  return at;
}

EXPORT(berth_abi)(void) { return 0x10000; }
EXPORT(berth_alloc)(u32 size, u32 align) { return (i32)grab(size, align); }

static u32 skew = 2;
EXPORT(berth_configure)(u32 at, u32 n) {
  u32 sum = 0, any = 0;
  for (u8 *s = (u8 *)at; s < (u8 *)at + n; s++)
    if ((u32)(*s - '0') < 10) sum = sum > 100000 ? sum : sum * 10 + *s - '0', any = 1;
  if (any) skew = sum;
  return 0;
}

// Where things are, for a layout of an epoch.
static u32 header, nodes, zone, name_spans, name_bytes, closed, pods_spans, pods_slots, slots_ns, slots_team, uid_spans, uid_bytes,
    priority, strings, string_spans, string_bytes, spaces, space_names, space_labels, space_pairs;
static u64 laid_epoch, known_epoch;
static u32 laid_layout, laid_header;

// What is known of strings: how many were looked at, and which ids a few of them have.
static u32 looked, team_key, open_key, yes;

static u32 column(u32 t, u32 id, u32 arg) {
  if (!t) return 0;
  for (u32 i = 0, c = W(t + 24); i < W(t + 20); i++, c += 24)
    if (W(c) == id && W(c + 4) == arg) return W(c + 12);
  return 0;
}

static int is(u32 id, const char *s) {
  u32 at = string_bytes + W(string_spans + 8 * id), n = W(string_spans + 8 * id + 4), i = 0;
  for (; i < n && s[i]; i++)
    if (((u8 *)at)[i] != (u8)s[i]) return 0;
  return i == n && !s[i];
}

static void look(u32 call) {
  header = W(call);
  u64 epoch = D(header + 8);
  u32 layout = W(header + 44);
  if (epoch != laid_epoch || layout != laid_layout || header != laid_header) {
    laid_epoch = epoch, laid_layout = layout, laid_header = header;
    u32 t = W(header + 40), pods = 0;
    nodes = strings = spaces = 0;
    for (u32 i = W(header + 36); i--; t += 32) switch (W(t)) {
      case 1: nodes = t; break;
      case 2: pods = t; break;
      case 3: strings = t; break;
      case 4: spaces = t; break;
      }
    zone = column(nodes, 16, 0), closed = column(nodes, 7, 0);
    name_spans = column(nodes, 1, 0), name_bytes = column(nodes, 257, 0);
    pods_spans = column(nodes, 12, 0), pods_slots = column(nodes, 268, 0);
    slots_ns = column(pods, 64, 0), slots_team = column(pods, 70, 0), priority = column(pods, 65, 0);
    uid_spans = column(pods, 73, 0), uid_bytes = column(pods, 73 + 256, 0);
    string_spans = column(strings, 192, 0), string_bytes = column(strings, 192 + 256, 0);
    space_names = column(spaces, 224, 0), space_labels = column(spaces, 225, 0), space_pairs = column(spaces, 225 + 256, 0);
  }
  if (epoch != known_epoch) known_epoch = epoch, looked = 1, team_key = open_key = yes = 0;
  for (u32 n = W(strings + 4); looked < n; looked++) {
    if (is(looked, "team")) team_key = looked;
    if (is(looked, "shared")) open_key = looked;
    if (is(looked, "true")) yes = looked;
  }
}

static u32 field(u32 record, u32 id, u32 *count) {
  for (u32 i = 0, f = record + 8; i < W(record); i++, f += 16)
    if (W(f) == id) return *count = W(f + 12), record + W(f + 8);
  return *count = 0;
}

static u32 label(u32 record, u32 key) {
  u32 n, p = field(record, 143, &n);
  for (; n; n--, p += 8)
    if (key && W(p) == key) return W(p + 4);
  return 0;
}

static int same(u32 a, u32 an, u32 b, u32 bn) {
  if (an != bn) return 0;
  for (u32 i = 0; i < an; i++)
    if (((u8 *)a)[i] != ((u8 *)b)[i]) return 0;
  return 1;
}

// open says whether the pods of a namespace count for all namespaces that are open, too.
static int open(u32 ns) {
  if (!spaces || !open_key) return 0;
  for (u32 r = 0; r < W(spaces + 4); r++) {
    if (!ns || W(space_names + 4 * r) != ns) continue;
    u32 start = W(space_labels + 8 * r), n = W(space_labels + 8 * r + 4);
    for (u32 i = 0; i < n; i++)
      if (W(space_pairs + 8 * (start + i)) == open_key) return W(space_pairs + 8 * (start + i) + 4) == yes;
  }
  return 0;
}

static int counts(u32 ns, u32 team, u32 pod) {
  u32 n, own = W(field(pod, 140, &n)), mine = label(pod, team_key);
  if (!mine || team != mine) return 0;
  return ns == own || (open(own) && open(ns));
}

// The state: for each zone u32 length, u32 count, and the name, padded to 4.
static u8 state[65536] __attribute__((aligned(4)));
static u32 state_size;

static u32 entry(u32 id) {
  u32 at = string_bytes + W(string_spans + 8 * id), n = W(string_spans + 8 * id + 4);
  for (u32 e = 0; e < state_size; e += 8 + (W(state + e) + 3) / 4 * 4)
    if (same((u32)(state + e + 8), W(state + e), at, n)) return e;
  return 65536;
}

static void add(u32 id, u32 by) {
  u32 e = entry(id);
  if (e == 65536) {
    u32 at = string_bytes + W(string_spans + 8 * id), n = W(string_spans + 8 * id + 4);
    if (state_size + 8 + n + 3 > 65536) return;
    e = state_size;
    W(state + e) = n, W(state + e + 4) = 0;
    u32 room = (n + 3) / 4 * 4;
    for (u32 i = 0; i < room; i++) state[e + 8 + i] = i < n ? ((u8 *)at)[i] : 0;
    state_size += 8 + room;
  }
  W(state + e + 4) += by;
}

// sorted puts the zones in the order of their names, so that the state is the same for the same cluster.
static u8 other[65536] __attribute__((aligned(4)));
static int less(u32 a, u32 b) {
  u32 an = W(state + a), bn = W(state + b);
  for (u32 i = 0; i < an && i < bn; i++)
    if (state[a + 8 + i] != state[b + 8 + i]) return state[a + 8 + i] < state[b + 8 + i];
  return an < bn;
}
static void sorted(void) {
  u32 done = 0, last = 65536;
  while (done < state_size) {
    u32 best = 65536;
    for (u32 e = 0; e < state_size; e += 8 + (W(state + e) + 3) / 4 * 4)
      if ((last == 65536 || less(last, e)) && (best == 65536 || less(e, best))) best = e;
    u32 size = 8 + (W(state + best) + 3) / 4 * 4;
    for (u32 i = 0; i < size; i++) other[done + i] = state[best + i];
    done += size, last = best;
  }
  for (u32 i = 0; i < done; i++) state[i] = other[i];
}
static const char KEY[] = "zones";
static int load(void) {
  i32 n = state_get(KEY, 5, state, sizeof state);
  state_size = n < 0 ? 0 : (u32)n;
  return n >= 0;
}

static u32 reason_texts[2][2], reason_sets[2][2];
static const char none[] = "node has no zone", full[] = "zone has its share of the team";
static void reasons(u32 call) {
  reason_texts[0][0] = (u32)none, reason_texts[0][1] = sizeof none - 1;
  reason_texts[1][0] = (u32)full, reason_texts[1][1] = sizeof full - 1;
  for (u32 i = 0; i < 2; i++) reason_sets[i][0] = (u32)reason_texts[i], reason_sets[i][1] = 1;
  W(call + 64) = (u32)reason_sets, W(call + 68) = 2;
}

EXPORT(berth_pre_filter)(u32 call) {
  look(call);
  u32 pod = W(call + 4), uid_n, uid = field(pod, 152, &uid_n);
  if (!label(pod, team_key)) return 5;
  state_size = 0;
  for (u32 row = 0; row < W(nodes + 4); row++) {
    u32 z = W(zone + 4 * row);
    if (!z) continue;
    u32 sum = 0, start = W(pods_spans + 8 * row), len = W(pods_spans + 8 * row + 4);
    for (u32 i = 0; i < len; i++) {
      u32 slot = W(pods_slots + 4 * (start + i));
      if (same(uid_bytes + W(uid_spans + 8 * slot), W(uid_spans + 8 * slot + 4), uid, uid_n)) continue;
      sum += (u32)counts(W(slots_ns + 4 * slot), W(slots_team + 4 * slot), pod);
    }
    add(z, sum);
  }
  sorted();
  if (state_set(KEY, 5, state, state_size)) return 1;
  // Only nodes with a zone are looked at, and none that is closed.
  static u32 rows[4096];
  if (W(nodes + 4) <= 4096) {
    u32 k = 0;
    for (u32 row = 0; row < W(nodes + 4); row++)
      if (W(closed + 4 * row) != yes || !yes) rows[k++] = row;
    W(call + 72) = (u32)rows, W(call + 76) = k, W(call + 80) = 1;
  }
  return 0;
}

static i32 change(u32 call, u32 lo, u32 by) {
  look(call);
  u32 pod = W(call + 4), it = W(W(call + 40)), n, un, uid = field(pod, 152, &un), in, its = field(it, 152, &in);
  u32 z = W(zone + 4 * lo);
  if (!load()) __builtin_trap(); // pre_filter answered Skip, so no what-if is asked about (ABI-5.2)
  if (!z || same(uid, un, its, in)) return 0;
  if (!counts(W(field(it, 140, &n)), label(it, team_key), pod)) return 0;
  add(z, by);
  return state_set(KEY, 5, state, state_size) ? 1 : 0;
}
EXPORT(berth_add_pod)(u32 call, u32 lo, u32 hi) { return (void)hi, change(call, lo, 1); }
EXPORT(berth_remove_pod)(u32 call, u32 lo, u32 hi) { return (void)hi, change(call, lo, (u32)-1); }

static u32 fewest(void) {
  u32 least = 0xffffffff;
  for (u32 e = 0; e < state_size; e += 8 + (W(state + e) + 3) / 4 * 4)
    if (W(state + e + 4) < least) least = W(state + e + 4);
  return least;
}

EXPORT(berth_filter)(u32 call, u32 lo, u32 hi) {
  (void)hi;
  look(call);
  if (!load()) __builtin_trap();
  u32 rows = W(call + 16), least = fewest();
  u8 *codes = (u8 *)W(call + 24);
  u16 *why = (u16 *)W(call + 28);
  for (u32 i = 0; i < W(call + 20); i++) {
    u32 row = rows ? W(rows + 4 * i) : lo + i, z = W(zone + 4 * row);
    if (!z) {
      codes[i] = 3, why[i] = 1;
      continue;
    }
    u32 e = entry(z), have = e == 65536 ? 0 : W(state + e + 4);
    if (have + 1 > least + skew) codes[i] = 2, why[i] = 2;
  }
  reasons(call);
  return 0;
}

// post_filter nominates the node, of those that were rejected for now, with most pods of less priority; of equal ones the first by name.
static struct { u32 kind, zero, a, an, b, bn; } directives[1];
static u8 name[512];
EXPORT(berth_post_filter)(u32 call, u32 lo, u32 hi) {
  (void)hi;
  look(call);
  u32 n, pod = W(call + 4), rows = W(call + 16), best = 0, best_row = 0, any = 0;
  i64 own = *(i64 *)field(pod, 141, &n);
  u8 *codes = (u8 *)W(call + 24);
  for (u32 i = 0; i < W(call + 20); i++) {
    if (codes[i] != 2) continue;
    u32 row = rows ? W(rows + 4 * i) : lo + i, weaker = 0;
    for (u32 k = 0; k < W(pods_spans + 8 * row + 4); k++)
      weaker += ((i32 *)priority)[W(pods_slots + 4 * (W(pods_spans + 8 * row) + k))] < own;
    if (!weaker) continue;
    u32 a = name_bytes + W(name_spans + 8 * row), an = W(name_spans + 8 * row + 4);
    int wins = !any || weaker > best;
    if (any && weaker == best) {
      u32 b = name_bytes + W(name_spans + 8 * best_row), bn = W(name_spans + 8 * best_row + 4), j = 0;
      while (j < an && j < bn && ((u8 *)a)[j] == ((u8 *)b)[j]) j++;
      wins = j == an || (j < bn && ((u8 *)a)[j] < ((u8 *)b)[j]);
    }
    if (wins) any = 1, best = weaker, best_row = row;
  }
  if (!any) return 2;
  u32 a = name_bytes + W(name_spans + 8 * best_row), an = W(name_spans + 8 * best_row + 4);
  if (an > sizeof name) return 2;
  for (u32 i = 0; i < an; i++) name[i] = ((u8 *)a)[i];
  directives[0].kind = 3, directives[0].a = (u32)name, directives[0].an = an;
  W(call + 88) = (u32)directives, W(call + 92) = 1;
  host_log(0, (char *)name, an);
  return 0;
}
