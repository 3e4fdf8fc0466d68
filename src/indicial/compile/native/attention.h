/* Attention of one head of one member, a block of rows of its weights at a time.

     out[q] = Σ_k p[q,k] v[k],   p[q,k] = exp(scale q·k - total[q]),   k ≤ q if it is causal

   Forward, a block has some queries and the keys that they see; backward, some keys and the queries that
   see them, so that what a key and a value get back is a product over a block, and only what a query gets
   back is added up from block to block. Weights are never in memory for more than a block. */
#ifndef INDICIAL_ATTENTION_H
#define INDICIAL_ATTENTION_H

#include "kernel.h"

enum { HEADS, QUERIES, KEYS, WIDTH, OUTPUTS, CAUSAL, APART };
enum { ROWS = 24 };

/* One head of one member: `row` is how far apart its rows are, that of one axis has none. */
struct head {
  real *at;
  long row;
};

static struct head head_of(const struct call *call, int number, long item) {
  const int64_t *apart = call->sizes + APART + 3 * number;
  const long heads = call->sizes[HEADS];
  real *start = call->tensors[number];
  return (struct head){start + item / heads * apart[0] + item % heads * apart[1], apart[2]};
}

/* As many columns as whole panels have: what is packed is filled up to them. */
static inline long whole(const struct call *call, long n) {
  const long panel = call->products->panel;
  return (n + panel - 1) / panel * panel;
}

/* c[m,n] = a[m,k] b[first…first+k,n], where b was packed with `all` rows. */
static void product_of_some(const struct call *call, struct head c, const real *a, long lda,
                            const real *b, long all, long first, long m, long n, long k) {
  const long panel = first || k < all ? call->products->panel : n;
  for (long j = 0; j < n; j += panel)
    call->products->product(c.at + j, c.row, a, lda, b + j * all + first * call->products->panel, m,
                            least(n - j, panel), k, 0);
}

/* Some rows of what the next one reads: they come from memory while this one is computed. */
static void fetch_next(const struct call *call, long item, int number, long rows, long first,
                       long width) {
  if (item + 1 >= call->members) return;
  const struct head next = head_of(call, number, item + 1);
  for (long i = first; i < least(rows, first + ROWS); i++)
    for (long j = 0; j < width; j += 64 / (long)sizeof(real))
      __builtin_prefetch(next.at + i * next.row + j, 0, 2);
}

/* The powers of a row, the largest 1, and 0 from n on; what they are multiples of, and their sum. */
static inline void powers(real *x, long n, long width, real *top, real *sum) {
  real tops[LANES], sums[LANES];
  for (long j = n; j < width; j++) x[j] = -INDICIAL_INFINITY;
  lanes_fill(tops, -INDICIAL_INFINITY);
  lanes_fill(sums, 0);
  for (long j = 0; j < width; j += LANES)
    _Pragma("omp simd") for (long l = 0; l < LANES; l++) tops[l] = lanes_max_of(tops[l], x[j + l]);
  const real most = *top = lanes_max(tops);
  for (long j = 0; j < width; j += LANES)
    _Pragma("omp simd") for (long l = 0; l < LANES; l++) {
      x[j + l] = EXP(x[j + l] - most);
      sums[l] += x[j + l];
    }
  *sum = lanes_sum(sums);
}

/* Tensors: queries, keys, values, scale; out, total. */
static void attend(const struct call *call, long item, real *scratch) {
  const int64_t *sizes = call->sizes;
  const long m = sizes[QUERIES], n = sizes[KEYS], d = sizes[WIDTH], e = sizes[OUTPUTS];
  const struct head q = head_of(call, 0, item), k = head_of(call, 1, item);
  const struct head v = head_of(call, 2, item), out = head_of(call, 4, item);
  const real scale = *(const real *)call->tensors[3];
  real *total = head_of(call, 5, item).at;
  real *keys = scratch, *values = keys + packed_size(call, d, n);
  real *scores = values + packed_size(call, n, e);
  call->products->pack(keys, k.at, d, n, 1, k.row);
  _Pragma("omp simd") for (long j = 0; j < packed_size(call, d, n); j++) keys[j] *= scale;
  call->products->pack(values, v.at, n, e, v.row, 1);
  for (long first = 0; first < m; first += ROWS) {
    const long rows = least(ROWS, m - first), seen = sizes[CAUSAL] ? least(n, first + rows) : n;
    const long row = padded(whole(call, n));
    real tops[ROWS], sums[ROWS];
    fetch_next(call, item, 0, m, first, d);
    fetch_next(call, item, 1, n, first, d);
    fetch_next(call, item, 2, n, first, e);
    call->products->product(scores, row, q.at + first * q.row, q.row, keys, rows,
                            whole(call, seen), d, 0);
    for (long r = 0; r < rows; r++) {
      const long own = sizes[CAUSAL] ? least(n, first + r + 1) : n;
      powers(scores + r * row, own, padded(seen), &tops[r], &sums[r]);
    }
    _Pragma("omp simd") for (long r = 0; r < rows; r++) total[first + r] = tops[r] + LN(sums[r]);
    const struct head into = {out.at + first * out.row, out.row};
    product_of_some(call, into, scores, row, values, n, 0, rows, e, seen);
    for (long r = 0; r < rows; r++) {
      const real share = 1 / sums[r];
      _Pragma("omp simd") for (long j = 0; j < e; j++) into.at[r * into.row + j] *= share;
    }
  }
}

/* Tensors: queries, keys, values, scale, out, total, slope of out; slopes of queries, keys, values. */
static void attend_back(const struct call *call, long item, real *scratch) {
  const int64_t *sizes = call->sizes;
  const long m = sizes[QUERIES], n = sizes[KEYS], d = sizes[WIDTH], e = sizes[OUTPUTS];
  const struct head q = head_of(call, 0, item), k = head_of(call, 1, item);
  const struct head v = head_of(call, 2, item), out = head_of(call, 4, item);
  const struct head g = head_of(call, 6, item), dq = head_of(call, 7, item);
  const struct head dk = head_of(call, 8, item), dv = head_of(call, 9, item);
  const real scale = *(const real *)call->tensors[3];
  const real *total = head_of(call, 5, item).at;
  const long row = padded(whole(call, m));
  real *queries = scratch, *slopes = queries + packed_size(call, d, m);
  real *by_query = slopes + packed_size(call, e, m), *by_slope = by_query + packed_size(call, m, d);
  real *some = by_slope + packed_size(call, m, e), *shift = some + packed_size(call, ROWS, d);
  real *p = shift + row, *s = p + ROWS * row, *turned = s + ROWS * row;
  call->products->pack(queries, q.at, d, m, 1, q.row);
  call->products->pack(slopes, g.at, e, m, 1, g.row);
  call->products->pack(by_query, q.at, m, d, q.row, 1);
  call->products->pack(by_slope, g.at, m, e, g.row, 1);
  for (long i = 0; i < m; i++) {
    real sum = 0;
    _Pragma("omp simd reduction(+ : sum)") for (long j = 0; j < e; j++) sum +=
        g.at[i * g.row + j] * out.at[i * out.row + j];
    shift[i] = sum;
  }
  for (long first = 0; first < n; first += ROWS) {
    const long rows = least(ROWS, n - first), panel = call->products->panel;
    fetch_next(call, item, 0, m, first, d);
    fetch_next(call, item, 1, n, first, d);
    fetch_next(call, item, 2, n, first, e);
    fetch_next(call, item, 4, m, first, e);
    fetch_next(call, item, 6, m, first, e);
    const long begin = sizes[CAUSAL] ? least(first, m) / panel * panel : 0, count = m - begin;
    call->products->product(p, row, k.at + first * k.row, k.row, queries + begin * d, rows,
                            whole(call, count), d, 0);
    call->products->product(s, row, v.at + first * v.row, v.row, slopes + begin * e, rows,
                            whole(call, count), e, 0);
    for (long r = 0; r < rows; r++) {
      const long least_query = sizes[CAUSAL] ? first + r - begin : 0;
      real *own = p + r * row, *slope = s + r * row;
      const real *totals = total + begin, *shifts = shift + begin;
      _Pragma("omp simd") for (long j = 0; j < count; j++) {
        const real weight = EXP(scale * own[j] - totals[j]);
        own[j] = j < least_query ? 0 : weight;
        slope[j] = scale * own[j] * (slope[j] - shifts[j]);
      }
      for (long j = 0; j < count; j++) turned[j * ROWS + r] = slope[j];
    }
    const struct head to_key = {dk.at + first * dk.row, dk.row};
    const struct head to_value = {dv.at + first * dv.row, dv.row};
    product_of_some(call, to_value, p, row, by_slope, m, begin, rows, e, count);
    product_of_some(call, to_key, s, row, by_query, m, begin, rows, d, count);
    call->products->pack(some, k.at + first * k.row, rows, d, k.row, 1);
    call->products->product(dq.at + begin * dq.row, dq.row, turned, ROWS, some, count, d, rows,
                            first > 0);
  }
}

static void part(const struct call *call, const real *w, long first, long last) {
  (void)w;
  const int64_t *sizes = call->sizes;
  const long m = sizes[QUERIES], n = sizes[KEYS], d = sizes[WIDTH], e = sizes[OUTPUTS];
  const long most = padded(whole(call, m > n ? m : n));
  const long packed = packed_size(call, most, d) + packed_size(call, most, e) +
                      packed_size(call, d, most) + packed_size(call, e, most);
  const long need = packed + packed_size(call, ROWS, d) + (3 * ROWS + 1) * most;
  real *scratch = allocate(need * sizeof(real));
  for (long item = first; item < last; item++) WAY(call, item, scratch);
  free(scratch);
}

static long weights(const struct call *call) {
  (void)call;
  return 0;
}

static void pack(const struct call *call, real *packed, int number, int parts) {
  (void)call, (void)packed, (void)number, (void)parts;
}

KERNEL(weights, pack, part)

#endif
