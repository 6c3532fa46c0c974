'use strict';
// What follows an event at contacts: mechanism/transitions.py and mechanism/impact.py.
const DIRECTIONS = 36, SAME = 1e-6; // of (u, v): two searches came to one point
const table = (flat, count) => Array.from({length: count}, (_, r) => Array.from({length: flat.length / count}, (__, k) => flat[r + k * count]));

class Machine {
  constructor(motion, c, more = '') { // more: ends the names of functions of its own
    const f = (name, ...values) => motion.f(name + more in motion.calls ? name + more : name, ...values);
    this.m = {data: motion.data, f}; this.c = c;
    const named = Object.entries(this.c.phases).map(([mode, phases]) => [this.key(phases), mode]);
    this.of = Object.fromEntries(named.reverse()); // of two of the same phases the first
  }

  key(phases) { return this.c.able.map(i => phases[i]).join(); }

  moved(s, i, phase = 'rolling') { return this.named(s, {...this.c.phases[s.mode], [i]: phase}); }

  named(s, phases) { // a patch holds the spin
    const mode = this.of[this.key(phases)];
    const pure = mode && mode.replace(/(^|_)rolling/g, '$1pure_rolling');
    return s.p[this.c.spin] > 0 && pure in this.c.phases ? pure : mode;
  }

  decide(what, s, i, ...values) { return [...this.m.f(`${what}_${this.m.data.modes[s.mode].k}_${i}`, s.x, ...values)]; }

  touch(s) { // gaps, and velocities of the contacts
    const out = [...this.m.f('contact_motion', s.x, s.p)], n = this.c.names.length;
    return [out.slice(0, n), Array.from({length: n}, (_, i) => out.slice(n + 3 * i, n + 3 * i + 3))];
  }

  seen(s, away) { // the mode of a state, some contacts being separated
    const pace = this.m.f('pace', s.x, s.p), n = this.c.names.length, {CREEP, resisted} = this.c;
    return this.named(s, Object.fromEntries(this.c.able.map(i => [i, away.includes(i) ? 'separated'
      : pace[i] > CREEP ? 'slipping' : resisted.includes(i) && pace[n + i] <= CREEP ? 'resting' : 'rolling'])));
  }

  begin(s, u) {
    const {OPEN, STILL, parting, rigid, able} = this.c, [gaps, v] = this.touch(s);
    if (parting.some(i => rigid[i] && gaps[i] < -OPEN)) return noted(s, 'overlap', 'the bodies overlap', true);
    s = {...s, mode: this.seen(s, parting.filter(i => gaps[i] > OPEN || v[i][2] > STILL))};
    if (parting.some(i => rigid[i] && v[i][2] < -STILL && Math.abs(gaps[i]) <= OPEN)) s = this.meet(s, u);
    else s = {...s, x: this.m.f(`project_${this.m.data.modes[s.mode].k}`, s.x, s.p)};
    for (const i of able) {
      const phase = this.c.phases[s.mode][i];
      if (phase === 'slipping') s = this.slid(i, s, u);
      else if (['rolling', 'resting'].includes(phase) && !this.holds(i, s, u)) s = this.slip(i, s, u);
      else if (phase === 'resting' && this.margin('turn', i, s, u) < 0) s = this.turn(i, s, u);
    }
    return s;
  }

  after([what, i], s, u) { return this[what](i, s, u); }

  holds(i, s, u) {
    const [fz, margin] = this.decide('slip', s, i, u, s.t, s.p).slice(-2);
    return margin >= -this.c.CONE && (fz > 0 || !this.c.parting.includes(i));
  }

  margin(what, i, s, u) { return this.decide(what, s, i, u, s.t, s.p).at(-1); }

  slip(i, s, u) {
    const at = k => this.decide('slip', s, k, u, s.t, s.p), out = at(i), force = out.slice(0, -2);
    const most = Math.max(...this.c.able.filter(k => this.c.phases[s.mode][k] !== 'separated').map(k => at(k).at(-2)));
    if (out.at(-2) <= Math.max(this.c.PERFECT * size(force), this.c.FAINT * most) && this.c.parting.includes(i)) return this.part(i, s, u);
    return this.beginSlip(i, s, u, force);
  }

  slid(i, s, u) {
    if (!this.c.slides) return noted(s, 'friction', `${this.c.names[i]} slips`, true);
    return this.margin('slip', i, s, u) <= 0 ? this.painleve(i, s) : s;
  }

  beginSlip(i, s, u, force) {
    const said = `${this.c.names[i]} begins to slip`, way = force.map(f => -f);
    if (!this.c.slides) return noted(s, 'friction', said, true);
    const onset = d => { const o = this.m.f('onset', s.x, u, s.t, s.p, d); return {a: [o[0], o[1]], N: o[2], margin: o[3]}; };
    const rim = way.slice(2), d = this.c.searched && rim.every(w => w === 0) ? [...this.direction(onset, way), ...rim] : way;
    return noted(this.begun('slips', i, this.moved(s, i, 'slipping'), d, s, u), 'slip', said);
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

  turn(i, s, u) {
    const out = this.decide('turn', s, i, u, s.t, s.p);
    return noted(this.begun('turns', i, this.moved(s, i), out.slice(0, -2).map(f => -f), s, u), 'turn', `${this.c.names[i]} begins to roll`);
  }

  begun(what, i, mode, way, s, u) {
    const next = {...s, mode}, unit = Float64Array.from(way, w => w / Math.max(size(way), 1e-300));
    return {...next, x: Float64Array.from(this.decide(what, next, i, u, s.t, s.p, unit))};
  }

  stopped(i, s, u, phase) {
    const next = {...s, mode: this.moved(s, i, phase)};
    return {...next, x: Float64Array.from(this.decide('stop', next, i, u, s.t, s.p))};
  }

  stick(i, s, u) {
    const still = this.stopped(i, s, u);
    return !this.holds(i, still, u) ? this.slip(i, still, u) : noted(still, 'stick', `${this.c.names[i]} rolls`);
  }

  rest(i, s, u) {
    const still = this.stopped(i, s, u, 'resting');
    return this.margin('turn', i, still, u) < 0 ? this.turn(i, still, u) : noted(still, 'rest', `${this.c.names[i]} comes to rest`);
  }

  part(i, s, u) {
    const away = {...s, mode: this.moved(s, i, 'separated')};
    if (!this.c.rigid[i] || this.decide('lift', away, i, u, s.t, s.p)[0] >= this.c.LIFTS) return noted(away, 'lift_off', `${this.c.names[i]} parts`);
    if (['rolling', 'resting'].includes(this.c.phases[s.mode][i])) {
      const out = this.decide('slip', s, i, u, s.t, s.p), force = out.slice(0, -2);
      if (Math.abs(out.at(-2)) > this.c.PERFECT * size(force)) return this.beginSlip(i, s, u, force);
    }
    return noted(s, 'detached', this.c.detached, true);
  }

  painleve(i, s) { return noted(s, 'painleve', this.c.painleve, true); }

  away(s) { return this.c.able.filter(i => this.c.phases[s.mode][i] === 'separated'); }

  close(i, s, u) {
    const {edges} = this.c, at = edges === undefined ? [] : this.m.f('foot', s.x, s.p);
    if ([...at].some((uv, k) => !(s.p[edges + 2 * k] <= uv && uv <= s.p[edges + 2 * k + 1])))
      return noted({...s, mode: 'off_hand'}, 'missed', 'the object passes beside the plate');
    if (this.c.rigid[i]) return this.meet(s, u);
    return noted({...s, mode: this.seen(s, this.away(s).filter(k => k !== i))}, 'landing', `${this.c.names[i]} closes`);
  }

  meet(s, u) { // an impact of all contacts that are closed
    const {c} = this, [gaps, before] = this.touch(s), n = c.speeds.length, m = 3 * c.names.length, was = this.away(s);
    const near = c.parting.filter(i => c.rigid[i] && (!was.includes(i) || Math.abs(gaps[i]) <= c.OPEN));
    const out = [...this.m.f('impact_terms', s.x, u, s.t, s.p)], M = table(out.slice(0, n * n), n);
    const J = table(out.slice(n * n, n * n + m * n), m), mu = table(out.slice(n * n + m * n), c.names.length);
    const free = J.map(solver(M)), A = J.map(row => free.map(f => dot(row, f)));
    const rows = near.flatMap(i => [3 * i, 3 * i + 1, 3 * i + 2]), {bound} = c, hold = solver(bound.map(b => bound.map(k => A[b][k])));
    const parts = rows.map(r => { // impulses (all) of a unit impulse: contacts that only roll hold
      const all = Array.from({length: m}, (_, k) => +(k === r));
      hold(bound.map(b => A[b][r])).forEach((f, k) => { all[bound[k]] = -f; });
      return all;
    });
    const W = rows.map(r => parts.map(all => dot(A[r], all)));
    W.forEach((row, k) => { row[k] = row[k] || 1; }); // no way across a plane
    const found = impact(W, near.flatMap(i => before[i]), near.map(i => mu[i]), c);
    if (!found) return noted(s, 'jammed', c.jams, true);
    const whole = Array.from({length: m}, (_, q) => dot(parts.map(all => all[q]), found.P)), x = s.x.slice();
    const change = c.speeds.map((_, k) => dot(free.map(f => f[k]), whole));
    c.speeds.forEach((at, k) => { x[at] += change[k]; });
    let met = {...s, x};
    const v = this.touch(met)[1], rebound = near.filter(i => v[i][2] > c.STILL), away = [...was.filter(i => !near.includes(i)), ...rebound];
    met = {...met, mode: this.seen(met, away), x: this.clear(met, rebound)};
    const pushed = near.map((i, k) => [size(found.P.slice(3 * k, 3 * k + 3)), `${c.names[i]}, ${c.ends[c.phases[met.mode][i]]}`]).filter(([P]) => P);
    if (pushed.length) met = noted(met, 'landing', `impact of ${pushed.map(([P, end]) => `${P.toPrecision(6)} N s at ${end}`).join('; ')}`);
    if (found.spread) met = noted(met, 'impact_order', c.order.replace('{}', found.spread.toPrecision(3)));
    for (const i of near) if (!c.slides && c.phases[met.mode][i] === 'slipping') met = this.slid(i, met, u);
    const held = c.names.flatMap((name, i) => (c.able.includes(i) ? [] : [[`contact ${name}`, ...whole.slice(3 * i, 3 * i + 3), mu[i][0]]]));
    held.push(...c.joints.map(name => [`Rolling joint of ${name}`, ...this.m.f(`joint_${name}`, s.x, u, s.t, s.p, Float64Array.from(change), Float64Array.from(whole))]));
    for (const [name, px, py, pz, most] of held) if (pz < -c.HELD || Math.hypot(px, py) > most * pz + c.HELD)
      return noted(met, 'jammed', `the impact needs ${pz.toPrecision(3)} N s along the normal and ${Math.hypot(px, py).toPrecision(3)} N s across at the ${name}, which neither slips nor parts; describe it as a Contact with a mu_kinetic`, true);
    return met;
  }

  clear(s, leaving) { // a state whose gaps that rounding has left below zero are open
    const n = this.c.names.length, out = [...this.m.f('gap_rows', s.x, s.p)], low = leaving.filter(i => out[i] < this.c.CLEAR);
    if (!low.length) return s.x;
    const G = table(out.slice(n), n), rows = low.map(i => G[i]);
    const force = solve(rows.map(a => rows.map(b => dot(a, b))), low.map(i => this.c.CLEAR - out[i]));
    return this.m.f('retract', s.x, Float64Array.from(G[0], (_, k) => dot(rows.map(r => r[k]), force)));
  }
}

class Hand { // that the body may touch in two places: hybrid_contact/system.py
  constructor(motion, c) { this.m = motion; this.c = c; this.one = new Machine(motion, c); this.two = new Machine(motion, c.pair, '_pair'); }

  in(mode) { return mode in this.c.pair.phases ? this.two : this.one; }

  phase(mode, i) { return this.in(mode).c.phases[mode][i] || 'separated'; }

  closest(s) { // the ends of the search, and of those that count each one once, the nearest first
    const ends = table([...this.m.f('search', s.x, s.p)], 4), all = ends[0].map((_, k) => ends.map(row => row[k])), found = [];
    for (const end of all.filter(e => e[3]).sort((a, b) => a[2] - b[2])) if (!found.some(f => near(f, end))) found.push(end);
    return [all, found];
  }

  begin(s, u) {
    s = this.seen(s);
    const found = this.closest(s)[1], touching = found.filter(f => f[2] <= this.c.OPEN), most = 2, x = s.x.slice();
    if (!found.length) return noted(s, 'beside', 'the object is not over the hand', true);
    if (touching.length > most) return this.several(s, touching);
    this.c.feet.forEach((at, k) => x.set((found[k] || found[0]).slice(0, 2), at));
    return (found.length > 1 ? this.two : this.one).begin({...s, x}, u);
  }

  seen(s) { const p = s.p.slice(), {looked, body} = this.c; p.set(s.x.slice(body, body + 3), looked); return {...s, p}; }

  several(s, points) {
    const places = points.map(f => `(${f.slice(0, 2).map(v => +v.toPrecision(6)).join(', ')})`).join(', ');
    return noted(s, 'several_contacts', `the object touches the hand in several points (u_h, v_h): ${places}; ${this.c.limit}`, true);
  }

  after([what, ...args], s, u) {
    return what === 'look' ? this.look(s) : what === 'lost' ? this.lost(...args, s) : this.look(this.in(s.mode).after([what, ...args], s, u));
  }

  look(s) { // the state with the closest points beside those in which it touches
    if (s.ended || s.mode === 'off_hand') return s;
    const [all, found] = this.closest(s = this.seen(s)), most = 2, x = s.x.slice();
    const feet = this.c.feet.map((at, k) => [s.x.slice(at, at + 2), this.phase(s.mode, k), all[k]]).filter(f => f[1] !== 'separated');
    const others = found.filter(f => feet.every(([, , here]) => !near(f, here))), open = feet.length === most ? this.c.OPEN : -this.c.OPEN;
    const touching = others.filter(f => f[2] <= open && (feet.length || f !== found[0]));
    if (touching.length) return this.several(s, [...feet.map(f => f[2]), ...touching]);
    if (!found.length || feet.length === most) return s;
    const next = [...feet, ...others.map(f => [f.slice(0, 2), 'separated'])].slice(0, 2), [one, two] = next.map(f => f[1]);
    next.forEach(([uv], k) => x.set(uv, this.c.feet[k]));
    return {...s, x, mode: two ? this.two.named(s, {0: one, 1: two}) : this.one.named(s, {0: one})};
  }

  lost(k, what, s) { // a closest point is not one any more, or lies over the edge
    const [mode, why] = this.c.leads[what], apart = i => this.phase(s.mode, i) === 'separated', x = s.x.slice(), at = this.c.feet;
    if (!apart(k)) return mode && apart(1 - k) ? noted({...s, mode}, what, why) : noted(s, what, why, true);
    x.copyWithin(at[k], at[1 - k], at[1 - k] + 2);
    return this.look({...s, x});
  }
}
const near = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]) < SAME;

function impact(W, v, contacts, c) { // {P, spread}; null if it jams
  const near = contacts.map((_, k) => k).filter(k => v[3 * k + 2] < -c.STILL), none = v.map(() => 0);
  const single = (w, k, back) => {
    const block = W.slice(3 * k, 3 * k + 3).map(row => row.slice(3 * k, 3 * k + 3)), at = w.slice(3 * k, 3 * k + 3), [mu, kinetic] = contacts[k];
    const found = new Impact(block, mu, kinetic, c).impulse(at, at[2] < -c.SLOWEST ? back : 0);
    return found && none.map((_, q) => (Math.floor(q / 3) === k ? found.P[q % 3] : 0));
  };
  if (!near.length) return {P: none};
  const up = v.filter((_, q) => q % 3 === 2), stays = up.map(w => contacts.length > 1 && Math.min(...up) > -c.SLOWEST && w <= c.STILL);
  if (near.length === 1 && !stays[near[0]]) {
    const P = single(v, near[0], contacts[near[0]][2]);
    if (!P || add(v, times(W, P)).every((w, q) => q % 3 < 2 || w >= -c.STILL)) return P && {P};
  }
  const P = atOnce(W, v, contacts.map(mu => mu[1]), c, stays), together = P && add(v, times(W, P)), slow = c.SAME * size(v);
  if (P && stays.includes(true)) return {P};
  const inOrder = order => { // velocities after single impacts, the first that comes nearer first
    let w = v;
    for (let n = 0, k; n < c.STAGES && w && (k = order.find(i => w[3 * i + 2] < -slow / 10)) !== undefined; ++n) {
      const pushed = single(w, k, 0);
      w = pushed && add(w, times(W, pushed));
    }
    return w;
  };
  const ends = P ? c.orders[contacts.length - 1].map(inOrder) : [null];
  if (ends.includes(null)) return null;
  const spread = Math.max(...ends.flatMap(end => add(end, together, -1).map(Math.abs)));
  return {P, spread: spread > slow ? spread : 0};
}

function atOnce(W, v, mu, c, stays) { // impulses that act together, by projections on the cones in turn
  const P = v.map(() => 0), steps = mu.map((_, k) => 1 / largest(W.slice(3 * k, 3 * k + 3).map(row => row.slice(3 * k, 3 * k + 3))));
  for (let n = 0; n < c.ITERATIONS; ++n) {
    const before = [...P];
    mu.forEach((m, k) => {
      const w = add(v, times(W, P)).slice(3 * k, 3 * k + 3), [x, y, z] = add(P.slice(3 * k, 3 * k + 3), w, -steps[k]);
      const up = Math.max(z, 0), part = Math.min(1, m * up / Math.max(Math.hypot(x, y), 1e-300));
      [P[3 * k], P[3 * k + 1], P[3 * k + 2]] = [x * part, y * part, stays[k] ? z : up];
    });
    if (Math.max(...times(W, add(P, before, -1)).map(Math.abs)) <= c.EXACT * size(v)) return P;
  }
  const slow = c.SAME * size(v);
  for (const sticks of c.subsets[mu.length - 1]) { // normals that are nearly one: do these stick, others part?
    const at = [...v.keys()].filter(q => sticks[Math.floor(q / 3)]), stuck = v.map(() => 0);
    solve(at.map(q => at.map(r => W[q][r])), at.map(q => -v[q])).forEach((f, k) => { stuck[at[k]] = f; });
    const w = add(v, times(W, stuck)), still = at.every(q => Math.abs(w[q]) <= slow) && w.every((u, q) => q % 3 < 2 || u >= -slow);
    const cones = mu.every((m, k) => stays[k] || Math.hypot(stuck[3 * k], stuck[3 * k + 1]) <= m * stuck[3 * k + 2]);
    if (cones && still && stays.every((stay, k) => sticks[k] || !stay)) return stuck;
  }
  return null;
}
