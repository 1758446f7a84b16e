// The fields of a pod record since ABI 1.1 (SPEC.md, section 6). Generated from abi/fields.

struct berth__later {
  const int64_t *created_at;
  const BerthId *priority_class;
  const BerthId *service_account;
  const BerthId *preemption_policy;
  const BerthId *group;
  const BerthId *qos;
  const int64_t *now;
  BerthIds claims;
  BerthContainers containers;
  struct berth__numbers container_amounts;
};

// Takes a field of one element, or a list. Unknown ids are skipped (ABI-6.2).
BERTH__FN void berth__later_read(struct berth__later *later, uint32_t id, uint32_t address, uint32_t count) {
  if (count < 1) return;
  switch (id) {
  case BERTH__POD_CREATED_AT: later->created_at = berth__view(address, 1, sizeof *later->created_at); break;
  case BERTH__POD_PRIORITY_CLASS: later->priority_class = berth__view(address, 1, sizeof *later->priority_class); break;
  case BERTH__POD_SERVICE_ACCOUNT: later->service_account = berth__view(address, 1, sizeof *later->service_account); break;
  case BERTH__POD_PREEMPTION_POLICY: later->preemption_policy = berth__view(address, 1, sizeof *later->preemption_policy); break;
  case BERTH__POD_GROUP: later->group = berth__view(address, 1, sizeof *later->group); break;
  case BERTH__POD_QOS: later->qos = berth__view(address, 1, sizeof *later->qos); break;
  case BERTH__POD_NOW: later->now = berth__view(address, 1, sizeof *later->now); break;
  case BERTH__POD_CLAIMS:
    later->claims = (BerthIds){berth__view(address, count, sizeof *later->claims.at), count};
    break;
  case BERTH__POD_CONTAINERS:
    later->containers = (BerthContainers){berth__view(address, count, sizeof *later->containers.at), count};
    break;
  case BERTH__POD_CONTAINER_AMOUNTS:
    later->container_amounts = (struct berth__numbers){berth__view(address, count, sizeof *later->container_amounts.at), count};
    break;
  }
}
