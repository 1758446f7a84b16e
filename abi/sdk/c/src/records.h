// Structures of SPEC.md, sections 3, 4, 6 and 13.

struct berth__call {
  uint32_t header, pod, pod_size, point;
  uint32_t rows, n_rows;
  uint32_t codes, reasons, scores, flags;
  uint32_t pods, event, queue, keys;
  uint32_t zero[2];
  uint32_t reason_sets, n_reason_sets;
  uint32_t row_set, n_row_set, has_row_set;
  uint32_t status_reason;
  uint32_t directives, n_directives;
  uint64_t wait, retry_after;
  uint32_t zeroes[4];
};

struct berth__pod_entry {
  uint32_t address, size;
};

struct berth__text {
  uint32_t address, length;
};

struct berth__event_record {
  uint32_t resource, actions;
  struct berth__pod_entry old_pod, new_pod;
  uint32_t old_node, new_node;
  struct berth__text namespace, name;
  uint32_t zero[4];
};

struct berth__header {
  uint32_t magic;
  uint16_t major, minor;
  uint64_t epoch, generation, seed;
  uint32_t state, n_tables, tables, layout;
  uint32_t zero[4];
};

struct berth__table {
  uint32_t id, n_rows, row_capacity, row_base, overlay_capacity, n_columns, columns, zero;
};

struct berth__column_entry {
  uint32_t id, arg, type, address, capacity, length;
};

struct berth__pod_header {
  uint32_t n_fields, size;
};

struct berth__pod_field {
  uint32_t id, arg, offset, count;
};

// A reason set is an address and a number of texts, which is as a text's address and length.
struct berth__directive {
  uint32_t kind, zero;
  struct berth__text first, second;
};

struct berth__span {
  uint32_t start, length;
};

_Static_assert(sizeof(struct berth__call) == 128, "ABI-3.1");
_Static_assert(offsetof(struct berth__call, keys) == 52 && offsetof(struct berth__call, reason_sets) == 64, "ABI-3.1");
_Static_assert(offsetof(struct berth__call, directives) == 88 && offsetof(struct berth__call, wait) == 96 && offsetof(struct berth__call, retry_after) == 104, "ABI-3.1");
_Static_assert(sizeof(struct berth__event_record) == 64 && offsetof(struct berth__event_record, name) == 40, "ABI-3.10");
_Static_assert(sizeof(struct berth__header) == 64 && offsetof(struct berth__header, layout) == 44, "ABI-4.1");
_Static_assert(sizeof(struct berth__table) == 32 && sizeof(struct berth__column_entry) == 24, "ABI-4.2, ABI-4.3");
_Static_assert(sizeof(struct berth__pod_field) == 16 && sizeof(struct berth__directive) == 24, "ABI-6.1, ABI-13.1");
