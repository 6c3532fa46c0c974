
/* Bound from below of a guard over a step, from its values at samples; their tangents may meet lower
   than the values. */
static V bound_below(V g[SAMPLES + 1][NG + 1], int k) {
  const casadi_real half = (casadi_real)0.5;
  V slope[SAMPLES + 1], low = g[0][k];
  slope[0] = (g[1][k] * (casadi_real)4 - g[0][k] * (casadi_real)3 - g[2][k]) * half;
  for (int j = 1; j < SAMPLES; ++j) slope[j] = (g[j + 1][k] - g[j - 1][k]) * half;
  slope[SAMPLES] = (g[SAMPLES][k] * (casadi_real)3 - g[SAMPLES - 1][k] * (casadi_real)4 +
                    g[SAMPLES - 2][k]) * half;
  for (int j = 1; j <= SAMPLES; ++j) low = choose(g[j][k] < low, g[j][k], low);
  for (int j = 0; j < SAMPLES; ++j) {
    const V a = slope[j], b = slope[j + 1];
    const M dips = (a < zero) & (b > zero);
    const V meet = g[j][k] + a * ((g[j + 1][k] - g[j][k] - b) / choose(dips, a - b, one));
    low = choose(dips & (meet < low), meet, low);
  }
  return low;
}

/* A step of h[lane] for each lane that is asked for: state and rate at its end, error against the
   tolerance (below 1 for a step to keep), a bound of the guards less their levels, and the terms of
   the dense output. Of a step that is not kept the last two are not there. */
void dop853(long lanes, long stride, const casadi_real *x, const casadi_real *rate,
            const casadi_real *u, const casadi_real *slope, const casadi_real *p,
            const casadi_real *t, const casadi_real *h, const casadi_real *levels,
            const lane_int *asked, double rtol, double atol, casadi_real *y_out,
            casadi_real *rate_out, casadi_real *error_out, casadi_real *least_out,
            casadi_real *dense) {
  for (long b = 0; b < lanes; b += LANES) {
    if (!any(load_mask(asked + b))) continue;
    V xs[NX + 1], us[NU + 1], slopes[NU + 1], ps[NP + 1], ls[NG + 1], y[NX + 1];
    V K[STAGES][NX + 1], F[POWER][NX + 1], g[SAMPLES + 1][NG + 1];
    load_all(xs, x + b, NX, stride);
    load_all(K[0], rate + b, NX, stride);
    load_all(us, u + b, NU, stride);
    load_all(slopes, slope + b, NU, stride);
    load_all(ps, p + b, NP, stride);
    load_all(ls, levels + b, NG, stride);
    const Step step = {xs, us, slopes, ps, load(t + b), load(h + b)};
    stages(&step, K, y);
    V five = zero, three = zero, least = zero + (casadi_real)INFINITY;
    for (int i = 0; i < NX; ++i) {
      const V ax = lane_fabs(xs[i]), ay = lane_fabs(y[i]);
      const V scale = choose(ax > ay, ax, ay) * (casadi_real)rtol + (casadi_real)atol;
      V e5, e3;
      errors(K, i, &e5, &e3);
      e5 /= scale;
      e3 /= scale;
      five += e5 * e5;
      three += e3 * e3;
    }
    V below = lane_sqrt((five + three * (casadi_real)0.01) * (casadi_real)NX);
    below = choose(below > zero, below, one);
    const V error = lane_fabs(step.h) * five / below;
    if (any(error < one)) {
      dense_output(&step, K, y, F);
      for (int j = 0; NG > 0 && j <= SAMPLES; ++j) {
        V z[NX + 1], v[NU + 1];
        const V later = step.h * ((casadi_real)j / SAMPLES), now = step.t + later;
        for (int i = 0; i < NX; ++i) {
          z[i] = xs[i];
          for (int k = 0; k < POWER; ++k) z[i] += F[k][i] * WEIGHTS[j][k];
        }
        for (int i = 0; i < NU; ++i) v[i] = us[i] + slopes[i] * later;
        guards(z, v, &now, ps, g[j]);
      }
      for (int k = 0; k < NG; ++k) {
        const V low = bound_below(g, k) - ls[k];
        least = choose((low < least) | (low != low), low, least);
      }
      for (int k = 0; k < POWER; ++k)
        for (int i = 0; i < NX; ++i) store(dense + (k * NX + i) * lanes + b, F[k][i]);
    }
    for (int i = 0; i < NX; ++i) {
      store(y_out + i * lanes + b, y[i]);
      store(rate_out + i * lanes + b, K[LAST][i]);
    }
    store(error_out + b, error);
    store(least_out + b, least);
  }
}

/* Rates at states and times. */
void rates_at(long lanes, long stride, const casadi_real *x, const casadi_real *u,
              const casadi_real *p, const casadi_real *t, casadi_real *rate) {
  for (long b = 0; b < lanes; b += LANES) {
    V xs[NX + 1], us[NU + 1], ps[NP + 1], y[NX + 1];
    load_all(xs, x + b, NX, stride);
    load_all(us, u + b, NU, stride);
    load_all(ps, p + b, NP, stride);
    const V now = load(t + b);
    dynamics(xs, us, &now, ps, y);
    for (int i = 0; i < NX; ++i) store(rate + i * lanes + b, y[i]);
  }
}
