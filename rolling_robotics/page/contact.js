'use strict';
// What follows an event at a contact point with Coulomb friction: point_contact/transitions.py.
const DIRECTIONS = 36;
const dot = (a, b) => a.reduce((sum, v, k) => sum + v * b[k], 0), size = v => Math.hypot(...v);
const add = (a, b, h = 1) => a.map((v, k) => v + h * b[k]);
const times = (W, v) => W.map(row => dot(row, v));
function solve(W, b) { // by elimination with pivots
  const n = b.length, A = W.map((row, k) => [...row, b[k]]);
  for (let k = 0; k < n; ++k) {
    const pivot = A.slice(k).reduce((best, row, j) => (Math.abs(row[k]) > Math.abs(A[best][k]) ? j + k : best), k);
    [A[k], A[pivot]] = [A[pivot], A[k]];
    for (let j = k + 1; j < n; ++j) A[j] = add(A[j], A[k], -A[j][k] / A[k][k]);
  }
  for (let k = n - 1; k >= 0; --k) A[k][n] = (A[k][n] - dot(A[k].slice(k + 1, n), A.slice(k + 1).map(r => r[n]))) / A[k][k];
  return A.map(row => row[n]);
}

class Contact {
  constructor(motion) { this.m = motion; this.c = motion.data.contact; this.modes = motion.data.modes; }

  begin(s, u) {
    s = this.spinning({...s, mode: 'separated'}, 0);
    s = {...s, x: this.on('separated', s)};
    const {gap, v} = this.touch(s);
    if (gap > this.c.TOUCHING || v[2] > this.c.REST) return s;
    return gap < -this.c.TOUCHING ? noted(s, 'overlap', 'the bodies overlap', true) : this.land(s, u);
  }

  after(guard, s, u) {
    const {ends} = this.c;
    if (ends[guard]) return noted(s, guard, ends[guard], true);
    if (this.undetermined(s, u)) return noted(s, 'painleve', ends.painleve, true);
    if (guard === 'edge')
      return noted({...this.spinning(s, 0), mode: 'off_hand'}, 'edge', 'the contact runs over the edge of the plate');
    if (guard === 'normal_force' && s.mode.endsWith('slipping')) return this.fly(s);
    if (guard === 'gap') return this.touchDown(s, u);
    return guard === 'spin' ? this.spinEvent(s, u) : this.settle(s, u, guard);
  }

  // Contact at rest: which mode holds it.

  settle(s, u, guard = '') {
    const rolls = s.mode.endsWith('rolling'), slid = s.mode.endsWith('slipping');
    s = this.withSpin({...s, x: this.on('rolling', s)});
    if (!(rolls && (guard === 'friction' || guard === 'normal_force'))) {
      const rolled = this.rolling(s, u);
      if (rolled) return slid ? noted(rolled, 'stick', 'slip has come to rest') : rolled;
    }
    const lift = this.m.f('lift', s.x, u, s.t, s.p)[0], force = this.force('rolling', s, u);
    const tiny = this.c.PERFECT * Math.hypot(force[0], force[1]);
    if (lift >= this.c.LIFTS && (guard === 'normal_force' || force[2] <= tiny)) return this.fly(s);
    if (Math.abs(force[2]) <= tiny) return noted(s, 'detached', this.c.detached, true);
    return this.beginSlip(s, u, force, lift);
  }

  rolling(s, u, spins = false) {
    if (this.canHold(s)) {
      let pure = {...this.spinning(s, 0), mode: 'pure_rolling'};
      pure = {...pure, x: this.on('pure_rolling', s)};
      const wrench = this.wrench('pure_rolling', pure, u);
      if (!spins && Math.abs(wrench[2]) <= this.of(s, 'mu_spin') * wrench[5])
        return this.inCone(s, wrench.slice(3)) ? pure : null;
      s = this.spun(s, -Math.sign(wrench[2]));
    }
    return this.inCone(s, this.force('rolling', s, u)) ? {...s, mode: 'rolling'} : null;
  }

  inCone(s, f) { return f[2] > 0 && Math.hypot(f[0], f[1]) <= this.of(s, 'mu') * f[2] + this.c.CONE; }

  beginSlip(s, u, force, lift) {
    const onset = d => { const o = this.m.f('onset', s.x, u, s.t, s.p, d); return {a: [o[0], o[1]], N: o[2], margin: o[3]}; };
    const d = this.direction(onset, [-force[0], -force[1]]), {N, margin} = onset(d);
    if (!this.c.slides) return noted(s, 'friction', 'the contact begins to slip', true);
    if (margin <= 0) return noted(s, 'painleve', this.c.ends.painleve, true);
    if (N <= 0) return lift >= 0 ? this.fly(s) : noted(s, 'detached', this.c.detached, true);
    const slow = this.c.START * this.c.CREEP, x = this.kick(s, [slow * d[0], slow * d[1]]);
    return noted(this.slipSpin({...s, x}, u), 'slip', 'the contact begins to slip');
  }

  direction(onset, likely) { // unit vector along which slip begins
    const grows = d => { const o = onset(d); return o.N > 0 && o.margin > 0 && dot(o.a, d) > 0; };
    if (this.c.planar) {
      const d = [likely[0] >= 0 ? 1 : -1, 0], back = [-d[0], 0];
      return !grows(d) && grows(back) ? back : d;
    }
    const unit = a => [Math.cos(a), Math.sin(a)], middle = likely.some(v => v) ? Math.atan2(likely[1], likely[0]) : 0;
    const across = a => { const {a: w} = onset(unit(a)); return -w[0] * Math.sin(a) + w[1] * Math.cos(a); };
    const step = 2 * Math.PI / DIRECTIONS, found = [];
    const angles = Array.from({length: DIRECTIONS + 1}, (_, k) => middle + (k - DIRECTIONS / 2 + 0.5) * step);
    const values = angles.map(across);
    for (let k = 0; k < DIRECTIONS; ++k) if (values[k] > 0 && values[k + 1] <= 0) {
      let low = angles[k], high = angles[k + 1];
      for (let j = 0; j < 48; ++j) { const m = (low + high) / 2; if (across(m) > 0) low = m; else high = m; }
      const angle = (low + high) / 2;
      found.push([!grows(unit(angle)), Math.abs(angle - middle), angle]);
    }
    found.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    return unit(found.length ? found[0][2] : middle);
  }

  // Spin.

  canHold(s) { return this.spinFriction(s) && Math.abs(this.touch(s).spin) <= this.c.SPIN_CREEP * this.c.START / 2; }

  spinFriction(s) { return this.c.spin !== undefined && this.of(s, 'mu_spin') > 0; }

  spinning(s, direction) {
    const at = this.c.spin_direction;
    if (at === undefined || s.p[at] === direction) return s;
    const p = s.p.slice();
    p[at] = direction;
    return {...s, p};
  }

  withSpin(s) {
    if (!this.spinFriction(s)) return this.spinning(s, 0);
    const {spin} = this.touch(s);
    return Math.abs(spin) > this.c.SPIN_CREEP * this.c.START / 2 ? this.spinning(s, Math.sign(spin)) : s;
  }

  spinEvent(s, u) {
    const slides = s.mode.endsWith('slipping'), held = s.mode.startsWith('pure');
    const still = this.spinning({...s, x: this.on(slides ? 'pure_slipping' : 'pure_rolling', s)}, 0);
    const out = slides ? this.slipSpin(still, u, held) : this.rolling(still, u, held) || this.settle(still, u, 'friction');
    return out.mode.startsWith('pure') ? noted(out, 'spin_stop', 'spin has come to rest')
      : noted(out, 'spin', 'the contact begins to spin');
  }

  slipSpin(s, u, spins = false) {
    if (!this.canHold(s)) return {...this.withSpin(s), mode: 'slipping'};
    const held = {...this.spinning(s, 0), x: this.on('pure_slipping', s), mode: 'pure_slipping'};
    const wrench = this.wrench('pure_slipping', held, u);
    if (!spins && Math.abs(wrench[2]) <= this.of(s, 'mu_spin') * wrench[5]) return held;
    return {...this.spun(s, -Math.sign(wrench[2])), mode: 'slipping'};
  }

  spun(s, direction) { // with a first, very small spin
    const x = s.x.slice(), {v, spin} = this.touch(s), axes = this.m.f('contact_axes', s.x, s.p);
    const by = direction * this.c.START * this.c.SPIN_CREEP - spin;
    for (let k = 0; k < 3; ++k) x[this.c.spin + k] += axes[6 + k] * by;
    const on = {...s, x: this.on('rolling', {...s, x})};
    return this.spinning({...s, x: this.kick(on, v)}, direction);
  }

  // Leaving and landing.

  fly(s) {
    return noted({...this.spinning(s, 0), mode: 'separated'}, 'lift_off', 'the normal force vanishes: the object leaves');
  }

  touchDown(s, u) {
    const [low_x, high_x, low_y, high_y] = this.c.hand_edges === undefined ? [] : s.p.slice(this.c.hand_edges);
    const at = low_x === undefined ? null : this.m.f('foot', s.x, s.p);
    if (!at || (low_x <= at[0] && at[0] <= high_x && low_y <= at[1] && at[1] <= high_y)) return this.land(s, u);
    return noted({...s, mode: 'off_hand'}, 'missed', 'the object passes beside the plate');
  }

  land(s, u) {
    const {v} = this.touch(s);
    if (Math.abs(v[2]) <= this.c.REST)
      return Math.hypot(v[0], v[1]) > this.c.START * this.c.CREEP ? this.slide(s, u) : this.settle(s, u);
    const after = this.landing(s);
    if (!after) return noted(s, 'jammed', this.c.jams, true);
    const landed = {...s, x: after.x}, strong = size(after.P).toPrecision(6);
    if (this.touch(landed).v[2] > this.c.REST)
      return noted({...this.spinning(landed, 0), mode: 'separated'}, 'landing', `impact of ${strong} N s, the object rebounds`);
    const told = noted(landed, 'landing', `inelastic impact of ${strong} N s, the contact ${after.sticks ? 'sticks' : 'slips'}`);
    return after.sticks ? this.settle(told, u) : this.slide(told, u);
  }

  landing(s) { // the state after an impact, its impulse, and whether the contact sticks; null if it jams
    const {c} = this, pick = c.planar ? w => [w[0], w[2]] : w => [...w], velocity = x => pick(this.touch({...s, x}).v);
    const v = velocity(s.x), kicked = P => this.m.f('kicked', s.x, s.t, s.p, P);
    const columns = v.map((_, k) => add(velocity(kicked(v.map((__, j) => +(j === k)))), v, -1));
    const W = v.map((_, k) => columns.map(column => column[k]));
    const [mu, kinetic] = [this.of(s, 'mu'), this.of(s, 'mu_kinetic')], n = v.length - 1;
    const part = c.restitution === undefined ? 0 : this.of(s, 'restitution'), rebounds = part > 0 && v[n] < -c.SLOWEST;
    const found = new Impact(W, mu, kinetic, c).impulse(v, rebounds ? part : 0);
    if (!found) return null;
    const {P} = found, sticks = !(size(found.v.slice(0, n)) > 10 * c.STUCK * size(v));
    const x = kicked(P);
    if (rebounds && c.place !== undefined) {
      const up = this.m.f('contact_axes', x, s.p), by = c.CLEAR - Math.min(this.touch({...s, x}).gap, 0);
      for (let k = 0; k < 3; ++k) x[c.place + k] += up[6 + k] * by;
    }
    return {x, P, sticks};
  }

  slide(s, u) {
    if (!this.c.slides) return noted(s, 'friction', 'the contact slips', true);
    const out = this.slipSpin({...s, x: this.on('slipping', s)}, u);
    if (this.undetermined(out, u)) return noted(out, 'painleve', this.c.ends.painleve, true);
    return this.force(out.mode, out, u)[2] <= 0 ? this.fly(s) : out;
  }

  // Evaluations.

  undetermined(s, u) {
    if (!s.mode.endsWith('slipping')) return false;
    const mode = this.modes[s.mode], k = mode.guards.findIndex(g => g.name === 'painleve');
    return this.m.stepped(s, u, 0)[this.m.n + STAGES * mode.slip + k] <= 0;
  }

  kick(s, slip) { // with a velocity of the centre that adds a slip
    const x = s.x.slice(), at = this.c.velocity;
    if (this.c.planar) { x[at] += slip[0]; return x; }
    const axes = this.m.f('contact_axes', s.x, s.p);
    for (let k = 0; k < 3; ++k) x[at + k] += axes[k] * slip[0] + axes[3 + k] * slip[1];
    return x;
  }

  on(mode, s) {
    const {k} = this.modes[this.modes[mode] && this.modes[mode].own ? mode : mode.replace(/^pure_/, '')];
    return this.m.f(`project_${k}`, s.x, s.p);
  }

  touch(s) { const o = this.m.f('touch', s.x, s.p); return {gap: o[0], v: [o[1], o[2], o[3]], spin: o[7]}; }

  of(s, name) { return s.p[this.c[name]]; }

  wrench(mode, s, u) { return this.m.f(`wrench_${this.modes[mode].k}`, s.x, u, s.t, s.p); }

  force(mode, s, u) { return this.wrench(mode, s, u).slice(3); }
}

class Impact { // as point_contact/impact.py has it
  constructor(W, mu, kinetic, c) {
    Object.assign(this, {W, mu, kinetic, c, n: W.length - 1});
    this.softest = 1 / size(W.map((_, k) => solve(W, W.map((__, j) => +(j === k)))).flat());
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
    let force = solve(this.W, s.v.map((_, k) => +(k === this.n)));
    if (!(force[this.n] > 0)) return null;
    force = force.map(f => f / force[this.n]);
    if (size(force.slice(0, this.n)) > this.mu) return null;
    const gain = times(this.W, force), grows = gain[this.n], v = s.v[this.n];
    const P = work === null ? -v / grows : (-v + Math.sqrt(v * v + 2 * grows * (work - s.work))) / grows;
    return {v: add(s.v, gain, P), P: add(s.P, force, P), work: s.work + v * P + grows * P * P / 2};
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
      if ((off > least || turned) && h > 1e-15 * most) { h = turned ? h / 2 : better; continue; }
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
