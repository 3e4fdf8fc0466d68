/* Sums, products and extremes of many numbers: LANES of them at once, one result at the end.

     real y[LANES];
     lanes_fill(y, 0);
     for (each block of LANES) for (long l = 0; l < LANES; l++) y[l] += x[l];       vectorised
     lanes_sum(y)

   Without leave to change the order of sums a compiler adds up the lanes of a reduction one after
   the other, which takes longer than all the rest of a short sum. */
#ifndef INDICIAL_LANES_H
#define INDICIAL_LANES_H

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

#endif
