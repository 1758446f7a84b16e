// __multi3 gives the products that the machine's own instructions give.
#include "../berth.h"

#include "native.h"

int main(void) {
  static const uint64_t words[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x123456789abcdef, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
  const int n = sizeof words / sizeof *words;
  for (int i = 0; i < n * n; i++) {
    for (int k = 0; k < n * n; k++) {
      unsigned __int128 a = (unsigned __int128)words[i / n] << 64 | words[i % n], b = (unsigned __int128)words[k / n] << 64 | words[k % n];
      CHECK((unsigned __int128)__multi3((__int128)a, (__int128)b) == a * b);
    }
  }
  return 0;
}
