'use strict';
const data = unpacked, motion = new Motion(data), rig = new Rig(motion);
const $ = id => document.getElementById(id), canvas = $('scene'), pen = canvas.getContext('2d');
const BUDGET = 4, KEPT = 20000, SHOWN = 400, GOAL = '#d55e00', PUSH = 0.3, BODY = '#0a7d54', OTHER = '#8a5a00', {held, law} = data;
const COLOURS = ['#d81b60', '#1e88e5', '#c77f00', '#2e9e62', '#8e5bd0'], AROUND = data.scene.some(b => b.cell) ? 0.1 : 0.35, said = name => name.replaceAll('_', ' ');
const reduced = matchMedia('(prefers-reduced-motion: reduce)').matches;
let runs = !reduced, last = 0, debt = 0, ticks = 0, behind = 0, turn = 0.9, lift = 0.45, zoom = 1, frame = 0, past = [], heard = [], crowd = [];
let centre = [0, 0, 0], extent = 1, half = [1, 1], aside = [0, 0], around, middle, anchor, goal = null, hits = [], strongest = 0, trail = [], grabbed = '';
const curves = {};
for (const m of data.meshes) { // numbers in a row, and unit normals, of the diagonals: two corners of a face may be one
  m.n = Float64Array.from(m.f.flatMap(face => {
    const [a, b, c, d] = face.map(i => m.v.slice(3 * i, 3 * i + 3)), [u, v] = [add(c, a, -1), add(d, b, -1)];
    const n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    return n.map(w => w / (size(n) || 1));
  }));
  [m.v, m.f, m.c] = [Float64Array.from(m.v), Int32Array.from(m.f.flat(), i => 3 * i), Uint8Array.from(m.c.flat())];
}
for (const body of data.scene) body.meshes = body.meshes.map(k => data.meshes[k]);
const above = data.scene.filter(b => data.bodies.includes(b.name) && b.meshes.every(m => m.z > 0));
const followed = above.length ? above : data.scene.filter(b => b.name === held.body);
$('title').textContent = document.title = data.title;
$('text').textContent = data.text;
if (self !== top) document.querySelector('details').open = false; // in a frame the whole page is in sight

// Bodies and camera. A pose is a matrix by columns.
function matrix([x, y, z, w, a, b, c]) {
  return [1 - 2 * (b * b + c * c), 2 * (a * b + w * c), 2 * (a * c - w * b), 0,
    2 * (a * b - w * c), 1 - 2 * (a * a + c * c), 2 * (b * c + w * a), 0,
    2 * (a * c + w * b), 2 * (b * c - w * a), 1 - 2 * (a * a + b * b), 0, x, y, z, 1];
}
const moved = (X, v, i = 0) => [0, 1, 2].map(r => X[r] * v[i] + X[4 + r] * v[i + 1] + X[8 + r] * v[i + 2] + X[12 + r]);
function poses(s) {
  const out = motion.f('pose', s.x, s.p);
  return Object.fromEntries(data.bodies.map((n, k) => [n, out.slice(16 * k, 16 * k + 16)]));
}
const place = s => [...motion.run('grip', s.x, s.p).slice(-3)];
function spot(s) { // middle of the bodies that the picture follows
  const at = poses(s);
  return [12, 13, 14].map(r => followed.reduce((a, b) => a + at[b.name][r], 0) / followed.length);
}
function look() {
  const at = poses(rig.r.s), points = [], own = [];
  for (const body of data.scene) for (const m of body.meshes) for (let i = 0; i < m.v.length; i += 3)
    (followed.includes(body) ? own : points).push(moved(at[body.name] || matrix(body.at), m.v, i));
  points.push(...own);
  anchor = spot(rig.r.s);
  if (!points.length) for (const r of [-0.5, 0.5]) points.push(anchor.map(c => c + r));
  const [low, high] = box(points);
  middle = centre = low.map((l, r) => (l + high[r]) / 2);
  extent = Math.hypot(...low.map((l, r) => high[r] - l)) || 1;
  for (const {rim, tip} of forces(rig.r.s)) points.push(...rim, tip);
  const [least, most] = box(points.map(camera().across)); // the bodies and their forces, as they are seen first
  half = most.map((m, r) => (m - least[r]) / 2 || extent / 2);
  aside = most.map((m, r) => (m + least[r]) / 2);
  const [from, to] = own.length ? box(own.map(camera().across)) : [[0, 0], [0, 0]], free = half.map((v, r) => v - (to[r] - from[r]) / 2);
  around = Math.max(0.03 * extent, Math.min(AROUND * extent, ...free));
}
function box(points) {
  return [Math.min, Math.max].map(f => points.reduce((a, b) => a.map((v, r) => f(v, b[r]))));
}
function follow() { // the bodies, where they leave the middle of the picture
  const way = add(spot(rig.r.s), anchor, -1), beyond = 1 - around / (size(way) || 1);
  if (beyond > 0 && grabbed !== 'body') { anchor = add(anchor, way, beyond); centre = add(middle, add(anchor, spot(motion.first), -1)); }
}
function camera() {
  const w = canvas.width, h = canvas.height, c = Math.cos(turn), s = Math.sin(turn), e = Math.sin(lift), f = Math.cos(lift);
  const k = zoom * 0.46 * Math.min(w / half[0], h / half[1]), from = p => p.map((v, r) => v - centre[r]);
  const across = p => { const [x, y, z] = from(p); return [c * y - s * x, f * z - e * (c * x + s * y)]; };
  return {k, c, s, near: [f * c, f * s, e], across, to: p => {
    const [x, y, z] = from(p), [right, up] = across(p);
    return [w / 2 + k * (right - aside[0]), h / 2 - k * (up - aside[1]), f * (c * x + s * y) + e * z];
  },
  level: (dx, dy) => { // of a way on the picture [pixels], in the level plane [m]
    const right = dx / k, out = dy / k / (Math.abs(e) < 0.15 ? 0.15 : e);
    return [-s * right + c * out, c * right + s * out];
  }};
}
function line(points, colour, width, fill) {
  pen.beginPath();
  points.forEach((q, j) => (j ? pen.lineTo(q[0], q[1]) : pen.moveTo(q[0], q[1])));
  pen.strokeStyle = colour; pen.lineWidth = width * devicePixelRatio; pen.stroke();
  if (fill) { pen.closePath(); pen.fillStyle = fill; pen.fill(); }
}
function draw() {
  canvas.width = canvas.clientWidth * devicePixelRatio;
  canvas.height = canvas.clientHeight * devicePixelRatio;
  const {s} = rig.r, at = poses(s), eye = camera(), faces = [], lines = [], sun = [0.6 * Math.cos(turn + 0.6), 0, 0.8];
  hits = [];
  for (const body of data.scene) {
    const X = at[body.name] || matrix(body.at);
    if (body.cell) for (const r of [0, 1]) X[12 + r] += body.cell * Math.round((centre[r] - middle[r]) / body.cell); // a floor has no end
    const origin = moved(X, [0, 0, 0]), axes = [0, 4, 8].map(k => [...X.slice(k, k + 3)]), o = eye.to(origin); // what is seen is linear in the body
    const [a, b, c] = axes.map(e => add(eye.to(add(origin, e)), o, -1)), [near, lit] = [eye.near, sun].map(w => axes.map(e => dot(e, w)));
    for (const {v, f, n, c: colours, a: alpha, k: closed, z} of body.meshes) {
      const seen = new Float64Array(v.length);
      for (let i = 0; i < v.length; i += 3) for (let r = 0; r < 3; ++r) seen[i + r] = o[r] + a[r] * v[i] + b[r] * v[i + 1] + c[r] * v[i + 2];
      for (let i = 0, j = 0; i < n.length; i += 3, j += 4) {
        if (closed && alpha === 1 && n[i] * near[0] + n[i + 1] * near[1] + n[i + 2] * near[2] <= 0) continue;
        const light = closed ? 0.72 + 0.28 * (n[i] * lit[0] + n[i + 1] * lit[1] + n[i + 2] * lit[2]) : 0.95;
        const rgb = Math.round(light * colours[i]) << 16 | Math.round(light * colours[i + 1]) << 8 | Math.round(light * colours[i + 2]);
        faces.push({z, depth: seen[f[j] + 2] + seen[f[j + 1] + 2] + seen[f[j + 2] + 2] + seen[f[j + 3] + 2], seen, f, j, rgb, alpha});
        if (body.name === held.body) hits.push(faces.at(-1));
      }
    }
    for (const l of body.lines) lines.push([l.v.map(v => eye.to(moved(X, v))), `rgb(${l.c})`, l.w]);
  }
  faces.sort((a, b) => a.z - b.z || a.depth - b.depth);
  let last = -1;
  for (const {seen, f, j, rgb, alpha} of faces) {
    const x = i => seen[f[j + (i & 3)]], y = i => seen[f[j + (i & 3)] + 1], wide = alpha === 1 ? 0.3 * devicePixelRatio : 0;
    const out = wide * Math.sign((x(2) - x(0)) * (y(3) - y(1)) - (x(3) - x(1)) * (y(2) - y(0))); // each edge moves out: no gaps between faces
    pen.beginPath();
    for (let i = 4; i < 8; ++i) {
      const [u, v, a, b] = [x(i) - x(i - 1), y(i) - y(i - 1), x(i + 1) - x(i), y(i + 1) - y(i)];
      const m = out / (Math.sqrt(u * u + v * v) || 1), n = out / (Math.sqrt(a * a + b * b) || 1);
      pen.lineTo(x(i) + m * v + n * b, y(i) - m * u - n * a);
    }
    if (rgb !== last) pen.fillStyle = `#${rgb.toString(16).padStart(6, '0')}`;
    last = rgb; pen.globalAlpha = alpha; pen.fill();
  }
  pen.globalAlpha = 1;
  for (const l of lines) line(...l);
  const gone = data.beside ? Math.min(Math.floor(s.t / data.beside.every) + 1, data.beside.places.length) : 0;
  const other = data.beside ? data.beside.places.slice(0, gone).map(p => [...p, data.beside.height]) : [];
  line(trail.filter(p => p[0] <= s.t).map(p => eye.to(p[1])), BODY, 2);
  line(other.map(eye.to), OTHER, 2);
  const dots = [...other.slice(-1).map(p => [p, OTHER, 4]), ...crowd.map(o => [place(o.r.s), 'rgba(10,94,168,0.6)', 3])];
  if (goal) dots.push([goal, GOAL, 9]);
  for (const [p, colour, radius] of dots) {
    const [x, y] = eye.to(p);
    pen.beginPath(); pen.arc(x, y, radius * devicePixelRatio, 0, 7);
    if (radius > 5) { pen.strokeStyle = colour; pen.lineWidth = 3 * devicePixelRatio; pen.stroke(); } else { pen.fillStyle = colour; pen.fill(); }
  }
  arrows(s, eye);
}
function contacts(s) { // where bodies touch: name, force (3) in axes of the contact, mu, frame by columns
  const {k, contacts: names} = data.modes[s.mode], n = names.length;
  if (!n) return [];
  const force = motion.stepped(s, rig.control, 0).slice(-3 * n), out = motion.f(`frames_${k}`, s.x, s.p);
  return names.map((name, i) => ({name, f: [...force.slice(3 * i, 3 * i + 3)], mu: out[i], X: out.slice(n + 16 * i, n + 16 * i + 16)}));
}
function forces(s) { // of the contacts: foot, tip, and the rim of the friction cone, as high as the normal force
  const all = contacts(s).map((c, i) => ({...c, i})).filter(c => c.X.length && size(c.f) > 0);
  strongest = Math.max(strongest, ...all.map(c => size(c.f)));
  const scale = 0.35 * extent / strongest, cone = Array.from({length: 25}, (_, k) => k * Math.PI / 12);
  return all.map(({name, f, mu, X, i}) => ({name, i, foot: moved(X, [0, 0, 0]), tip: moved(X, f.map(v => scale * v)),
    rim: mu > 0 && f[2] > 0 ? cone.map(a => moved(X, [mu * Math.cos(a), mu * Math.sin(a), 1].map(v => scale * f[2] * v))) : []}));
}
function arrows(s, eye) {
  const d = devicePixelRatio;
  for (const {name, i, ...at} of forces(s)) {
    const colour = COLOURS[i % COLOURS.length], [foot, tip] = [at.foot, at.tip].map(eye.to), rim = at.rim.map(eye.to);
    if (rim.length) {
      line(rim, colour + '73', 1.2, colour + '14');
      for (const k of [0, 6, 12, 18]) line([foot, rim[k]], colour + '73', 1);
    }
    const way = Math.atan2(tip[1] - foot[1], tip[0] - foot[0]);
    const head = w => [tip[0] - 9 * d * Math.cos(way + w), tip[1] - 9 * d * Math.sin(way + w)];
    line([foot, tip], colour, 2.5); line([head(0.4), tip, head(-0.4)], colour, 2.5);
    if (!name) continue;
    Object.assign(pen, {font: `600 ${13 * d}px system-ui`, fillStyle: colour, strokeStyle: getComputedStyle(canvas).backgroundColor, lineWidth: 4 * d});
    for (const way of ['strokeText', 'fillText']) pen[way](said(name), tip[0] + 7 * d, tip[1]);
  }
}

// Curves, one of each contact.
function note() {
  const {s} = rig.r, at = contacts(s);
  trail = [...trail.filter(p => p[0] < s.t).slice(-SHOWN), [s.t, place(s)]];
  for (const [n, {of, values}] of Object.entries(curves)) {
    values.push(of(at, s));
    if (values.length > SHOWN) values.shift();
  }
}
function plot() {
  for (const [n, {values, names, unit}] of Object.entries(curves)) if (values.length) {
    const every = values.flat(), low = Math.min(...every), high = Math.max(...every), room = Math.max(high - low, 1e-4 * Math.abs(high)) || 1;
    $(n).querySelectorAll('polyline').forEach((drawn, k) => drawn.setAttribute('points', values.map((v, i) => `${i},${(58 - 56 * (v[k] - low) / room).toFixed(1)}`).join(' ')));
    $(n).querySelectorAll('output').forEach((o, k) => { o.textContent = `${said(names[k])} ${values.at(-1)[k].toPrecision(4)}`; });
    $(n).querySelector('small').textContent = `${unit} (${low.toPrecision(3)} to ${high.toPrecision(3)})`;
  }
}
const names = Object.values(data.modes).map(m => m.contacts).reduce((a, b) => (b.length > a.length ? b : a));
if (names.length) {
  const of = value => at => names.map((_, i) => (at[i] ? value(at[i].f) : 0));
  curves['normal force'] = {names, unit: 'N', of: of(f => f[2])};
  curves.friction = {names, unit: 'N', of: of(f => Math.hypot(f[0], f[1]))};
}
if (data.table.energy) curves.energy = {names: [''], unit: 'J', of: (_, s) => [motion.f('energy', s.x, rig.control, s.t, s.p)[0]]};
for (const [n, c] of Object.entries(curves)) {
  c.values = [];
  const hue = i => (c.names.length > 1 ? COLOURS[i % COLOURS.length] : 'var(--curve)'), each = f => c.names.map((_, i) => f(hue(i))).join(' ');
  $('curves').insertAdjacentHTML('beforeend', `<figure id="${n}"><figcaption>${n} ${each(h => `<output style="color:${h}"></output>`)} <small></small></figcaption>` +
    `<svg viewBox="0 0 ${SHOWN} 60" preserveAspectRatio="none" aria-hidden="true">${each(h => `<polyline style="stroke:${h}"/>`)}</svg></figure>`);
}

// What a hand does: it moves the body, pushes it, and moves the goal.
function reach(s, by, from) { // tangent step of least size that moves the body, or its velocity, by so much
  const g = [...motion.f('grip', s.x, s.p)], n = data.tangent;
  const J = [0, 1].map(r => held.free.map(k => g[(from + r) * n + k]));
  const JJ = J.map(a => J.map(b => dot(a, b)));
  const all = JJ[0][0] + JJ[1][1];
  if (!(all > 1e-20)) return null;
  for (const r of [0, 1]) JJ[r][r] += 1e-9 * all; // a body that moves in a plane goes as far as it can
  const lambda = solve(JJ, by), d = new Float64Array(n);
  held.free.forEach((k, j) => { d[k] = J[0][j] * lambda[0] + J[1][j] * lambda[1]; });
  return d;
}
function put(by, from) {
  const {s} = rig.r, d = reach(s, by, from);
  if (!d || (from && s.ended)) return;
  past.push(rig.keep());
  const next = motion.begin(motion.f('retract', s.x, d), rig.control, s.t, s.p);
  if (!next.ended) { rig.put({...next, ended: ''}); heard.unshift(from ? 'pushed' : 'moved by hand'); }
  else heard.unshift(`not there: ${next.events.at(-1).why}`);
  show();
}
function aim(by) {
  if (!goal) return;
  const next = [goal[0] + by[0], goal[1] + by[1], goal[2]], from = place(motion.first);
  const d = law.ns === 2 ? next : reach(motion.first, [next[0] - from[0], next[1] - from[1]], 0);
  if (d) { goal = next; rig.goal.set([...d].slice(0, law.ns)); address(); show(); }
}
if (law && (law.ns === 2 || (law.ns === data.tangent && reach(motion.first, [0, 0], 0)))) goal = law.ns === 2 ? [0, 0, place(motion.first)[2]] : place(motion.first);

// Parameters: the address carries those that were changed.
const given = new URLSearchParams(location.hash.slice(1)), refused = new Map(), wrong = (q, v) => {
  const below = q.least !== null && v < q.least, above = q.most !== null && v > q.most;
  const strict = q.says[0].includes('positive') && v <= 0;
  if (!Number.isFinite(v)) return `${q.entry || q.name}: must be a finite number`;
  return below || strict || above ? (q.says[+above] || `${q.name}: must lie between ${q.least} and ${q.most}, got {}`).replace('{}', v) : '';
};
function address() {
  if (goal) { given.set('goal_x', +goal[0].toPrecision(6)); given.set('goal_y', +goal[1].toPrecision(6)); }
  $('link').href = `#${given}`;
  try { history.replaceState(null, '', `#${given}`); } catch (_) { /* a page in a frame has no address */ }
}
function slider(q, from, put, after, into) {
  const row = document.createElement('label'), slide = document.createElement('input'), box = document.createElement('input');
  row.className = 'row'; row.title = q.text;
  row.innerHTML = '<span></span>';
  row.firstChild.textContent = `${q.name.replaceAll('_', ' ')}${q.unit ? ` [${q.unit}]` : ''}`;
  row.append(slide, box);
  const set = v => {
    const refusal = wrong(q, v);
    refused.delete(q.name);
    if (refusal) refused.set(q.name, refusal);
    $('wrong').textContent = [...refused.values()].join('; ');
    box.setAttribute('aria-invalid', refusal !== '');
    if (refusal) return false;
    put(v); slide.value = v; box.value = +v.toPrecision(6);
    return true;
  };
  Object.assign(slide, {type: 'range', min: q.from, max: q.to, step: (q.to - q.from) / 200});
  Object.assign(box, {type: 'number', step: 'any'});
  slide.setAttribute('aria-label', `${q.name}, ${q.text}`); box.setAttribute('aria-label', q.name);
  set(from);
  if (given.has(q.name)) set(+given.get(q.name));
  for (const [what, on] of [[slide, 'oninput'], [box, 'onchange']])
    what[on] = () => { if (set(what.valueAsNumber)) { given.set(q.name, what.value); address(); after(); } };
  into.append(row);
}
data.parameters.forEach((q, k) => q && slider(q, motion.p[k], v => { motion.p = motion.p.slice(); motion.p[k] = v; }, restart, $('parameters')));
const free = v => ({text: '', entry: '', least: null, most: null, says: ['', ''], from: Math.min(4 * v, 0), to: Math.max(4 * v, 0) || 1});
if (law) law.gains.forEach((q, k) => slider({...free(q.value), ...q}, q.value, v => { rig.gains[k] = v; }, show, $('gains')));
$('tuning').hidden = !(law && law.gains.length);

// Time.
function restart() {
  rig.restart(); past = []; heard = []; crowd = []; trail = []; ticks = debt = strongest = behind = 0;
  for (const c of Object.values(curves)) c.values = [];
  centre = middle; anchor = spot(rig.r.s);
  note(); show();
}
function step() {
  if (rig.r.s.ended) return false;
  past.push(rig.keep());
  if (past.length > KEPT) past.shift();
  rig.advance(++ticks * data.h);
  for (const e of rig.r.s.events) heard.unshift(`${e.t.toFixed(4)} ${data.unit} ${e.name}${e.why ? `: ${e.why}` : ''}`);
  return true;
}
function go(n) {
  runs = false;
  for (let k = 0; k < n && step(); ++k);
  for (const other of crowd) if (n > 0 && !other.r.s.ended) other.advance(ticks * data.h);
  for (let k = n; k < 0 && past.length; ++k) { rig.recall(past.pop()); ticks = Math.round(rig.r.s.t / data.h); crowd = []; behind = 0; }
  note(); show();
}
function show() {
  follow(); draw(); plot();
  const {s} = rig.r;
  $('time').textContent = `t = ${s.t.toFixed(3)} ${data.unit}, ${s.ended ? `ended: ${s.ended}` : s.mode.replaceAll('_', ' ')}${law ? `, controller ${law.name}` : ''}; ${frame.toFixed(2)} ms of simulation a frame`;
  $('told').textContent = heard.slice(0, 3).join(' · ');
  $('run').textContent = runs ? 'Pause' : 'Run';
}
$('run').onclick = () => { runs = !runs; if (rig.r.s.ended) { restart(); runs = true; } show(); };
$('back').onclick = () => go(-50);
$('on').onclick = () => go(50);
$('reset').onclick = restart;
$('many').onclick = () => {
  restart();
  for (let k = 1; k < 100; ++k) {
    const other = new Rig(motion), by = [0.2 * extent * (rig.draw() - 0.5), 0.2 * extent * (rig.draw() - 0.5)], d = reach(motion.first, by, 0);
    if (!d) break;
    other.restart(motion.f('retract', motion.first.x, d));
    if (law) other.goal = rig.goal;
    crowd.push(other);
  }
  runs = true; show();
};
$('copy').onclick = () => {
  const {s} = rig.r, named = (names, v) => Object.fromEntries(names.map((n, k) => [n, v[k]]));
  $('json').textContent = JSON.stringify({scenario: data.title, t: s.t, mode: s.mode, state: named(data.state, s.x), control: [...rig.control]}, null, 1);
};
if (data.beside) $('beside').innerHTML = `<span style="color:${BODY}">■</span> this suite <span style="color:${OTHER}">■</span> ${data.beside.name}`;
$('notes').textContent = [...Object.values(data.modes).flatMap(m => m.guards.filter(g => g.python).map(g => `Where ${g.name} falls the page ends: ${g.python}.`)),
  ...(law ? [`Controller: ${law.text}; a step every ${law.period.toPrecision(3)} s, by its exported C.`] : []),
  `Steps of ${data.h} s, Runge-Kutta of order 4; events by bisection.`].join(' ');

// Pointer and keys.
const fingers = new Map();
let travelled = 0, touched = false; // touched: the body, perhaps below the ring
const inside = ([x, y], q) => q.reduce((n, a, j) => { const b = q[(j + 1) % q.length]; return n ^ ((a[1] > y) !== (b[1] > y) && x < (b[0] - a[0]) * (y - a[1]) / (b[1] - a[1]) + a[0]); }, 0);
canvas.onpointerdown = e => {
  fingers.set(e.pointerId, e); canvas.setPointerCapture(e.pointerId); travelled = 0;
  const at = [e.offsetX * devicePixelRatio, e.offsetY * devicePixelRatio], mark = goal && camera().to(goal);
  touched = hits.some(({seen, f, j}) => inside(at, [0, 1, 2, 3].map(i => [seen[f[j + i]], seen[f[j + i] + 1]])));
  grabbed = mark && Math.hypot(mark[0] - at[0], mark[1] - at[1]) < 18 * devicePixelRatio ? 'goal' : touched ? 'body' : 'view';
};
canvas.onpointermove = e => {
  const was = fingers.get(e.pointerId); if (!was) return;
  const [dx, dy] = [e.clientX - was.clientX, e.clientY - was.clientY], by = () => camera().level(dx * devicePixelRatio, dy * devicePixelRatio);
  if (fingers.size === 2) {
    const [other] = [...fingers.values()].filter(o => o.pointerId !== e.pointerId), far = o => Math.hypot(o.clientX - other.clientX, o.clientY - other.clientY) + 1;
    zoom *= far(e) / far(was); grabbed = 'view';
  } else if (grabbed === 'view') { turn -= dx / 150; lift = Math.max(-1.5, Math.min(1.5, lift + dy / 150)); }
  else if ((travelled += Math.hypot(dx, dy)) > 4) { if (grabbed === 'goal') aim(by()); else put(by(), 0); }
  fingers.set(e.pointerId, e);
  if (!runs) draw();
};
canvas.onpointerup = canvas.onpointercancel = e => {
  fingers.delete(e.pointerId);
  if (touched && grabbed !== 'view' && travelled <= 4) { const {c, s} = camera(); push(-c, -s); }
  grabbed = '';
};
canvas.onwheel = e => { e.preventDefault(); zoom *= Math.exp(-e.deltaY / 800); if (!runs) draw(); };
function push(x, y) { put([PUSH * extent * x, PUSH * extent * y], 3); }
onkeydown = e => {
  if (['INPUT', 'SELECT'].includes(e.target.tagName) || e.ctrlKey || e.metaKey || (e.key === ' ' && e.target.tagName === 'BUTTON')) return;
  const {c, s} = camera(), by = 0.02 * extent, ways = {w: [-c, -s], s: [c, s], a: [s, -c], d: [-s, c]};
  const keys = {' ': () => $('run').click(), ArrowLeft: () => go(-50), ArrowRight: () => go(50), r: restart,
    '+': () => { zoom *= 1.2; show(); }, '-': () => { zoom /= 1.2; show(); }};
  for (const [k, [x, y]] of Object.entries(ways)) { keys[k] = () => push(x, y); keys[{w: 'i', s: 'k', a: 'j', d: 'l'}[k]] = () => aim([by * x, by * y]); }
  if (keys[e.key]) { keys[e.key](); e.preventDefault(); }
};
onresize = () => show();
let watched = true; // a picture that is scrolled away rests
new IntersectionObserver(([e]) => { watched = e.isIntersecting; }).observe(canvas);
function tick(now) {
  if (runs && watched && !rig.r.s.ended) {
    debt = Math.min(debt + (now - last) / 1000 * +$('pace').value, 0.05);
    const begun = performance.now();
    for (; !behind && debt >= data.h; debt -= data.h) step(); // time waits for motions that a frame could not take
    if (!behind) behind = crowd.length;
    for (; behind && performance.now() - begun < BUDGET; --behind) if (!crowd[behind - 1].r.s.ended) crowd[behind - 1].advance(ticks * data.h);
    frame += 0.1 * (performance.now() - begun - frame);
    note(); show();
  }
  last = now;
  requestAnimationFrame(tick);
}
look(); restart();
if (given.has('goal_x') && goal) aim([given.get('goal_x') - goal[0], given.get('goal_y') - goal[1]]);
requestAnimationFrame(now => { last = now; tick(now); });
