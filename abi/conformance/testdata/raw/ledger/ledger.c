// A guest without an SDK: offsets are in one table, ids are found by binary search in a sorted list, scores are i64 of any size,
// and what pre_score finds is kept by number in a key that is cycleLocal.
#include <limits.h>
#include <stdint.h>
__asm__(".section .custom_section.berth.manifest,\"\",@\n.incbin \"manifest.json\"\n.text\n");
#define X(n) __attribute__((export_name("berth_" #n), used)) int32_t n
#define H(n) __attribute__((import_module("berth"), import_name(#n))) extern int32_t n
H(state_get)(const char *, uint32_t, void *, uint32_t);
H(state_set)(const char *, uint32_t, const void *, uint32_t);
H(published_get)(uint32_t, void *, uint32_t);

typedef struct { uint32_t id, arg, at, arena; } want_t;
enum { NAME, IMAGES, PORTS, CPU, MEMORY, PODS, READY, DISK, FEE, OWNER, SPACE, PRIORITY, REQUEST, STRING, SPACES, GRADE, COLUMNS };
static want_t columns[COLUMNS] = {
  [NAME] = {1, 0}, [IMAGES] = {10, 0}, [PORTS] = {9, 0}, [CPU] = {5, 0}, [MEMORY] = {5, 1}, [PODS] = {12, 0}, [READY] = {11, 0},
  [DISK] = {11, 1}, [FEE] = {7, 0}, [OWNER] = {69, 0}, [SPACE] = {64, 0}, [PRIORITY] = {65, 0}, [REQUEST] = {66, 0},
  [STRING] = {192, 0}, [SPACES] = {224, 0}, [GRADE] = {226, 0},
};
static uint32_t rows_of[5];

static uint32_t r32(uint32_t a) { return *(const uint32_t *)a; }
static int64_t r64(uint32_t a) { return *(const int64_t *)a; }
static uint32_t at32(int c, uint32_t row) { return r32(columns[c].at + 4 * row); }

static void open_call(uint32_t call) {
  uint32_t h = r32(call), t = r32(h + 40);
  for (int i = 0; i < COLUMNS; i++) columns[i].at = columns[i].arena = 0;
  for (int i = 0; i < 5; i++) rows_of[i] = 0;
  for (uint32_t k = 0; k < r32(h + 36); k++, t += 32) {
    if (r32(t) > 4) continue;
    rows_of[r32(t)] = r32(t + 4);
    for (uint32_t i = 0, c = r32(t + 24); i < r32(t + 20); i++, c += 24)
      for (int w = 0; w < COLUMNS; w++) {
        if (columns[w].arg != r32(c + 4)) continue;
        if (columns[w].id == r32(c)) columns[w].at = r32(c + 12);
        if (columns[w].id + 256 == r32(c)) columns[w].arena = r32(c + 12);
      }
  }
}

X(alloc)(uint32_t size, uint32_t align) {
  // At the end of pages of its own.
  uint32_t pages = (uint32_t)(((uint64_t)size + align + 65535) >> 16), was = (uint32_t)__builtin_wasm_memory_grow(0, pages);
  if (was == UINT32_MAX) return 0;
  return (int32_t)(((was + pages) * 65536u - size) & -align);
}
X(abi)(void) { return 65536; }

// The configuration, in the order in which it is given.
static struct { const char *at; uint32_t n; int64_t fee; } fees[512];
static uint32_t n_fees;
static char words[65536];
static uint32_t n_words;
X(configure)(const char *s, uint32_t n) {
  const char *end = s + n;
  // {"fees": {"name": 1, ...}}; names are without escapes or the configuration is refused.
  uint32_t depth = 0;
  while (s < end) {
    if (*s == '{') depth++;
    if (*s == '}') depth--;
    if (*s++ != '"') continue;
    const char *from = s;
    while (*s != '"') {
      if (*s++ == '\\') return 1;
    }
    uint32_t length = (uint32_t)(s++ - from);
    if (depth != 2) continue;
    if (n_fees == 512 || n_words + length > sizeof words) return 1;
    fees[n_fees].at = words + n_words, fees[n_fees].n = length;
    for (uint32_t i = 0; i < length; i++) words[n_words++] = from[i];
    while (*s != '-' && (*s < '0' || *s > '9')) s++;
    int minus = *s == '-';
    int64_t sum = 0;
    for (s += minus; s < end && *s >= '0' && *s <= '9'; s++) sum = 10 * sum + *s - '0';
    fees[n_fees++].fee = minus ? -sum : sum;
  }
  return 0;
}

static const char *text(uint32_t id, uint32_t *n) {
  *n = at32(STRING, 2 * id + 1);
  return (const char *)(columns[STRING].arena + at32(STRING, 2 * id));
}
static int64_t fee_of(uint32_t id) {
  uint32_t n;
  const char *s = text(id, &n);
  for (uint32_t i = 0; id && i < n_fees; i++) {
    uint32_t k = 0;
    while (k < n && k < fees[i].n && s[k] == fees[i].at[k]) k++;
    if (k == n && n == fees[i].n) return fees[i].fee;
  }
  return 0;
}
// amount reads a decimal number of any length; it stops at the ends of i64. What is no number is 0.
static int64_t amount(const char *s, uint32_t n) {
  int minus = n && *s == '-';
  uint32_t i = (uint32_t)minus;
  int64_t sum = 0;
  if (i == n) return 0;
  for (; i < n; i++) {
    if (s[i] < '0' || s[i] > '9') return 0;
    int64_t d = s[i] - '0';
    int over = sum > INT64_MAX / 10 || sum < INT64_MIN / 10;
    if (over || __builtin_add_overflow(sum * 10, minus ? -d : d, &sum)) {
      while (++i < n)
        if (s[i] < '0' || s[i] > '9') return 0;
      return minus ? INT64_MIN : INT64_MAX;
    }
  }
  return sum;
}
static int64_t amount_of(uint32_t id) {
  uint32_t n;
  const char *s = text(id, &n);
  return id ? amount(s, n) : 0;
}
static int64_t plus(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}
static uint32_t field(uint32_t call, uint32_t id, uint32_t arg, uint32_t *count) {
  uint32_t record = r32(call + 4), f = record + 8;
  *count = 0;
  for (uint32_t i = 0; i < r32(record) && r32(f) <= id; i++, f += 16)
    if (r32(f) == id && r32(f + 4) == arg) {
      *count = r32(f + 12);
      return record + r32(f + 8);
    }
  return 0;
}
static uint32_t one(uint32_t call, uint32_t id, uint32_t arg) {
  uint32_t n, at = field(call, id, arg, &n);
  return n ? r32(at) : 0;
}

// Sorted ids: the images that the pod needs.
static uint32_t sorted[4096], n_sorted;
static void sort_images(uint32_t call) {
  uint32_t n, at = field(call, 133, 0, &n);
  n_sorted = 0;
  for (uint32_t i = 0; i < n && n_sorted < 4096; i++) {
    uint32_t id = r32(at + 4 * i), k = n_sorted;
    while (k > 0 && sorted[k - 1] > id) k--;
    if (k > 0 && sorted[k - 1] == id) continue;
    for (uint32_t j = n_sorted++; j > k; j--) sorted[j] = sorted[j - 1];
    sorted[k] = id;
  }
}
static int is_sorted_in(uint32_t id) {
  uint32_t lo = 0, hi = n_sorted;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (sorted[mid] == id) return 1;
    if (sorted[mid] < id) lo = mid + 1;
    else hi = mid;
  }
  return 0;
}

// Grades of namespaces, by id in the state from pre_filter on: pairs of the name's id and the grade's.
static uint32_t grades[2 * 4096], n_grades;
X(pre_filter)(uint32_t call) {
  open_call(call);
  n_grades = 0;
  for (uint32_t row = 0; row < rows_of[4] && n_grades < 4096; row++) {
    uint32_t name = at32(SPACES, row), grade = at32(GRADE, row);
    if (!name || !grade) continue;
    grades[2 * n_grades] = name, grades[2 * n_grades++ + 1] = grade;
  }
  return state_set("grades", 6, grades, 8 * n_grades) ? 1 : 0;
}
static void load_grades(void) {
  int32_t n = state_get("grades", 6, grades, sizeof grades);
  n_grades = n < 0 ? 0 : (uint32_t)n / 8;
}
static uint32_t grade_of(uint32_t space) {
  for (uint32_t i = 0; i < n_grades; i++)
    if (grades[2 * i] == space) return grades[2 * i + 1];
  return 0;
}

static struct { uint32_t at, n; } sets[64];
static struct { uint32_t at, n; } texts[128];
static const char *const why[] = {"the node is not ready", "the disk is full", "a host port is taken"};

X(filter)(uint32_t call, uint32_t lo, uint32_t hi) {
  (void)hi;
  open_call(call);
  uint32_t rows = r32(call + 16), n_ports, ports = field(call, 132, 0, &n_ports), zero = 0;
  for (uint32_t i = 1; i < rows_of[3]; i++) {
    uint32_t n;
    const char *s = text(i, &n);
    if (n == 7 && s[0] == '0' && s[1] == '.' && s[2] == '0' && s[3] == '.' && s[4] == '0' && s[5] == '.' && s[6] == '0') zero = i;
  }
  // A set for each combination of the three reasons.
  uint32_t n_texts = 0;
  for (uint32_t mask = 1; mask < 8; mask++) {
    sets[mask - 1].at = (uint32_t)&texts[n_texts], sets[mask - 1].n = 0;
    for (uint32_t b = 0; b < 3; b++) {
      if (!(mask >> b & 1)) continue;
      uint32_t size = 0;
      while (why[b][size]) size++;
      texts[n_texts].at = (uint32_t)why[b], texts[n_texts++].n = size, sets[mask - 1].n++;
    }
  }
  *(uint32_t *)(call + 64) = (uint32_t)sets, *(uint32_t *)(call + 68) = 7;
  for (uint32_t i = 0; i < r32(call + 20); i++) {
    uint32_t row = rows ? r32(rows + 4 * i) : lo + i, mask = 0;
    if (((uint8_t *)columns[READY].at)[row] != 1) mask |= 1;
    if (((uint8_t *)columns[DISK].at)[row] == 1) mask |= 2;
    uint32_t start = at32(PORTS, 2 * row), n = at32(PORTS, 2 * row + 1);
    for (uint32_t p = 0; p < n_ports; p++)
      for (uint32_t k = 0; k < n; k++) {
        uint32_t a = ports + 8 * p, b = columns[PORTS].arena + 8 * (start + k);
        if (*(uint16_t *)(a + 4) != *(uint16_t *)(b + 4) || *(uint8_t *)(a + 6) != *(uint8_t *)(b + 6)) continue;
        if (r32(a) == r32(b) || (zero && (r32(a) == zero || r32(b) == zero))) mask |= 4;
      }
    ((uint8_t *)r32(call + 24))[i] = mask & 1 ? 3 : mask ? 2 : 0;
    ((uint16_t *)r32(call + 28))[i] = (uint16_t)mask;
  }
  return 0;
}

// pre_score notes the budget: the pod's annotation and the bonus of another plugin.
X(pre_score)(uint32_t call, uint32_t lo, uint32_t hi) {
  (void)lo, (void)hi;
  open_call(call);
  char bonus[32];
  int32_t n = published_get(0, bonus, sizeof bonus);
  int64_t budget = amount_of(one(call, 144, 0));
  if (n > 0 && n <= (int32_t)sizeof bonus) budget = plus(budget, amount(bonus, (uint32_t)n));
  if (!budget && !r32(call + 20)) return 5;
  return state_set("budget", 6, &budget, 8) ? 1 : 0;
}

X(score)(uint32_t call, uint32_t lo, uint32_t hi) {
  (void)hi;
  open_call(call);
  load_grades();
  sort_images(call);
  int64_t budget;
  if (state_get("budget", 6, &budget, 8) != 8) return 1;
  uint32_t rows = r32(call + 16), own = one(call, 140, 0), owner = one(call, 145, 0), n;
  uint32_t grade = grade_of(own);
  int64_t mine = r64(field(call, 141, 0, &n));
  for (uint32_t i = 0; i < r32(call + 20); i++) {
    uint32_t row = rows ? r32(rows + 4 * i) : lo + i;
    int64_t score = plus(budget, amount_of(at32(FEE, row)));
    int64_t sum = 0;
    for (uint32_t k = 0; k < at32(IMAGES, 2 * row + 1); k++) {
      uint32_t image = columns[IMAGES].arena + 16 * (at32(IMAGES, 2 * row) + k);
      if (is_sorted_in(r32(image))) sum += r64(image + 8) >> 20;
    }
    for (uint32_t k = 0; k < at32(PODS, 2 * row + 1); k++) {
      uint32_t slot = r32(columns[PODS].arena + 4 * (at32(PODS, 2 * row) + k)), space = at32(SPACE, slot);
      sum -= fee_of(space);
      if (owner && at32(OWNER, slot) == owner && space == own) sum -= 1000;
      if (grade && grade_of(space) == grade) sum += 50;
      if (((int32_t *)columns[PRIORITY].at)[slot] > mine) sum -= 7;
      sum -= r64(columns[REQUEST].at + 8 * slot) >> 30;
    }
    sum -= r64(columns[CPU].at + 8 * row) / 1000 + (r64(columns[MEMORY].at + 8 * row) >> 30);
    ((int64_t *)r32(call + 32))[i] = plus(score, sum);
  }
  return 0;
}

// normalize maps the lowest score to 0 and the highest to 100, whatever lies between them.
X(normalize)(uint32_t call, uint32_t lo, uint32_t hi) {
  (void)lo, (void)hi;
  int64_t *scores = (int64_t *)r32(call + 32), least = INT64_MAX, most = INT64_MIN;
  uint32_t n = r32(call + 20);
  for (uint32_t i = 0; i < n; i++) {
    if (scores[i] < least) least = scores[i];
    if (scores[i] > most) most = scores[i];
  }
  uint64_t range = n ? (uint64_t)most - (uint64_t)least : 0, step = range / 100;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t above = (uint64_t)scores[i] - (uint64_t)least;
    if (!range) scores[i] = 0;
    else if (range < UINT64_MAX / 100) scores[i] = (int64_t)(above * 100 / range);
    else scores[i] = above / step > 100 ? 100 : (int64_t)(above / step);
  }
  return 0;
}
