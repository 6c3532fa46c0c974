'use strict';
const data = JSON.parse(document.getElementById('data').textContent), motion = new Motion(data);
const $ = id => document.getElementById(id), canvas = $('scene'), pen = canvas.getContext('2d');
let runs = true, last = 0, debt = 0, turn = 0.9, lift = 0.5, zoom = 1, frame = 0;
const curves = {energy: [], 'normal force': [], friction: []};
$('title').textContent = document.title = data.title;
$('text').textContent = data.text;

// Bodies: vertices in the world by the poses of the step's own system, faces from back to front.
function poses() {
  const out = motion.call('pose', motion.x, motion.p), found = {};
  data.bodies.forEach((name, k) => { found[name] = out.slice(16 * k, 16 * k + 16); });
  return found;
}
function matrix([x, y, z, w, a, b, c]) {
  return [1 - 2 * (b * b + c * c), 2 * (a * b + w * c), 2 * (a * c - w * b), 0,
    2 * (a * b - w * c), 1 - 2 * (a * a + c * c), 2 * (b * c + w * a), 0,
    2 * (a * c + w * b), 2 * (b * c - w * a), 1 - 2 * (a * a + b * b), 0, x, y, z, 1];
}
const moved = (X, v, i) => [0, 1, 2].map(r => X[r] * v[i] + X[4 + r] * v[i + 1] + X[8 + r] * v[i + 2] + X[12 + r]);
let centre = [0, 0, 0], size = 0;
function look() {
  const at = poses(), low = [1e9, 1e9, 1e9], high = [-1e9, -1e9, -1e9];
  for (const body of data.scene) for (const m of body.meshes) for (let i = 0; i < m.v.length; i += 3)
    moved(at[body.name] || matrix(body.at), m.v, i).forEach((c, r) => { low[r] = Math.min(low[r], c); high[r] = Math.max(high[r], c); });
  centre = low.map((l, r) => (l + high[r]) / 2);
  size = Math.hypot(...low.map((l, r) => high[r] - l)) || 1;
}
function draw() {
  const scale = devicePixelRatio, w = canvas.width = canvas.clientWidth * scale, h = canvas.height = canvas.clientHeight * scale;
  const at = poses(), c = Math.cos(turn), s = Math.sin(turn), e = Math.sin(lift), f = Math.cos(lift), k = zoom * Math.min(w, h) / size;
  const faces = [];
  for (const body of data.scene) for (const m of body.meshes) {
    const X = at[body.name] || matrix(body.at), seen = [];
    for (let i = 0; i < m.v.length; i += 3) {
      const [x, y, z] = moved(X, m.v, i).map((v, r) => v - centre[r]);
      const right = c * y - s * x, out = c * x + s * y;
      seen.push([w / 2 + k * right, h / 2 - k * (f * z - e * out), f * out + e * z]);
    }
    m.f.forEach((face, j) => {
      const q = face.map(i => seen[i]);
      const area = (q[2][0] - q[0][0]) * (q[3][1] - q[1][1]) - (q[3][0] - q[1][0]) * (q[2][1] - q[0][1]);
      if (m.k && m.a === 1 && area > 0) return;
      const depth = q.reduce((a, b) => a + b[2], 0) / 4;
      faces.push([m.z, depth, q, m.c[j], m.a, Math.abs(area)]);
    });
  }
  faces.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  pen.clearRect(0, 0, w, h);
  for (const [, , q, colour, alpha] of faces) {
    pen.fillStyle = pen.strokeStyle = `rgba(${colour},${alpha})`;
    pen.beginPath();
    q.forEach((v, j) => (j ? pen.lineTo(v[0], v[1]) : pen.moveTo(v[0], v[1])));
    pen.closePath(); pen.fill();
    if (alpha === 1) pen.stroke();
  }
}

// Curves of energy, normal force and friction over the last steps.
function note() {
  const u = motion.control(), at = [motion.x, u, motion.t, motion.p];
  if (data.table.energy) curves.energy.push(motion.call('energy', ...at)[0]);
  if (data.table.wrench) {
    const f = motion.call('wrench', ...at);
    curves['normal force'].push(f[5]); curves.friction.push(Math.hypot(f[3], f[4]));
  }
  for (const c of Object.values(curves)) if (c.length > 400) c.shift();
}
function plot() {
  for (const [name, values] of Object.entries(curves)) {
    const figure = $(name); if (!figure) continue;
    const low = Math.min(...values), high = Math.max(...values), room = high - low || Math.abs(high) || 1;
    figure.querySelector('polyline').setAttribute('points', values.map((v, i) => `${i},${58 - 56 * (v - low) / room}`).join(' '));
    figure.querySelector('figcaption').textContent = `${name}: ${values.at(-1).toPrecision(5)} ${name === 'energy' ? 'J' : 'N'}`;
  }
}
for (const name of Object.keys(curves)) if (data.table[name === 'energy' ? name : 'wrench'])
  $('curves').insertAdjacentHTML('beforeend', `<figure id="${name}"><figcaption></figcaption><svg viewBox="0 0 400 60"><polyline fill="none"/></svg></figure>`);

// Parameters, with their names, units and meanings; the address carries those that were changed.
const given = new URLSearchParams(location.hash.slice(1));
data.parameters.forEach(({name, unit, text}, k) => {
  if (given.has(name) && Number.isFinite(+given.get(name))) motion.p[k] = +given.get(name);
  const row = document.createElement('label');
  row.title = text;
  row.append(`${name}${unit ? ` [${unit}]` : ''} `);
  const box = row.appendChild(document.createElement('input'));
  Object.assign(box, {type: 'number', step: 'any', value: motion.p[k]});
  box.onchange = () => {
    const v = box.valueAsNumber;
    box.setCustomValidity(Number.isFinite(v) ? '' : `${name}: must be a finite number`);
    if (!box.reportValidity()) return;
    motion.p[k] = v; restart();
    given.set(name, v); history.replaceState(null, '', `#${given}`);
  };
  $('parameters').append(row);
});

function restart() { motion.reset(); debt = 0; for (const c of Object.values(curves)) c.length = 0; look(); note(); show(); }
function show() {
  draw(); plot();
  $('time').textContent = `t = ${motion.t.toFixed(3)} s, ${motion.ended ? `ended: ${motion.ended}${data.resets.includes(motion.ended) ? ` (the mode ${data.mode} ends; the next is not in this page)` : ''}` : data.mode}, ${frame.toFixed(1)} ms a frame`;
  $('run').textContent = runs ? 'Pause' : 'Run';
}
function go(n) { for (let k = 0; k < n; ++k) n > 0 && motion.step(); if (n < 0) for (let k = n; k < 0; ++k) motion.back(); note(); show(); }
$('run').onclick = () => { runs = !runs; show(); };
$('back').onclick = () => { runs = false; go(-50); };
$('on').onclick = () => { runs = false; go(50); };
$('reset').onclick = restart;
$('copy').onclick = () => { $('json').textContent = JSON.stringify({t: motion.t, state: Object.fromEntries(data.state.map((n, k) => [n, motion.x[k]]))}, null, 1); };
canvas.onpointermove = e => { if (e.buttons) { turn -= e.movementX / 150; lift = Math.max(-1.5, Math.min(1.5, lift + e.movementY / 150)); if (!runs) draw(); } };
canvas.onwheel = e => { e.preventDefault(); zoom *= Math.exp(-e.deltaY / 800); if (!runs) draw(); };
onkeydown = e => {
  if (e.target.tagName === 'INPUT' || e.target.tagName === 'BUTTON') return;
  ({' ': $('run'), ArrowLeft: $('back'), ArrowRight: $('on'), r: $('reset')}[e.key] || {click() {}}).click();
};
function tick(now) {
  if (runs && !motion.ended) {
    debt = Math.min(debt + (now - last) / 1000, 0.05);
    const begun = performance.now();
    for (; debt >= data.h; debt -= data.h) motion.step();
    note(); show();
    frame += 0.1 * (performance.now() - begun - frame);
  }
  last = now;
  requestAnimationFrame(tick);
}
restart();
requestAnimationFrame(now => { last = now; tick(now); });
