// An execution with time from left to right: a lane per thread, one row per variable of memory.
const timeline = (function () {
  'use strict';
  const PILL = 24; // the height of an operation
  const BAR = 13; // the height of a bar with the space below it
  const ROW = 26; // the height of a variable
  const NOTE = 16; // what is said below an operation
  const POINT = 9; // where in an operation its moment is
  const CHAR = 7.1;
  const width = (text) => Math.max(30, Math.round(text.length * CHAR) + 14);

  // The text of an operation: what it does to memory.
  const label = (op) => (op.kind === 'control' ? op.text : op.effect || op.text);

  // Where each step is: in the order of time, and as near as operations of one lane leave room for. A store that reaches memory at
  // once has the place of the step that makes it.
  function moments(one, room, endWidth) {
    const { machine: m, timeline: t, graph } = one;
    const marked = new Map(t.marks.map((mark) => [mark.step, mark]));
    const place = (stretch) => {
      const x = [];
      const free = new Map();
      let last = -1;
      for (let s = t.first; s < m.steps.length; s += 1) {
        const { step, node } = m.steps[s];
        const op = graph.nodes[node];
        const mark = marked.get(s);
        if (step === 'commit' && s > t.first && m.steps[s - 1].node === node) { x[s] = x[s - 1]; continue; }
        if (step === 'issue' && !mark) { x[s] = Math.max(0, last); continue; }
        const gap = step === 'commit' ? 22 : 30;
        x[s] = last < 0 ? POINT + 18 : Math.max(last + gap * stretch, mark ? (free.get(op.thread) || 0) + 8 * stretch + POINT : 0);
        last = x[s];
        if (mark) free.set(op.thread, x[s] - POINT + Math.max(width(label(op)), mark.says ? mark.says.length * 6.9 + 4 : 0));
      }
      const end = Math.max(last + 34, ...free.values()) + 12;
      return { x, end, total: end + endWidth };
    };
    // As wide as there is room for.
    let best = place(1);
    for (let stretch = 1.1; stretch < 8; stretch += 0.1) { const wider = place(stretch); if (wider.total <= room) best = wider; }
    return best;
  }

  function draw(one, kit, room, go) {
    const { el, svg, rich, short, select } = kit;
    const { machine: m, timeline: t, graph } = one;
    const nodes = graph.nodes;
    const names = graph.threads;
    const buffered = m.buffers === 'thread' || m.buffers === 'address';
    const narrow = room < 620;
    const endWidth = t.end ? (narrow ? 132 : 176) : 12;
    const nameWidth = Math.min(narrow ? 84 : 150, Math.max(46, ...t.lanes.map((lane) => names[lane].length * 9 + 16), ...t.memory.map((track) => track.name.length * CHAR + 16)));
    const { x, end, total } = moments(one, Math.max(200, room - nameWidth), endWidth);
    const missed = new Set(t.marks.flatMap((mark) => mark.misses || []));
    const steps = m.steps.length;
    const at_once = (mark) => mark.until <= mark.step || (buffered && mark.until === mark.step + 1);
    // Every store that is late has a row for its bar below the operations of its lane; rows are used again.
    const rows = new Map(t.lanes.map((lane) => [lane, []]));
    const marks = t.marks.map((mark, i) => {
      const op = nodes[mark.node];
      const writes = op.write !== undefined && op.kind !== 'control';
      const late = writes && !at_once(mark);
      const one = { mark, op, i, writes, late, x: x[mark.step], left: x[mark.step] - POINT, w: width(label(op)), to: mark.until >= steps ? end - 6 : x[mark.until], bad: Boolean(mark.says) };
      if (late) {
        const used = rows.get(op.thread);
        let row = used.findIndex((free) => free < one.x - 4);
        if (row < 0) row = used.length;
        used[row] = one.to;
        one.row = row;
      }
      return one;
    });
    const noted = new Map(t.lanes.map((lane) => [lane, marks.some((one) => one.bad && one.op.thread === lane)]));
    const tops = new Map();
    let y = 6;
    for (const lane of t.lanes) {
      const inner = PILL + 12 + rows.get(lane).length * BAR + (noted.get(lane) ? NOTE : 0);
      tops.set(lane, [y, inner]);
      y += inner + 8;
    }
    const memoryTop = y + 24;
    const height = memoryTop + t.memory.length * ROW;
    const pillY = (one) => tops.get(one.op.thread)[0] + 6;
    const barY = (one) => pillY(one) + PILL + 4 + (noted.get(one.op.thread) ? NOTE : 0) + one.row * BAR;
    const rowY = new Map(t.memory.map((track, i) => [track.name, memoryTop + i * ROW]));
    const drawing = svg('svg', { class: 'tl-lines', width: total, height, 'aria-hidden': 'true' });
    const plane = el('div', { class: 'tl-plane', style: 'width:' + total + 'px;height:' + height + 'px' });
    for (const [top, inner] of tops.values()) plane.appendChild(el('div', { class: 'tl-lane', style: 'top:' + top + 'px;height:' + inner + 'px;width:' + (end - 4) + 'px' }));
    const line = (cls, d) => drawing.appendChild(svg('path', { class: cls, d }));
    for (const one of marks.filter((known) => known.writes)) {
      const red = missed.has(one.i) ? ' missed' : '';
      if (one.late) {
        line('tl-stem' + red, 'M' + one.x + ' ' + (pillY(one) + PILL) + 'V' + (barY(one) + 4));
        drawing.appendChild(svg('rect', { class: 'tl-bar' + red + (one.mark.until >= steps ? ' open' : ''), x: one.x - 3, y: barY(one), width: Math.max(6, one.to - one.x + 3), height: BAR - 5, rx: 3 }));
      }
      const row = rowY.get(one.op.address);
      if (row === undefined || (buffered && one.mark.until >= steps)) continue;
      const from = one.late && buffered ? [one.to, barY(one) + 4] : [one.x, one.late ? barY(one) + 4 : pillY(one) + PILL];
      line('tl-arrive' + (buffered ? red : ''), 'M' + from[0] + ' ' + from[1] + 'V' + row + 'm-4 -6l4 6l4 -6');
    }
    for (const one of marks) {
      for (const store of one.mark.misses || []) {
        const other = marks[store];
        const target = other.late ? barY(other) + 4 : pillY(other) + PILL / 2;
        const at = Math.max(other.x, Math.min(Math.max(other.x, other.to), one.x));
        line('tl-miss', 'M' + at + ' ' + target + 'L' + one.x + ' ' + (target < pillY(one) ? pillY(one) : pillY(one) + PILL + (noted.get(one.op.thread) && other.op.thread === one.op.thread ? NOTE : 0)));
        drawing.appendChild(svg('circle', { class: 'tl-cross', cx: at, cy: target, r: 4.5 }));
      }
    }
    plane.appendChild(drawing);
    const pills = marks.map((one) => {
      const { op, mark } = one;
      const place = op.number === '·' ? '' : ', line ' + op.number;
      const pill = el('button', { type: 'button', class: ['tl-op mono', op.kind, one.bad ? 'bad' : missed.has(one.i) ? 'missed' : ''].join(' '), style: 'left:' + one.left + 'px;top:' + pillY(one) + 'px;width:' + one.w + 'px', title: names[op.thread] + place + ': ' + op.text, 'aria-label': names[op.thread] + place + ': ' + label(op) + (one.bad ? ', ' + mark.says : ''), click: () => { go(mark.step + 1); select([mark.node]); } }, short(label(op)));
      plane.appendChild(pill);
      if (one.bad) plane.appendChild(el('div', { class: 'tl-why', style: 'left:' + one.left + 'px;top:' + (pillY(one) + PILL + 1) + 'px' }, mark.says));
      return pill;
    });
    plane.appendChild(el('div', { class: 'tl-memory', style: 'top:' + (memoryTop - 22) + 'px' }, buffered ? 'Memory' : 'Newest values'));
    for (const track of t.memory) {
      track.values.forEach(([step, value], i) => {
        const from = i ? x[step] : 0;
        const to = track.values[i + 1] ? x[track.values[i + 1][0]] : end - 6;
        plane.appendChild(el('div', { class: 'tl-cell mono' + (i ? ' written' : ''), style: 'left:' + from + 'px;top:' + rowY.get(track.name) + 'px;width:' + Math.max(8, to - from - 2) + 'px;height:' + (ROW - 5) + 'px' }, short(value)));
      });
    }
    if (t.end) {
      const lane = tops.get(t.end.thread) || [0, 0];
      const tall = Math.ceil(t.end.words.length * 7.6 / (endWidth - 24)) * 17 + 14;
      const top = Math.max(0, Math.min(lane[0], height - tall));
      plane.appendChild(el('div', { class: 'tl-end', style: 'left:' + end + 'px;top:' + top + 'px;width:' + (endWidth - 6) + 'px;min-height:' + lane[1] + 'px' }, el('span', {}, el('b', { 'aria-hidden': 'true' }, '✗ '), rich(t.end.words))));
    }
    const now = el('div', { class: 'tl-now', style: 'height:' + height + 'px' });
    plane.appendChild(now);
    const labels = el('div', { class: 'tl-names', style: 'width:' + nameWidth + 'px;height:' + height + 'px' },
      t.lanes.map((lane) => el('div', { class: 'tl-name', style: 'top:' + tops.get(lane)[0] + 'px;height:' + tops.get(lane)[1] + 'px' }, names[lane])),
      t.memory.map((track) => el('div', { class: 'tl-name variable mono', style: 'top:' + rowY.get(track.name) + 'px;height:' + (ROW - 5) + 'px', title: track.name }, track.name)));
    const scroller = el('div', { class: 'tl', style: 'scroll-padding-left:' + (nameWidth + 8) + 'px', tabindex: 0, role: 'group', 'aria-label': 'The execution, time from left to right' }, labels, plane);
    function at(step) {
      const here = step - 1 < t.first ? 0 : x[step - 1];
      now.style.left = here + 'px';
      pills.forEach((pill, i) => { if (t.marks[i].step === step - 1 && !t.marks[i].before) pill.setAttribute('aria-current', 'step'); else pill.removeAttribute('aria-current'); });
      const view = scroller.clientWidth - nameWidth;
      // The end of it is worth seeing, too.
      if (view > 0 && (here < scroller.scrollLeft + 30 || here > scroller.scrollLeft + view * 0.65)) scroller.scrollLeft = Math.max(0, here - view * 0.45);
    }
    return { scroller, at, total: total + nameWidth, picked: (set) => pills.forEach((pill, i) => pill.classList.toggle('picked', set.has(t.marks[i].node))) };
  }

  const legend = (one) => (one.machine.buffers === 'views'
    ? 'Time goes from left to right. A bar lasts as long as another thread may still miss the store. What goes wrong is red.'
    : 'Time goes from left to right. A bar is a store that waits in its buffer, from where it is made to where others see it. What goes wrong is red.');

  return { draw, legend };
}());
