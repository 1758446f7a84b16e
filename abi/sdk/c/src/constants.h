// Constant strings whose ids are known in every call.

struct berth__const {
  BerthId id; // in this call
  uint32_t hash;
  BerthText text;
  struct berth__const *next; // of all constants
};

/// A constant string, whose id is known in every call. Create it in setup or configure,
/// by berth_const.
typedef const struct berth__const *BerthConst;

struct berth__constants {
  struct berth__const *first;
  struct berth__const **places; // by hash, at most half full
  uint32_t n, n_places;         // the latter a power of two
  uint64_t lengths;             // bit n: there is a constant of n bytes; bit 63: or more
  uint32_t scanned; // the strings before this id; that of id 0 is empty (ABI-4.13)
  uint64_t epoch;
};

extern struct berth__constants berth__constants;

// FNV-1a.
#define BERTH__HASH 0x811c9dc5u

BERTH__FN uint32_t berth__hash(uint32_t hash, BerthText text) {
  for (uint32_t i = 0; i < text.n; i++) hash = (hash ^ (uint8_t)text.at[i]) * 0x01000193u;
  return hash;
}

// The place of a text: that of its constant, or a free one.
BERTH__FN struct berth__const **berth__const_place(BerthText text, uint32_t hash) {
  struct berth__constants *c = &berth__constants;
  for (uint32_t i = hash;; i++) {
    struct berth__const **place = &c->places[i & (c->n_places - 1)];
    if (*place == NULL || ((*place)->hash == hash && berth__equals((*place)->text, text))) return place;
  }
}

/// Returns a constant string, whose id is known in every call. The text is copied.
#define berth_const(text) berth__const(BERTH_TEXT(text))

BERTH__COLD BerthConst berth__const(BerthText text) {
  struct berth__constants *c = &berth__constants;
  if (2 * (c->n + 1) > c->n_places) {
    c->n_places = c->n_places == 0 ? 16 : 2 * c->n_places;
    c->places = berth__keep_zero(c->n_places, sizeof *c->places);
    for (struct berth__const *known = c->first; known != NULL; known = known->next) *berth__const_place(known->text, known->hash) = known;
  }
  uint32_t hash = berth__hash(BERTH__HASH, text);
  struct berth__const **place = berth__const_place(text, hash);
  if (*place == NULL) {
    struct berth__const *made = berth_keep(sizeof *made);
    *made = (struct berth__const){BERTH_ABSENT, hash, berth__keep_text(text), c->first};
    *place = c->first = made;
    c->n++;
    c->lengths |= (uint64_t)1 << (text.n < 63 ? text.n : 63);
    c->scanned = 1; // look at all strings again
  }
  return *place;
}

// Looks at the strings that are new. The dictionary only grows within an epoch (ABI-4.6).
BERTH__FN void berth__constants_resolve(void) {
  struct berth__constants *c = &berth__constants;
  uint32_t rows = berth__rows(BERTH__STRINGS);
  uint64_t epoch = berth__columns.header->epoch;
  if (c->n == 0 || rows == 0 || (rows == c->scanned && epoch == c->epoch)) return;
  if (epoch != c->epoch || rows < c->scanned) {
    for (struct berth__const *known = c->first; known != NULL; known = known->next) known->id = BERTH_ABSENT;
    c->scanned = 1;
    c->epoch = epoch;
  }
  for (uint32_t id = c->scanned; id < rows; id++) {
    BerthText text = berth__string(id);
    if ((c->lengths >> (text.n < 63 ? text.n : 63) & 1) == 0) continue;
    struct berth__const *known = *berth__const_place(text, berth__hash(BERTH__HASH, text));
    if (known != NULL) known->id = id;
  }
  c->scanned = rows;
}

/// The string's id in this call; BERTH_ABSENT if nothing in the snapshot, and not the pod, has the
/// string. Compare with care: BERTH_ABSENT is also the id of a label that is not there, see
/// berth_const_is.
BERTH__HOT BerthId berth_const_id(BerthConst c) { return c->id; }

/// Reports whether an id is that of the constant. BERTH_ABSENT never is.
BERTH__HOT bool berth_const_is(BerthConst c, BerthId id) { return id != BERTH_ABSENT && id == c->id; }

/// The string.
BERTH__HOT BerthText berth_const_text(BerthConst c) { return c->text; }
