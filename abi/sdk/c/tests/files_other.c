// The other file of files_test.c.

#include "../berth.h"

BerthReason other_reason(void);
BerthText other_scratch(void);

BerthReason other_reason(void) { return berth_reason("of the other file"); }

BerthText other_scratch(void) { return berth_decimal(17); }
