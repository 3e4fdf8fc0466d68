/* Products through the BLAS that PyTorch carries: `blas.py` fills the struct, nothing is linked.

     struct blas const *blas;                      an argument of the kernel, NULL if there is none
     int threads = blas->set_threads(1);           in this thread only; 0 means "as before"
     blas_product_float(blas, m, n, k, a, lda, 0, b, ldb, 0, 0.0f, c, ldc);
     blas->set_threads(threads);

   All matrices are row-major; ld* is the distance between rows in elements, at least the row's
   length. `ta`, `tb`: the operand is stored transposed. `beta` is 0 to write c, 1 to add to it.

     c[m,n] = beta c[m,n] + sum_k a[m,k] b[k,n]      (a[k,m] with ta, b[n,k] with tb)
*/
#ifndef INDICIAL_BLAS_H
#define INDICIAL_BLAS_H

struct blas {
  void (*sgemm)(const char *, const char *, const int *, const int *, const int *, const float *,
                const float *, const int *, const float *, const int *, const float *, float *,
                const int *);
  void (*dgemm)(const char *, const char *, const int *, const int *, const int *, const double *,
                const double *, const int *, const double *, const int *, const double *, double *,
                const int *);
  int (*set_threads)(int);
};

/* Fortran's matrices are column-major: what it sees is c' = b' a'. */
#define INDICIAL_BLAS_PRODUCT(T, name, gemm)                                                       \
  static inline void name(const struct blas *blas, int m, int n, int k, const T *a, int lda,       \
                          int ta, const T *b, int ldb, int tb, T beta, T *c, int ldc) {            \
    const T one = 1;                                                                               \
    blas->gemm(tb ? "T" : "N", ta ? "T" : "N", &n, &m, &k, &one, b, &ldb, a, &lda, &beta, c,       \
               &ldc);                                                                              \
  }

INDICIAL_BLAS_PRODUCT(float, blas_product_float, sgemm)
INDICIAL_BLAS_PRODUCT(double, blas_product_double, dgemm)

#endif
