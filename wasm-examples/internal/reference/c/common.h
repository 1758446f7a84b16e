// The reference workload of Berth's benchmarks: taints against tolerations, required node affinity, and
// resources, with the verdicts and reasons of kube-scheduler's plugins. It is what the plugins csr and
// dense have in common, and the twin of the Go package in the folder above.

#include "../../../../abi/sdk/c/berth.h"

static BerthResource cpu, memory, pods;
static BerthReason tainted, mismatched;
static BerthReason lacking[8]; // by bits: pods, cpu, memory

// Of this call's pod.
static BerthTolerations tolerations;
static int64_t need_cpu, need_bytes;

static void common_setup(void) {
  cpu = berth_resource_handle("cpu");
  memory = berth_resource_handle("memory");
  pods = berth_resource_handle("pods");
  tainted = berth_reason("node(s) had untolerated taint(s)");
  mismatched = berth_reason("node(s) didn't match Pod's node affinity/selector");
  for (uint32_t bits = 1; bits < 8; bits++) {
    const BerthText all[] = {BERTH_TEXT("Too many pods"), BERTH_TEXT("Insufficient cpu"), BERTH_TEXT("Insufficient memory")};
    BerthText texts[3];
    uint32_t n = 0;
    for (uint32_t i = 0; i < 3; i++) {
      if ((bits >> i & 1) != 0) texts[n++] = all[i];
    }
    lacking[bits] = berth_reason_of(texts, n);
  }
}

static void common_prepare(BerthPod pod) {
  tolerations = berth_pod_tolerations(pod);
  need_cpu = berth_pod_request(pod, cpu);
  need_bytes = berth_pod_request(pod, memory);
}

// Reports whether the pod tolerates the taints of a node that keep pods away.
static inline bool tolerated(BerthNode node) {
  BERTH_EACH(taint, berth_node_taints(node)) {
    if (taint->effect == BERTH_PREFER_NO_SCHEDULE) continue;
    bool ok = false;
    for (uint32_t i = 0; i < tolerations.n && !ok; i++) ok = berth_toleration_tolerates(&tolerations.at[i], taint);
    if (!ok) return false;
  }
  return true;
}

// Judges the node's resources.
static inline BerthStatus fits(BerthNode node) {
  uint32_t lacks = 0;
  bool never = false;
  if (berth_node_requested(node, pods) + 1 > berth_node_allocatable(node, pods)) lacks |= 1;
  if (need_cpu > 0) {
    int64_t has = berth_node_allocatable(node, cpu);
    if (need_cpu > has - berth_node_requested(node, cpu)) {
      lacks |= 2;
      never = need_cpu > has;
    }
  }
  if (need_bytes > 0) {
    int64_t has = berth_node_allocatable(node, memory);
    if (need_bytes > has - berth_node_requested(node, memory)) {
      lacks |= 4;
      never |= need_bytes > has;
    }
  }
  if (lacks == 0) return BERTH_SUCCESS;
  return never ? berth_unschedulable_and_unresolvable(lacking[lacks]) : berth_unschedulable(lacking[lacks]);
}
