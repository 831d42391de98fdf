// Looks at a page; every expression of the browser tests can use these.
const all = (selector, from) => [...(from || document).querySelectorAll(selector)];
const one = (selector) => document.querySelector(selector);
const visible = (element) => !!element && element.checkVisibility({ visibilityProperty: true }) && element.getBoundingClientRect().height > 0;
const data = () => JSON.parse(one('#data').textContent);
// The case that is shown.
const shown = () => {
  const row = one('.results tr[aria-current]');
  return data().cases[row ? Number(row.dataset.case) : 0];
};
// A text with the short names of its values.
const short = (text) => text.replace(/\d{7,}/g, (value) => (shown().values || {})[value] || value);
const same = (a, b) => JSON.stringify([...a].sort((x, y) => x - y)) === JSON.stringify([...b].sort((x, y) => x - y));
const node = (element) => Number(element.dataset.node);
const op = (id) => one('.op[data-node="' + id + '"]');
// The operations that are selected in the columns, and whether that is what should be.
const picked = () => all('.op.picked').map(node);
const picks = (nodes) => same(picked(), nodes.filter(op));
// The steps of the argument that can be seen, without premises.
const steps = () => all('#argument .step').filter((step) => !step.closest('.inner') && visible(step));
const about = (step) => step.dataset.nodes.split(' ').filter(Boolean).map(Number);
const focused = () => document.activeElement.closest('.step');
// The three views that follow a selection besides the columns: the stepper's list, the source, the argument.
const trail = (nodes) => same(all('.trail button').filter((b) => b.classList.contains('near')).map(node), all('.trail button').map(node).filter((n) => nodes.includes(n)));
const lines = (nodes) => {
  const wanted = nodes.map((n) => shown().graph.nodes[n].place).filter(Boolean).map(([file, line]) => file + ':' + line);
  const marked = all('#source table').flatMap((table, file) => all('tr.picked', table).map((row) => file + ':' + row.cells[0].textContent));
  return JSON.stringify([...new Set(wanted)].sort()) === JSON.stringify(marked.sort());
};
const linked = (nodes) => picks(nodes) && trail(nodes) && lines(nodes);
// Where to click on an element, or what is in the way.
const target = (element) => {
  if (!visible(element)) return 'it cannot be seen';
  element.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' });
  const box = [...element.getClientRects()].find((r) => r.width > 0);
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  const hit = document.elementFromPoint(x, y);
  return hit && (element.contains(hit) || hit.contains(element)) ? { x, y } : 'covered by ' + (hit ? hit.outerHTML.slice(0, 200) : 'nothing');
};
// What was opened and has not been filled yet: that happens some time later, and pushes others down.
const unfilled = () => all('details[open]').some((view) => view.fill && !view.filled);
// What a function returns once it is the same in two frames.
const steady = async (look) => {
  for (let before = null; ;) {
    const now = unfilled() ? null : JSON.stringify(look());
    if (now !== null && now === before) return JSON.parse(now);
    before = now;
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  }
};
const arrows = (kind) => all('svg.arrows path.arrow' + (kind ? '.k-' + kind : '')).filter((path) => path.getTotalLength() > 0);
// Opens whatever can be opened.
const openAll = () => {
  for (let closed; (closed = all('details:not([open])')).length;) closed.forEach((view) => { view.open = true; if (view.fill) view.fill(); });
};
// What the tab key has to reach.
const stops = () => all('a[href], button:not([disabled]), input:not([disabled]), summary, [tabindex="0"]').filter((e) => e.checkVisibility());
const colour = (element, name) => getComputedStyle(element)[name];
