'use strict';
// Impacts at a point with Coulomb friction: mechanism/rebound.py.
const dot = (a, b) => a.reduce((sum, v, k) => sum + v * b[k], 0), size = v => Math.hypot(...v);
const add = (a, b, h = 1) => a.map((v, k) => v + h * b[k]);
const times = (W, v) => W.map(row => dot(row, v));
function eigen(W) { // values of a symmetric matrix, each with its unit vector, by Jacobi's rotations
  const A = W.map(row => [...row]), V = W.map((_, k) => W.map((__, j) => +(j === k)));
  for (let sweep = 0; sweep < 12; ++sweep) for (let q = 1; q < W.length; ++q) for (let p = 0; p < q; ++p) {
    const angle = Math.atan2(2 * A[p][q], A[q][q] - A[p][p]) / 2, c = Math.cos(angle), s = Math.sin(angle);
    for (const M of [A, V]) for (const row of M) [row[p], row[q]] = [c * row[p] - s * row[q], s * row[p] + c * row[q]];
    [A[p], A[q]] = [add(A[p].map(w => c * w), A[q], -s), add(A[q].map(w => c * w), A[p], s)];
  }
  return A.map((row, k) => [row[k], V.map(r => r[k])]);
}
const largest = W => Math.max(...eigen(W).map(([w]) => Math.abs(w)));
function solver(W) { // by least squares, of least size: W is singular where joints hold the contact too
  const all = eigen(W), least = W.length * Number.EPSILON * Math.max(...all.map(([w]) => Math.abs(w)));
  return b => all.reduce((x, [w, d]) => (Math.abs(w) > least ? add(x, d, dot(d, b) / w) : x), b.map(() => 0));
}
const solve = (W, b) => solver(W)(b);

class Impact {
  constructor(W, mu, kinetic, c) {
    Object.assign(this, {W, mu, kinetic, c, n: W.length - 1});
    const trace = W.reduce((sum, row, k) => sum + row[k], 0);
    this.softest = Math.max(Math.abs(Math.min(...eigen(W).map(([w]) => w))), c.ROUNDING * trace);
  }

  impulse(v, part) { // its end {v, P, work}; null if it jams. part: of the work that is given back
    this.scale = size(v);
    const start = {v, P: v.map(() => 0), work: 0}, end = this.until(start, null);
    return part && end ? this.until(end, (1 - part) * end.work) : end;
  }

  until(s, work) {
    const {n, scale} = this, done = 1e-13 * scale;
    for (let k = 0; k < 8 && s; ++k) {
      if (work === null ? s.v[n] >= -done : s.work >= work - done * scale / this.W[n][n]) return s;
      if (size(s.v.slice(0, n)) <= this.c.STUCK * scale) {
        const held = this.held(s, work);
        if (held) return held;
        s = {...s, v: this.onset(s.v)};
      }
      s = this.slip(s, work);
    }
    return s && work === null && s.v[n] >= -this.c.RESTS * scale ? s : null;
  }

  held(s, work) { // the end of a phase without slip; null if friction does not reach
    const {W, n} = this, normal = s.v.map((_, k) => +(k === n));
    let force = solve(W, normal);
    if (size(add(times(W, force), normal, -1)) > this.c.SINGULAR || !(force[n] > 0)) return null;
    force = force.map(f => f / force[n]);
    if (size(force.slice(0, n)) > this.mu) return null;
    const grows = times(W, force)[n], v = s.v[n];
    const step = work === null ? solve(W, s.v.map(w => -w)) // what is left of the slip ends too
      : force.map(f => f * (-v + Math.sqrt(v * v + 2 * grows * (work - s.work))) / grows), P = step[n];
    return {v: add(s.v, times(W, step)), P: add(s.P, step), work: s.work + v * P + grows * P * P / 2};
  }

  pushed(d) { return [...d.map(w => -this.kinetic * w), 1]; }

  onset(v) {
    const {n, W} = this, square = W.slice(0, n).map(row => row.slice(0, n));
    let d = solve(square, W.slice(0, n).map(row => row[n]));
    for (let k = 0; k < 51; ++k) {
      d = d.map(w => w / size(d));
      if (k < 50) d = times(W.slice(0, n), this.pushed(d));
    }
    return [...d.map(w => 2 * this.c.STUCK * this.scale * w), v[n]];
  }

  slip(s, work) { // Runge-Kutta steps of order 4, each compared with two halves
    const {n, scale} = this, m = n + 1, most = 100 * scale / this.softest;
    let y = [...s.v, ...s.P, s.work], turned = false; // turned: a stage lies beyond where slip stops
    const rate = z => {
      const along = size(z.slice(0, n)), force = this.pushed(z.slice(0, n).map(w => w / along));
      turned = turned || dot(z.slice(0, n), y.slice(0, n)) < 0;
      return [...times(this.W, force), ...force, z[n]];
    };
    const step = (y, h) => {
      const a = rate(y), b = rate(add(y, a, h / 2)), c = rate(add(y, b, h / 2)), d = rate(add(y, c, h));
      return y.map((v, k) => v + h / 6 * (a[k] + 2 * b[k] + 2 * c[k] + d[k]));
    };
    const both = (y, h) => { const z = step(step(y, h / 2), h / 2), off = add(z, step(y, h), -1); return [add(z, off, 1 / 15), size(off)]; };
    const events = [y => (work === null ? y[n] : y[2 * m] - work), y => this.c.STUCK * scale / 2 - size(y.slice(0, n))];
    const over = (y, z) => events.some(e => e(y) < 0 && e(z) >= 0), least = 1e-12 * scale;
    for (let gone = 0, h = 1e-3 * scale / this.W[n][n]; gone < most;) {
      turned = false;
      const [z, off] = both(y, h), better = h * Math.min(4, Math.max(0.2, 0.9 * (least / (off + 1e-300)) ** 0.2));
      if ((off > least || turned) && h > 1e-13 * scale / this.W[n][n]) { h = turned ? h / 2 : better; continue; }
      if (over(y, z)) {
        let low = 0, high = h;
        for (let k = 0; k < 60; ++k) { const mid = (low + high) / 2; if (over(y, both(y, mid)[0])) high = mid; else low = mid; }
        [y] = both(y, high);
        return {v: y.slice(0, m), P: y.slice(m, 2 * m), work: y[2 * m]};
      }
      y = z; gone += h; h = better;
    }
    return null;
  }
}
