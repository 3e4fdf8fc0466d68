/* The product of two tall matrices: the gradient of a weight, summed over all members and steps.

     c[n,k] = sum_m a[m,n] b[m,k]              rows of a and b may lie apart

   Some rows of c, a few vectors wide, stay in registers while a stretch of a and b is read where it
   lies: its part of b is in the nearest cache, and nothing is packed. */
#ifndef INDICIAL_OUTER_H
#define INDICIAL_OUTER_H

#include <stdint.h>
#include <string.h>
#include "products.h"
#include "threads.h"

enum {
  OUTER_STRETCH = 256,                           /* rows of a and b */
  OUTER_WIDTH = PRODUCT_MANY * PRODUCT_PANEL,    /* columns of a block of c */
  OUTER_SHARE = 1 << 21,                         /* multiplications that are worth a thread */
};

struct outer {
  real *c;
  const real *a, *b;
  long m, n, k, a_apart, b_apart, c_apart;
};

PRODUCT_INLINE void outer_block(const int rows, real *c, long ldc, const real *a, long lda,
                                const real *b, long ldb, long m, int add) {
  product_vector sums[PRODUCT_ROWS][2 * PRODUCT_MANY];
  PRODUCT_UNROLL for (int r = 0; r < rows; r++)
    PRODUCT_UNROLL for (int v = 0; v < 2 * PRODUCT_MANY; v++) sums[r][v] = (product_vector){0};
  PRODUCT_TWICE for (long i = 0; i < m; i++)
    PRODUCT_UNROLL for (int v = 0; v < 2 * PRODUCT_MANY; v++) {
      product_vector right = *(const product_vector *)(b + i * ldb + v * PRODUCT_WIDTH);
      PRODUCT_KEEP(right);
      PRODUCT_UNROLL for (int r = 0; r < rows; r++) sums[r][v] += a[i * lda + r] * right;
    }
  PRODUCT_UNROLL for (int r = 0; r < rows; r++)
    PRODUCT_UNROLL for (int v = 0; v < 2 * PRODUCT_MANY; v++) {
      product_vector *to = (product_vector *)(c + r * ldc + v * PRODUCT_WIDTH);
      if (add) sums[r][v] += *to;
      *to = sums[r][v];
    }
}

#define OUTER_ROWS(rows)                                                                           \
  static __attribute__((noinline)) void outer_rows_##rows(                                         \
      real *c, long ldc, const real *a, long lda, const real *b, long ldb, long m, int add) {      \
    outer_block(rows, c, ldc, a, lda, b, ldb, m, add);                                             \
  }
OUTER_ROWS(1)
OUTER_ROWS(2)
OUTER_ROWS(3)
OUTER_ROWS(4)
OUTER_ROWS(5)
OUTER_ROWS(6)

typedef void outer_function(real *, long, const real *, long, const real *, long, long, int);
static outer_function *const outer_rows[] = {
    0, outer_rows_1, outer_rows_2, outer_rows_3, outer_rows_4, outer_rows_5, outer_rows_6,
};

/* Some blocks of c: first those of the same columns. A last block that is not full goes through
   buffers, in which it is. */
static void outer_part(void *data, int number, int parts) {
  const struct outer *o = data;
  const long high = (o->n + PRODUCT_ROWS - 1) / PRODUCT_ROWS;
  const long wide = (o->k + OUTER_WIDTH - 1) / OUTER_WIDTH;
  long first, last;
  part_range(high, 1, number, parts, &first, &last);
  real right[OUTER_STRETCH * OUTER_WIDTH], block[PRODUCT_ROWS * OUTER_WIDTH];
  for (long start = 0; start < o->m; start += OUTER_STRETCH) {
    const long m = o->m - start < OUTER_STRETCH ? o->m - start : OUTER_STRETCH;
    long filled = -1;
    for (long u = 0; u < wide * (last - first); u++) {
      const long at = first + u % (last - first), column = u / (last - first) * OUTER_WIDTH;
      const long row = at * o->n / high, rows = (at + 1) * o->n / high - row;
      const long columns = o->k - column < OUTER_WIDTH ? o->k - column : OUTER_WIDTH;
      const real *a = o->a + start * o->a_apart + row, *b = o->b + start * o->b_apart + column;
      real *c = o->c + row * o->c_apart + column;
      if (columns == OUTER_WIDTH) {
        outer_rows[rows](c, o->c_apart, a, o->a_apart, b, o->b_apart, m, start > 0);
        continue;
      }
      if (filled != column) {
        memset(right, 0, sizeof(right));
        for (long i = 0; i < m; i++)
          memcpy(right + i * OUTER_WIDTH, b + i * o->b_apart, columns * sizeof(real));
        filled = column;
      }
      outer_rows[rows](block, OUTER_WIDTH, a, o->a_apart, right, OUTER_WIDTH, m, 0);
      for (long r = 0; r < rows; r++)
        for (long j = 0; j < columns; j++)
          c[r * o->c_apart + j] = block[r * OUTER_WIDTH + j] + (start ? c[r * o->c_apart + j] : 0);
    }
  }
}

/* The sizes are m, n, k, and how far apart rows of a, b and c are. */
void outer(const struct threads *threads, const int64_t *sizes, void *const *memory) {
  struct outer o = {memory[2], memory[0], memory[1], sizes[0], sizes[1],
                    sizes[2], sizes[3], sizes[4], sizes[5]};
  const long most = 1 + o.m * o.n * o.k / OUTER_SHARE;
  threads_run(threads, most < 64 ? (int)most : 64, outer_part, &o);
}

#endif
