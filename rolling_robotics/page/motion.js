'use strict';
// Steps of a scenario, the same as those of Stepper: guards are located by bisection.
const NOISE = 1e-12, KEPT = 20000;

class Motion {
  constructor(data) {
    this.data = data;
    const bytes = Uint8Array.from(atob(data.wasm), c => c.charCodeAt(0));
    const module = new WebAssembly.Module(bytes);
    this.wasm = new WebAssembly.Instance(module, {}).exports;
    if (this.wasm._initialize) this.wasm._initialize();
    this.calls = {};
    for (const [name, sizes] of Object.entries(data.table)) {
      let at = this.wasm['in_' + name]();
      const given = sizes.in.map(n => (at += 8 * n, new Float64Array(this.wasm.memory.buffer, at - 8 * n, n)));
      const n = sizes.out.reduce((a, b) => a + b, 0);
      const out = new Float64Array(this.wasm.memory.buffer, this.wasm['out_' + name](), n);
      this.calls[name] = {given, out, run: this.wasm['run_' + name]};
    }
    this.p = Float64Array.from(data.p);
    this.reset();
  }

  reset() {
    this.t = 0; this.k = 0; this.ended = ''; this.past = [];
    this.x = Float64Array.from(this.data.x);
  }

  call(name, ...values) {
    const c = this.calls[name];
    values.forEach((v, k) => { if (typeof v === 'number') c.given[k][0] = v; else c.given[k].set(v); });
    c.run();
    return c.out;
  }

  control() { return this.call('control', this.x, this.t).slice(); }

  fallen(u, h) { // index of a guard below zero after h seconds, or -1
    const out = this.call('step', this.x, u, this.t, h, this.p), n = this.x.length;
    const {guards, slip, ends} = this.data;
    for (let k = 0; k < guards.length; ++k)
      if (ends[k] && !(out[n + 4 * slip + k] >= -NOISE)) return k;
    return -1;
  }

  step(u = this.control(), h = this.data.h) {
    if (this.ended) return false;
    this.past.push([this.t, this.x, this.k]);
    if (this.past.length > KEPT) this.past.shift();
    let guard = this.fallen(u, h);
    if (guard >= 0) {
      let low = 0, high = h;
      for (let m; low < (m = (low + high) / 2) && m < high;) {
        const found = this.fallen(u, m);
        if (found < 0) low = m; else { high = m; guard = found; }
      }
      this.fallen(u, high);
      h = high;
      this.ended = this.data.guards[guard];
    }
    const x = this.calls.step.out.slice(0, this.x.length);
    if (!x.every(Number.isFinite)) { this.ended = 'the state is no longer finite'; return false; }
    this.x = x; this.k += 1;
    this.t = this.ended ? this.t + h : this.k * this.data.h;
    return true;
  }

  back() {
    if (this.past.length) { [this.t, this.x, this.k] = this.past.pop(); this.ended = ''; }
  }
}
if (typeof module !== 'undefined') module.exports = {Motion};
