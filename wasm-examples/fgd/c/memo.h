// Scores of rows for kinds of pods, as long as nodes stay as they are: the twin of ../memo.go, which
// says why this changes no answer.

enum { UNKNOWN = 255, SHAPES = 128 };

static struct {
  uint32_t rows;       // that there is room for
  struct node *states; // by row
  uint8_t *known;      // by shape, then by row
  struct demand of[SHAPES];
  uint32_t n;      // of shapes
  uint32_t oldest; // shape, which the next one replaces if there are too many
  uint32_t now;    // this call's shape
} memo;

// Finds the shape of the pod, or begins one.
static void memo_begin(void) {
  for (memo.now = 0; memo.now < memo.n; memo.now++) {
    const struct demand *d = &memo.of[memo.now];
    if (d->cpu == demand.cpu && d->milli == demand.milli && d->gpus == demand.gpus) return;
  }
  if (memo.n == SHAPES) {
    memo.now = memo.oldest;
    memo.oldest = (memo.oldest + 1) % SHAPES;
  } else {
    memo.n++;
  }
  memo.of[memo.now] = demand;
  if (memo.rows > 0) __builtin_memset(memo.known + memo.now * memo.rows, UNKNOWN, memo.rows);
}

// Makes room for rows.
static void memo_grow(uint32_t rows) {
  struct node *states = berth_keep(rows * sizeof *states);
  uint8_t *known = berth_keep(rows * SHAPES);
  __builtin_memset(states, 0, rows * sizeof *states);
  __builtin_memset(known, UNKNOWN, rows * SHAPES);
  for (uint32_t row = 0; row < memo.rows; row++) states[row] = memo.states[row];
  for (uint32_t shape = 0; shape < memo.n; shape++) {
    __builtin_memcpy(known + shape * rows, memo.known + shape * memo.rows, memo.rows);
  }
  memo.states = states;
  memo.known = known;
  memo.rows = rows;
}

static inline bool same(const struct node *a, const struct node *b) {
  return a->cpu == b->cpu && a->n == b->n && a->model == b->model && __builtin_memcmp(a->free, b->free, sizeof a->free) == 0;
}

// Returns where the score of a row for this call's pod is.
static inline uint8_t *memo_at(uint32_t row, const struct node *n) {
  if (row >= memo.rows) memo_grow(row < 2 * memo.rows ? 2 * memo.rows : row + 1);
  if (!same(&memo.states[row], n)) {
    memo.states[row] = *n;
    for (uint32_t shape = 0; shape < memo.n; shape++) memo.known[shape * memo.rows + row] = UNKNOWN;
  }
  return &memo.known[memo.now * memo.rows + row];
}
