// Best-Fit: the twin of the Go package in the folder above.

#include "../../gpushare/gpushare.h"

#pragma STDC FP_CONTRACT OFF // as the twin, which rounds products before it adds them

// Is 100 if the pod takes all that is left of a node, and less by what remains. The manifest asks the
// host to normalise it with `minmax`.
static int64_t score(BerthPod pod, BerthNode node) {
  (void)pod;
  struct node n = node_of(node);
  int64_t cpu = n.cpu - demand.cpu, gpu = -(int64_t)demand.gpus * demand.milli;
  for (uint32_t i = 0; i < n.n; i++) gpu += n.free[i];
  double remains = (double)cpu / 128000 * 0.5 + (double)gpu / (8 * WHOLE) * 0.5;
  double x = (1 - remains) * 100;
  int64_t whole = (int64_t)x;
  return (double)whole > x ? whole - 1 : whole;
}

// Gives a pod that shares a GPU the one with least left.
static uint32_t choose(struct node *n, BerthNode node) {
  (void)node;
  uint32_t best = MOST;
  for (uint32_t i = 0; i < n->n; i++) {
    if (n->free[i] >= demand.milli && (best == MOST || n->free[i] < n->free[best])) best = i;
  }
  return best;
}

static BerthStatus reserve(BerthPod pod, BerthNode node) { return take(pod, node, choose); }

BERTH_PLUGIN("manifest.json", gpushare_setup);
BERTH_PREPARED_FILTER(gpushare_prepare, filter);
BERTH_PREPARED_SCORE(gpushare_prepare, score);
BERTH_RESERVE(reserve);
