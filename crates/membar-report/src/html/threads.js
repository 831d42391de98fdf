// The threads of an execution: one column each, with arrows for relations between operations.
const threads = (function () {
  'use strict';
  const { KINDS, MEANS, DASH, append, el, svg, many, grouped, card, chip, short, plain, breakable } = elements;

  let markers = 0;
  function threadsCard(one, current, select) {
    const graph = one.graph;
    if (!graph.nodes.length) return null;
    const present = new Set(graph.arrows.map((arrow) => arrow.kind));
    present.add('po');
    const on = { po: true, rf: graph.nodes.length <= 60, co: one.verdict !== 'allowed', fr: false, ppo: false, time: false };
    const hasCycle = graph.arrows.some((arrow) => arrow.cycle);
    if (!hasCycle) on.fr = true;
    let showCycle = true;
    let view = 'reduced';
    const inCycle = new Set();
    graph.arrows.filter((arrow) => arrow.cycle).forEach((arrow) => { inCycle.add(arrow.from); inCycle.add(arrow.to); });

    const layer = svg('svg', { class: 'arrows', 'aria-hidden': 'true' });
    const names = svg('svg', { class: 'arrows names', 'aria-hidden': 'true' });
    const cols = el('div', { class: 'cols' });
    const above = graph.initial.length ? el('p', { class: 'ends above' }, el('span', {}, short('initially ' + graph.initial.join(', ')))) : null;
    const below = graph.last.length ? el('p', { class: 'ends below' }, el('span', {}, short('finally ' + graph.last.join(', ')))) : null;
    const plane = el('div', { class: 'plane' }, layer, above, cols, below, names);
    const canvas = el('div', { class: 'canvas', tabindex: 0, role: 'group', 'aria-label': 'Threads, one column each' }, plane);
    const absent = el('p', { class: 'small soft' });
    const named = Object.entries(one.values || {})[0];
    const hint = named ? el('p', { class: 'small soft', style: 'margin-top:.6rem' }, short(named[0]), ' is the value that was written on line ' + named[1].split('#')[1] + '. Point at a name to see the number.') : null;
    const boxes = new Map();

    function fill() {
      boxes.clear();
      cols.textContent = '';
      const columns = view === 'original' && graph.original.length ? graph.original : graph.reduced;
      const all = columns.map((column, t) => [column, t]).filter(([column]) => column.length).sort(([, a], [, b]) => graph.threads[a].localeCompare(graph.threads[b], 'en', { numeric: true }));
      const used = all.filter(([column]) => column.some((item) => item >= 0));
      const bare = all.filter(([column]) => column.every((item) => item < 0));
      absent.textContent = bare.length ? 'Not drawn: ' + bare.map(([column, t]) => graph.threads[t] + ' (' + many(-column.reduce((n, item) => n + item, 0), 'operation') + ')').join(', ') + '.' : '';
      const widest = Math.max(6, ...graph.nodes.map((node) => Math.max(plain(node.text).length, (node.effect || '').length * .85, (node.time || '').length * .85 + 1) + node.number.length));
      // Everything in fixed sizes, so that arrows stay where they belong on paper too.
      const n = used.length;
      const room = current.printing ? 40 : canvas.clientWidth / 16 - 2.6;
      const small = room < 26;
      const best = small && n > 2 ? Math.max(5.4, Math.min(12, 2 + widest * .5)) : Math.max(graph.nodes.some((node) => node.wrong) ? 9.4 : 7, Math.min(n > 2 ? 17 : 21, 3.2 + widest * .56));
      const column = new Map(columns.flatMap((items, t) => items.map((item) => [item, t])));
      const across = graph.arrows.filter((arrow) => (arrow.cycle || on[arrow.kind]) && column.has(arrow.from) && column.has(arrow.to) && column.get(arrow.from) !== column.get(arrow.to)).length;
      // The more arrows there are between two columns, the more room they need.
      const least = small && n > 2 ? 1.7 : n > 3 ? 3.2 : small ? 2.9 : 2.9 + Math.min(4, .7 * across / Math.max(1, n - 1));
      const fit = (room - least * (n - 1)) / n;
      const width = n > 3 || small && n > 2 ? (fit > best * .75 ? Math.min(best, fit) : best) : Math.max(7.6, Math.min(best, fit));
      const space = n > 1 ? Math.max(least, Math.min(9, (room - n * width) / (n - 1))) : 0;
      const whole = n * width + (n - 1) * space;
      cols.style.gridTemplateColumns = 'repeat(' + n + ', ' + width + 'rem)';
      cols.style.columnGap = space + 'rem';
      // Three or four threads fit on a phone if they are a little smaller.
      plane.style.zoom = current.printing ? Math.min(1, room / whole) : small && whole > room && whole < room * 1.4 ? room / whole : '';
      plane.classList.toggle('many', n > 2);
      plane.classList.toggle('wide', n > 4);
      plane.classList.toggle('dense', columns.some((column) => column.length > 8));
      used.forEach(([column, t], place) => {
        const list = el('ol', {});
        column.forEach((item) => {
          if (item < 0) {
            list.appendChild(el('li', {}, el('div', { class: 'gap' }, '⋮ ' + grouped(-item) + ' more ⋮')));
            return;
          }
          const node = graph.nodes[item];
          const box = el('button', { class: 'op' + (node.wrong ? ' wrong' : '') + (inCycle.has(item) ? ' in-cycle' : ''), type: 'button', 'aria-pressed': 'false', 'data-node': item },
            el('span', { class: 'no' }, el('span', { class: 'hidden' }, graph.threads[node.thread] + ', line '), node.number), el('code', {}, breakable(node.text)),
            node.effect ? el('span', { class: 'sub mono' }, breakable(node.effect)) : null,
            node.time ? el('span', { class: 'sub' }, '@\u00a0' + node.time) : null,
            node.wrong ? el('span', { class: 'flag' }, '✗ ' + node.wrong) : null);
          box.addEventListener('click', () => select(current.picked.has(item) && current.picked.size === 1 ? [] : [item], box));
          box.column = place;
          boxes.set(item, box);
          list.appendChild(el('li', {}, box));
        });
        cols.appendChild(el('section', { class: 'col' }, el('h3', {}, graph.threads[t]), list));
      });
      mark();
      draw();
    }

    function place(id) {
      const box = id === -1 ? above && above.firstChild : id === -2 ? below && below.firstChild : boxes.get(id);
      if (!box) return null;
      const outer = plane.getBoundingClientRect();
      const r = box.getBoundingClientRect();
      const zoom = Number(plane.style.zoom) || 1;
      const [x, y, w, h] = [(r.left - outer.left) / zoom, (r.top - outer.top) / zoom, r.width / zoom, r.height / zoom];
      return { column: box.column === undefined ? -1 : box.column, x, y, w, h, cx: x + w / 2, cy: y + h / 2 };
    }

    let lanes = new Map();
    function lane(level) {
      const key = Math.round(level / 12);
      const n = lanes.get(key) || 0;
      lanes.set(key, n + 1);
      return n * 12;
    }
    // Where arrows touch the sides of boxes: one below the other, in the order of where they come from.
    function ports(drawn) {
      const sides = new Map();
      for (const one of drawn) {
        const { a, b } = one;
        if (a.column === b.column || a.column < 0 || b.column < 0) continue;
        const right = b.x > a.x;
        for (const [end, box, other, side] of [['y1', a, b, right], ['y2', b, a, !right]]) {
          const key = box.x + ' ' + box.y + ' ' + side;
          if (!sides.has(key)) sides.set(key, []);
          sides.get(key).push({ one, end, box, other });
        }
      }
      for (const list of sides.values()) {
        list.sort((p, q) => p.other.cy - q.other.cy || Math.abs(q.other.x - q.box.x) - Math.abs(p.other.x - p.box.x));
        const space = Math.min(13, (list[0].box.h - 12) / Math.max(1, list.length - 1));
        list.forEach(({ one, end, box }, i) => { one[end] = box.cy + (i - (list.length - 1) / 2) * space; });
      }
    }
    function route(a, b, kind, nudge, from, to) {
      const same = a.column === b.column;
      if (same) {
        const down = b.y > a.y;
        const gap = down ? b.y - (a.y + a.h) : a.y - (b.y + b.h);
        if (down && gap < 60) {
          const x = a.cx + nudge * 16;
          return 'M' + x + ' ' + (a.y + a.h + 1) + 'L' + x + ' ' + (b.y - 3);
        }
        const right = kind === 'rf' || kind === 'fr' || kind === 'co';
        const x = right ? a.x + a.w + 1 : a.x - 1;
        const out = (right ? 1 : -1) * (20 + nudge * 9);
        const end = right ? x + 3 : x - 3;
        return 'M' + x + ' ' + a.cy + 'C' + (x + out) + ' ' + a.cy + ' ' + (end + out) + ' ' + b.cy + ' ' + end + ' ' + b.cy;
      }
      if (a.column < 0 && a.y < b.y) return 'M' + Math.min(Math.max(b.cx, a.x + 12), a.x + a.w - 12) + ' ' + (a.y + a.h) + 'L' + b.cx + ' ' + (b.y - 3);
      const right = b.x > a.x;
      const x1 = right ? a.x + a.w + 1 : a.x - 1;
      const x2 = right ? b.x - 4 : b.x + b.w + 4;
      const y1 = from === undefined ? a.cy + nudge * 5 : from;
      const y2 = to === undefined ? b.cy + nudge * 5 : to;
      if (Math.abs(a.column - b.column) > 1 && a.column >= 0 && b.column >= 0) {
        // Past a column: along the space between two rows.
        const level = y2 >= y1 ? a.y + a.h + 10 + lane(a.y + a.h) : a.y - 10 - lane(a.y - 22);
        const s = right ? 1 : -1;
        return 'M' + x1 + ' ' + y1 + 'C' + (x1 + s * 26) + ' ' + y1 + ' ' + (x1 + s * 8) + ' ' + level + ' ' + (x1 + s * 44) + ' ' + level +
          'L' + (x2 - s * 44) + ' ' + level + 'C' + (x2 - s * 8) + ' ' + level + ' ' + (x2 - s * 30) + ' ' + y2 + ' ' + x2 + ' ' + y2;
      }
      const bend = Math.max(18, Math.abs(x2 - x1) * .38) * (right ? 1 : -1);
      return 'M' + x1 + ' ' + y1 + 'C' + (x1 + bend) + ' ' + y1 + ' ' + (x2 - bend) + ' ' + y2 + ' ' + x2 + ' ' + y2;
    }

    function draw() {
      layer.textContent = '';
      names.textContent = '';
      lanes = new Map();
      markers += 1;
      const defs = svg('defs', {});
      for (const kind of KINDS) {
        for (const [size, name] of [[7, ''], [4.6, 'c']]) {
          defs.appendChild(svg('marker', { id: 'm' + markers + kind + name, class: 'k-' + kind, viewBox: '0 0 10 10', refX: 8, refY: 5, markerWidth: size, markerHeight: size, orient: 'auto-start-reverse' }, svg('path', { d: 'M0 0L10 5L0 10z' })));
        }
      }
      layer.appendChild(defs);
      const shown = [];
      const columns = view === 'original' && graph.original.length ? graph.original : graph.reduced;
      if (on.po) {
        for (const column of columns) for (let i = 0; i + 1 < column.length; i += 1) if (column[i] >= 0 && column[i + 1] >= 0) shown.push({ from: column[i], to: column[i + 1], kind: 'po', thin: true });
      }
      for (const arrow of graph.arrows) if ((arrow.cycle && showCycle) || (on[arrow.kind] && !arrow.cycle)) shown.push(arrow);
      // The order that is drawn bold needs no thin line beside it.
      const bold = new Set(shown.filter((arrow) => arrow.cycle).map((arrow) => arrow.from + ' ' + arrow.to));
      const busy = new Map();
      const labels = [];
      const drawn = [];
      for (const arrow of shown) {
        if (arrow.thin && bold.has(arrow.from + ' ' + arrow.to)) continue;
        const [a, b] = [place(arrow.from), place(arrow.to)];
        if (a && b) drawn.push({ arrow, a, b });
      }
      ports(drawn);
      for (const { arrow, a, b, y1, y2 } of drawn) {
        const key = Math.min(arrow.from, arrow.to) + ' ' + Math.max(arrow.from, arrow.to);
        const n = busy.get(key) || 0;
        busy.set(key, n + 1);
        const nudge = n === 0 ? 0 : (n % 2 ? 1 : -1) * Math.ceil(n / 2);
        const d = route(a, b, arrow.kind, nudge, y1, y2);
        const off = current.picked.size > 1 && !(current.picked.has(arrow.from) && current.picked.has(arrow.to)) ? ' off' : '';
        if (arrow.cycle) layer.appendChild(svg('path', { class: 'halo' + (off ? ' off' : ''), d }));
        const path = svg('path', { class: 'arrow k-' + arrow.kind + (arrow.thin ? ' po' : '') + (arrow.cycle ? ' cycle' : '') + off, d, 'stroke-dasharray': DASH[arrow.kind], 'stroke-linecap': arrow.kind === 'ppo' ? 'round' : 'butt', 'marker-end': 'url(#m' + markers + arrow.kind + (arrow.cycle ? 'c' : '') + ')' });
        layer.appendChild(path);
        if (!arrow.thin) labels.push([path, arrow, off]);
      }
      const taken = [];
      const solid = [...boxes.keys()].map(place);
      // A label stands beside others and not on a box, where there is such a place on its line.
      const crowd = (p) => taken.filter((q) => Math.abs(q.x - p.x) <= 30 && Math.abs(q.y - p.y) <= 15).length +
        2 * solid.filter((box) => p.x > box.x - 10 && p.x < box.x + box.w + 10 && p.y > box.y - 7 && p.y < box.y + box.h + 7).length;
      for (const [path, arrow, off] of labels) {
        const length = path.getTotalLength();
        let best = null;
        for (const t of length < 70 ? [.5] : [.3, .7, .22, .78, .4, .6, .5, .15, .85]) {
          const p = path.getPointAtLength(length * t);
          const n = crowd(p);
          if (!best || n < best.n) best = { x: p.x, y: p.y, n };
          if (!n) break;
        }
        taken.push(best);
        const upright = Math.abs(path.getPointAtLength(0).x - path.getPointAtLength(length).x) < 6;
        names.appendChild(svg('text', { class: 'label k-' + arrow.kind + off, x: best.x + (upright && length < 70 ? 20 : 0), y: best.y + 4 }, arrow.kind));
      }
    }

    function mark() {
      for (const [id, box] of boxes) {
        const picked = current.picked.has(id);
        box.classList.toggle('picked', picked);
        box.setAttribute('aria-pressed', picked ? 'true' : 'false');
      }
    }
    current.listeners.push((from) => {
      mark();
      draw();
      if (from && boxes.size > 24 && ![...boxes.values()].includes(from)) {
        const first = [...current.picked].map((id) => boxes.get(id)).find(Boolean);
        if (first) first.scrollIntoView({ block: 'nearest', inline: 'nearest' });
      }
    });
    let width = 0;
    current.refill = fill;
    current.redraw = () => { if (canvas.clientWidth === width || current.printing) draw(); else { width = canvas.clientWidth; fill(); } };

    const tools = el('div', { class: 'tools', role: 'group', 'aria-label': 'What is drawn' });
    if (graph.original.length) {
      const drawn = graph.reduced.reduce((n, column) => n + column.length, 0);
      const seen = graph.original.flat().filter((item) => item >= 0).length;
      const choose = (name, text) => {
        const button = el('button', { class: 'btn', type: 'button', 'aria-pressed': name === view ? 'true' : 'false' }, text);
        button.addEventListener('click', () => {
          view = name;
          for (const other of tools.querySelectorAll('[data-view]')) other.setAttribute('aria-pressed', other === button ? 'true' : 'false');
          fill();
        });
        button.setAttribute('data-view', name);
        return button;
      };
      append(tools, [choose('reduced', 'Reduced (' + drawn + ')'), choose('original', 'Original (' + (seen < graph.total ? seen + ' of ' : '') + grouped(graph.total) + ')'), el('span', { class: 'sep' })]);
    }
    const toggle = (content, value, change, kind) => {
      const button = el('button', { class: 'btn' + (kind ? ' k-' + kind : ''), type: 'button', 'aria-pressed': value ? 'true' : 'false', title: kind ? MEANS[kind] : null }, content);
      button.addEventListener('click', () => {
        const now = button.getAttribute('aria-pressed') !== 'true';
        button.setAttribute('aria-pressed', now ? 'true' : 'false');
        change(now);
        draw();
      });
      return button;
    };
    if (hasCycle) tools.appendChild(toggle('cycle', true, (now) => { showCycle = now; }));
    for (const kind of KINDS) if (present.has(kind)) tools.appendChild(toggle(chip(kind), on[kind], (now) => { on[kind] = now; }, kind));

    const name = (id) => id === -1 ? 'initial values' : id === -2 ? 'final values' : graph.threads[graph.nodes[id].thread] + ', line ' + graph.nodes[id].number + ' (' + graph.nodes[id].text + ')';
    const rows = graph.arrows.slice(0, 300).map((arrow) => el('tr', {}, el('td', {}, short(name(arrow.from))), el('td', {}, chip(arrow.kind)), el('td', {}, short(name(arrow.to))), el('td', {}, arrow.cycle ? 'yes' : '')));
    const table = rows.length ? el('details', { style: 'margin-top:.9rem' }, el('summary', { class: 'small', style: 'cursor:pointer' }, 'The arrows as a table (' + graph.arrows.length + ')'),
      el('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'Arrows' }, el('table', { class: 'small' }, el('caption', { class: 'hidden' }, 'Arrows'), el('thead', {}, el('tr', {}, ['From', 'Relation', 'To', 'In the cycle'].map((text) => el('th', { scope: 'col' }, text)))), el('tbody', {}, rows)))) : null;
    current.after.push(fill);
    return card('threads', 'Who did what', 'one column per thread, program order downwards', tools, canvas, absent, hint, table);
  }

  return { card: threadsCard };
}());

