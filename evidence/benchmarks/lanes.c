/* Trials side by side, one in each element of a vector. Before this stand the function `period` and
   the sizes of its inputs: NS of a state, NO of what is off, NR of a row, NE of an error; FAILURE is
   a place in a state. */

static inline void take(V *v, const casadi_real *rows, int n, long first, long lanes) {
  for (int k = 0; k < LANES; ++k) {
    const long row = first + k < lanes ? first + k : lanes - 1;
    for (int i = 0; i < n; ++i) v[i][k] = rows[row * n + i];
  }
}

/* Take `count` periods, or as many as a trial lasts that has not failed. `rows` is (count, NR);
   lane j has the error series[chosen[j]], (count, NE). `states`, (lanes, NS), is changed in place. */
void fly(long lanes, long count, const casadi_real *rows, const casadi_real *series,
         const long *chosen, const casadi_real *off, casadi_real *states) {
  for (long b = 0; b < lanes; b += LANES) {
    V now[NS], next[NS], of[NO], row[NR], error[NE];
    take(now, states, NS, b, lanes);
    take(of, off, NO, b, lanes);
    for (long k = 0; k < count; ++k) {
      int going = 0;
      for (int j = 0; j < LANES; ++j) going |= now[FAILURE][j] == 0;
      if (!going) break;
      for (int i = 0; i < NR; ++i) row[i] = zero + rows[k * NR + i];
      for (int j = 0; j < LANES; ++j) {
        const long lane = b + j < lanes ? b + j : lanes - 1;
        const casadi_real *own = series + (chosen[lane] * count + k) * NE;
        for (int i = 0; i < NE; ++i) error[i][j] = own[i];
      }
      period(now, of, row, error, next);
      memcpy(now, next, sizeof now);
    }
    for (int k = 0; k < LANES && b + k < lanes; ++k)
      for (int i = 0; i < NS; ++i) states[(b + k) * NS + i] = now[i][k];
  }
}
