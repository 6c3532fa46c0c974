/* Steps of motions that stand in rows, and what pulls derivatives back through them. Before this
   stand fixed.c, and dynamics_back and project_back, the adjoints of dynamics and project. */

enum { NR = NU + 1 + NP };  /* control, time, parameters */

static inline void take(V *v, const casadi_real *rows, int n, long b, long lanes) {
  for (int k = 0; k < LANES; ++k) {
    const long row = b + k < lanes ? b + k : lanes - 1;
    for (int i = 0; i < n; ++i) v[i][k] = rows[row * n + i];
  }
}

static inline void give(casadi_real *rows, const V *v, int n, long b, long lanes) {
  for (int k = 0; k < LANES && b + k < lanes; ++k)
    for (int i = 0; i < n; ++i) rows[(b + k) * n + i] = v[i][k];
}

static void whole_step(const V *x, const V *u, V t, V h, const V *p, V *y) {
  V rate[NX + 1];
  dynamics(x, u, &t, p, rate);
  rk4_step(x, rate, u, t, h, p, y, 0);
}

void step_rows(long lanes, long steps, double h, const casadi_real *x, const casadi_real *u,
               const casadi_real *t, const casadi_real *p, casadi_real *end) {
  for (long b = 0; b < lanes; b += LANES) {
    V xs[NX + 1], us[NU + 1], ps[NP + 1], y[NX + 1], now;
    take(xs, x, NX, b, lanes);
    take(us, u, NU, b, lanes);
    take(&now, t, 1, b, lanes);
    take(ps, p, NP, b, lanes);
    for (long k = 0; k < steps; ++k) {
      whole_step(xs, us, now + (casadi_real)k * h, zero + h, ps, y);
      memcpy(xs, y, NX * sizeof(V));
    }
    give(end, xs, NX, b, lanes);
  }
}

/* The adjoint of a state from that of its rate; those of the rest are added up. */
static void rate_back(const V *x, const V *u, V t, const V *p, const V *of_rate, V *of_x, V *rest) {
  V out[NX + NR + 1];
  dynamics_back(x, u, &t, p, of_rate, out);
  memcpy(of_x, out, NX * sizeof(V));
  for (int i = 0; i < NR; ++i) rest[i] += out[NX + i];
}

/* The adjoint of the start of a step in the place of that of its end. */
static void step_back(const V *x, const V *u, V t, V h, const V *p, V *adjoint, V *rest) {
  V k[4][NX + 1], s[4][NX + 1], z[NX + 1], back[NX + NP + 1], of_k[NX + 1], of_s[NX + 1];
  const V half = h * (casadi_real)0.5, sixth = h / (casadi_real)6;
  const V ahead[4] = {zero, half, half, h}, share[4] = {sixth, sixth + sixth, sixth + sixth, sixth};
  for (int j = 0; j < 4; ++j) {
    for (int i = 0; i < NX; ++i) s[j][i] = j ? x[i] + ahead[j] * k[j - 1][i] : x[i];
    const V then = t + ahead[j];
    dynamics(s[j], u, &then, p, k[j]);
  }
  for (int i = 0; i < NX; ++i) z[i] = x[i] + sixth * (k[0][i] + (k[1][i] + k[1][i]) + (k[2][i] + k[2][i]) + k[3][i]);
  project_back(z, p, adjoint, back);
  for (int i = 0; i < NP; ++i) rest[NU + 1 + i] += back[NX + i];
  memcpy(adjoint, back, NX * sizeof(V));
  for (int j = 3; j >= 0; --j) {
    for (int i = 0; i < NX; ++i) of_k[i] = share[j] * back[i] + (j < 3 ? ahead[j + 1] * of_s[i] : zero);
    rate_back(s[j], u, t + ahead[j], p, of_k, of_s, rest);
    for (int i = 0; i < NX; ++i) adjoint[i] += of_s[i];
  }
}

/* Returns 0, or 1 without memory for the states on the way. */
int vjp_rows(long lanes, long steps, double h, const casadi_real *x, const casadi_real *u,
             const casadi_real *t, const casadi_real *p, const casadi_real *of_end,
             casadi_real *of_x, casadi_real *of_u, casadi_real *of_t, casadi_real *of_p) {
  V (*way)[NX] = aligned_alloc(sizeof(V), (steps + 1) * sizeof *way);
  if (!way) return 1;
  for (long b = 0; b < lanes; b += LANES) {
    V us[NU + 1], ps[NP + 1], adjoint[NX + 1], rest[NR + 1], now;
    take(way[0], x, NX, b, lanes);
    take(us, u, NU, b, lanes);
    take(&now, t, 1, b, lanes);
    take(ps, p, NP, b, lanes);
    take(adjoint, of_end, NX, b, lanes);
    for (int i = 0; i < NR; ++i) rest[i] = zero;
    for (long k = 0; k < steps; ++k)
      whole_step(way[k], us, now + (casadi_real)k * h, zero + h, ps, way[k + 1]);
    for (long k = steps - 1; k >= 0; --k)
      step_back(way[k], us, now + (casadi_real)k * h, zero + h, ps, adjoint, rest);
    give(of_x, adjoint, NX, b, lanes);
    give(of_u, rest, NU, b, lanes);
    give(of_t, rest + NU, 1, b, lanes);
    give(of_p, rest + NU + 1, NP, b, lanes);
  }
  free(way);
  return 0;
}
