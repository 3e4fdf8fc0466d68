/* The products of one member, their columns divided over the threads.

     struct team team = {0};                             shared by all parts of one threads_run
     part 0       team_begin(&team, products, parts);
                  team_product(&team, n, k, a, w, p);    p[n] = a[k] w[k,n], as often as needed
                  team_end(&team);
     the others   team_help(&team, part, parts);         their columns of each product

   Part 0 goes through the steps as if it were alone, and the others wait for products: at one member
   these are nearly all there is to do. A part has the same columns in every call, so its share of
   the weights stays in the cache of its core. Handing a product over and back takes 0.3 us. A share
   that its part has not begun when part 0 is done with its own is taken over by that: where other
   processes use the cores, nobody waits for a thread that does not run. A column is summed in the
   same order whoever does it, so the numbers do not depend on the threads. */
#ifndef INDICIAL_TEAM_H
#define INDICIAL_TEAM_H

#include "threads.h"

/* The products of products.h, compiled once for all kernels (`shared.py`). Panel p of b begins at
   packed + p * panel * k and makes the columns from p * panel on. */
struct products {
  long panel; /* columns in a panel */
  void (*pack)(real *packed, const real *b, long k, long n, long row, long column);
  void (*product)(real *c, long ldc, const real *a, long lda, const real *packed, long m, long n,
                  long k, int add);
};

enum {
  TEAM_SHARE = 512 * 1024, /* bytes of weights for which another thread is worth its start */
  TEAM_LOOP = 64 * 1024,   /* the same in a loop, which starts it once */
  TEAM_LEAST = 32 * 1024,  /* bytes of one product from which on it is divided */
  TEAM_MOST = 64,
};

struct team {
  const struct products *products;
  int parts;
  long n, k; /* the product that is under way; n < 0: there are no more */
  const real *a, *w;
  real *p;
  __attribute__((aligned(64))) int posted; /* how many there were */
  struct {
    __attribute__((aligned(64))) int begun, done; /* the last whose share was begun, and done */
  } shares[TEAM_MOST];
};

/* How many parts are worth it, with so many weights. */
static inline int team_parts(long weights, long share) {
  const long parts = weights * (long)sizeof(real) / share;
  return parts < 1 ? 1 : parts < TEAM_MOST ? (int)parts : TEAM_MOST;
}

static inline void team_wait(const int *number, int other) {
  for (int turn = 0; __atomic_load_n(number, __ATOMIC_ACQUIRE) != other; turn++)
    threads_pause(turn);
}

/* Whether the share of a part in a product is still to be begun, which is then ours. */
static inline int team_take(struct team *team, int part, int product) {
  int before = product - 1;
  return __atomic_compare_exchange_n(&team->shares[part].begun, &before, product, 0,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void team_share(const struct team *team, int part, int parts) {
  long first, last;
  part_range(team->n, team->products->panel, part, parts, &first, &last);
  if (first < last)
    team->products->product(team->p + first, team->n, team->a, team->k, team->w + first * team->k,
                            1, last - first, team->k, 0);
}

static void team_post(struct team *team, long n) {
  team->n = n;
  __atomic_store_n(&team->posted, team->posted + 1, __ATOMIC_RELEASE);
}

static inline void team_begin(struct team *team, const struct products *products, int parts) {
  team->products = products;
  team->parts = parts;
}

static __attribute__((unused)) void team_product(struct team *team, long n, long k, const real *a,
                                                 const real *w, real *p) {
  if (team->parts == 1 || n * k * (long)sizeof(real) < TEAM_LEAST) {
    team->products->product(p, n, a, k, w, 1, n, k, 0);
    return;
  }
  team->k = k, team->a = a, team->w = w, team->p = p;
  team_post(team, n);
  team_share(team, 0, team->parts);
  for (int part = 1; part < team->parts; part++) {
    if (team_take(team, part, team->posted))
      team_share(team, part, team->parts);
    else
      team_wait(&team->shares[part].done, team->posted);
  }
}

static inline void team_end(struct team *team) { team_post(team, -1); }

static inline void team_help(struct team *team, int part, int parts) {
  for (int seen = 0, next;; seen = next) {
    for (int turn = 0; (next = __atomic_load_n(&team->posted, __ATOMIC_ACQUIRE)) == seen; turn++)
      threads_pause(turn);
    if (!team_take(team, part, next)) continue;
    if (team->n < 0) return;
    team_share(team, part, parts);
    __atomic_store_n(&team->shares[part].done, next, __ATOMIC_RELEASE);
  }
}

#endif
