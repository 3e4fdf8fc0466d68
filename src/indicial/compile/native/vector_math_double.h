/* The functions of vector_math.h for double. */
#ifndef INDICIAL_VECTOR_MATH_DOUBLE_H
#define INDICIAL_VECTOR_MATH_DOUBLE_H

INDICIAL_INLINE long long bits_of_double(double x) {
  long long bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}

INDICIAL_INLINE double double_of_bits(long long bits) {
  double x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

/* 2^n for -1022 <= n <= 1023 */
INDICIAL_INLINE double power_of_two_double(long long n) { return double_of_bits((n + 1023) << 52); }

/* x = n ln 2 + r with |r| <= (ln 2)/2, |x| < 10^6: gives r, and n in *n. Adding 1.5 2^52 rounds to
   a whole number, which then stands in the low bits. */
INDICIAL_INLINE double split_double(double x, long long *n) {
  const double shift = 0x1.8p52;
  double shifted = x * 0x1.71547652b82fep0 + shift;
  double rounded = shifted - shift;
  *n = bits_of_double(shifted) - 0x4338000000000000LL;
  return (x - rounded * 0x1.62e42fee00000p-1) - rounded * 0x1.a39ef35793c76p-33;
}

/* exp(r) - 1 for |r| <= (ln 2)/2: 2^-61.7 */
INDICIAL_INLINE double expm1_core_double(double r) {
  double p = 0x1.1f13f23061fa4p-29;
  p = p * r + 0x1.af5f8023050dap-26;
  p = p * r + 0x1.27e51cdff6180p-22;
  p = p * r + 0x1.71ddf7f1e80a4p-19;
  p = p * r + 0x1.a01a018643aacp-16;
  p = p * r + 0x1.a01a01b0065d0p-13;
  p = p * r + 0x1.6c16c16c1d304p-10;
  p = p * r + 0x1.111111110f66ap-7;
  p = p * r + 0x1.5555555555543p-5;
  p = p * r + 0x1.5555555555559p-3;
  p = p * r + 0x1.0000000000000p-1;
  return (p * r) * r + r;
}

/* exp(r) 2^n, 2^n in two factors, so that results below the smallest normal number are rounded
   once. */
INDICIAL_INLINE double exp_scaled_double(double r, long long n) {
  long long half = n >> 1;
  double e = expm1_core_double(r) + 1.0;
  return e * power_of_two_double(half) * power_of_two_double(n - half);
}

INDICIAL_INLINE double exp_double(double x) {
  double y = x < -746.0 ? -746.0 : x;
  y = y > 710.0 ? 710.0 : y;
  long long n;
  double r = split_double(y, &n);
  return exp_scaled_double(r, n);
}

/* With m = exp(2|x|) - 1: m / (m + 2). Near 0, m is as accurate as x. */
INDICIAL_INLINE double tanh_double(double x) {
  double y = 2.0 * __builtin_fabs(x);
  y = y > 44.0 ? 44.0 : y;
  long long n;
  double r = split_double(y, &n);
  double scale = power_of_two_double(n);
  double m = expm1_core_double(r) * scale + (scale - 1.0);
  return __builtin_copysign(m / (m + 2.0), x);
}

/* The exponential that cannot overflow, on both sides. */
INDICIAL_INLINE double sigmoid_double(double x) {
  double e = exp_double(-__builtin_fabs(x));
  double s = 1.0 / (1.0 + e);
  return x < 0 ? e * s : s;
}

/* x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2): gives f, and k in *k. */
INDICIAL_INLINE double mantissa_double(double x, double *k) {
  int tiny = x < 0x1p-1022;
  long long bits = bits_of_double(tiny ? x * 0x1p54 : x) - 0x3fe6a09e667f3bcdLL;
  /* the exponent as a number: its bits below those of 1.5 2^52 */
  double exponent = double_of_bits((bits >> 52) + 0x4338000000000000LL) - 0x1.8p52;
  *k = exponent - (tiny ? 54.0 : 0.0);
  return double_of_bits((bits & 0x000fffffffffffffLL) + 0x3fe6a09e667f3bcdLL) - 1.0;
}

/* (2 atanh(s) - 2s) / s^3 of z = s^2 <= 0.0295: 2^-66.7 of the whole */
INDICIAL_INLINE double atanh_core_double(double z) {
  double p = 0x1.0f62fd1087e5ap-3;
  p = p * z + 0x1.0f5ccb753cf1fp-3;
  p = p * z + 0x1.3b20ab71fad15p-3;
  p = p * z + 0x1.745cde3659255p-3;
  p = p * z + 0x1.c71c7258fb25ep-3;
  p = p * z + 0x1.249249242b43ap-2;
  p = p * z + 0x1.9999999999dffp-2;
  p = p * z + 0x1.5555555555555p-1;
  return p;
}

/* ln(1 + f) = 2 atanh(f / (2 + f)) */
INDICIAL_INLINE double ln_double(double x) {
  double k;
  double f = mantissa_double(x, &k);
  double s = f / (2.0 + f);
  double z = s * s;
  double half = 0.5 * f * f;
  double low = s * (half + z * atanh_core_double(z)) + k * 0x1.a39ef35793c76p-33;
  double result = k * 0x1.62e42fee00000p-1 + (f - (half - low));
  result = x > 0 ? result : x == 0 ? -INDICIAL_INFINITY : INDICIAL_NAN;
  return x == INDICIAL_INFINITY ? x : result;
}

/* max(x, 0) + ln(1 + e), e = exp(-|x|), ln(1 + e) = 2 atanh(e / (2 + e)). z <= 1/9: 2^-64.6 */
INDICIAL_INLINE double softplus_double(double x) {
  double e = exp_double(-__builtin_fabs(x));
  double s = e / (2.0 + e);
  double z = s * s;
  double p = 0x1.514809376c584p-3;
  p = p * z + 0x1.1e74c5c5e9afcp-4;
  p = p * z + 0x1.c1718334eca71p-4;
  p = p * z + 0x1.dfe264315f6aep-4;
  p = p * z + 0x1.1123489cc213dp-3;
  p = p * z + 0x1.3b12d5b07a3a0p-3;
  p = p * z + 0x1.745d1e0481a21p-3;
  p = p * z + 0x1.c71c71a5d5ee4p-3;
  p = p * z + 0x1.24924924c1e66p-2;
  p = p * z + 0x1.999999999955bp-2;
  p = p * z + 0x1.5555555555556p-1;
  return (x > 0 ? x : 0.0) + (2.0 * s + s * (z * p));
}

/* ln(exp x + exp y) = max + ln(1 + exp(-|x - y|)). Equal infinities have no difference, and any nan has. */
INDICIAL_INLINE double log_add_exp_double(double x, double y) {
  double top = y > x ? y : x;
  double apart = x == y ? 0 : x - y;
  return top + softplus_double(-__builtin_fabs(apart));
}

/* The normal distribution above a >= 0: exp(-a^2/2) H(u) / (1 + 2a), u = (a - 6) / (a + 6).
   a <= 40, where the result is 0: 2^-57.2. What a^2 loses by rounding is put back. */
INDICIAL_INLINE double upper_tail_double(double x) {
  double a = x > 40.0 ? 40.0 : x;
  double u = (a - 6.0) / (a + 6.0);
  double p = 0x1.a96558484adb8p-29;
  p = p * u + 0x1.5101b439658afp-28;
  p = p * u - 0x1.27196acbdc4cap-25;
  p = p * u - 0x1.22d0275efc8ddp-25;
  p = p * u + 0x1.376faa43fb3e0p-22;
  p = p * u - 0x1.16093013616e1p-24;
  p = p * u - 0x1.1bc40b0f137bdp-19;
  p = p * u + 0x1.1f9531eae93eap-18;
  p = p * u + 0x1.182474e0260d2p-17;
  p = p * u - 0x1.e8285232a4767p-15;
  p = p * u + 0x1.9311490b3da96p-14;
  p = p * u + 0x1.db39bfdf29480p-13;
  p = p * u - 0x1.f6e31af90ff01p-10;
  p = p * u + 0x1.c33328afa8137p-8;
  p = p * u - 0x1.1f55e30a9a040p-6;
  p = p * u + 0x1.2181b234b3f1cp-5;
  p = p * u - 0x1.df66abfafca3ep-5;
  p = p * u + 0x1.48a92fc77d2a0p-4;
  p = p * u - 0x1.6cfa9c0524cf7p-4;
  p = p * u + 0x1.2ba90cfe673cep-4;
  p = p * u - 0x1.ad67059010381p-6;
  p = p * u - 0x1.7fd3f0f6438fcp-5;
  p = p * u + 0x1.af2bce44803a8p-1;
  double square = a * a;
  double lost = __builtin_fma(a, a, -square);
  double e = exp_double(-0.5 * square);
  e -= e * (0.5 * lost);
  return e * (p / (1.0 + 2.0 * a));
}

/* x times the normal distribution below x; the small tail on the left is kept. */
INDICIAL_INLINE double gelu_double(double x) {
  double tail = upper_tail_double(__builtin_fabs(x));
  double y = x < -40.0 ? -40.0 : x;
  return y * (x < 0 ? tail : 1.0 - tail);
}

/* z = x^2 <= 0.75^2: 2^-60.1; from there on 1 minus both tails. */
INDICIAL_INLINE double erf_double(double x) {
  double a = __builtin_fabs(x);
  double z = a < 1.0 ? a * a : 1.0;
  double p = 0x1.8a3105bafded4p-27;
  p = p * z - 0x1.564fa46aad670p-23;
  p = p * z + 0x1.b90edd798325bp-20;
  p = p * z - 0x1.f4c5e0cc69314p-17;
  p = p * z + 0x1.f9a2afc713296p-14;
  p = p * z - 0x1.c02db1236e3bep-11;
  p = p * z + 0x1.565bcd036d83ap-8;
  p = p * z - 0x1.b82ce31257754p-6;
  p = p * z + 0x1.ce2f21a0424cdp-4;
  p = p * z - 0x1.812746b0379e0p-2;
  p = p * z + 0x1.06eba8214db69p-3;
  double outer = 1.0 - 2.0 * upper_tail_double(a * 0x1.6a09e667f3bcdp0);
  return a < 0.75 ? x + x * p : __builtin_copysign(outer, x);
}

/* x = n pi/2 + r + *low: gives r, and n modulo 4 in *n; nan where |x| is too large. x - n (pi/2 to
   53 bits) has no more bits than fit, so the fused operation is exact. */
INDICIAL_INLINE double quarter_turns_double(double x, long long *n, double *low) {
  const double shift = 0x1.8p52;
  double shifted = x * 0x1.45f306dc9c883p-1 + shift;
  double rounded = shifted - shift;
  *n = bits_of_double(shifted);
  double first = __builtin_fma(-rounded, 0x1.921fb54442d18p0, x);
  /* a product that is not fused with what follows */
  double second = __builtin_fma(rounded, 0x1.1a62633145c07p-54, 0.0);
  double lost = __builtin_fma(rounded, 0x1.1a62633145c07p-54, -second);
  double r = first - second;
  *low = ((first - r) - second) - (lost - rounded * 0x1.f1976b7ed8fbcp-110);
  return __builtin_fabs(x) < 0x1p51 ? r : INDICIAL_NAN;
}

/* |r| <= pi/4: 2^-58.0 for the sine, 2^-64.2 for the cosine; `low` enters to first order. */
INDICIAL_INLINE double sin_or_cos_double(double r, double low, long long n) {
  double z = r * r;
  double s = 0x1.5d9302a63ca45p-33;
  s = s * z - 0x1.ae5e6640b264fp-26;
  s = s * z + 0x1.71de3577bef9ap-19;
  s = s * z - 0x1.a01a019c11a3bp-13;
  s = s * z + 0x1.111111110f87bp-7;
  s = s * z - 0x1.5555555555549p-3;
  double c = -0x1.8fae9dbde5939p-37;
  c = c * z + 0x1.1ee9ebebb1ca3p-29;
  c = c * z - 0x1.27e4f809f4607p-22;
  c = c * z + 0x1.a01a019cb1c2ep-16;
  c = c * z - 0x1.6c16c16c1517ep-10;
  c = c * z + 0x1.555555555554cp-5;
  double sine = r + (r * (z * s) + low * (1.0 - 0.5 * z));
  double half = 0.5 * z;
  double one = 1.0 - half;
  double cosine = one + (((1.0 - one) - half) + (z * z * c - r * low));
  double value = n & 1 ? cosine : sine;
  return n & 2 ? -value : value;
}

INDICIAL_INLINE double sin_double(double x) {
  long long n;
  double low;
  double r = quarter_turns_double(x, &n, &low);
  return sin_or_cos_double(r, low, n);
}

INDICIAL_INLINE double cos_double(double x) {
  long long n;
  double low;
  double r = quarter_turns_double(x, &n, &low);
  return sin_or_cos_double(r, low, n + 1);
}

/* x^y from |x|^y: signs, and the cases that C singles out. */
INDICIAL_INLINE double pow_cases_double(double x, double y, double power) {
  int whole = __builtin_floor(y) == y;
  int odd = whole && __builtin_floor(0.5 * y) != 0.5 * y;
  power = odd ? __builtin_copysign(power, x) : power;
  power = x < 0 && x != -INDICIAL_INFINITY && !whole ? INDICIAL_NAN : power;
  power = x == -1 && __builtin_fabs(y) == INDICIAL_INFINITY ? 1.0 : power;
  return y == 0 || x == 1 ? 1.0 : power;
}

/* exp(y ln|x|) with the logarithm in two doubles: an error in it is multiplied by up to 745. */
INDICIAL_INLINE double pow_double(double x, double y) {
  double a = __builtin_fabs(x);
  double k;
  double f = mantissa_double(a, &k);
  double below = 2.0 + f;
  double lost = f - (below - 2.0);
  double s = f / below;
  double s_low = (__builtin_fma(-s, below, f) - s * lost) / below;
  double z = s * s;
  double whole = k * 0x1.62e42fee00000p-1;
  double high = whole + 2.0 * s;
  double low = (whole - high) + 2.0 * s;
  low = k == 0 ? 0.0 : low;
  low += k * 0x1.a39ef35793c76p-33 + (2.0 * s_low + s * (z * atanh_core_double(z)));
  double sum = high + low;
  low -= sum - high;
  high = a == 0 ? -INDICIAL_INFINITY : a < INDICIAL_INFINITY ? sum : a; /* nan stays nan */
  double product = y * high;
  double product_low = __builtin_fma(y, high, -product) + y * low;
  product_low = __builtin_fabs(product) < 800.0 ? product_low : 0.0;
  product = product < -746.0 ? -746.0 : product;
  product = product > 710.0 ? 710.0 : product;
  long long n;
  double r = split_double(product, &n) + product_low;
  return pow_cases_double(x, y, exp_scaled_double(r, n));
}

#endif
