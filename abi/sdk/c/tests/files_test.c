// A plugin of two files: what one makes the other sees, since BERTH_PLUGIN's state is one.

#include "../berth.h"

#include "native.h"

BerthReason other_reason(void);
BerthText other_scratch(void);

static BerthReason reason;

static void setup(void) { reason = other_reason(); }

BERTH_PLUGIN("views.json", setup);

int main(void) {
  start(64, (BerthHost){0});
  CHECK(berth_abi() == BERTH_ABI_VERSION);
  CHECK(reason == 1 && berth_reason("of the other file") == reason);
  uint8_t *mine = berth_scratch(8);
  CHECK_TEXT(other_scratch(), "17");
  CHECK(berth_scratch(8) > (void *)(mine + 8));
  return 0;
}
