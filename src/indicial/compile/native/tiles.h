/* Vectors, for kernels that keep a tile of a matrix in registers (writing/tile_text.py). */
#ifndef INDICIAL_TILES_H
#define INDICIAL_TILES_H

#include "kernel.h"

/* Steps that all rows take before the next ones: their panels are a part of the nearest cache. */
enum { V = 64 / sizeof(real), BLOCK = 64 };

typedef real vec __attribute__((vector_size(64)));
typedef real half_vec __attribute__((vector_size(32)));
typedef real quarter_vec __attribute__((vector_size(16)));

static inline __attribute__((always_inline)) vec load(const real *at) { return *(const vec *)at; }
static inline __attribute__((always_inline)) void store(real *at, vec x) { *(vec *)at = x; }

/* How many steps of a tile of so many vectors wait for the sweep back: what is a part of the cache,
   and then no more, as each chunk begins with a checkpoint. */
static inline __attribute__((unused)) long chunk_of(long vectors) {
  const long steps = 256 * 1024 / (64 * vectors);
  return steps < 4 ? 4 : steps > 256 ? 256 : steps;
}

/* The sum of a vector's elements. */
static inline __attribute__((always_inline, unused)) real across(vec x) {
  half_vec a, b;
  __builtin_memcpy(&a, &x, 32);
  __builtin_memcpy(&b, (const char *)&x + 32, 32);
  a += b;
  quarter_vec c, d;
  __builtin_memcpy(&c, &a, 16);
  __builtin_memcpy(&d, (const char *)&a + 16, 16);
  c += d;
  real sum = 0;
  for (unsigned l = 0; l < 16 / sizeof(real); l++) sum += c[l];
  return sum;
}

/* Whether a state is so small or large a multiple of itself that it is time for another one. */
static inline __attribute__((always_inline, unused)) int is_far(real x) {
  return !(x * x > (real)0x1p-32 && x * x < (real)0x1p32);
}

/* Whether a multiple went on by a decay that may be divided by: 64 times an error is still small. */
static inline __attribute__((always_inline, unused)) int can_divide(real now, real then) {
  return now * now >= (real)0x1p-12 * then * then;
}

/* A vector without the elements from `n` on. */
static inline __attribute__((always_inline, unused)) vec first_of(vec x, long n) {
  if (n >= V) return x;
  real y[V] __attribute__((aligned(64)));
  __builtin_memcpy(y, &x, 64);
  for (long l = 0; l < V; l++) y[l] = l < n ? y[l] : 0;
  return load(y);
}

#endif
