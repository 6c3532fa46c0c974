/* Trials side by side, one in each element of a vector. Before this stand the function `period` and
   the sizes of its inputs: NS of a state, NO of what is off, NR of a row, NE of an error, NL of what
   was missed before; the places of FAILURE and MISSED in a state. */

enum { KEPT = 1024 };  /* periods for which what was missed is kept */

static inline void take(V *v, const casadi_real *rows, int n, long first, long lanes) {
  for (int k = 0; k < LANES; ++k) {
    const long row = first + k < lanes ? first + k : lanes - 1;
    for (int i = 0; i < n; ++i) v[i][k] = rows[row * n + i];
  }
}

/* Take `count` periods, or as many as a trial lasts that has not failed. `rows` is (count, NR);
   `model` has A by columns and the gains; late[i] says how many periods ago; block chosen[lane][k / length] of `blocks`, (length, NE)
   each, is the residual of period k. `states`, (lanes, NS), is changed in place. */
void fly(long lanes, long count, const casadi_real *rows, const casadi_real *model,
         const long *late, const casadi_real *blocks, const long *chosen, long length,
         const casadi_real *off, casadi_real *states) {
  const long windows = (count + length - 1) / length;
  V A[NE * NE], gain[NE * (1 + NL)], missed[KEPT];
  for (int i = 0; i < NE * NE; ++i) A[i] = zero + model[i];
  for (int i = 0; i < NE * (1 + NL); ++i) gain[i] = zero + model[NE * NE + i];
  for (long b = 0; b < lanes; b += LANES) {
    V now[NS], next[NS], of[NO], row[NR], residual[NE], before[NL];
    take(now, states, NS, b, lanes);
    take(of, off, NO, b, lanes);
    for (long k = 0; k < count; ++k) {
      int going = 0;
      for (int j = 0; j < LANES; ++j) going |= now[FAILURE][j] == 0;
      if (!going) break;
      for (int i = 0; i < NR; ++i) row[i] = zero + rows[k * NR + i];
      for (int j = 0; j < LANES; ++j) {
        const long lane = b + j < lanes ? b + j : lanes - 1;
        const casadi_real *block = blocks + (chosen[lane * windows + k / length] * length + k % length) * NE;
        for (int i = 0; i < NE; ++i) residual[i][j] = block[i];
      }
      for (int i = 0; i < NL; ++i) before[i] = k < late[i] ? zero : missed[(k - late[i]) % KEPT];
      period(now, of, row, before, residual, A, gain, next);
      memcpy(now, next, sizeof now);
      missed[k % KEPT] = now[MISSED];
    }
    for (int k = 0; k < LANES && b + k < lanes; ++k)
      for (int i = 0; i < NS; ++i) states[(b + k) * NS + i] = now[i][k];
  }
}
