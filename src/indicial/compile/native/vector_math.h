/* The elementwise functions of the language, for loops that vectorise.

     #pragma omp simd
     for (long i = 0; i < n; i++) h[i] = sigmoid_float(a[i]) * tanh_float(b[i]);

   Each exists as NAME_float and NAME_double, static and inlined. They compute what the language
   means (`program/meaning/functions.py`): nan goes through, an overflow is inf, a senseless
   argument gives nan, denormals are kept.

     exp, ln, sin, cos, tanh, sigmoid, softplus, erf     within 1 to 3 ulp
     pow(x, y)                                           within 5 ulp (float: 1)
     gelu                                                within 12 ulp; of a denormal tail: absolutely
     sqrt, relu, abs, sign, floor, min(x, y), max(x, y)  exact

   sin and cos take arguments up to 2^51 and give nan beyond, where neighbouring numbers of type
   float lie further apart than a period.

   No branches, no tables, no calls: ternaries become masks, and numbers are taken apart as bits.
   Sums and products in here rely on the order in which they stand; a product and a sum may be
   fused. Polynomials are minimax (Remez) on the interval that stands with them; 2^-n is their
   error, which comes on top of rounding. */
#ifndef INDICIAL_VECTOR_MATH_H
#define INDICIAL_VECTOR_MATH_H

#define INDICIAL_INLINE static inline __attribute__((always_inline, unused))
#define INDICIAL_INFINITY __builtin_inf()
#define INDICIAL_NAN __builtin_nan("")

/* What is exact looks the same for both types. min and max of nan and anything are nan. */
#define INDICIAL_EXACT(T, suffix)                                                                  \
  INDICIAL_INLINE T abs_##T(T x) { return __builtin_fabs##suffix(x); }                             \
  INDICIAL_INLINE T sqrt_##T(T x) { return __builtin_sqrt##suffix(x); }                            \
  INDICIAL_INLINE T floor_##T(T x) { return __builtin_floor##suffix(x); }                          \
  INDICIAL_INLINE T relu_##T(T x) { return x <= 0 ? 0 : x; }                                       \
  INDICIAL_INLINE T sign_##T(T x) { return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x; }              \
  INDICIAL_INLINE T min_##T(T x, T y) { return x < y || x != x ? x : y; }                          \
  INDICIAL_INLINE T max_##T(T x, T y) { return x > y || x != x ? x : y; }

INDICIAL_EXACT(float, f)
INDICIAL_EXACT(double, )

#include "vector_math_double.h"
#include "vector_math_float.h"

#endif
