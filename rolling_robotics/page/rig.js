'use strict';
// Plant, actuators, sensors and law: simulation/emulation.py, with a generator of its own for noise.
const INSTANT = 1e-12;
const clip = (v, most) => Math.min(Math.max(v, -most), most);
function mean(seen, start, end) { // of values that are linear between their times
  return seen.slice(1).reduce((sum, [next, b], k) => {
    const [t, a] = seen[k], low = Math.max(t, start), high = Math.min(next, end);
    return high > low ? sum.map((v, i) => v + (high - low) / (end - start) * (a[i] + (b[i] - a[i]) * ((low + high) / 2 - t) / (next - t))) : sum;
  }, seen[0][1].map(() => 0));
}

class Rig {
  constructor(motion) {
    this.m = motion;
    const {law, sensors, actuators} = motion.data, w = motion.wasm;
    this.law = law;
    this.sensors = law && law.sensor ? sensors : [];
    this.act = actuators.dead_time.map((dead, k) => Object.fromEntries(Object.entries(actuators).map(([n, v]) => [n, v[k]])));
    this.plain = !this.act.some(a => a.dead_time || a.rate || a.slew !== null || a.dead_band);
    this.longest = law ? 2e-3 : motion.data.h;
    if (law) {
      this.z = motion.numbers(w.law_z(), law.nz);
      this.given = motion.numbers(w.law_i(), law.nm + law.ns);
      this.output = motion.numbers(w.law_o(), law.no);
      this.gains = law.gains.length ? motion.numbers(w.law_g(), law.gains.length) : [];
      this.goal = new Float64Array(law.ns);
    }
    this.restart();
  }

  restart(x) { // at time zero; x: another state of the start
    const u = Float64Array.from(this.m.data.u), p = this.m.p;
    const s = x || p.some((v, k) => v !== this.m.data.p[k]) ? this.m.begin(x || this.m.data.x, u, 0, p) : this.m.first;
    if (this.law) this.m.wasm.law_begin();
    this.seed = this.m.data.seed;
    this.r = {s, u, wanted: u, sent: [], coming: [], asked: 0, z: this.law ? this.z.slice() : null,
      streams: this.sensors.map((q, k) => { // seen: times and values, from before the next exposure on
        const first = q.free_running ? q.exposure + this.draw() / q.rate : 0, value = this.sensed(k, s, u);
        return {count: 0, first, next: first, last: -Infinity, hidden: false, seen: [[-q.exposure, value], [0, value]], bias: value.map(() => (q.bias ? q.bias * this.normal() : 0))};
      })};
  }

  sensed(k, s, u) { return this.m.f(`sense_${k}_${this.m.data.modes[s.mode].k}`, s.x, u, s.t, s.p); }

  draw() { // uniform, mulberry32
    let a = (this.seed = (this.seed + 0x6d2b79f5) | 0);
    a = Math.imul(a ^ (a >>> 15), 1 | a);
    a = (a + Math.imul(a ^ (a >>> 7), 61 | a)) ^ a;
    return ((a ^ (a >>> 14)) >>> 0) / 2 ** 32;
  }

  normal() { return Math.sqrt(-2 * Math.log(1 - this.draw())) * Math.cos(2 * Math.PI * this.draw()); }

  // What time going back returns to: everything that changes is in r, and replaced, not written to.
  keep() { return {...this.r, seed: this.seed}; }

  recall(r) { this.r = r; this.seed = r.seed; }

  put(s) { this.r = {...this.r, s}; }

  get control() {
    const {s, u} = this.r;
    return this.law ? u : this.m.f('control', s.x, s.t);
  }

  advance(until) {
    for (const {law} = this; !this.r.s.ended;) {
      const {streams, coming} = this.r, asks = law && !law.sensor ? this.r.asked * law.period : Infinity;
      const at = Math.min(until, asks, ...streams.map(q => q.next), ...coming.map(q => q.arrival));
      this.step(at);
      streams.forEach((q, k) => { if (q.next <= at + INSTANT) this.measure(k); });
      const known = this.r.coming.filter(q => q.arrival <= at + INSTANT);
      if (known.length) this.r = {...this.r, coming: this.r.coming.filter(q => q.arrival > at + INSTANT)};
      known.sort((a, b) => a.arrival - b.arrival).forEach(q => this.answer(q.value, q.arrival));
      if (asks <= at + INSTANT) {
        this.r = {...this.r, asked: this.r.asked + 1};
        this.answer(this.r.s.x, at);
      }
      if (at >= until) break;
    }
  }

  step(until) {
    while (this.r.s.t < until - INSTANT && !this.r.s.ended) {
      let {s, u, wanted, sent} = this.r;
      if (!this.law) { this.r = {...this.r, s: this.m.step(s, null, until - s.t, this.longest)}; continue; }
      if (sent.length) {
        wanted = wanted.slice();
        while (sent.length && sent[0].at <= s.t + INSTANT) {
          const [{k, value}] = sent;
          if (Math.abs(value - wanted[k]) > this.act[k].dead_band) wanted[k] = value;
          sent = sent.slice(1);
        }
      }
      const end = Math.min(until, s.t + this.longest, sent.length ? sent[0].at : Infinity), dt = end - s.t;
      if (!this.plain) u = wanted.map((w, k) => (this.act[k].slew === null ? w : u[k] + clip(w - u[k], this.act[k].slew * dt)));
      this.r = {...this.r, u, wanted, sent, s: this.m.step(s, u, dt, this.longest)};
      this.r.streams = this.r.streams.map((was, k) => (this.sensors[k].exposure ? this.look(was, k) : was));
    }
  }

  look(was, k) {
    const {s, u} = this.r, since = was.next - this.sensors[k].exposure - this.longest;
    return {...was, seen: [...was.seen.filter(([t]) => t >= since), [s.t, this.sensed(k, s, u)]]};
  }

  measure(k) {
    const {s, u} = this.r, q = this.sensors[k], was = this.r.streams[k], chance = part => part > 0 && this.draw() < part;
    let value = q.exposure ? mean(was.seen, was.next - q.exposure, was.next) : this.sensed(k, s, u);
    const noise = q.root.length ? q.root[0].map(() => this.normal()) : [];
    value = value.map((v, i) => v + dot(q.root[i] || [], noise) + was.bias[i]);
    const {entries} = q, some = Math.floor(this.draw() * entries.length), [from, to] = entries[some], long = Math.max(q.blackout * q.rate, 1);
    const hidden = chance(q.blackout ? (was.hidden ? 1 - 1 / long : q.loss / (1 - q.loss) / long) : q.loss);
    if (chance(q.swap)) {
      const [at, end] = entries[(some + 1 + Math.floor(this.draw() * (entries.length - 1))) % entries.length], kept = value.slice(from, to);
      value.set(value.slice(at, end), from); value.set(kept, at);
    }
    if (chance(q.outlier)) {
      const away = Array.from({length: to - from}, () => this.normal());
      away.forEach((w, i) => { value[from + i] += q.outlier_size * w / size(away); });
    }
    for (const [at, end] of entries) if (chance(q.hidden)) value.fill(NaN, at, end);
    if (s.ended || hidden) value.fill(NaN);
    const arrival = Math.max(was.last, was.next + q.delay + (q.jitter ? q.jitter * (2 * this.draw() - 1) : 0)), count = was.count + 1;
    const stream = {...was, count, hidden, last: arrival, next: was.first + count / q.rate};
    this.r = {...this.r, coming: [...this.r.coming, {value, arrival}], streams: this.r.streams.map((o, j) => (j === k ? stream : o))};
  }

  answer(measured, at) { // a step of the law, by its exported C
    const {law} = this;
    this.z.set(this.r.z);
    this.given.set(measured.slice(0, law.nm));
    this.given.set(this.goal, law.nm);
    this.m.wasm.law_run();
    this.r = {...this.r, z: this.z.slice()};
    this.send(law.mapped ? this.m.f('command', this.output.slice(), this.m.p) : this.output.slice(), at);
  }

  send(u, at) {
    const value = u.map((v, k) => clip(v, this.act[k].limit === null ? Infinity : this.act[k].limit));
    if (this.plain) { this.r = {...this.r, u: value, wanted: value}; return; }
    const sent = this.act.map((a, k) => ({k, value: value[k],
      at: (a.rate ? Math.ceil(at * a.rate - INSTANT) / a.rate : at) + a.dead_time}));
    this.r = {...this.r, sent: [...this.r.sent, ...sent].sort((a, b) => a.at - b.at)};
  }
}
