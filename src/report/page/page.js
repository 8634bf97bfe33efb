// SPDX-License-Identifier: Apache-2.0
// Draws the page of a run from the data in it: `report` is the JSON report of the run, `why` that of
// `rngdsim why` (null where a run has none), `activity` the run over time (src/trace/activity.h),
// `commands` the stages of each command and its valid counts, `lead` the sentences that matter.
'use strict';
(() => {
const data = JSON.parse(document.getElementById('data').textContent);
const {report, why, activity} = data;
const cycles = report.cycles;
const kStates = ['busy', 'conflict', 'blocked', 'starved'];
const kGutter = 160, kRight = 150, kAxis = 24;

// ---- Numbers and elements -------------------------------------------------------------------

const grouped = d3.format(',d');
const percent = share => (100 * share).toFixed(1) + ' %';
const decimal = number => d3.format(number < 100 ? ',.2f' : ',.0f')(number);
const byId = id => document.getElementById(id);
const label = command => `${command.index} ${command.label}`;

function element(parent, tag, text, name) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (name) made.className = name;
  parent.appendChild(made);
  return made;
}

// `columns`: [heading, is a number]. Cells are texts, or functions that fill the cell.
function table(where, caption, columns, rows) {
  const node = byId(where);
  element(node, 'caption', caption);
  const head = element(element(node, 'thead'), 'tr');
  for (const [heading, number] of columns) {
    element(head, 'th', heading, number ? 'number' : '').scope = 'col';
  }
  const body = element(node, 'tbody');
  return rows.map(cells => {
    const row = element(body, 'tr');
    cells.forEach((cell, i) => {
      const node = element(row, 'td', undefined, columns[i][1] ? 'number' : '');
      if (typeof cell === 'function') cell(node); else node.textContent = cell;
    });
    return row;
  });
}

// Parts of `whole` as one bar.
const stack = (parts, whole) => cell => {
  const bar = element(cell, 'span', undefined, 'stack');
  for (const [name, part] of parts) {
    const piece = element(bar, 'i', undefined, name);
    piece.style.width = whole > 0 ? 100 * part / whole + '%' : '0';
    piece.title = `${name}: ${grouped(part)}`;
  }
};

function keys(where, names) {
  for (const [name, text] of names) {
    const key = element(where, 'span', undefined, 'key');
    element(key, 'i', undefined, name);
    element(key, 'span', text || name);
  }
}

// ---- What the run was ------------------------------------------------------------------------

document.title = report.kernel.name + ' - rngdsim';
byId('kernel').textContent = report.kernel.name;
byId('description').textContent = report.kernel.description;
byId('machine').textContent = `topology ${report.topology.name}, ${report.clock_ghz} GHz` +
    (report.topology.set.length > 0 ? ', with ' + report.topology.set.join(', ') : '') +
    `; ${report.kernel.file}`;
for (const sentence of data.lead) {
  const line = element(byId('lead'), 'p');
  element(line, 'b', sentence.topic + ' ');
  line.appendChild(document.createTextNode(sentence.text));
}

function tile(name, value, style) {
  const node = element(byId('tiles'), 'div');
  element(node, 'b', value, style).id = 'tile-' + name.replace(/\W+/g, '-');
  element(node, 'span', name, 'soft');
}
const nanoseconds = cycles / report.clock_ghz;
tile('cycles', grouped(cycles));
tile('time', nanoseconds < 1000 ? nanoseconds.toFixed(0) + ' ns'
                                : d3.format(',.2f')(nanoseconds / 1000) + ' us');
tile('status', report.status, report.status === 'ok' ? 'good' : 'bad');
const checked = d3.sum(report.values.checked, c => c.elements);
if (checked > 0) {
  tile('values', report.values.mismatches === 0 ? 'right'
                                                : grouped(report.values.mismatches) + ' wrong',
       report.values.mismatches === 0 ? 'good' : 'bad');
}
if (report.bound.cycles > 0) tile('times the bound', (cycles / report.bound.cycles).toFixed(2) + ' x');
if (report.mac.packets > 0) {
  tile('MAC utilization of the chip', percent(report.mac.utilization));
  tile('of the clusters while active', percent(report.mac.utilization_while_active));
}
for (const failure of report.failures) {
  element(byId('failures'), 'p', `${failure.kind}: ${failure.unit ? failure.unit + ', ' : ''}cycle ` +
      `${grouped(failure.cycle)}, command ${failure.command}: ${failure.message}`, 'bad');
}
for (const stuck of report.stuck) {
  element(byId('failures'), 'p', `${stuck.unit} is ${stuck.state}, waiting for ${stuck.waiting_for}`);
}
for (const hazard of report.hazards) element(byId('failures'), 'p', 'hazard: ' + hazard, 'bad');

// ---- The run over time -----------------------------------------------------------------------

const width = activity.width;  // cycles of a stretch
const stretches = Math.ceil(cycles / width);

// Sums before each stretch, from runs of equal numbers.
function sums(runs) {
  const before = new Float64Array(stretches + 1);
  let i = 0;
  for (const [count, value] of runs) {
    for (let k = 0; k < count; ++k, ++i) before[i + 1] = before[i] + value;
  }
  for (; i < stretches; ++i) before[i + 1] = before[i];
  return before;
}
// Of [from, to), with stretches in which the ends lie counted in part.
function sumOf(before, from, to) {
  const upTo = cycle => {
    const at = Math.min(Math.max(cycle, 0), cycles), i = Math.min(Math.floor(at / width), stretches - 1);
    const length = Math.min(width, cycles - i * width);
    return before[i] + (before[i + 1] - before[i]) * (at - i * width) / length;
  };
  return stretches === 0 ? 0 : upTo(to) - upTo(from);
}

const units = activity.units.filter(unit => unit.busy.length > 0).map(unit => ({
  kind: 'unit', name: unit.name, height: 20,
  states: kStates.map(state => sums(unit[state])),
  totals: report.units.find(other => other.name === unit.name),
}));
const kRates = [
  ['macs', 'MACs', report.mac.peak_per_cycle, 'MACs'],
  ...['dm_read', 'dm_write', 'trf_read', 'hbm_read', 'hbm_write', 'pcie_read', 'pcie_write'].map(name =>
    [name, name.replace('_', ' '), (report.bandwidth[name] || {}).peak_bytes_per_cycle, 'B']),
];
const rates = kRates.filter(([name]) => activity[name].some(run => run[1] > 0))
    .map(([name, text, peak, what]) => ({
      kind: 'rate', name: text, key: name, height: 44, peak, what, before: sums(activity[name]),
    }));
const contexts = ['main', 'sub', 'dma'].map(name => ({
  kind: 'context', name, height: 26,
  commands: report.commands.filter(command => command.context === name && command.begun),
})).filter(row => row.commands.length > 0);
const rows = [...contexts, ...units, ...rates];
let top = kAxis;
rows.forEach((row, i) => {
  if (i > 0 && rows[i - 1].kind !== row.kind) top += 10;
  row.top = top;
  top += row.height + 3;
});
const height = top + 4;

const onPath = new Set(why ? why.critical_path.map(link => link.command) : []);
const view = {from: 0, to: Math.max(cycles, 1), selected: null, unit: null, path: why !== null};
const endOf = command => command.ended ? command.end : cycles;

const figure = byId('timeline');
const canvas = element(figure, 'canvas');
const x = d3.scale.linear();
let size = 0;

function colours() {
  const style = getComputedStyle(document.documentElement), known = {};
  return name => known[name] || (known[name] = style.getPropertyValue('--' + name).trim());
}

function drawContext(pen, row, colour) {
  for (const command of row.commands) {
    const end = endOf(command);
    if (end <= view.from || command.begin >= view.to) continue;
    const left = Math.max(x(command.begin), kGutter), right = Math.min(x(end), size - kRight);
    const wide = Math.max(right - left, 1);
    const critical = view.path && onPath.has(command.index);
    pen.globalAlpha = view.path && !critical ? 0.45 : 1;
    pen.fillStyle = colour(row.name);
    pen.fillRect(left, row.top, wide, row.height);
    const work = Math.min(Math.max(x(command.begin + command.overhead), left), right);
    pen.fillStyle = colour('overhead');
    pen.fillRect(left, row.top + row.height - 5, work - left, 5);
    pen.globalAlpha = 1;
    if (critical || command.index === view.selected) {
      pen.strokeStyle = colour(command.index === view.selected ? 'accent' : 'path');
      pen.lineWidth = command.index === view.selected ? 3 : 1.5;
      if (wide > 3) pen.strokeRect(left + 1, row.top + 1, wide - 2, row.height - 2);
    }
    if (wide < 26) continue;
    pen.save();
    pen.beginPath();
    pen.rect(left, row.top, wide - 3, row.height);
    pen.clip();
    pen.fillStyle = '#ffffff';
    pen.shadowColor = '#000000';
    pen.shadowBlur = 3;
    pen.fillText(label(command), left + 5, row.top + 14);
    pen.restore();
  }
}

// Where a link of the critical path hands over to the next.
function drawPath(pen, colour) {
  const middle = id => {
    const row = contexts.find(row => row.name === report.commands[id].context);
    return row.top + row.height / 2;
  };
  pen.strokeStyle = colour('path');
  pen.lineWidth = 2;
  for (let i = 1; i < why.critical_path.length; ++i) {
    const link = why.critical_path[i], at = x(link.from);
    const from = middle(why.critical_path[i - 1].command), to = middle(link.command);
    if (at < kGutter || at > size - kRight || from === to) continue;
    pen.beginPath();
    pen.moveTo(at, from);
    pen.lineTo(at, to);
    pen.stroke();
  }
}

// Calls draw(left, right, from, to) for the pixels or stretches of the window, whichever are fewer.
function eachPiece(draw) {
  const pixels = size - kRight - kGutter;
  const step = Math.max((view.to - view.from) / pixels, 1e-9);
  const length = Math.max(step, width);
  let from = length > step ? Math.floor(view.from / width) * width : view.from;
  for (; from < view.to; from += length) {
    const to = Math.min(from + length, cycles);
    const left = Math.max(x(from), kGutter), right = Math.min(x(to), size - kRight);
    if (to > from && right > left) draw(left, right, from, to);
  }
}

function drawUnit(pen, row, colour) {
  pen.fillStyle = colour('panel');
  pen.fillRect(kGutter, row.top, size - kRight - kGutter, row.height);
  eachPiece((left, right, from, to) => {
    let bottom = row.top + row.height;
    row.states.forEach((before, i) => {
      const tall = row.height * sumOf(before, from, to) / (to - from);
      if (tall < 0.01) return;
      pen.fillStyle = colour(kStates[i]);
      pen.fillRect(left, bottom - tall, right - left + 0.3, tall);
      bottom -= tall;
    });
  });
}

function drawRate(pen, row, colour) {
  pen.fillStyle = colour('panel');
  pen.fillRect(kGutter, row.top, size - kRight - kGutter, row.height);
  pen.fillStyle = colour(row.key === 'macs' ? 'macs' : 'bytes');
  eachPiece((left, right, from, to) => {
    const share = sumOf(row.before, from, to) / ((to - from) * row.peak);
    const tall = Math.min(share, 1) * row.height;
    pen.fillRect(left, row.top + row.height - tall, right - left + 0.3, tall);
  });
}

// At the right of a row: its share of what is shown.
function numbersOf(row) {
  const span = Math.min(view.to, cycles) - Math.max(view.from, 0);
  if (row.kind === 'unit') return `busy ${percent(sumOf(row.states[0], view.from, view.to) / span)}`;
  if (row.kind === 'context') {
    const ran = d3.sum(row.commands, command =>
      Math.max(0, Math.min(endOf(command), view.to) - Math.max(command.begin, view.from)));
    return `runs ${percent(ran / span)}`;
  }
  return percent(sumOf(row.before, view.from, view.to) / (span * row.peak)) + ' of peak';
}

function draw() {
  size = figure.clientWidth;
  const scale = window.devicePixelRatio || 1;
  canvas.width = size * scale;
  canvas.height = height * scale;
  canvas.style.height = height + 'px';
  const pen = canvas.getContext('2d'), colour = colours();
  pen.scale(scale, scale);
  pen.font = '12px system-ui, "DejaVu Sans", sans-serif';
  x.domain([view.from, view.to]).range([kGutter, size - kRight]);
  for (const tick of x.ticks(Math.max(2, Math.floor((size - kGutter - kRight) / 110)))) {
    pen.fillStyle = colour('line');
    pen.fillRect(x(tick), kAxis - 4, 1, height - kAxis);
    pen.fillStyle = colour('soft');
    pen.textAlign = 'center';
    pen.fillText(d3.format(tick % 1 === 0 ? ',d' : ',.2f')(tick), x(tick), 13);
  }
  for (const row of rows) {
    pen.textAlign = 'left';
    if (row.kind === 'context') drawContext(pen, row, colour);
    if (row.kind === 'unit') drawUnit(pen, row, colour);
    if (row.kind === 'rate') drawRate(pen, row, colour);
    pen.fillStyle = colour(row.kind === 'unit' && row.name === view.unit ? 'accent' : 'ink');
    pen.textAlign = 'right';
    pen.fillText(row.name, kGutter - 8, row.top + 14);
    pen.textAlign = 'left';
    pen.fillStyle = colour('soft');
    pen.fillText(numbersOf(row), size - kRight + 8, row.top + 14);
    if (row.kind === 'rate') {
      pen.fillText(`peak ${decimal(row.peak)}`, size - kRight + 8, row.top + 28);
      pen.fillText(`${row.what} a cycle`, size - kRight + 8, row.top + 42);
    }
  }
  if (view.path) drawPath(pen, colour);
  // For those who test the page, and for style sheets.
  figure.dataset.from = view.from;
  figure.dataset.to = view.to;
  figure.dataset.selected = view.selected === null ? '' : view.selected;
  figure.dataset.unit = view.unit || '';
}

// ---- Moving and selecting ----------------------------------------------------------------------

let asked = false;
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; draw(); });
}

function show(from, to) {
  const least = Math.min(8, Math.max(cycles, 1));
  const span = Math.min(Math.max(to - from, least), Math.max(cycles, 1));
  view.from = Math.max(0, Math.min(from + ((to - from) - span) / 2, cycles - span));
  view.to = view.from + span;
  redraw();
}
function zoom(factor, at) {
  const middle = at === undefined ? (view.from + view.to) / 2 : at;
  show(middle - (middle - view.from) * factor, middle + (view.to - middle) * factor);
}
const move = share => {
  const by = share * (view.to - view.from);
  show(view.from + by, view.to + by);
};
const showAll = () => show(0, cycles);

function fields(node, pairs) {
  const list = element(node, 'dl');
  for (const [name, text] of pairs) {
    element(list, 'dt', name);
    element(list, 'dd', text);
  }
}

function tellCommand(node, id) {
  const command = report.commands[id];
  element(node, 'b', `Command ${id}: ${command.context}  ${command.label}`);
  const pairs = [['cycles', command.begun
    ? `${grouped(command.begin)} to ${grouped(endOf(command))}: ${grouped(command.cycles)}` +
      `, ${grouped(command.overhead)} of them overhead` : 'not begun'],
    ['lower bound', `${grouped(command.bound)} (${command.bound_by})`]];
  const waited = command.waited_for;
  if (waited) pairs.push(['began after', `${waited.what} (${waited.kind}), cycle ${grouped(waited.cycle)}`]);
  if (why) {
    const told = why.commands[id];
    pairs.push(['critical path', told.on_critical_path ? 'on it' : 'not on it'],
               ['exposed', `${grouped(told.exposed)} cycles in which no other context ran`],
               ['slack', `${grouped(told.slack)} cycles that it may take longer`]);
  }
  for (const stage of data.commands[id].stages) pairs.push([stage.label, stage.text]);
  fields(node, pairs);
}

function tellUnit(node, name) {
  const unit = report.units.find(unit => unit.name === name);
  element(node, 'b', `Unit ${name} (${unit.type})`);
  const blamed = Object.entries(unit.blamed).filter(pair => pair[1] > 0).sort((a, b) => b[1] - a[1]);
  fields(node, [
    ...['busy', 'starved', 'blocked', 'conflict', 'idle'].map(state =>
      [state, `${grouped(unit[state])} cycles (${percent(unit[state] / cycles)} of the run)`]),
    ['items', `${grouped(unit.items_in)} in, ${grouped(unit.items_out)} out`],
    ['waited for', blamed.map(([who, count]) => `${who} ${grouped(count)}`).join(', ') || '-']]);
}

let commandRows = [];
function tell() {
  const node = byId('selected');
  node.textContent = '';
  if (view.selected !== null) tellCommand(node, view.selected);
  else if (view.unit !== null) tellUnit(node, view.unit);
  else element(node, 'span', 'Nothing is selected.', 'soft');
  commandRows.forEach((row, i) => row.classList.toggle('chosen', i === view.selected));
  redraw();
}
function selectCommand(id) {
  view.selected = id;
  view.unit = null;
  tell();
}
function selectUnit(name) {
  view.selected = null;
  view.unit = name;
  tell();
}
function selectNothing() {
  view.selected = view.unit = null;
  tell();
}
function step(by) {
  const count = report.commands.length;
  if (count === 0) return;
  const next = view.selected === null ? (by > 0 ? 0 : count - 1)
                                      : Math.min(Math.max(view.selected + by, 0), count - 1);
  selectCommand(next);
  const command = report.commands[next];
  if (command.begun && (endOf(command) <= view.from || command.begin >= view.to)) {
    const by = (command.begin + endOf(command)) / 2 - (view.from + view.to) / 2;
    show(view.from + by, view.to + by);
  }
}
function showSelected() {
  if (view.selected === null) return;
  const command = report.commands[view.selected];
  if (command.begun) show(command.begin, endOf(command));
}
function togglePath() {
  if (!why) return;
  view.path = !view.path;
  byId('show-path').setAttribute('aria-pressed', view.path);
  redraw();
}

const rowAt = y => rows.find(row => y >= row.top && y < row.top + row.height + 3);
const cycleAt = at => Math.min(Math.max(x.invert(at), 0), cycles);
function commandAt(row, at) {
  const near = 2 * (view.to - view.from) / Math.max(size, 1), cycle = cycleAt(at);
  return row.commands.find(command => cycle >= command.begin && cycle < endOf(command)) ||
         row.commands.find(command => cycle >= command.begin - near && cycle < endOf(command) + near);
}

let dragged = null;  // where the pointer went down
canvas.addEventListener('pointerdown', event => {
  dragged = {at: event.offsetX, from: view.from, to: view.to, moved: false};
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener('pointermove', event => {
  if (dragged) {
    dragged.moved = dragged.moved || Math.abs(event.offsetX - dragged.at) > 3;
    const by = (dragged.at - event.offsetX) * (dragged.to - dragged.from) / (size - kGutter - kRight);
    if (dragged.moved) show(dragged.from + by, dragged.to + by);
    return;
  }
  const row = rowAt(event.offsetY);
  if (!row || event.offsetX < kGutter || event.offsetX > size - kRight) return;
  const cycle = Math.floor(cycleAt(event.offsetX));
  let text = `cycle ${grouped(cycle)}, ${row.name}`;
  const from = Math.floor(cycle / width) * width, to = Math.min(from + width, cycles);
  if (width > 1 && row.kind !== 'context') text = `cycles ${grouped(from)} to ${grouped(to)}, ${row.name}`;
  if (row.kind === 'context') {
    const command = commandAt(row, event.offsetX);
    text += command ? ': ' + label(command) : ': none';
  } else if (row.kind === 'unit') {
    const parts = kStates.map((state, i) => [state, sumOf(row.states[i], from, to)]).filter(p => p[1] > 0);
    text += ': ' + (parts.map(([state, count]) =>
      width > 1 ? `${state} ${grouped(Math.round(count))}` : state).join(', ') || 'idle');
  } else {
    const rate = sumOf(row.before, from, to) / Math.max(to - from, 1);
    text += `: ${decimal(rate)} ${row.what} a cycle, ${percent(rate / row.peak)} of peak`;
  }
  byId('told').textContent = text;
});
canvas.addEventListener('pointerup', event => {
  const was = dragged;
  dragged = null;
  if (!was || was.moved) return;
  const row = rowAt(event.offsetY);
  if (!row) return selectNothing();
  if (row.kind === 'unit') return selectUnit(row.name);
  const command = row.kind === 'context' && event.offsetX >= kGutter ? commandAt(row, event.offsetX) : null;
  if (command) selectCommand(command.index); else selectNothing();
});
canvas.addEventListener('pointercancel', () => { dragged = null; });
canvas.addEventListener('dblclick', event => zoom(event.shiftKey ? 2 : 0.5, cycleAt(event.offsetX)));
canvas.addEventListener('wheel', event => {
  if (!event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  zoom(Math.pow(1.002, event.deltaY), cycleAt(event.offsetX));
}, {passive: false});

const kActions = {
  '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), '0': showAll, Home: showAll,
  ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), ArrowUp: () => step(-1),
  ArrowDown: () => step(1), Enter: showSelected, c: togglePath, Escape: selectNothing,
};
figure.addEventListener('keydown', event => {
  const action = kActions[event.key];
  if (!action || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  action();
});
byId('zoom-in').onclick = () => zoom(0.5);
byId('zoom-out').onclick = () => zoom(2);
byId('zoom-all').onclick = showAll;
byId('zoom-selected').onclick = showSelected;
byId('show-path').onclick = togglePath;
byId('show-path').hidden = !why;
keys(byId('keys'), [['busy'], ['conflict'], ['blocked'], ['starved'], ['overhead']]);

// ---- Tables ------------------------------------------------------------------------------------

const choose = id => cell => {
  const button = element(cell, 'button', report.commands[id].label, 'link');
  button.type = 'button';
  button.onclick = () => { selectCommand(id); figure.scrollIntoView({block: 'nearest'}); };
};

const kCommandColumns = [['', true], ['', false], ['command', false], ['begin', true], ['end', true],
                         ['cycles', true], ['bound', true]];
if (why) kCommandColumns.push(['exposed', true], ['slack', true]);
kCommandColumns.push(['began after', false]);
commandRows = table('commands', 'in cycles' + (why ? '; marked at the left: on the critical path' : '') +
    (report.clusters.length > 0 ? '; of cluster 0, the others run apart' : ''), kCommandColumns,
  report.commands.map(command => [
    command.index, command.context, choose(command.index),
    command.begun ? grouped(command.begin) : '-', command.ended ? grouped(command.end) : '-',
    command.begun ? grouped(command.cycles) : '-', grouped(command.bound),
    ...(why ? [grouped(why.commands[command.index].exposed), grouped(why.commands[command.index].slack)] : []),
    command.waited_for ? `${command.waited_for.what} (${command.waited_for.kind})` : '-']));
commandRows.forEach((row, i) => row.classList.toggle('path', onPath.has(i)));

if (why) {
  const longest = d3.max(why.commands, command => command.cycles) || 1;
  const waited = command => d3.sum(Object.values(command.went.waits));
  table('went', 'overhead before the first access, work of the unit that sets the bound, its waits, ' +
      'and filling and draining around it: in all the cycles of the command',
    [['', true], ['command', false], ['cycles', true], ['overhead', true], ['work', true],
     ['waits', true], ['fill', true], ['', false], ['of unit', false], ['which was', false]],
    why.commands.map(command => [
      command.index, choose(command.index), grouped(command.cycles), grouped(command.went.overhead),
      grouped(command.went.work), grouped(waited(command)), grouped(command.went.fill),
      stack([['overhead', command.went.overhead], ['work', command.went.work],
             ['waits', waited(command)], ['fill', command.went.fill]], longest),
      command.went.unit || '-',
      Object.entries(command.went.waits).map(([what, count]) => `${what} ${grouped(count)}`).join(', ') || '-']));
} else {
  byId('went-section').hidden = true;
}

const worked = report.units.filter(unit => unit.busy + unit.starved + unit.blocked + unit.conflict > 0)
    .sort((a, b) => b.busy - a.busy);
table('stalls', 'in cycles, busiest first',
  [['unit', false], ['busy', true], ['starved', true], ['blocked', true], ['conflict', true],
   ['idle', true], ['', false], ['waited for', false]],
  worked.map(unit => [
    cell => {
      const button = element(cell, 'button', unit.name, 'link');
      button.type = 'button';
      button.onclick = () => { selectUnit(unit.name); figure.scrollIntoView({block: 'nearest'}); };
    },
    ...['busy', 'starved', 'blocked', 'conflict', 'idle'].map(state => grouped(unit[state])),
    stack(kStates.map(state => [state, unit[state]]), cycles),
    Object.entries(unit.blamed).filter(pair => pair[1] > 0).sort((a, b) => b[1] - a[1]).slice(0, 3)
      .map(([who, count]) => `${who} ${grouped(count)}`).join(', ') || '-']));
const idle = report.units.filter(unit => !worked.includes(unit)).map(unit => unit.name);
if (idle.length > 0) byId('idle').textContent = 'idle throughout: ' + idle.join(', ');

table('memory', 'of the whole chip, over all cycles of the run',
  [['memory', false], ['bytes', true], ['B/cycle', true], ['peak', true], ['of peak', true]],
  Object.entries(report.bandwidth).filter(([, memory]) => memory.bytes > 0).map(([name, memory]) => [
    name.replace('_', ' '), grouped(memory.bytes), decimal(memory.bytes_per_cycle),
    decimal(memory.peak_bytes_per_cycle), percent(memory.utilization)]));

// ---- Roofline ------------------------------------------------------------------------------------

const roofline = why && why.roofline;
if (roofline) {
  const peak = roofline.peak_macs_per_cycle, wide = 640, tall = 320, left = 80, bottom = 44;
  const intensities = roofline.memories.map(memory => memory.macs_per_byte);
  const knees = roofline.memories.map(memory => peak / memory.peak_bytes_per_cycle);
  const lowest = Math.min(roofline.macs_per_cycle,
                          ...roofline.memories.map(memory => memory.roof_macs_per_cycle));
  const across = d3.scale.log().domain([d3.min([...intensities, ...knees]) / 3,
                                        d3.max([...intensities, ...knees]) * 3]).range([left, wide - 20]);
  const up = d3.scale.log().domain([Math.max(lowest, 1e-3) / 3, peak * 2]).range([tall - bottom, 14]);
  // 1, 10, ... and where these are few 2, 5, 20, 50, ... as well.
  const ticks = scale => {
    const [low, high] = scale.domain(), digits = high / low > 1000 ? [1] : [1, 2, 5];
    return scale.ticks().filter(tick => digits.includes(+tick.toExponential(0)[0]) &&
                                        +tick.toPrecision(1) === +tick.toPrecision(6));
  };
  const picture = d3.select('#roofline').append('svg').attr('viewBox', `0 0 ${wide} ${tall}`)
      .attr('width', wide).attr('height', tall).attr('role', 'img')
      .attr('aria-label', 'Roofline: products a cycle over products a byte; the table below has the numbers');
  picture.append('clipPath').attr('id', 'inside').append('rect').attr('x', left).attr('y', 0)
      .attr('width', wide - 20 - left).attr('height', tall - bottom);
  const axis = (scale, orient) => d3.svg.axis().scale(scale).orient(orient).tickValues(ticks(scale))
      .tickFormat(d3.format(',')).outerTickSize(0);
  picture.append('g').attr('class', 'axis').attr('transform', `translate(0,${tall - bottom})`)
      .call(axis(across, 'bottom'));
  picture.append('g').attr('class', 'axis').attr('transform', `translate(${left},0)`).call(axis(up, 'left'));
  picture.append('text').attr('x', (left + wide) / 2).attr('y', tall - 8).attr('text-anchor', 'middle')
      .text('useful MACs a byte');
  picture.append('text').attr('transform', `translate(16,${(tall - bottom) / 2}) rotate(-90)`)
      .attr('text-anchor', 'middle').text('MACs a cycle');
  const plot = picture.append('g').attr('clip-path', 'url(#inside)');
  const line = (x1, y1, x2, y2, name) => plot.append('line').attr('class', name)
      .attr('x1', x1).attr('y1', y1).attr('x2', x2).attr('y2', y2);
  line(left, up(peak), wide - 20, up(peak), 'peak');
  roofline.memories.forEach(memory => {
    const start = across.domain()[0], knee = peak / memory.peak_bytes_per_cycle;
    line(across(start), up(start * memory.peak_bytes_per_cycle), across(knee), up(peak), 'roof');
    const at = across(memory.macs_per_byte);
    line(at, up(memory.roof_macs_per_cycle), at, up(roofline.macs_per_cycle), 'drop');
    plot.append('circle').attr('class', 'point').attr('cx', at).attr('cy', up(roofline.macs_per_cycle))
        .attr('r', 5);
    plot.append('text').attr('x', at + 8).attr('y', up(roofline.macs_per_cycle) - 6).text(memory.memory);
  });
  table('roofs', `${decimal(roofline.macs_per_cycle)} MACs a cycle over the run; the multipliers of the ` +
      `chip can do ${grouped(peak)}`,
    [['memory', false], ['bytes', true], ['MACs a byte', true], ['peak B/cycle', true],
     ['roof MACs/cycle', true], ['of roof', true]],
    roofline.memories.map(memory => [memory.memory, grouped(memory.bytes), decimal(memory.macs_per_byte),
      decimal(memory.peak_bytes_per_cycle), decimal(memory.roof_macs_per_cycle), percent(memory.of_roof)]));
} else {
  byId('roofline-section').hidden = true;
}

// ---- Valid counts ----------------------------------------------------------------------------------

const drawCounts = [];
for (const command of data.commands) {
  command.counts.forEach(counts => {
    const {columns, rows: flits} = counts.heatmap;
    if (columns.length === 0 || flits.length === 0) return;
    const box = element(byId('counts'), 'figure', undefined, 'heatmap');
    const most = d3.max(flits, flit => d3.max(flit.counts)) || 1;
    element(box, 'figcaption', `command ${command.index}, ${report.commands[command.index].label}: ` +
        `elements of each flit that are data, 0 to ${most}; across ${grouped(columns.length)} ` +
        `${columns.length === 1 ? 'kind' : 'kinds'} of slices, down ${grouped(flits.length)} of ${grouped(counts.heatmap.flits)} flits`);
    const picture = element(box, 'canvas');
    const fit = (space, count, most) => Math.max(1, Math.min(most, Math.floor(space / count)));
    const wide = fit(900, columns.length, 48), tall = fit(400, flits.length, 18);
    picture.width = columns.length * wide;
    picture.height = flits.length * tall;
    picture.tabIndex = 0;
    picture.setAttribute('role', 'img');
    picture.setAttribute('aria-label', `valid counts of command ${command.index}`);
    const told = element(box, 'p', ' ', 'soft');
    drawCounts.push(() => {
      const pen = picture.getContext('2d'), colour = colours();
      const shade = d3.scale.linear().domain([0, most]).range([colour('page'), colour('busy')]);
      flits.forEach((flit, y) => flit.counts.forEach((count, x) => {
        pen.fillStyle = shade(count);
        pen.fillRect(x * wide, y * tall, wide, tall);
        if (wide < 20 || tall < 14) return;
        pen.fillStyle = d3.hsl(shade(count)).l > 0.5 ? '#000000' : '#ffffff';
        pen.textAlign = 'center';
        pen.font = '11px system-ui, "DejaVu Sans", sans-serif';
        pen.fillText(count, (x + 0.5) * wide, y * tall + 13);
      }));
    });
    picture.addEventListener('pointermove', event => {
      const column = columns[Math.floor(event.offsetX / wide)], flit = flits[Math.floor(event.offsetY / tall)];
      if (!column || !flit) return;
      const last = column.first_slice + column.slices - 1;
      told.textContent = `slice${last > column.first_slice ? `s from ${column.first_slice} on, ${column.slices} of them` : ' ' + column.first_slice}, ` +
          `flit ${flit.t}: ${flit.counts[columns.indexOf(column)]}`;
    });
  });
}
byId('counts-section').hidden = drawCounts.length === 0;

byId('footer').textContent = `rngdsim ${report.tool.version}; kernel sha256 ${report.kernel.sha256}, ` +
    `topology sha256 ${report.topology.sha256}`;

// ---- Whenever it must be drawn anew ----------------------------------------------------------------

function drawAll() {
  draw();
  for (const counts of drawCounts) counts();
}
function printing(on) {
  document.documentElement.classList.toggle('printing', on);
  drawAll();
}
window.addEventListener('resize', redraw);
window.addEventListener('beforeprint', () => printing(true));
window.addEventListener('afterprint', () => printing(false));
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
tell();
drawAll();
})();
