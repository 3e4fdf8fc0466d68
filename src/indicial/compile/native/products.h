/* Matrix products with a right operand that stays the same: packed once, used in every step.

     typedef float real;                            or double, before this header is included
     #include "products.h"

     real *packed = ...;                            product_packed_size(k, n) elements
     product_pack(packed, b, k, n, n, 1);           b[k,n]; (..., 1, k): the transpose of b[n,k]
     for (each step) product(c, ldc, a, lda, packed, m, n, k, add);

     c[m,n] = sum_k a[m,k] b[k,n], or += with add

   c and a are row-major with rows ldc and lda apart; c overlaps neither a nor b. Any m, n, k >= 0.
   The columns can be divided (for threads, or to fuse what follows): panel p of b begins at
   packed + p * product_panel_size(k) and makes the columns from p * PRODUCT_PANEL on.

   b lies in panels of two vectors' width, row after row, the last filled up with zeros. A block of
   up to 6 rows of c stays in registers while a panel or two are read; where there are fewer rows,
   more panels or several steps of k go at once, so that enough independent sums are under way. */
#ifndef INDICIAL_PRODUCTS_H
#define INDICIAL_PRODUCTS_H

#if defined(__AVX512F__)
#define PRODUCT_BYTES 64
#elif defined(__AVX__)
#define PRODUCT_BYTES 32
#else
#define PRODUCT_BYTES 16
#endif

/* A block of 6 rows, 4 vectors wide, where there are 32 registers, 2 wide where there are 16: the
   more sums for each number that is loaded, the less it matters what else the core does. */
#define PRODUCT_ROWS 6
#if defined(__AVX512F__) || defined(__aarch64__)
#define PRODUCT_MANY 2
#else
#define PRODUCT_MANY 1
#endif

/* Loaded from anywhere, as no array here has to be aligned. */
typedef real product_vector
    __attribute__((vector_size(PRODUCT_BYTES), aligned(sizeof(real)), may_alias));

enum {
  PRODUCT_WIDTH = PRODUCT_BYTES / sizeof(real),
  PRODUCT_PANEL = 2 * PRODUCT_WIDTH,
};

#define PRODUCT_INLINE static inline __attribute__((always_inline, unused))
#define PRODUCT_UNROLL _Pragma("GCC unroll 16")
#define PRODUCT_TWICE _Pragma("GCC unroll 2")
#define PRODUCT_PLAIN _Pragma("GCC unroll 1")

/* Once loaded, x is used from a register: gcc would rather load it once for each use. */
#ifdef __x86_64__
#define PRODUCT_KEEP(x) __asm__("" : "+v"(x))
#else
#define PRODUCT_KEEP(x)
#endif

/* Vector v of row i of a panel. */
#define PRODUCT_AT(panel, i, v)                                                                    \
  (*(const product_vector *)((panel) + (i) * PRODUCT_PANEL + (v) * PRODUCT_WIDTH))

static inline long product_panels(long n) { return (n + PRODUCT_PANEL - 1) / PRODUCT_PANEL; }

static inline long product_panel_size(long k) { return k * PRODUCT_PANEL; }

static inline long product_packed_size(long k, long n) {
  return product_panels(n) * product_panel_size(k);
}

/* Some rows of a whole panel of a transposed matrix: what is read lies side by side. */
enum { PRODUCT_TURNED = 16 };
PRODUCT_INLINE void product_turn(real *packed, const real *b, long column) {
  PRODUCT_PLAIN for (long j = 0; j < PRODUCT_PANEL; j++)
    PRODUCT_UNROLL for (int i = 0; i < PRODUCT_TURNED; i++)
      packed[i * PRODUCT_PANEL + j] = b[j * column + i];
}

/* b[i,j] = b[i * row + j * column] for i < k, j < n */
static __attribute__((unused)) void product_pack(real *packed, const real *b, long k, long n,
                                                 long row, long column) {
  for (long first = 0; first < n; first += PRODUCT_PANEL) {
    const int full = first + PRODUCT_PANEL <= n;
    long i = 0;
    if (full && row == 1)
      for (; i + PRODUCT_TURNED <= k; i += PRODUCT_TURNED, packed += PRODUCT_TURNED * PRODUCT_PANEL)
        product_turn(packed, b + i + first * column, column);
    for (; i < k; i++, packed += PRODUCT_PANEL) {
      const real *from = b + i * row + first * column;
      if (column == 1 && full)
        __builtin_memcpy(packed, from, PRODUCT_PANEL * sizeof(real));
      else
        PRODUCT_PLAIN for (long j = 0; j < PRODUCT_PANEL; j++)
          packed[j] = first + j < n ? from[j * column] : 0;
    }
  }
}

/* The n columns of a panel that are there, from a buffer in which it is complete. */
static __attribute__((noinline)) void product_copy(real *c, long ldc, const real *buffer, long rows,
                                                   long n, int add) {
  for (long r = 0; r < rows; r++)
    PRODUCT_PLAIN for (long j = 0; j < n; j++)
      c[r * ldc + j] = buffer[r * PRODUCT_PANEL + j] + (add ? c[r * ldc + j] : 0);
}

/* `rows` rows of c, `vectors` vectors wide from panel b on, `slices` steps of k at once: all three
   constants, so that the sums are registers. */
PRODUCT_INLINE void product_block(const int rows, const int vectors, const int slices, real *c,
                                  long ldc, const real *a, long lda, const real *b, long k,
                                  int add) {
  product_vector sums[6][8];
  const long panel = product_panel_size(k);
  PRODUCT_UNROLL for (int r = 0; r < rows * slices; r++)
    PRODUCT_UNROLL for (int v = 0; v < vectors; v++) sums[r][v] = (product_vector){0};
  PRODUCT_TWICE for (long i = 0; i < k - k % slices; i += slices)
    PRODUCT_UNROLL for (int s = 0; s < slices; s++)
      PRODUCT_UNROLL for (int v = 0; v < vectors; v++) {
        product_vector right = PRODUCT_AT(b + v / 2 * panel, i + s, v % 2);
        PRODUCT_KEEP(right);
        PRODUCT_UNROLL for (int r = 0; r < rows; r++)
          sums[s * rows + r][v] += a[r * lda + i + s] * right;
      }
  for (long i = k - k % slices; i < k; i++)
    PRODUCT_UNROLL for (int v = 0; v < vectors; v++)
      PRODUCT_UNROLL for (int r = 0; r < rows; r++)
        sums[r][v] += a[r * lda + i] * PRODUCT_AT(b + v / 2 * panel, i, v % 2);
  PRODUCT_UNROLL for (int r = 0; r < rows; r++)
    PRODUCT_UNROLL for (int v = 0; v < vectors; v++) {
      product_vector *to = (product_vector *)(c + r * ldc + v * PRODUCT_WIDTH);
      PRODUCT_UNROLL for (int s = 1; s < slices; s++) sums[r][v] += sums[s * rows + r][v];
      if (add) sums[r][v] += *to;
      *to = sums[r][v];
    }
}

/* All columns for a block of rows: `many` panels at once as long as there are that many, `deep` steps
   of k at once; those that remain one by one, with `slices` steps. A last panel that is not full goes
   through a buffer. With one row both are the same, so that a column is summed in the same order
   wherever it stands: threads divide them (team.h). */
#define PRODUCT_ROW_BLOCK(rows, many, deep, slices)                                                \
  static __attribute__((noinline)) void product_rows_##rows(                                       \
      real *c, long ldc, const real *a, long lda, const real *b, long n, long k, int add) {        \
    const long panel = product_panel_size(k);                                                      \
    if (many > 1)                                                                                  \
      for (; n >= many * PRODUCT_PANEL; n -= many * PRODUCT_PANEL) {                               \
        product_block(rows, 2 * many, deep, c, ldc, a, lda, b, k, add);                            \
        c += many * PRODUCT_PANEL;                                                                 \
        b += many * panel;                                                                         \
      }                                                                                            \
    for (; n > PRODUCT_WIDTH; n -= PRODUCT_PANEL) {                                                \
      real buffer[rows * PRODUCT_PANEL];                                                           \
      const int full = n >= PRODUCT_PANEL;                                                         \
      product_block(rows, 2, slices, full ? c : buffer, full ? ldc : PRODUCT_PANEL, a, lda, b, k,  \
                    add && full);                                                                  \
      if (!full) product_copy(c, ldc, buffer, rows, n, add);                                       \
      c += PRODUCT_PANEL;                                                                          \
      b += panel;                                                                                  \
    }                                                                                              \
    if (n > 0) {                                                                                   \
      real buffer[rows * PRODUCT_PANEL];                                                           \
      product_block(rows, 1, slices, buffer, PRODUCT_PANEL, a, lda, b, k, 0);                      \
      product_copy(c, ldc, buffer, rows, n, add);                                                  \
    }                                                                                              \
  }

PRODUCT_ROW_BLOCK(1, 2, 2, 2)
PRODUCT_ROW_BLOCK(2, 2, 1, 2)
PRODUCT_ROW_BLOCK(3, 2, 1, 2)
PRODUCT_ROW_BLOCK(4, PRODUCT_MANY, 1, 1)
PRODUCT_ROW_BLOCK(5, PRODUCT_MANY, 1, 1)
PRODUCT_ROW_BLOCK(6, PRODUCT_MANY, 1, 1)

/* With a constant `rows` one function is called and the others are not even compiled. */
PRODUCT_INLINE void product_rows(long rows, real *c, long ldc, const real *a, long lda,
                                 const real *packed, long n, long k, int add) {
  switch (rows) {
    case 1: product_rows_1(c, ldc, a, lda, packed, n, k, add); break;
    case 2: product_rows_2(c, ldc, a, lda, packed, n, k, add); break;
    case 3: product_rows_3(c, ldc, a, lda, packed, n, k, add); break;
    case 4: product_rows_4(c, ldc, a, lda, packed, n, k, add); break;
    case 5: product_rows_5(c, ldc, a, lda, packed, n, k, add); break;
    case 6: product_rows_6(c, ldc, a, lda, packed, n, k, add); break;
  }
}

/* Blocks of rows as even as possible: the first ones one row larger than the others. */
PRODUCT_INLINE void product_columns(real *c, long ldc, const real *a, long lda, const real *packed,
                                    long m, long blocks, long n, long k, int add) {
  const long rows = m / blocks, larger = m % blocks;
  for (long i = 0; i < larger; i++) {
    product_rows(rows + 1, c, ldc, a, lda, packed, n, k, add);
    c += (rows + 1) * ldc;
    a += (rows + 1) * lda;
  }
  for (long i = larger; i < blocks; i++) {
    product_rows(rows, c, ldc, a, lda, packed, n, k, add);
    c += rows * ldc;
    a += rows * lda;
  }
}

/* With several blocks of rows, a few panels after the other: they stay in the nearest cache. */
PRODUCT_INLINE void product(real *c, long ldc, const real *a, long lda, const real *packed, long m,
                            long n, long k, int add) {
  const long blocks = (m + PRODUCT_ROWS - 1) / PRODUCT_ROWS;
  if (blocks == 1) product_columns(c, ldc, a, lda, packed, m, 1, n, k, add);
  if (blocks <= 1) return;
  const long most = PRODUCT_MANY * PRODUCT_PANEL;
  for (long first = 0; first < n; first += most) {
    const long columns = n - first < most ? n - first : most;
    product_columns(c + first, ldc, a, lda, packed, m, blocks, columns, k, add);
    packed += PRODUCT_MANY * product_panel_size(k);
  }
}

#endif
