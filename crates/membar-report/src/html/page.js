// Lays out the data of the page, and answers keys, addresses and prints.
(function () {
  'use strict';
  const data = JSON.parse(document.getElementById('data').textContent);
  const root = document.getElementById('page');
  const { TONE, SIGN, append, el, svg, many, grouped, card, chip, rich, called, short, plain, copy, live, liveRegion } = elements;

  // ---- the chosen case, and what is selected in it

  let current = null; // { view parts of the case that is shown }

  function select(nodes, from) {
    if (!current) return;
    current.picked = new Set(nodes);
    for (const listen of current.listeners) listen(from);
  }

  // ---- verdict strip

  const PLACES = {
    sc: [118, 0], tso: [118, 1], pso: [52, 2], wc: [150, 2], rc: [150, 3], rcpc: [150, 4], lc: [208, 2], ec: [108, 5], scope: [190, 5], wmo: [118, 6], rmo: [118, 7],
  };
  const BELOW = [['sc', 'tso'], ['tso', 'lc'], ['tso', 'pso'], ['tso', 'wc'], ['wc', 'rc'], ['rc', 'rcpc'], ['rcpc', 'ec'], ['rcpc', 'scope'], ['pso', 'wmo'], ['ec', 'wmo'], ['scope', 'wmo'], ['wmo', 'rmo']];
  // Models with signs and colours of their verdicts; `neutral` where it is neither good nor bad that a model allows something.
  function lattice(models, chosen, neutral) {
    const y = (row) => 13 + row * 27;
    const drawing = svg('svg', { viewBox: '0 0 236 216', role: 'img', 'aria-label': 'Built-in models, stronger ones above. ' + models.words });
    const here = (name) => models.all.some((model) => model.name === name);
    const asked = models.all.concat(Object.keys(PLACES).filter((name) => !here(name)).map((name) => ({ name, title: '', verdict: 'not asked' })));
    for (const [a, b] of BELOW) {
      const [p, q] = [PLACES[a], PLACES[b]];
      drawing.appendChild(svg('line', { class: 'edge', x1: p[0], y1: y(p[1]), x2: q[0], y2: y(q[1]), 'stroke-dasharray': b === 'lc' ? '4 4' : null }));
    }
    for (const model of asked) {
      const place = PLACES[model.name];
      if (!place) continue;
      const sign = neutral ? '' : SIGN[TONE[model.verdict]] || '';
      const text = model.name + (sign ? ' ' + sign : '');
      const width = text.length * 7.4 + 14;
      drawing.appendChild(svg('g', { class: model.verdict.replace(' ', '-') + (model.name === chosen ? ' chosen' : '') },
        svg('title', {}, model.name + ': ' + model.verdict + (model.title ? ' (' + model.title + ')' : '')),
        svg('rect', { x: place[0] - width / 2, y: y(place[1]) - 11, width, height: 22, rx: 7 }),
        svg('text', { x: place[0], y: y(place[1]) + 4.3, 'text-anchor': 'middle' }, text)));
    }
    const key = (verdict, word) => el('span', {}, el('span', { class: 'key ' + verdict, 'aria-hidden': 'true' }), ' ', word);
    return [drawing, neutral ? el('p', { class: 'small soft legend' }, key('allowed', 'allows it'), key('forbidden', 'forbids it')) : null, el('p', { class: 'small' }, models.words)];
  }
  function strip(one) {
    const tone = TONE[one.verdict];
    const [first, ...rest] = one.headline;
    const facts = el('dl', { class: 'facts' });
    const fact = (name, ...value) => facts.appendChild(el('div', {}, el('dt', {}, name), el('dd', {}, ...value)));
    fact('Model', one.model);
    if (one.axioms.length) fact(one.verdict === 'forbidden' ? 'Axioms that cannot all hold' : 'Axioms', one.axioms.map((a, i) => [i ? ', ' : '', el('span', { title: a.says }, a.name)]));
    if (one.shape) {
      fact('Shape of the cycle', one.shape.name ? [one.shape.name, el('span', { class: 'about soft' }, ' – ' + one.shape.about)] : ['no common name', el('span', { class: 'about soft mono' }, ' (' + one.shape.edges + ')')]);
    }
    for (const { name, value } of one.facts) fact(name, rich(value));
    const words = el('div', {},
      el('div', { class: 'verdict' }, el('span', { class: 'badge' }, el('span', { 'aria-hidden': 'true' }, SIGN[tone]), one.verdict), el('h1', { id: 'verdict-title' }, first)),
      rest.map((line) => el('p', { class: 'lead' }, rich(line))), one.timeline ? el('details', { class: 'more' }, el('summary', {}, 'More about this answer'), facts) : facts);
    const fix = one.fixes.beside && one.fixes.list.length > 0;
    const beside = fix ? el('div', { class: 'repair', id: 'repair' }, el('h2', {}, one.fixes.title), repair(one.fixes))
      : one.models ? el('div', { class: 'models' }, el('h2', { class: 'soft' }, 'What the models say'), lattice(one.models, one.model, false)) : null;
    return el('section', { class: 'card strip ' + tone + (fix ? ' with-fix' : beside ? ' with-models' : ''), id: 'verdict', 'aria-labelledby': 'verdict-title' }, words, beside);
  }
  // Beside a fix there is no room for the models.
  function modelsCard(one) {
    if (!one.models || !one.fixes.beside || !one.fixes.list.length) return null;
    return card('models', 'What the models say', null, el('div', { class: 'models neutral' }, lattice(one.models, one.model, true)));
  }
  function repair(fix) {
    const entry = (item) => el('li', {}, item.nodes.length ? el('button', { class: 'link', type: 'button', click: (event) => select(item.nodes, event.currentTarget) }, rich(item.words)) : rich(item.words),
      item.code && !fix.diff ? el('div', { class: 'cmd', style: 'margin-top:.3rem' }, el('pre', { tabindex: 0 }, item.code), copy(item.code, 'what to write')) : null);
    const line = (text) => el('span', { class: /^(\+\+\+|---|@@)/.test(text) ? 'at' : text[0] === '+' ? 'plus' : text[0] === '-' ? 'minus' : null }, text + '\n');
    return [fix.diff ? el('div', { class: 'cmd' }, el('pre', { class: 'diff', tabindex: 0, 'aria-label': 'The fix as a diff' }, fix.diff.trimEnd().split('\n').map(line)), copy(fix.diff, 'the fix as a diff')) : null,
      el('ul', { class: fix.diff ? 'list inline' : 'list' }, fix.list.map(entry)), fix.about ? el('p', { class: 'small soft' }, rich(fix.about)) : null];
  }

  // ---- the argument

  function argument(one) {
    if (!one.lemmas.length) return null;
    const isProgram = one.program;
    const top = []; // what j and k go through
    function stepView(lemma, index, label, inner) {
      const step = lemma.steps[index];
      const head = el('summary', {},
        el('span', { class: 'num', 'aria-hidden': 'true' }, label),
        el('span', { class: 'pair' }, rich(step.from_text), ' ', el('span', { class: 'soft' }, 'is before'), ' ', rich(step.to_text)),
        el('span', { class: 'why soft' }, chip(step.kind), ' ', rich(step.why)));
      const view = el('details', { class: 'step', 'data-step': index, 'data-nodes': step.nodes.join(' ') }, head);
      view.nodes = step.nodes;
      const open = () => {
        if (!view.open || view.filled) return;
        view.filled = true;
        const body = el('div', { class: 'body' });
        body.appendChild(el('div', { class: 'rule' }, el('b', {}, 'Rule ' + step.rule), step.axiom ? el('span', { class: 'soft' }, ' (axiom ' + step.axiom + ')') : null, ': ', step.says));
        const premises = step.premises.filter((p) => lemma.steps[p].number !== null || inner < 1);
        if (premises.length) {
          const list = el('ol', { class: 'steps inner' });
          premises.forEach((p) => list.appendChild(el('li', {}, stepView(lemma, p, lemma.steps[p].number === null ? '·' : String(lemma.steps[p].number), inner + 1))));
          body.appendChild(el('div', {}, el('b', {}, many(premises.length, 'premise')), list));
        }
        if (step.lemma !== undefined) body.appendChild(el('p', {}, 'It rests on case ' + (step.lemma + 1) + ' above.'));
        if (step.observed.length) body.appendChild(el('div', {}, el('b', {}, 'Observed'), el('ul', {}, step.observed.map((line) => el('li', {}, rich(line, {}))))));
        view.appendChild(body);
      };
      view.addEventListener('toggle', open);
      const pick = () => select(step.nodes, view);
      head.addEventListener('focus', pick);
      head.addEventListener('click', pick);
      view.fill = open;
      if (!inner) top.push(view);
      return view;
    }
    const numbered = (lemma) => {
      const list = el('ol', { class: 'steps' });
      lemma.cycle.forEach((index, i) => {
        const number = lemma.steps[index].number;
        list.appendChild(el('li', {}, stepView(lemma, index, number === null ? '·' : String(number || i + 1), 0)));
      });
      return list;
    };
    const last = one.lemmas[one.lemmas.length - 1];
    const parts = [];
    one.lemmas.slice(0, -1).forEach((lemma, i) => {
      const view = el('details', { class: 'case' }, el('summary', {}, 'Case ' + (i + 1) + ': suppose ' + lemma.assume.join(', and ') + '. Then:'), numbered(lemma), el('p', { class: 'closing' }, 'That is a cycle: this case is impossible.'));
      parts.push(view);
    });
    if (parts.length) parts.push(el('p', { style: 'margin:.6rem 0' }, el('b', {}, 'So, without assuming anything:')));
    parts.push(numbered(last));
    const names = last.cycle.map((index) => last.steps[index].from_text.replace(/ \(.*$/, ''));
    const closing = isProgram
      ? 'Back to the beginning: in no interleaving can each of these come before the next.'
      : names.length > 1 ? 'Back to ' + names[0] + ': it would be before itself. No memory order does that.' : 'Nothing is before itself.';
    parts.push(el('p', { class: 'closing' }, closing));
    current.listeners.push((from) => {
      const touches = (view) => current.picked.size > 0 && [...current.picked].every((node) => view.nodes.includes(node));
      for (const view of current.main.querySelectorAll('details.step')) {
        view.classList.toggle('picked', view === from);
        view.classList.toggle('near', view !== from && touches(view));
      }
    });
    current.top = top;
    return card('argument', 'Why', 'each step opens down to what was recorded', parts,
      el('p', { class: 'small soft keys', style: 'margin-top:.7rem' }, el('kbd', {}, 'j'), ' ', el('kbd', {}, 'k'), ' next and previous step, ', el('kbd', {}, 'Enter'), ' opens it, ', el('kbd', {}, 'Esc'), ' clears the selection'));
  }

  // ---- the impossible read

  function impossible(one) {
    const read = one.read;
    if (!read) return null;
    const program = one.program;
    const words = program
      ? { returned: ['bad', '✗ returned: not sc'], possible: ['good', '✓ what sc returns here'] }
      : { returned: ['bad', '✗ returned, impossible'], possible: ['good', '✓ possible'], impossible: ['bad', '✗ impossible too'], unknown: ['open', '? not tried'] };
    const rows = read.values.map((value) => el('tr', {}, el('td', {}, short(value.value)),
      el('td', {}, value.node === null ? rich(value.from) : el('button', { class: 'link', type: 'button', click: (event) => select([value.node, read.node], event.currentTarget) }, rich(value.from))),
      el('td', {}, el('span', { class: 'verdict-word ' + words[value.what][0] }, words[value.what][1]))));
    return card('read', program ? 'The read that sequential consistency rules out' : 'The impossible read', null,
      el('p', {}, el('button', { class: 'link', type: 'button', click: (event) => select([read.node], event.currentTarget) }, rich(read.words)), program ? ' With the store in memory it would have read the other value:' : ' The rest of the trace being as it is, these are the values of that address:'),
      el('table', { class: 'values', style: 'margin:.6rem 0' }, el('caption', { class: 'hidden' }, 'Values'), el('thead', {}, el('tr', {}, ['Value', 'Written by', program ? 'What it means' : 'Could it be read here?'].map((text) => el('th', { scope: 'col' }, text)))), el('tbody', {}, rows)),
      read.omitted ? el('p', { class: 'small soft' }, grouped(read.omitted) + ' more values are not listed.') : null,
      read.complete ? null : el('p', { class: 'small soft' }, 'Not every value was tried.'),
      read.because ? el('p', {}, el('b', {}, program ? 'Why sc cannot: ' : 'What rules it out: '), rich(read.because)) : null);
  }

  // ---- the machine

  function machine(one) {
    const m = one.machine;
    if (!m) return one.no_machine ? card('machine', 'Step by step', null, el('p', { class: 'soft' }, one.no_machine)) : null;
    const nodes = one.graph.nodes;
    const names = one.graph.threads;
    const direct = m.buffers === 'none' || m.buffers === 'views';
    const used = [...new Set(m.steps.map((step) => nodes[step.node].thread).concat(m.stuck.map((s) => nodes[s.node].thread)))].sort((a, b) => names[a].localeCompare(names[b], 'en', { numeric: true }));
    const said = (op) => op.text.startsWith(names[op.thread] + ' ') ? op.text + '.' : names[op.thread] + ': `' + op.text + '`';
    function state(at) {
      const memory = new Map(m.memory.map(([name, value]) => [name, { value: value === null ? '–' : value, fresh: false }]));
      const buffers = new Map(used.map((t) => [t, []]));
      let words = 'At the beginning.';
      let node = null;
      for (let i = 0; i < at; i += 1) {
        for (const cell of memory.values()) cell.fresh = false;
        for (const buffer of buffers.values()) for (const cell of buffer) cell.fresh = false;
        const step = m.steps[i];
        const op = nodes[step.node];
        const who = names[op.thread];
        node = step.node;
        const write = (value) => memory.set(op.address, { value, fresh: true });
        const buffer = buffers.get(op.thread);
        if (step.step === 'commit') {
          const place = buffer.findIndex((cell) => cell.node === step.node);
          if (place >= 0) buffer.splice(place, 1);
          write(op.write);
          words = who + '’s `' + op.address + ' := ' + op.write + '` reaches memory.';
        } else if (op.kind === 'store' && !direct) {
          buffer.push({ text: op.address + ' := ' + op.write, node: step.node, address: op.address, value: op.write, fresh: true });
          words = who + ' stores ' + op.write + ' to `' + op.address + '`: into its buffer.';
        } else if (op.kind === 'store') {
          write(op.write);
          words = who + ' stores ' + op.write + ' to `' + op.address + '`.';
        } else if (op.kind === 'load') {
          const own = buffer.some((cell) => cell.address === op.address);
          words = who + ' loads ' + op.read + ' from `' + op.address + '`' + (own ? ' (from its own buffer).' : direct ? '.' : ' (from memory).');
          const cell = memory.get(op.address);
          if (cell && cell.value === '–' && !own) cell.value = op.read;
        } else if (op.kind === 'rmw') {
          if (op.write !== undefined) write(op.write);
          words = who + ' reads ' + op.read + ' from `' + op.address + '`' + (op.write === undefined ? ' and leaves it.' : ' and writes ' + op.write + ', in one step.');
        } else if (op.kind === 'acquire') {
          write('held by ' + who);
          words = who + ' acquires `' + op.address + '`.';
        } else if (op.kind === 'release') {
          write('free');
          words = who + ' releases `' + op.address + '`.';
        } else words = said(op);
        if (m.wrong && m.wrong.step === i) words = m.wrong.words;
      }
      // The name of a thread stays as it is.
      const named = names.includes(words.split(/[ :’']/)[0]);
      return { memory, buffers, words: named ? words : words.charAt(0).toUpperCase() + words.slice(1), node };
    }
    const now = el('p', { class: 'now', 'aria-live': 'polite' });
    const boxes = el('div', { class: 'boxes' });
    const trail = el('ol', { class: 'trail' });
    const slider = el('input', { type: 'range', min: 0, max: m.steps.length, value: 0, step: 1, 'aria-label': 'Step of the machine' });
    const controls = [['|◀', 'First step'], ['◀', 'Step back'], ['▶', 'Step forward'], ['▶|', 'Last step']].map(([sign, label]) => el('button', { class: 'btn', type: 'button', 'aria-label': label, title: label }, sign));
    let at = 0;
    let playing = 0;
    const play = el('button', { class: 'btn', type: 'button', title: 'Play to the end (p)' }, 'Play');
    function pause() { clearInterval(playing); playing = 0; play.textContent = 'Play'; }
    function toggle() {
      if (playing) { pause(); return; }
      if (at === m.steps.length) show(0, true);
      play.textContent = 'Pause';
      const shown = current;
      playing = setInterval(() => { if (current !== shown) pause(); else { show(at + 1, true); if (at === m.steps.length) pause(); } }, 900);
    }
    play.addEventListener('click', toggle);
    let picture = null;
    const canvas = one.timeline ? el('div', { class: 'tl-place' }) : null;
    const trailButtons = [];
    // The list shows the step; the page stays where it is.
    const follow = () => { const here = trailButtons[at - 1]; if (here) trail.scrollTop = Math.max(0, here.offsetTop - trail.offsetTop - 100); };
    current.after.push(follow);
    function show(to, pick) {
      at = Math.max(0, Math.min(m.steps.length, to));
      slider.value = at;
      const { memory, buffers, words, node } = state(at);
      const stuck = at === m.steps.length && m.stuck.length > 0;
      const failed = at === m.steps.length && m.fails;
      const end = stuck || failed;
      const wrong = m.wrong && m.wrong.step + 1 === at;
      slider.setAttribute('aria-valuetext', 'step ' + at + ' of ' + m.steps.length + ': ' + plain(words).replaceAll('`', ''));
      now.textContent = '';
      now.classList.toggle('stuck', Boolean(end || wrong));
      append(now, [el('b', {}, at + ' of ' + m.steps.length + ' '), rich(words), stuck ? [' ', el('b', {}, 'Stuck: '), rich(m.stuck.map((s) => s.why).join(' '))] : null, failed ? [' ', el('b', {}, '✗ '), rich(m.fails)] : null]);
      boxes.textContent = '';
      boxes.appendChild(el('section', { class: 'box memory' }, el('h3', {}, m.buffers === 'views' ? 'Newest values' : 'Memory'), el('ul', { class: 'cells mono' }, [...memory].map(([name, cell]) => el('li', { class: 'cell' + (cell.fresh ? ' new' : '') }, short(name + ' = ' + cell.value))))));
      const views = m.views && at > 0 ? m.views[at - 1] : null;
      for (const view of views || []) {
        if (!used.includes(view.thread)) continue;
        const value = ([name, list]) => el('li', { class: 'cell' + (list.length > 1 ? ' stale' : '') }, short(name + ' = ' + list.join(' or ')));
        boxes.appendChild(el('section', { class: 'box' }, el('h3', {}, names[view.thread] + ' may read'), el('ul', { class: 'cells mono' }, view.values.map(value))));
      }
      if (picture) picture.at(at);
      if (!direct) {
        for (const [t, cells] of buffers) {
          const groups = m.buffers === 'address' ? [...new Set(cells.map((cell) => cell.address))].map((address) => cells.filter((cell) => cell.address === address)) : [cells];
          boxes.appendChild(el('section', { class: 'box' }, el('h3', {}, 'Buffer of ' + names[t] + (m.buffers === 'address' ? ', by address' : ', oldest first')),
            cells.length ? groups.map((group) => el('ul', { class: 'cells mono' }, group.map((cell) => el('li', { class: 'cell' + (cell.fresh ? ' new' : '') }, short(cell.text))))) : el('span', { class: 'soft small' }, 'empty')));
        }
      }
      trailButtons.forEach((button, i) => {
        if (i + 1 === at) button.setAttribute('aria-current', 'step'); else button.removeAttribute('aria-current');
        button.classList.toggle('later', i + 1 > at);
      });
      follow();
      // Not `disabled`: a button that has the focus keeps it.
      controls.forEach((button, i) => button.setAttribute('aria-disabled', at === (i < 2 ? 0 : m.steps.length) ? 'true' : 'false'));
      if (pick) address(current.index, at);
      if (pick) select(stuck ? m.stuck.map((s) => s.node) : node === null ? [] : [node], slider);
    }
    m.steps.slice(0, 400).forEach((step, i) => {
      const op = nodes[step.node];
      const text = step.step === 'commit' ? op.address + ' := ' + op.write + ' reaches memory (' + names[op.thread] + ')' : said(op).replaceAll('`', '');
      const wrong = m.wrong && m.wrong.step === i;
      const button = el('button', { type: 'button', class: wrong ? 'wrong' : null, 'data-node': step.node, click: () => show(i + 1, true) }, el('span', { class: 'soft' }, i + 1), el('span', {}, short(text), wrong ? [el('br'), el('span', { class: 'small' }, '✗ ', rich(m.wrong.words))] : null));
      button.node = step.node;
      trailButtons.push(button);
      trail.appendChild(el('li', {}, button));
    });
    slider.addEventListener('input', () => show(Number(slider.value), true));
    controls[0].addEventListener('click', () => show(0, true));
    controls[1].addEventListener('click', () => show(at - 1, true));
    controls[2].addEventListener('click', () => show(at + 1, true));
    controls[3].addEventListener('click', () => show(m.steps.length, true));
    controls.forEach((button) => button.addEventListener('click', pause));
    if (canvas) {
      const paint = () => {
        const room = current && current.printing ? 840 : canvas.clientWidth;
        if (!room) return;
        picture = timeline.draw(one, { ...kit, short, select: (list) => select(list, canvas) }, room, (to) => { pause(); show(to, true); });
        canvas.textContent = '';
        canvas.appendChild(picture.scroller);
        canvas.style.zoom = current && current.printing && picture.total > 840 ? String(840 / picture.total) : '';
        picture.at(at);
        picture.picked(current.picked);
      };
      let painted = 0;
      current.paint = () => { if (canvas.clientWidth !== painted || current.printing) { painted = canvas.clientWidth; paint(); } };
      current.listeners.push(() => { if (picture) picture.picked(current.picked); });
    }
    current.listeners.push(() => { for (const button of trailButtons) button.classList.toggle('near', current.picked.has(button.node)); });
    // Where it goes wrong, unless the address says otherwise.
    show(current.at !== null ? current.at : m.wrong ? m.wrong.step + 1 : m.stuck.length ? m.steps.length : 0, false);
    current.step = (move) => { pause(); show(at + move, true); };
    current.play = toggle;
    current.goto = (to) => show(to, false);
    const keys = el('span', { class: 'keys' }, el('kbd', {}, '←'), ' ', el('kbd', {}, '→'), ' previous and next step, ', el('kbd', {}, 'p'), ' plays on');
    const steps = el('details', { open: m.steps.length <= 14 || Boolean(canvas) }, el('summary', { class: 'small', style: 'cursor:pointer' }, 'All ' + many(m.steps.length, 'step')), trail);
    const stepper = el('div', { class: 'controls', role: 'group', 'aria-label': 'Steps' }, controls, play, slider);
    if (canvas) {
      return card('machine', 'What happens', keys, el('div', { class: 'machine' }, canvas, el('p', { class: 'small soft tl-legend' }, timeline.legend(one)),
        el('div', { class: 'under' }, el('div', { class: 'machine' }, stepper, now, boxes, el('p', { class: 'small soft' }, rich(m.about))), steps)));
    }
    return card('machine', 'Step by step', keys, el('div', { class: 'machine' }, el('p', { class: 'soft' }, rich(m.about)), stepper, now, boxes,
      steps,
      m.omitted ? el('p', { class: 'small soft' }, many(m.omitted, 'operation') + ' at the end are not shown.') : null));
  }

  // ---- the rest

  function fixes(one) {
    const fix = one.fixes;
    if (!fix.list.length || fix.beside) return null;
    return card('fix', fix.title, null, fix.about ? el('p', { style: 'margin-bottom:.5rem' }, rich(fix.about)) : null,
      el('ul', { class: 'list' }, fix.list.map((entry) => el('li', {}, entry.nodes.length ? el('button', { class: 'link', type: 'button', click: (event) => select(entry.nodes, event.currentTarget) }, rich(entry.words)) : rich(entry.words),
        entry.code ? el('div', { class: 'cmd', style: 'margin-top:.3rem' }, el('pre', { tabindex: 0 }, entry.code), copy(entry.code, 'what to write')) : null))));
  }
  function stop(one) {
    const s = one.stop;
    if (!s) return null;
    const share = s.of ? Math.min(100, 100 * s.done / s.of) : 0;
    return card('stop', 'How far it got', null, el('p', {}, rich(s.why), ' ', rich(s.words)), s.follows ? el('p', { class: 'closing' }, s.follows) : null,
      s.of ? el('div', { class: 'bar', role: 'img', 'aria-label': share.toFixed(0) + ' percent' }, el('i', { style: 'width:' + share.toFixed(1) + '%' })) : null,
      el('h3', { style: 'margin:.8rem 0 .3rem' }, 'How to go on'), el('ul', { class: 'list' }, s.next.map((line) => el('li', {}, rich(line)))));
  }
  function sources(one) {
    if (!one.sources.length) return null;
    const parts = one.sources.map((source, s) => {
      const at = new Map();
      one.graph.nodes.forEach((node, i) => { if (node.place && node.place[0] === s) at.set(node.place[1], (at.get(node.place[1]) || []).concat(i)); });
      const rows = [];
      let before = 0;
      for (const [number, text] of source.lines) {
        if (before && number > before + 1) rows.push(el('tr', { class: 'skip-row' }, el('td', {}), el('td', {}, '⋮')));
        before = number;
        const nodes = at.get(number);
        const row = el('tr', { class: nodes || (source.marked || []).includes(number) ? 'mark' : null }, el('td', {}, nodes ? el('button', { class: 'link', type: 'button', 'aria-label': 'Choose line ' + number, click: (event) => select(nodes, event.currentTarget) }, number) : number), el('td', {}, text));
        if (nodes) current.listeners.push(() => row.classList.toggle('picked', nodes.some((node) => current.picked.has(node))));
        rows.push(row);
      }
      return [el('h3', { class: 'mono', style: 'margin:.3rem 0' }, source.file), el('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'Lines of ' + source.file }, el('table', { class: 'src' }, el('caption', { class: 'hidden' }, 'Lines of ' + source.file), el('tbody', {}, rows)))];
    });
    return card('source', 'Source', one.verdict === 'error' ? 'lines of the calls are marked' : 'lines of this execution are marked', parts);
  }
  function reproduce(one) {
    const command = (about, line) => el('div', {}, el('h3', { style: 'margin-bottom:.25rem' }, about), el('div', { class: 'cmd' }, el('pre', { tabindex: 0 }, line), copy(line, about)));
    return card('reproduce', 'Do it again', null, el('div', { class: 'repro' },
      one.commands.map((entry) => command(entry.about, entry.line)),
      one.copies.map((entry) => el('details', {}, el('summary', {}, el('b', {}, entry.name), ' ', el('span', { class: 'soft small' }, rich(entry.about))),
        el('div', { class: 'cmd', style: 'margin-top:.4rem' }, el('pre', { tabindex: 0 }, entry.text), copy(entry.text, entry.name)))),
      one.commands.some((entry) => entry.line === data.made.command) ? null : command('This page', data.made.command),
      el('p', { class: 'small soft' }, data.made.version + ' on ' + data.made.host),
      one.notes.length ? el('ul', { class: 'list small soft' }, one.notes.map((note) => el('li', {}, rich(note)))) : null));
  }

  const roomy = window.matchMedia('(min-width: 1060px)');
  roomy.addEventListener('change', () => { if (current && !current.printing) current.arrange(!roomy.matches); });
  function show(index, at) {
    const one = data.cases[index];
    called(one.values || {});
    const main = el('div', { id: 'case' });
    current = { picked: new Set(), listeners: [], after: [], top: [], main, index, at: at === undefined ? null : at, step: null, goto: null, redraw: null, play: null, paint: null };
    const parts = { why: argument(one), threads: threads.card(one, current, select), read: impossible(one), machine: machine(one), fix: fixes(one), stop: stop(one), source: sources(one), models: modelsCard(one), again: reproduce(one) };
    main.appendChild(strip(one));
    const table = views.states(one, kit);
    if (table) main.appendChild(el('div', { class: 'grid' }, table));
    // On a narrow page in this order; on a wide one in two columns that end as far up as they can.
    // The step that goes wrong comes before what explains it at length.
    const lead = one.timeline ? parts.machine : null;
    if (lead) main.appendChild(el('div', { class: 'grid' }, lead));
    if (nav && lead) main.appendChild(el('div', { class: 'grid' }, nav));
    else if (nav && nav.nextSibling !== place) place.parentNode.insertBefore(nav, place);
    const wrong = !lead && one.machine && one.machine.wrong ? parts.machine : null;
    const order = [parts.stop, parts.threads, wrong, parts.why, parts.source, parts.read, wrong || lead ? null : parts.machine, parts.fix, parts.models, parts.again].filter(Boolean);
    const [left, right] = [el('div', { class: 'stack' }), el('div', { class: 'stack' })];
    // Many threads need the whole width, and so do three that say much.
    const used = one.graph.reduced.filter((column) => column.some((item) => item >= 0));
    const long = Math.max(0, ...used.flat().filter((item) => item >= 0).map((item) => one.graph.nodes[item].text.length));
    const wide = (used.length > 4 || used.length > 2 && used.length * Math.min(30, long) > 70) && parts.threads ? el('div', { class: 'grid' }, parts.threads) : null;
    const columns = el('div', { class: 'grid two' }, left, right);
    append(main, one.lemmas.length ? [wide, columns] : [columns, wide]);
    place.textContent = '';
    place.appendChild(main);
    const fixed = new Map([[parts.why, left], [parts.stop, left], [parts.threads, right], [parts.source, right], ...(wrong ? [[wrong, right]] : [])]);
    const height = (stack) => [...stack.children].reduce((sum, view) => sum + view.offsetHeight + 16, 0);
    const arrange = (narrow) => {
      const views = order.filter((view) => !wide || view !== parts.threads);
      for (const view of views) (narrow || !fixed.has(view) ? left : fixed.get(view)).appendChild(view);
      for (const after of current.after.splice(0)) after();
      if (!narrow) {
        const free = views.filter((view) => !fixed.has(view));
        const heights = free.map((view) => view.offsetHeight + 16);
        const all = heights.reduce((sum, one) => sum + one, 0);
        const [l, r] = [height(left) - all, height(right)];
        let best = [Infinity, 0];
        for (let choice = 0; choice < 1 << free.length; choice += 1) {
          const moved = heights.reduce((sum, one, i) => sum + (choice >> i & 1 ? one : 0), 0);
          const end = Math.max(l + all - moved, r + moved);
          if (end < best[0]) best = [end, choice];
        }
        free.forEach((view, i) => { if (best[1] >> i & 1) right.appendChild(view); });
      }
      if (current.redraw) current.redraw();
      if (current.paint) current.paint();
    };
    current.arrange = arrange;
    arrange(!roomy.matches);
    for (const row of document.querySelectorAll('.results tr[data-case]')) {
      if (Number(row.dataset.case) === index) row.setAttribute('aria-current', 'true'); else row.removeAttribute('aria-current');
    }
  }

  // ---- the page

  // The address of a case, and of a step of its machine. Steps leave no trace in the history.
  const hash = (index, at) => '#case-' + (index + 1) + (at === undefined ? '' : '-step-' + at);
  function address(index, at) {
    try { history.replaceState(null, '', hash(index, at)); } catch (_) { /* a page without an address */ }
  }
  function addressed() {
    const [, number, at] = /^#case-(\d+)(?:-step-(\d+))?$/.exec(location.hash) || [];
    return number && data.cases[number - 1] ? { index: number - 1, at: at === undefined ? undefined : Number(at) } : null;
  }
  const open = (index, name) => { show(index); location.hash = hash(index); live(name); place.scrollIntoView({ block: 'start' }); };
  const kit = { values: (index) => (index === null ? {} : data.cases[index].values || {}), el, svg, card, rich, many, grouped, copy, open, tone: (verdict) => TONE[verdict] || 'open', sign: (tone) => SIGN[tone] };

  function results() {
    if (data.rows.length < 2 && !data.rows_omitted) return null;
    const rows = data.rows.map((row) => {
      const tone = TONE[row.verdict] || 'open';
      const name = row.case === null ? row.name : el('button', { class: 'link', type: 'button', click: () => { show(row.case); location.hash = hash(row.case); live(row.name + ', ' + row.verdict); } }, row.name);
      return el('tr', { 'data-case': row.case }, el('td', {}, name), el('td', {}, row.model), el('td', {}, el('span', { class: 'verdict-word ' + tone }, SIGN[tone] + ' ' + row.verdict)), el('td', { class: 'soft' }, rich(row.about, row.case === null ? {} : data.cases[row.case].values || {})));
    });
    const full = data.rows.filter((row) => row.case !== null).length;
    const left = data.rows.length - full;
    return el('nav', { class: 'card results', 'aria-label': 'Answers' }, el('h2', {}, data.heading, el('span', { class: 'soft' }, left || data.rows_omitted ? full + ' can be opened; the others are listed only' + (data.rows_omitted ? ', ' + grouped(data.rows_omitted) + ' are not listed' : '') : 'select one to open it')),
      el('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'Table of answers' }, el('table', {}, el('thead', {}, el('tr', {}, ['Name', 'Model', 'Verdict', 'About'].map((text) => el('th', { scope: 'col' }, text)))), el('tbody', {}, rows))));
  }
  const themes = ['auto', 'light', 'dark'];
  let theme = 'auto';
  try { theme = localStorage.getItem('membar-theme') || 'auto'; } catch (_) { theme = 'auto'; }
  if (!themes.includes(theme)) theme = 'auto';
  const themeButton = el('button', { class: 'btn', type: 'button' });
  function paint() {
    if (theme === 'auto') document.documentElement.removeAttribute('data-theme'); else document.documentElement.setAttribute('data-theme', theme);
    themeButton.textContent = 'Theme: ' + theme;
  }
  themeButton.addEventListener('click', () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try { localStorage.setItem('membar-theme', theme); } catch (_) { /* a file may have no storage */ }
    paint();
  });
  paint();

  const place = el('div', {});
  const nav = results();
  append(root, [
    el('a', { class: 'skip', href: '#main' }, 'To the verdict'),
    el('header', { class: 'top' }, el('b', {}, 'membar'), el('span', { class: 'title' }, data.title), themeButton),
    el('main', { id: 'main', tabindex: -1 }, views.campaign(data.campaign, kit), nav, place),
    el('footer', {}, data.made.version + ' · ' + data.made.host + ' · one file, nothing is loaded'),
    liveRegion,
  ]);
  const wanted = addressed();
  const worst = data.rows.find((row) => row.case !== null && TONE[row.verdict] === 'bad') || data.rows.find((row) => row.case !== null);
  const first = wanted ? wanted.index : worst ? worst.case : -1;
  if (first >= 0) show(first, wanted ? wanted.at : undefined); else if (!data.campaign) place.appendChild(el('p', { class: 'card' }, 'Nothing was decided.'));

  window.addEventListener('hashchange', () => {
    const to = addressed();
    if (!to || !current) return;
    if (to.index !== current.index) show(to.index, to.at);
    else if (to.at !== undefined && current.goto) current.goto(to.at);
  });

  document.addEventListener('keydown', (event) => {
    if (!current || event.ctrlKey || event.metaKey || event.altKey) return;
    const tag = event.target.tagName;
    if (tag === 'INPUT' || tag === 'TEXTAREA' || tag === 'SELECT') return;
    const step = event.target.closest && event.target.closest('#argument details.step');
    const move = event.key === 'j' || (event.key === 'ArrowDown' && step) ? 1 : event.key === 'k' || (event.key === 'ArrowUp' && step) ? -1 : 0;
    const turn = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const scrolls = event.target.scrollWidth > event.target.clientWidth && event.target.tabIndex === 0 && tag !== 'BUTTON';
    if (turn && current.step && !scrolls && !event.shiftKey) {
      current.step(turn);
      event.preventDefault();
    } else if (move && current.top.length) {
      const visible = current.top.filter((view) => view.checkVisibility());
      const focus = document.activeElement.closest ? document.activeElement.closest('details.step') : null;
      const here = visible.indexOf(focus);
      const next = here < 0 ? (move > 0 ? 0 : visible.length - 1) : (here + move + visible.length) % visible.length;
      visible[next].querySelector('summary').focus();
      event.preventDefault();
    } else if (event.key === 'p' && current.play) {
      current.play();
      event.preventDefault();
    } else if (event.key === 'Escape') {
      select([], null);
      live('Selection cleared');
    }
  });
  let later = 0;
  // Also when fonts or the width change.
  const redraw = () => { cancelAnimationFrame(later); later = requestAnimationFrame(() => { if (current && current.redraw) current.redraw(); if (current && current.paint) current.paint(); }); };
  window.addEventListener('resize', redraw);
  if (window.ResizeObserver) new ResizeObserver(redraw).observe(place);
  const print = (now) => { if (current) { current.printing = now; if (current.refill) current.refill(); if (current.paint) current.paint(); } };
  let opened = [];
  window.addEventListener('beforeprint', () => {
    opened = [];
    // What is opened may have more to open.
    for (let view; (view = document.querySelector('#case details:not([open]), .campaign details:not([open])'));) {
      view.open = true;
      if (view.fill) view.fill();
      opened.push(view);
    }
    if (current) current.arrange(true);
    print(true);
  });
  window.addEventListener('afterprint', () => {
    for (const view of opened) view.open = false;
    print(false);
    if (current) current.arrange(!roomy.matches);
  });
}());
