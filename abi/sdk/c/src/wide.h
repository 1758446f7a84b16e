// What clang calls for products that do not fit into 64 bits, such as those of __builtin_mul_overflow and of __int128. A plugin is
// linked without clang's library.

// The name is the compiler's. In each file that includes berth.h there is one, and the linker takes the first.
__attribute__((weak)) __int128 __multi3(__int128 a, __int128 b) {
  const uint64_t low = 0xffffffff;
  uint64_t x = (uint64_t)a, y = (uint64_t)b, x0 = x & low, x1 = x >> 32, y0 = y & low, y1 = y >> 32;
  // x · y in 128 bits, from products of 32 bits.
  uint64_t middle = x1 * y0 + (x0 * y0 >> 32), other = x0 * y1 + (middle & low);
  uint64_t high = x1 * y1 + (middle >> 32) + (other >> 32);
  high += (uint64_t)((unsigned __int128)a >> 64) * y + x * (uint64_t)((unsigned __int128)b >> 64);
  return (__int128)((unsigned __int128)high << 64 | x * y);
}
