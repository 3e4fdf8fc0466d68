/* Work divided over the threads that PyTorch already has: `shared.py` fills the struct.

     static void part(void *data, int part, int parts) { ... the rows of this part ... }

     const struct threads *threads;            an argument of the kernel, NULL for one thread
     threads_run(threads, most, part, &data);  calls part(&data, 0, n) ... part(&data, n - 1, n) at
                                               the same time and returns when all have returned

   n is at most `most` and at most threads->most, and may be smaller: 1 inside of another parallel
   region, and in a process that was forked from the one that made the struct, where the threads are
   gone. The caller is part 0. Starting costs 1 to 7 us (shared.py).

   Who waits for another part spins, and lets others run when it takes longer (threads_pause).

     long first, last;
     part_range(rows, multiple, part, parts, &first, &last);   first <= i < last: this part's share,
                                               beginning at a multiple (of a vector, a panel) */
#ifndef INDICIAL_THREADS_H
#define INDICIAL_THREADS_H

#include <sched.h>
#include <unistd.h>

struct threads {
  void (*parallel)(void (*)(void *), void *, unsigned, unsigned); /* GOMP_parallel */
  int (*number)(void);                                            /* omp_get_thread_num */
  int (*count)(void);                                             /* omp_get_num_threads */
  int most;
  int process;
};

typedef void part_function(void *data, int part, int parts);

struct threads_job {
  const struct threads *threads;
  part_function *function;
  void *data;
};

static void threads_part(void *pointer) {
  const struct threads_job *job = pointer;
  job->function(job->data, job->threads->number(), job->threads->count());
}

static __attribute__((unused)) void threads_run(const struct threads *threads, int most,
                                                part_function *function, void *data) {
  if (threads && threads->most < most) most = threads->most;
  if (!threads || most <= 1 || threads->process != getpid()) {
    function(data, 0, 1);
    return;
  }
  struct threads_job job = {threads, function, data};
  threads->parallel(threads_part, &job, (unsigned)most, 0);
}

/* While others are microseconds away, which they may not be. */
static inline void threads_pause(int turn) {
  if (turn >= 10000) {
    sched_yield();
    return;
  }
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static __attribute__((unused)) void part_range(long rows, long multiple, int part, int parts,
                                               long *first, long *last) {
  const long units = (rows + multiple - 1) / multiple;
  *first = units * part / parts * multiple;
  *last = units * (part + 1) / parts * multiple;
  if (*first > rows) *first = rows;
  if (*last > rows) *last = rows;
}

#endif
