// A host for plugins that run natively in tests, and checks.

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 8 << 20 };

static uint64_t room[ROOM / 8];
static char logged[5000], stopped[5000];
static jmp_buf way_out;
static bool may_stop;

static void host_log(int32_t level, BerthText text) { snprintf(logged, sizeof logged, "%d %.*s", level, (int)text.n, text.at); }

static void host_stop(BerthText why) {
  snprintf(stopped, sizeof stopped, "%.*s", (int)why.n, why.at);
  if (may_stop) longjmp(way_out, 1);
  fprintf(stderr, "%s\n", stopped);
  exit(1);
}

// Runs a statement, and returns what it stopped with; the empty text if it did not.
#define STOPS(statement) \
  (stopped[0] = 0, may_stop = true, setjmp(way_out) == 0 ? (void)(statement) : (void)0, may_stop = false, (const char *)stopped)

#define CHECK(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      exit(1); \
    } \
  } while (0)

#define CHECK_TEXT(got, want) check_text(BERTH_TEXT(got), BERTH_TEXT(want), __FILE__, __LINE__)

static inline void check_text(BerthText got, BerthText want, const char *file, int line) {
  if (berth_text_equals(got, want)) return;
  fprintf(stderr, "%s:%d: got\n%.*s\nwant\n%.*s\n", file, line, (int)got.n, got.at, (int)want.n, want.at);
  exit(1);
}

// Makes an instance whose memory begins with used bytes that are the test's.
static inline void start(uint32_t used, BerthHost host) {
  host.log = host_log;
  host.stop = host_stop;
  memset(room, 0, sizeof room);
  berth_native_start(room, ROOM, used, &host);
}
