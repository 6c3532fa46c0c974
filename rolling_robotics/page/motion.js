'use strict';
// Motion of a scenario through its modes: the steps of Stepper, guards located by bisection.
const NOISE = 1e-12, STRAIGHT = 0.9, SHORTEST = 1e-10, AT_ONCE = 40, SAME_TIME = 1e-9;
const noted = (s, name, why, ends) => ({...s, events: [...s.events, {name, why, t: s.t}],
  ended: ends ? name : s.ended});
const finite = x => { for (let k = 0; k < x.length; ++k) if (!Number.isFinite(x[k])) return false; return true; };
const ulp = v => 2 ** (Math.floor(Math.log2(Math.abs(v) || 5e-324)) - 52);

class Motion {
  constructor(data) {
    this.data = data;
    const bytes = typeof data.wasm === 'string' ? Uint8Array.from(atob(data.wasm), c => c.charCodeAt(0)) : data.wasm;
    this.wasm = new WebAssembly.Instance(new WebAssembly.Module(bytes), {}).exports;
    if (this.wasm._initialize) this.wasm._initialize();
    this.calls = {};
    for (const [name, sizes] of Object.entries(data.table)) {
      let at = this.wasm['in_' + name]();
      const given = sizes.in.map(n => (at += 8 * n, this.numbers(at - 8 * n, n)));
      const out = this.numbers(this.wasm['out_' + name](), sizes.out.reduce((a, b) => a + b, 0));
      this.calls[name] = {given, out, held: [], run: this.wasm['run_' + name]};
    }
    this.n = data.x.length;
    for (const {k, slip, guards} of Object.values(data.modes)) // slip keeps its direction, guards stay above zero
      this.numbers(this.wasm[`least_${k}`](), slip + guards.length)
        .set([...(slip ? [STRAIGHT] : []), ...guards.map(g => (g.watched ? -NOISE : -Infinity))]);
    this.contact = data.contact && new (data.contact.pair ? Hand : Machine)(this, data.contact);
    this.p = Float64Array.from(data.p);
    this.first = {t: 0, x: Float64Array.from(data.x), p: this.p, mode: data.mode, ended: '', events: [],
      changes: 0, changed: -Infinity};
  }

  numbers(at, n) { return new Float64Array(this.wasm.memory.buffer, at, n); }

  run(name, ...values) { // what a function gives, in memory that the next call overwrites
    const c = this.calls[name];
    for (let k = 0; k < values.length; ++k) { // arrays are replaced, not written to: one that is there already stays
      const v = values[k];
      if (typeof v === 'number') c.given[k][0] = v;
      else if (c.held[k] !== v) c.given[k].set(c.held[k] = v);
    }
    c.run();
    return c.out;
  }

  f(name, ...values) { return this.run(name, ...values).slice(); }

  stepped(s, u, h) { return this.run(`step_${this.data.modes[s.mode].k}`, s.x, u, s.t, h, s.p); }

  begin(x, u, t = 0, p = this.p) { // a state with its mode, after guards that are below zero
    let s = {...this.first, t, x: Float64Array.from(x), p, mode: this.data.first};
    if (this.contact) s = this.contact.begin(s, u);
    return this.start({...s, x: this.f(`project_${this.data.modes[s.mode].k}`, s.x, s.p)}, u);
  }

  step(s, given, dt, most = this.data.h) { // the state after a time, through events; given: null is the scenario's control
    const end = s.t + dt, steps = Math.max(1, Math.ceil(dt / most * (1 - 1e-12)));
    s = {...s, events: []};
    for (let k = 0, n; k < steps && !s.ended; ++k) {
      [s, n] = this.go(s, given, end, steps - k);
      if ((k += n) === steps) break;
      const goal = k === steps - 1 ? end : s.t + (end - s.t) / (steps - k), u = given || this.f('control', s.x, s.t);
      while (s.t < goal && !s.ended) {
        const [moved, guard] = this.untilEvent(s, u, goal);
        s = guard ? this.after(moved, guard, u) : moved;
      }
    }
    return s;
  }

  go(s, u, end, steps) { // steps in a row, without what JavaScript costs, while no guard falls; their number
    const {k} = this.data.modes[s.mode], {given, held} = this.calls[`step_${k}`];
    given[0].set(s.x);
    if (u && held[1] !== u) given[1].set(u);
    given[2][0] = s.t;
    if (held[4] !== s.p) given[4].set(held[4] = s.p);
    held[0] = null; held[1] = u;
    const n = this.wasm[`go_${k}`](end, steps, +!u);
    return [n ? {...s, t: given[2][0], x: given[0].slice()} : s, n];
  }

  untilEvent(s, u, goal) {
    const mode = this.data.modes[s.mode];
    let h = goal - s.t, guard;
    if (mode.slip) { h = this.steady(s, u, h); guard = this.below(mode); }
    else guard = this.fallen(s, u, h);
    if (guard) {
      let low = 0, high = h;
      for (let m; low < (m = (low + high) / 2) && m < high && high - low > ulp(s.t + high) / 4;) {
        const found = this.fallen(s, u, m);
        if (found) { high = m; guard = found; } else low = m;
      }
      this.fallen(s, u, high);
      h = high;
    }
    const x = this.calls[`step_${mode.k}`].out.slice(0, this.n);
    if (!finite(x)) return [noted(s, 'not_finite', 'the state is no longer finite', true), null];
    return [{...s, t: !guard && h === goal - s.t ? goal : s.t + h, x}, guard];
  }

  steady(s, u, h) { // a step in which slip keeps its direction from stage to stage
    while (!(this.stepped(s, u, h)[this.n] >= STRAIGHT || h <= SHORTEST)) h /= 2;
    return h;
  }

  fallen(s, u, h) { this.stepped(s, u, h); return this.below(this.data.modes[s.mode]); }

  below(mode) { // the first watched guard that is below zero after the step just tried, or null
    const out = this.calls[`step_${mode.k}`].out, from = this.n + mode.slip;
    return mode.guards.find((g, k) => g.watched && !(out[from + k] >= -NOISE)) || null;
  }

  after(s, guard, u) { // what follows a guard that has fallen
    if (guard.call && !guard.outcomes) {
      const x = this.f(guard.call, s.x, u, s.t, s.p);
      return noted({...this.counted(s), x}, guard.name, '');
    }
    if (!guard.outcomes && !guard.contact)
      return noted(s, guard.name, guard.python || 'the margin falls through zero', true);
    return this.start(this.changed(s, guard, u), u);
  }

  start(s, u) { // what follows the guards that are below zero where a mode begins
    for (let guard; !s.ended && (guard = this.fallen(s, u, 0));) {
      if (!guard.outcomes && !guard.contact) return noted(s, guard.name, guard.python || 'already so at the start', true);
      s = this.changed(s, guard, u);
    }
    return s;
  }

  changed(s, guard, u) {
    s = this.counted(s);
    let after;
    if (guard.contact) after = this.contact.after(guard.contact, s, u);
    else {
      const out = guard.call ? this.f(guard.call, s.x, u, s.t, s.p) : [...s.x, 0];
      const [mode, name, why] = guard.outcomes[out[this.n]];
      after = {...s, x: Float64Array.from(out).slice(0, this.n), mode: mode || s.mode};
      if (name) after = noted(after, name, why.replace(/{.*}/, () => out[this.n + 1].toPrecision(6)), !mode);
    }
    if (after.ended) return after;
    const mode = this.data.modes[after.mode];
    if (!mode) return noted(after, after.mode, 'a mode begins that this system leaves out', true);
    return {...after, x: this.f(`project_${mode.k}`, after.x, after.p)};
  }

  counted(s) {
    const changes = s.t - s.changed < SAME_TIME ? s.changes + 1 : 1;
    if (changes > AT_ONCE) return noted(s, 'chatters', 'the modes change without limit', true);
    return {...s, changes, changed: s.t};
  }
}
