
/* Lower the least cosine to the one between the slip at the start of a step and that at a stage. */
static inline void follow_slip(const V *x, const V *z, const V *p, V *least) {
#if NS
  if (!least) return;
  V before[NS], now[NS], along = zero, a = zero, b = zero;
  slip(x, p, before);
  slip(z, p, now);
  for (int i = 0; i < NS; ++i) {
    along += before[i] * now[i];
    a += before[i] * before[i];
    b += now[i] * now[i];
  }
  const V cosine = choose(a * b > zero, along / lane_sqrt(a * b), -one);
  *least = choose(cosine < *least, cosine, *least);
#endif
}

static void rk4_step(const V *x, const V *k1, const V *u, V t, V h, const V *p, V *y, V *least) {
  V k2[NX + 1], k3[NX + 1], k4[NX + 1], z[NX + 1], s;
  const V half = h * (casadi_real)0.5, sixth = h / (casadi_real)6;
  for (int i = 0; i < NX; ++i) z[i] = x[i] + half * k1[i];
  follow_slip(x, z, p, least);
  s = t + half;
  dynamics(z, u, &s, p, k2);
  for (int i = 0; i < NX; ++i) z[i] = x[i] + half * k2[i];
  follow_slip(x, z, p, least);
  dynamics(z, u, &s, p, k3);
  for (int i = 0; i < NX; ++i) z[i] = x[i] + h * k3[i];
  follow_slip(x, z, p, least);
  s = t + h;
  dynamics(z, u, &s, p, k4);
  for (int i = 0; i < NX; ++i) z[i] = x[i] + sixth * (k1[i] + (k2[i] + k2[i]) + (k3[i] + k3[i]) + k4[i]);
  project(z, p, y);
  follow_slip(x, y, p, least);
}

/* Carry the lanes of a mode that go on to their goals, by even steps of at most so long. A lane stops
   before a step after which a guard is below its level or the state not finite, and before one in which
   slip turns, by a cosine below the level after those of the guards: h has the length of that step
   then, else 0. Returns how many lanes stopped so. */
long carry(long lanes, long stride, casadi_real *x, const casadi_real *u, const casadi_real *p,
           const casadi_real *levels, double *t, const double *goal, const short *stop,
           const short *mode, double *h, long number, double longest) {
  long events = 0;
  for (long b = 0; b < lanes; b += LANES) {
    M wanted = {0}, done = {0};
    V begin = zero, length = zero;
    for (long k = 0; k < LANES; ++k) {
      const double left = goal[b + k] - t[b + k];
      h[b + k] = 0;
      if (stop[b + k] || mode[b + k] != number || !(left > 0)) continue;
      wanted[k] = (lane_int)fmax(ceil(left / longest * (1 - 1e-12)), 1);
      h[b + k] = left / wanted[k];
      begin[k] = (casadi_real)t[b + k];
      length[k] = (casadi_real)h[b + k];
    }
    M left = wanted > 0;
    if (!any(left)) continue;
    V xs[NX + 1], us[NU + 1], ps[NP + 1], ls[NG + 1], y[NX + 1], least = one;
    V rate[NX + NG + 1], next[NX + NG + 1];
    load_all(xs, x + b, NX, stride);
    load_all(us, u + b, NU, stride);
    load_all(ps, p + b, NP, stride);
    load_all(ls, levels + b, NG + (NS > 0), stride);
    dynamics(xs, us, &begin, ps, rate);
    for (int k = 0; any(left); ++k) {
      const V now = begin + (casadi_real)k * length, end = now + length;
      least = one;
      rk4_step(xs, rate, us, now, length, ps, y, &least);
      V sum = zero;
      for (int i = 0; i < NX; ++i) sum += y[i];
      left &= sum - sum == zero;
      watched(y, us, &end, ps, next);
      for (int i = 0; i < NG; ++i) left &= next[NX + i] >= ls[i];
      if (NS > 0) left &= least >= ls[NG];
      for (int i = 0; i < NX; ++i) {
        xs[i] = choose(left, y[i], xs[i]);
        rate[i] = choose(left, next[i], rate[i]);
      }
      done -= left;
      left &= done < wanted;
    }
    for (int i = 0; i < NX; ++i) store(x + i * stride + b, xs[i]);
    for (long k = 0; k < LANES; ++k) {
      if (done[k] < wanted[k]) {
        t[b + k] += done[k] * h[b + k];
        ++events;
      } else if (wanted[k]) {
        t[b + k] = goal[b + k];
        h[b + k] = 0;
      }
    }
  }
  return events;
}
