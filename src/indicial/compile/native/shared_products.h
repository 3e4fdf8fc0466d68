/* The products of products.h, compiled once for all kernels: `shared.py` fills the struct.

     typedef float real;                            or double, before this header is included
     #include "shared_products.h"

     const struct products *products;               an argument of the kernel
     real *packed = ...;                            shared_packed_size(products, k, n) elements
     products->pack(packed, b, k, n, n, 1);
     for (each step) products->product(c, ldc, a, lda, packed, m, n, k, add);

   The arguments are those of products.h. Columns can be divided: panel p of b begins at
   packed + p * products->panel * k and makes the columns from p * products->panel on. */
#ifndef INDICIAL_SHARED_PRODUCTS_H
#define INDICIAL_SHARED_PRODUCTS_H

struct products {
  long panel; /* columns in a panel */
  void (*pack)(real *packed, const real *b, long k, long n, long row, long column);
  void (*product)(real *c, long ldc, const real *a, long lda, const real *packed, long m, long n,
                  long k, int add);
};

static inline long shared_packed_size(const struct products *products, long k, long n) {
  return (n + products->panel - 1) / products->panel * products->panel * k;
}

#endif
