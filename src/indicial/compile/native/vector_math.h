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

INDICIAL_INLINE int bits_of_float(float x) {
  int bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}

INDICIAL_INLINE float float_of_bits(int bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

/* 2^n for -126 <= n <= 127 */
INDICIAL_INLINE float power_of_two_float(int n) { return float_of_bits((n + 127) << 23); }

/* x = n ln 2 + r with |r| <= (ln 2)/2, |x| < 10^5: gives r, and n in *n. Adding 1.5 2^23 rounds to
   a whole number, which then stands in the low bits. */
INDICIAL_INLINE float split_float(float x, int *n) {
  const float shift = 0x1.8p23f;
  float shifted = x * 0x1.715476p0f + shift;
  float rounded = shifted - shift;
  *n = bits_of_float(shifted) - 0x4b400000;
  return (x - rounded * 0x1.62e4p-1f) - rounded * 0x1.7f7d1cp-20f;
}

/* exp(r) - 1 for |r| <= (ln 2)/2: 2^-26.2 */
INDICIAL_INLINE float expm1_core_float(float r) {
  float p = 1.389012672e-03f;
  p = p * r + 8.366660215e-03f;
  p = p * r + 4.166711867e-02f;
  p = p * r + 1.666654199e-01f;
  p = p * r + 4.999999702e-01f;
  return (p * r) * r + r;
}

/* 2^n in two factors, so that results below the smallest normal number are rounded once. */
INDICIAL_INLINE float exp_float(float x) {
  float y = x < -104.0f ? -104.0f : x;
  y = y > 89.0f ? 89.0f : y;
  int n;
  float r = split_float(y, &n);
  int half = n >> 1;
  float e = expm1_core_float(r) + 1.0f;
  return e * power_of_two_float(half) * power_of_two_float(n - half);
}

/* With m = exp(2|x|) - 1: m / (m + 2). Near 0, m is as accurate as x. */
INDICIAL_INLINE float tanh_float(float x) {
  float y = 2.0f * __builtin_fabsf(x);
  y = y > 20.0f ? 20.0f : y;
  int n;
  float r = split_float(y, &n);
  float scale = power_of_two_float(n);
  float m = expm1_core_float(r) * scale + (scale - 1.0f);
  return __builtin_copysignf(m / (m + 2.0f), x);
}

/* The exponential that cannot overflow, on both sides. */
INDICIAL_INLINE float sigmoid_float(float x) {
  float e = exp_float(-__builtin_fabsf(x));
  float s = 1.0f / (1.0f + e);
  return x < 0 ? e * s : s;
}

/* x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2); ln(1 + f) = 2 atanh(f / (2 + f)).
   z = s^2 <= 0.0295: 2^-30.2 */
INDICIAL_INLINE float ln_float(float x) {
  int tiny = x < 0x1p-126f;
  int bits = bits_of_float(tiny ? x * 0x1p25f : x) - 0x3f3504f3;
  float k = (float)((bits >> 23) - (tiny ? 25 : 0));
  float f = float_of_bits((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
  float s = f / (2.0f + f);
  float z = s * s;
  float p = 2.987185419e-01f;
  p = p * z + 3.997753859e-01f;
  p = p * z + 6.666677594e-01f;
  float half = 0.5f * f * f;
  float low = s * (half + z * p) + k * 0x1.7f7d1cp-20f;
  float result = k * 0x1.62e4p-1f + (f - (half - low));
  result = x > 0 ? result : x == 0 ? (float)-INDICIAL_INFINITY : (float)INDICIAL_NAN;
  return x == (float)INDICIAL_INFINITY ? x : result;
}

/* max(x, 0) + ln(1 + e), e = exp(-|x|), ln(1 + e) = 2 atanh(e / (2 + e)). z <= 1/9: 2^-33.1 */
INDICIAL_INLINE float softplus_float(float x) {
  float e = exp_float(-__builtin_fabsf(x));
  float s = e / (2.0f + e);
  float z = s * s;
  float p = 2.430173457e-01f;
  p = p * z + 2.142746300e-01f;
  p = p * z + 2.861690223e-01f;
  p = p * z + 3.999887705e-01f;
  p = p * z + 6.666667461e-01f;
  return (x > 0 ? x : 0.0f) + (2.0f * s + s * (z * p));
}

/* ln(exp x + exp y) = max + ln(1 + exp(-|x - y|)). Equal infinities have no difference, and any nan has. */
INDICIAL_INLINE float log_add_exp_float(float x, float y) {
  float top = y > x ? y : x;
  float apart = x == y ? 0 : x - y;
  return top + softplus_float(-__builtin_fabsf(apart));
}

/* The normal distribution above a >= 0: exp(-a^2/2) H(u) / (1 + 2a), u = (a - 4) / (a + 4).
   a <= 15, where the result is 0: 2^-28.3. What a^2 loses by rounding is put back. */
INDICIAL_INLINE float upper_tail_float(float x) {
  float a = x > 15.0f ? 15.0f : x;
  float u = (a - 4.0f) / (a + 4.0f);
  float p = -1.479925995e-04f;
  p = p * u - 6.076057252e-05f;
  p = p * u + 1.558839343e-03f;
  p = p * u - 1.260659192e-03f;
  p = p * u - 1.051427983e-02f;
  p = p * u + 4.437673464e-02f;
  p = p * u - 9.525923431e-02f;
  p = p * u + 1.289069057e-01f;
  p = p * u - 9.638008475e-02f;
  p = p * u - 2.300919779e-02f;
  p = p * u + 8.496958017e-01f;
  float square = a * a;
  float lost = __builtin_fmaf(a, a, -square);
  float e = exp_float(-0.5f * square);
  e -= e * (0.5f * lost);
  return e * (p / (1.0f + 2.0f * a));
}

/* x times the normal distribution below x; the small tail on the left is kept. */
INDICIAL_INLINE float gelu_float(float x) {
  float tail = upper_tail_float(__builtin_fabsf(x));
  float y = x < -15.0f ? -15.0f : x;
  return y * (x < 0 ? tail : 1.0f - tail);
}

/* z = x^2 <= 0.75^2: 2^-29.3; from there on 1 minus both tails. */
INDICIAL_INLINE float erf_float(float x) {
  float a = __builtin_fabsf(x);
  float z = a < 1.0f ? a * a : 1.0f;
  float p = -6.759547396e-04f;
  p = p * z + 5.115786102e-03f;
  p = p * z - 2.683534846e-02f;
  p = p * z + 1.128339171e-01f;
  p = p * z - 3.761262000e-01f;
  p = p * z + 1.283791661e-01f;
  float outer = 1.0f - 2.0f * upper_tail_float(a * 0x1.6a09e6p0f);
  return a < 0.75f ? x + x * p : __builtin_copysignf(outer, x);
}

/* x = n pi/2 + r, in double: gives r, and n modulo 4 in *n; nan where |x| is too large. */
INDICIAL_INLINE float quarter_turns_float(float x, int *n) {
  const double shift = 0x1.8p52;
  double shifted = (double)x * 0x1.45f306dc9c883p-1 + shift;
  double rounded = shifted - shift;
  *n = (int)bits_of_double(shifted);
  double r = __builtin_fma(-rounded, 0x1.921fb54442d18p0, (double)x);
  r = __builtin_fma(-rounded, 0x1.1a62633145c07p-54, r);
  return __builtin_fabsf(x) < 0x1p51f ? (float)r : (float)INDICIAL_NAN;
}

/* |r| <= pi/4: 2^-28.1 for the sine, 2^-33.3 for the cosine */
INDICIAL_INLINE float sin_or_cos_float(float r, int n) {
  float z = r * r;
  float s = -1.951723534e-04f;
  s = s * z + 8.332177997e-03f;
  s = s * z - 1.666665524e-01f;
  float c = 2.443840640e-05f;
  c = c * z - 1.388736768e-03f;
  c = c * z + 4.166664556e-02f;
  float sine = r + r * (z * s);
  float cosine = 1.0f + (z * -0.5f + z * z * c);
  float value = n & 1 ? cosine : sine;
  return n & 2 ? -value : value;
}

INDICIAL_INLINE float sin_float(float x) {
  int n;
  float r = quarter_turns_float(x, &n);
  return sin_or_cos_float(r, n);
}

INDICIAL_INLINE float cos_float(float x) {
  int n;
  float r = quarter_turns_float(x, &n);
  return sin_or_cos_float(r, n + 1);
}

/* In double, whose logarithm is accurate enough; special cases as in C. */
INDICIAL_INLINE float pow_float(float x, float y) {
  double power = exp_double((double)y * ln_double(__builtin_fabsf(x)));
  return (float)pow_cases_double(x, y, power);
}

#endif
