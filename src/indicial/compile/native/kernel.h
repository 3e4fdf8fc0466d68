/* What every kernel stands on: the call, scratch memory, products, threads. */
#ifndef INDICIAL_KERNEL_H
#define INDICIAL_KERNEL_H

#include <stdint.h>
#include <stdlib.h>
#include "team.h"
#include "vector_math.h"

/* One call: how many members, the sizes and lengths by number, the tensors' memory, and how far
   apart the rows of each are (all that follows the first axis is a row, without gaps). */
struct call {
  const struct products *products;
  const struct threads *threads;
  long members;
  const int64_t *sizes;
  const int64_t *const *lengths;
  void *const *tensors;
  const int64_t *rows;
  struct team *team; /* who multiplies, if not this thread alone */
};

/* Members of which all that a loop of one step computes stays in the cache. */
enum { SOME = 48 };
/* Steps that are worth a thread, where each can be computed without the others. */
enum { STEPS = 32 };

static inline long least(long a, long b) { return a < b ? a : b; }
static inline long padded(long n) { return (n + 15) / 16 * 16; }
static inline void *allocate(size_t bytes) { return aligned_alloc(64, (bytes + 63) / 64 * 64); }
/* Both are computed, so that a loop of choices is one of vectors. */
static inline real choose(int first, real a, real b) { return first ? a : b; }
static inline long slot(long v, long slots) { return ((v % slots) + slots) % slots; }

/* How much memory the weights [k,n] of a product take once they are packed. */
static inline long packed_size(const struct call *call, long k, long n) {
  const long panel = call->products->panel;
  return padded((n + panel - 1) / panel * panel * k);
}

/* p[rows,n] = a[rows,k] w[k,n] */
static inline void multiply(const struct call *call, long rows, long n, long k, const real *a,
                            const real *w, real *p) {
  if (call->team && rows == 1)
    team_product(call->team, n, k, a, w, p);
  else
    call->products->product(p, n, a, k, w, rows, n, k, 0);
}

/* A part's share of packing the weights [k,n]: some of their panels. */
static inline void pack_share(const struct call *call, real *packed, const real *b, long k, long n,
                              long row, long column, int number, int parts) {
  long first, last;
  part_range(n, call->products->panel, number, parts, &first, &last);
  if (first < last)
    call->products->pack(packed + first * k, b + first * column, k, last - first, row, column);
}

static inline __attribute__((unused)) long members_of(const struct call *call) {
  return call->members;
}

/* Sums, products and extremes of many numbers: LANES of them at once, one result at the end.

     real y[LANES];
     lanes_fill(y, 0);
     for (each block of LANES) for (long l = 0; l < LANES; l++) y[l] += x[l];       vectorised
     lanes_sum(y)

   Without leave to change the order of sums a compiler adds up the lanes of a reduction one after
   the other, which takes longer than all the rest of a short sum. */
#define LANES 16

#define LANES_INLINE static inline __attribute__((always_inline, unused))

LANES_INLINE void lanes_fill(real *y, real x) {
  for (int l = 0; l < LANES; l++) y[l] = x;
}

/* max and min of nan and anything are nan, as in vector_math.h. */
#define LANES_RESULT(name, combined)                                                               \
  LANES_INLINE real lanes_##name##_of(real x, real y) { return combined; }                         \
  LANES_INLINE real lanes_##name(const real *y) {                                                  \
    real half[LANES / 2], quarter[LANES / 4];                                                      \
    _Pragma("omp simd") for (int l = 0; l < LANES / 2; l++) half[l] =                              \
        lanes_##name##_of(y[l], y[l + LANES / 2]);                                                 \
    _Pragma("omp simd") for (int l = 0; l < LANES / 4; l++) quarter[l] =                           \
        lanes_##name##_of(half[l], half[l + LANES / 4]);                                           \
    return lanes_##name##_of(lanes_##name##_of(quarter[0], quarter[2]),                            \
                             lanes_##name##_of(quarter[1], quarter[3]));                           \
  }

LANES_RESULT(sum, x + y)
LANES_RESULT(prod, x *y)
LANES_RESULT(max, x > y || x != x ? x : y)
LANES_RESULT(min, x < y || x != x ? x : y)

/* `pack` puts the weights into order, `part` takes some members through all steps. Who calls often
   with the same weights packs them once, and calls `run_packed`. Threads divide the members; where
   there is only one, the columns of its products. */
#define KERNEL(weights, pack, part) KERNEL_OF(members_of, 1, weights, pack, part)

/* The same, where other than members can be divided: `units` in all, `share` of them at least. */
#define KERNEL_OF(units, share, weights, pack, part)                                               \
  struct job {                                                                                     \
    const struct call *call;                                                                       \
    const real *w;                                                                                 \
    struct team team;                                                                              \
  };                                                                                               \
  static void run_part(void *data, int number, int parts) {                                        \
    const struct job *job = data;                                                                  \
    long first, last;                                                                              \
    part_range(units(job->call), share, number, parts, &first, &last);                             \
    if (first < last) part(job->call, job->w, first, last);                                        \
  }                                                                                                \
  static void run_team(void *data, int number, int parts) {                                        \
    struct job *job = data;                                                                        \
    if (number > 0) {                                                                              \
      team_help(&job->team, number, parts);                                                        \
      return;                                                                                      \
    }                                                                                              \
    struct call call = *job->call;                                                                 \
    call.team = &job->team;                                                                        \
    team_begin(call.team, call.products, parts);                                                   \
    part(&call, job->w, 0, units(&call));                                                          \
    team_end(call.team);                                                                           \
  }                                                                                                \
  static void run_all(const struct call *call, const void *w, long worth) {                        \
    struct job job = {call, w};                                                                    \
    const int most = (int)least((units(call) + share - 1) / share, 64);                            \
    if (most == 1)                                                                                 \
      threads_run(call->threads, team_parts(weights(call), worth), run_team, &job);                \
    else                                                                                           \
      threads_run(call->threads, most, run_part, &job);                                            \
  }                                                                                                \
  static void pack_part(void *data, int number, int parts) {                                       \
    const struct job *job = data;                                                                  \
    pack(job->call, (real *)job->w, number, parts);                                                \
  }                                                                                                \
  void *packed(const struct call *call) {                                                          \
    real *w = allocate((weights(call) + 16) * sizeof(real));                                       \
    struct job job = {call, w};                                                                    \
    threads_run(call->threads, team_parts(weights(call), TEAM_LOOP), pack_part, &job);             \
    return w;                                                                                      \
  }                                                                                                \
  void run_packed(const struct call *call, const void *w) { run_all(call, w, TEAM_SHARE); }        \
  void unpack(void *w) { free(w); }                                                                \
  void run(const struct call *call) {                                                              \
    real *w = packed(call);                                                                        \
    run_all(call, w, TEAM_LOOP);                                                                   \
    free(w);                                                                                       \
  }

#endif
