// The typical pods, and what a node's fragment is for them: the twin of ../workload.go.

enum { MOST_MODELS = 31, MOST_TYPICAL = 256 };

static const uint32_t ANY_MODEL = UINT32_MAX, OTHER_MODEL = 1u << 31;

// A kind of pods that asks for GPUs.
struct typical {
  int64_t cpu, gpus, milli, count;
  uint32_t models; // that will do, a bit each
};

// Weights are counts, so fragments are whole numbers: milli-GPU times total.
static struct {
  struct typical gpu[MOST_TYPICAL]; // by milli
  uint32_t n;
  int64_t cpu_only, total;
  int64_t least[99]; // decrease of the fragment for each score from 1 to 99
} workload;

// Adds a kind, in its place.
static void add_typical(struct typical t) {
  uint32_t i = workload.n++;
  for (; i > 0 && workload.gpu[i - 1].milli > t.milli; i--) workload.gpu[i] = workload.gpu[i - 1];
  workload.gpu[i] = t;
}

// Works out least: the score is floor(100 sigmoid(x)) for a decrease of x thousand milli-GPU.
static void thresholds(void) {
  const int64_t milli_per_unit = 1000; // of fragment for which the sigmoid's argument is 1
  for (int k = 1; k <= 99; k++) {
    if (k == 50) continue; // x = 0
    double x = (double)(milli_per_unit * workload.total) * (k > 50 ? logit[k - 51] : -logit[49 - k]);
    int64_t whole = (int64_t)x;
    workload.least[k - 1] = (double)whole < x ? whole + 1 : whole;
  }
}

// Returns the score for a decrease of the fragment.
static uint32_t score_of(int64_t decrease) {
  uint32_t low = 0, high = 99;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (decrease >= workload.least[middle]) low = middle + 1;
    else high = middle;
  }
  return low;
}

// What is left of the GPUs of a node, in ascending order.
struct free {
  uint32_t n;
  int16_t each[MOST];
};

static struct free sorted(const struct node *n) {
  struct free f = {.n = n->n};
  for (uint32_t i = 0; i < n->n; i++) {
    uint32_t at = i;
    for (; at > 0 && f.each[at - 1] > n->free[i]; at--) f.each[at] = f.each[at - 1];
    f.each[at] = n->free[i];
  }
  return f;
}

// Takes a share of a GPU of which there was left so much.
static void take_share(struct free *f, int16_t left, int16_t milli) {
  uint32_t i = 0;
  while (f->each[i] != left) i++;
  for (; i > 0 && f->each[i - 1] > left - milli; i--) f->each[i] = f->each[i - 1];
  f->each[i] = (int16_t)(left - milli);
}

// Takes whole GPUs, which are last.
static void take_whole(struct free *f, uint32_t gpus) {
  for (uint32_t i = f->n; i > gpus; i--) f->each[i - 1] = f->each[i - 1 - gpus];
  for (uint32_t i = 0; i < gpus; i++) f->each[i] = 0;
}

// Returns what typical pods could not use of what is left, each kind as often as it is there. A kind
// that does not fit could use nothing; one that does, all GPUs but those of which too little is left.
static int64_t fragment(int64_t cpu, const struct free *f, uint32_t model) {
  int64_t left = 0, below = 0;
  for (uint32_t i = 0; i < f->n; i++) left += f->each[i];
  int64_t sum = workload.cpu_only * left;
  uint32_t i = 0;
  for (const struct typical *t = workload.gpu, *end = t + workload.n; t < end; t++) {
    while (i < f->n && f->each[i] < t->milli) below += f->each[i++];
    bool usable = f->n - i >= t->gpus && cpu >= t->cpu && (t->models & model) != 0;
    sum += t->count * (usable ? below : left);
  }
  return sum;
}

// Returns the score of a node for a pod, 0 if it does not fit, and the GPU of a pod that shares one: the
// first of those by which the node has its score.
static uint32_t rate(const struct node *n, const struct demand *d, uint32_t *device) {
  *device = 0;
  if (!fits(n, d)) return 0;
  const struct free before = sorted(n);
  int64_t had = fragment(n->cpu, &before, n->model);
  if (!shares(d)) {
    struct free after = before;
    take_whole(&after, d->gpus);
    return score_of(had - fragment(n->cpu - d->cpu, &after, n->model));
  }
  int32_t best = -1;
  for (uint32_t i = 0; i < n->n; i++) {
    bool again = n->free[i] < d->milli; // or as much is left as of an earlier one
    for (uint32_t k = 0; k < i && !again; k++) again = n->free[k] == n->free[i];
    if (again) continue;
    struct free after = before;
    take_share(&after, n->free[i], (int16_t)d->milli);
    int32_t score = (int32_t)score_of(had - fragment(n->cpu - d->cpu, &after, n->model));
    if (score <= best) continue;
    best = score;
    *device = i;
  }
  return (uint32_t)best;
}
