/* Before this stand the functions of a mode (dynamics, project, guards) and the sizes NX, NU, NP, NG. */

static inline V load(const casadi_real *a) { V v; memcpy(&v, a, sizeof v); return v; }
static inline M load_mask(const lane_int *a) { M v; memcpy(&v, a, sizeof v); return v; }
static inline void store(casadi_real *a, V v) { memcpy(a, &v, sizeof v); }
static inline int any(M m) { lane_int r = 0; for (int k = 0; k < LANES; ++k) r |= m[k]; return r != 0; }

static inline void load_all(V *v, const casadi_real *a, int n, long stride) {
  for (int i = 0; i < n; ++i) v[i] = load(a + i * stride);
}

/* The guards at states and times. */
void watch(long lanes, long stride, const casadi_real *x, const casadi_real *u,
           const casadi_real *p, const casadi_real *t, casadi_real *out) {
  for (long b = 0; b < lanes; b += LANES) {
    V xs[NX + 1], us[NU + 1], ps[NP + 1], g[NG + 1];
    load_all(xs, x + b, NX, stride);
    load_all(us, u + b, NU, stride);
    load_all(ps, p + b, NP, stride);
    const V now = load(t + b);
    guards(xs, us, &now, ps, g);
    for (int i = 0; i < NG; ++i) store(out + i * lanes + b, g[i]);
  }
}
