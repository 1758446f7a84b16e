// Places pods by chance: the twin of the Go package in the folder above.

#include "../../gpushare/gpushare.h"

static uint64_t mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

// Returns a number by the seed of the cycle and a text.
static uint64_t draw(BerthText text) {
  uint64_t h = 14695981039346656037u;
  for (uint32_t i = 0; i < text.n; i++) h = (h ^ (uint8_t)text.at[i]) * 1099511628211u;
  return mix(mix(h) ^ berth_snapshot_seed());
}

// Draws a number for the node, by its name: rows have no order that means anything.
static int64_t score(BerthPod pod, BerthNode node) {
  (void)pod;
  return (int64_t)draw(berth_node_name(node));
}

// Leaves 100 to the node with the highest number, and 0 to the others.
static BerthStatus normalize(BerthPod pod, BerthNodes nodes, int64_t *scores) {
  (void)pod;
  uint32_t best = 0;
  for (uint32_t i = 0; i < nodes.n; i++) {
    if (scores[i] > scores[best]) best = i;
  }
  for (uint32_t i = 0; i < nodes.n; i++) scores[i] = i == best ? 100 : 0;
  return BERTH_SUCCESS;
}

// Gives a pod that shares a GPU any one that has enough left.
static uint32_t choose(struct node *n, BerthNode node) {
  (void)node;
  uint32_t fit[MOST], n_fit = 0;
  for (uint32_t i = 0; i < n->n; i++) {
    if (n->free[i] >= demand.milli) fit[n_fit++] = i;
  }
  return fit[n_fit * (draw(BERTH_TEXT("")) >> 32) >> 32];
}

static BerthStatus reserve(BerthPod pod, BerthNode node) { return take(pod, node, choose); }

BERTH_PLUGIN("manifest.json", gpushare_setup);
BERTH_PREPARED_FILTER(gpushare_prepare, filter);
BERTH_PREPARED_SCORE(gpushare_prepare, score);
BERTH_NORMALIZE(normalize);
BERTH_RESERVE(reserve);
