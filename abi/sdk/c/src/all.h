#ifndef BERTH_H
#define BERTH_H

#include "head.h"

#include "abi.h"
#include "types.h"
#include "records.h"

#include "memory.h"
#include "text.h"
#include "number.h"
#include "wide.h"
#include "scan.h"
#include "check.h"
#include "json.h"
#include "values.h"
#include "manifest.h"

#include "columns.h"
#include "constants.h"
#include "reasons.h"
#include "node.h"
#include "node_fields.h"
#include "snapshot.h"
#include "pod_fields.h"
#include "pod.h"
#include "affinity.h"
#include "call.h"
#include "queue.h"
#include "event.h"

#include "serve.h"
#include "points.h"
#include "plugin.h"

#endif
