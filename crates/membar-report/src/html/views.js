// Views of litmus tests and campaigns. `page.js` hands over its helpers (`kit`) and puts the views where they belong. Text
// from the data is only ever put in as text.
const views = (function () {
  'use strict';
  const number = (n) => (n >= 1e9 ? (n / 1e9).toFixed(1) + ' G' : n >= 1e6 ? (n / 1e6).toFixed(1) + ' M' : n >= 1e4 ? (n / 1e3).toFixed(0) + ' k' : String(Math.round(n)));

  // A bar of a row: its share of the greatest one. A small number that is not zero can still be seen.
  function bar(kit, share, tone) {
    const width = share <= 0 ? 0 : Math.max(1.5, 100 * share);
    return kit.svg('svg', { class: 'meter ' + (tone || 'plain'), viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
      kit.svg('rect', { class: 'track', x: 0, y: 0, width: 100, height: 10 }), kit.svg('rect', { class: 'fill', x: 0, y: 0, width, height: 10 }));
  }
  function bars(kit, list, caption, unit) {
    const most = Math.max(1, ...list.map((entry) => entry.count));
    const all = list.reduce((sum, entry) => sum + entry.count, 0);
    const rows = list.map((entry) => kit.el('tr', {}, kit.el('th', { scope: 'row' }, kit.rich(entry.label)), kit.el('td', { class: 'figure' }, kit.grouped(entry.count)),
      kit.el('td', { class: 'figure soft' }, all ? (100 * entry.count / all).toFixed(entry.count && entry.count < all / 1000 ? 4 : 1) + '%' : ''), kit.el('td', { class: 'bar-cell' }, bar(kit, entry.count / most, entry.tone))));
    return kit.el('table', { class: 'bars' }, kit.el('caption', { class: 'hidden' }, caption),
      kit.el('thead', { class: 'hidden' }, kit.el('tr', {}, [caption, unit, 'Share', 'Bar'].map((text) => kit.el('th', { scope: 'col' }, text)))), kit.el('tbody', {}, rows));
  }

  // The final states of a litmus test: a row each; models as columns, or how often it came out.
  function states(one, kit) {
    const table = one.states;
    if (!table) return null;
    const counted = table.rows.some((row) => row.count !== null);
    const judged = table.rows.some((row) => row.holds !== null);
    const most = Math.max(1, ...table.rows.map((row) => row.count || 0));
    const says = (allowed) => allowed === null ? kit.el('span', { class: 'soft' }, '? unknown')
      : kit.el('span', { class: 'verdict-word ' + (allowed ? 'good' : 'bad') }, allowed ? '✓ allowed' : '✗ forbidden');
    const heads = table.locations.map((name) => kit.el('th', { scope: 'col', class: 'mono' }, name))
      .concat(judged ? [kit.el('th', { scope: 'col' }, 'Condition')] : [], table.models.map((name) => kit.el('th', { scope: 'col' }, name)), counted ? [kit.el('th', { scope: 'col' }, 'Times'), kit.el('th', { scope: 'col' }, kit.el('span', { class: 'hidden' }, 'Bar'))] : []);
    const rows = table.rows.map((row) => kit.el('tr', { class: (row.holds ? 'holds' : '') + (row.count === 0 ? ' unseen' : '') },
      row.values.map((value) => kit.el('td', { class: 'mono' }, value)),
      judged ? kit.el('td', {}, row.holds === null ? '' : row.holds ? kit.el('b', {}, '★ holds') : kit.el('span', { class: 'soft' }, 'does not')) : null,
      row.models.map((allowed) => kit.el('td', {}, says(allowed))),
      counted ? [kit.el('td', { class: 'figure' }, row.count ? kit.grouped(row.count) : kit.el('span', { class: 'soft' }, 'not seen')),
        kit.el('td', { class: 'bar-cell' }, row.count ? bar(kit, Math.log(1 + row.count) / Math.log(1 + most), row.models[0] === false ? 'bad' : 'plain') : null)] : null));
    return kit.card('states', table.title, kit.many(table.rows.length + table.omitted, 'state'), kit.el('p', { class: 'soft small' }, table.about + (counted ? ' Bars are logarithmic, so that rare states can be seen.' : '')),
      kit.el('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': table.title }, kit.el('table', { class: 'states' }, kit.el('caption', { class: 'hidden' }, table.title), kit.el('thead', {}, kit.el('tr', {}, heads)), kit.el('tbody', {}, rows))),
      table.omitted ? kit.el('p', { class: 'small soft' }, kit.grouped(table.omitted) + ' more states are not listed.') : null);
  }

  // Operations per second over time: a step line above its axis, with the same as a table.
  function speed(kit, series) {
    if (!series || !series.rates.length) return null;
    const [W, H, left, right, top, bottom] = [720, 220, 58, 12, 10, 34];
    const most = Math.max(1, ...series.rates);
    const end = series.seconds || series.width * series.rates.length;
    const x = (s) => left + (W - left - right) * Math.min(1, s / end);
    const y = (rate) => H - bottom - (H - top - bottom) * rate / most;
    let line = 'M' + x(0) + ' ' + y(series.rates[0]);
    series.rates.forEach((rate, i) => { line += 'L' + x(i * series.width) + ' ' + y(rate) + 'L' + x(i + 1 === series.rates.length ? end : (i + 1) * series.width) + ' ' + y(rate); });
    const area = line + 'L' + x(end) + ' ' + y(0) + 'L' + x(0) + ' ' + y(0) + 'Z';
    const clock = (s) => s >= 7200 ? (s / 3600).toFixed(1) + ' h' : s >= 120 ? (s / 60).toFixed(0) + ' min' : s < 10 ? s.toFixed(1) + ' s' : s.toFixed(0) + ' s';
    const drawing = kit.svg('svg', { class: 'speed', viewBox: '0 0 ' + W + ' ' + H, role: 'img', 'aria-label': 'Operations per second over time, at most ' + number(most) + '; the table below has all numbers' });
    for (const part of [0, .5, 1]) {
      drawing.appendChild(kit.svg('line', { class: 'grid-line', x1: left, x2: W - right, y1: y(most * part), y2: y(most * part) }));
      drawing.appendChild(kit.svg('text', { x: left - 8, y: y(most * part) + 4, 'text-anchor': 'end' }, number(most * part)));
      drawing.appendChild(kit.svg('text', { x: x(end * part), y: H - bottom + 20, 'text-anchor': part === 0 ? 'start' : part === 1 ? 'end' : 'middle' }, clock(end * part)));
    }
    drawing.appendChild(kit.svg('path', { class: 'area', d: area }));
    drawing.appendChild(kit.svg('path', { class: 'line', d: line }));
    const rows = series.rates.map((rate, i) => kit.el('tr', {}, kit.el('td', {}, clock(i * series.width) + ' to ' + clock(i + 1 === series.rates.length ? end : (i + 1) * series.width)), kit.el('td', { class: 'figure' }, kit.grouped(Math.round(rate)))));
    return kit.card('speed', 'Speed over time', 'operations run and checked per second', drawing,
      kit.el('details', {}, kit.el('summary', { class: 'small' }, 'As a table'), kit.el('table', { class: 'small' }, kit.el('caption', { class: 'hidden' }, 'Speed over time'), kit.el('thead', {}, kit.el('tr', {}, ['Time', 'Operations a second'].map((text) => kit.el('th', { scope: 'col' }, text)))), kit.el('tbody', {}, rows))));
  }

  // Which pairs of operations were next to each other in a thread: a row for the first, a column for the second.
  function coverage(kit, cover) {
    if (!cover) return null;
    const kinds = [...new Set(cover.pairs.map((pair) => pair.first))];
    const shade = (pair) => pair.other === 0 || pair.same === 0 ? 'none' : pair.other < 100 ? 'few' : 'lots';
    const part = (n, what) => kit.el('span', { class: n === 0 ? 'never' : null }, (n === 0 ? 'never' : number(n)) + ' ', kit.el('small', {}, what));
    const cell = (pair) => pair ? kit.el('td', { class: 'cover-' + shade(pair) }, pair.same === null ? null : part(pair.same, 'same'), part(pair.other, pair.same === null ? '' : 'other')) : kit.el('td', {});
    const rows = kinds.map((first) => kit.el('tr', {}, kit.el('th', { scope: 'row' }, first, ' →'), kinds.map((second) => cell(cover.pairs.find((pair) => pair.first === first && pair.second === second)))));
    return kit.card('coverage', 'Coverage', cover.words, kit.el('p', { class: 'soft small' }, cover.about),
      kit.el('h3', {}, 'Neighbours in a thread, with the same address and with others'),
      kit.el('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'Pairs of operations' }, kit.el('table', { class: 'pairs' }, kit.el('caption', { class: 'hidden' }, 'How often an operation of a kind (row) stood right before one of another kind (column) in a thread, with the same address and with another'),
        kit.el('thead', {}, kit.el('tr', {}, kit.el('td', {}), kinds.map((kind) => kit.el('th', { scope: 'col' }, kind)))), kit.el('tbody', {}, rows))),
      kit.el('h3', {}, 'Where reads got their value'), bars(kit, cover.sources, 'Where reads got their value', 'Reads'));
  }

  function groups(kit, view) {
    if (!view.groups.length) return null;
    const item = (entry) => kit.el('li', {}, entry.case === null ? entry.name : kit.el('button', { class: 'link', type: 'button', click: () => kit.open(entry.case, entry.name) }, entry.name), ' ', kit.el('span', { class: 'soft' }, kit.rich(entry.about, kit.values(entry.case))));
    const parts = view.groups.map((group, i) => kit.el('details', { class: 'group', open: i === 0 && view.groups.length < 4 }, kit.el('summary', {}, kit.el('b', {}, group.name), ' ', kit.el('span', { class: 'count' }, kit.many(group.count, 'violation')), group.about ? kit.el('span', { class: 'soft' }, ' – ' + group.about) : null),
      kit.el('ol', { class: 'list' }, group.violations.map(item)), group.omitted ? kit.el('p', { class: 'small soft' }, kit.grouped(group.omitted) + ' more are not listed.') : null));
    return kit.card('groups', 'Violations by shape', kit.many(view.groups.length, 'shape') + ' of cycles', bars(kit, view.groups.map((group) => ({ label: group.name, count: group.count, tone: 'bad' })), 'Violations by shape', 'Violations'), parts);
  }

  function campaign(view, kit) {
    if (!view) return null;
    const tone = kit.tone(view.verdict);
    const [first, ...rest] = view.headline;
    const facts = kit.el('dl', { class: 'facts' }, view.facts.map(({ name, value }) => kit.el('div', {}, kit.el('dt', {}, name), kit.el('dd', {}, value))));
    const strip = kit.el('section', { class: 'card strip ' + tone, id: 'campaign', 'aria-labelledby': 'campaign-title' }, kit.el('div', {},
      kit.el('div', { class: 'verdict' }, kit.el('span', { class: 'badge' }, kit.el('span', { 'aria-hidden': 'true' }, kit.sign(tone)), view.verdict), kit.el('h1', { id: 'campaign-title' }, first)),
      rest.map((line) => kit.el('p', { class: 'lead' }, kit.rich(line))), facts));
    const command = (about, line) => kit.el('div', {}, kit.el('h3', {}, about), kit.el('div', { class: 'cmd' }, kit.el('pre', { tabindex: 0 }, line), kit.copy(line, about)));
    const again = kit.card('again', 'Do it again', null, kit.el('div', { class: 'repro' }, view.commands.map((entry) => command(entry.about, entry.line)),
      view.notes.length ? kit.el('ul', { class: 'list small soft' }, view.notes.map((note) => kit.el('li', {}, kit.rich(note)))) : null));
    const outcomes = kit.card('outcomes', 'Outcomes', 'every test by its verdict, and how it was decided', bars(kit, view.outcomes, 'Verdicts of all tests', 'Tests'));
    const left = [groups(kit, view), outcomes, again];
    const right = [speed(kit, view.speed), coverage(kit, view.coverage)];
    return [strip, kit.el('div', { class: 'grid two campaign' }, kit.el('div', { class: 'stack' }, left), kit.el('div', { class: 'stack' }, right))];
  }

  return { states, campaign };
}());
