// What views are made of: elements, cards, signs of relations, names of long values. Text from the data is only ever put in as text
// (createTextNode), never as markup.
const elements = (function () {
  'use strict';
  const SVG = 'http://www.w3.org/2000/svg';
  const KINDS = ['po', 'ppo', 'rf', 'hb', 'co', 'fr', 'time'];
  const MEANS = {
    po: 'program order', ppo: 'program order that the model keeps', rf: 'reads from: from a store to a read of its value',
    co: 'order of the writes to one address', fr: 'from-read: from a read to a later write of the address',
    hb: 'reads from, and happens before: what came before the write is visible after the read', time: 'the one had ended before the other began',
  };
  const DASH = { po: '', ppo: '1 5', rf: '9 4', hb: '', co: '3 4', fr: '11 4 2 4', time: '16 6' };
  const TONE = { allowed: 'good', safe: 'good', forbidden: 'bad', unsafe: 'bad', error: 'bad', undecided: 'open', holds: 'good', fails: 'bad', possible: 'plain', impossible: 'plain', ran: 'plain' };
  const SIGN = { good: '✓', bad: '✗', open: '?', plain: '▸' };

  function append(node, children) {
    for (const child of children) {
      if (child === null || child === undefined || child === false) continue;
      if (Array.isArray(child)) append(node, child);
      else node.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
    }
    return node;
  }
  function set(node, attributes) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (typeof value === 'function') node.addEventListener(name, value);
      else node.setAttribute(name, value === true ? '' : value);
    }
    return node;
  }
  const el = (tag, attributes, ...children) => append(set(document.createElement(tag), attributes), children);
  const svg = (tag, attributes, ...children) => append(set(document.createElementNS(SVG, tag), attributes), children);
  const many = (n, word) => n + ' ' + word + (n === 1 ? '' : /(s|ch)$/.test(word) ? 'es' : 's');
  const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f');
  function card(id, title, aside, ...children) {
    const heading = el('h2', { id: id + '-title' }, title, aside ? el('span', { class: 'soft' }, aside) : null);
    return el('section', { class: 'card', id, 'aria-labelledby': id + '-title' }, heading, ...children);
  }
  function chip(kind, text) {
    const line = svg('line', { x1: 0, y1: 4, x2: 22, y2: 4, stroke: 'currentColor', 'stroke-width': 2.4, 'stroke-dasharray': DASH[kind] });
    const swatch = svg('svg', { width: 22, height: 8, 'aria-hidden': 'true' }, line);
    return el('span', { class: 'chip k-' + kind, title: MEANS[kind] }, swatch, text || kind);
  }
  // What stands between backquotes is code.
  const rich = (text, names) => String(text).split('`').map((part, i, all) => (i % 2 && i + 1 < all.length ? el('code', {}, short(part, names)) : short(i % 2 ? '`' + part : part, names)));
  // Long values have short names, and are seen where the pointer rests.
  let values = {};
  const called = (names) => { values = names; };
  const parts = (text) => String(text).split(/(?<![\w.])(\d{7,})(?![\w.]*\w)/);
  const short = (text, names) => parts(text).map((part, i) => (i % 2 && (names || values)[part] ? el('abbr', { title: part }, (names || values)[part]) : part));
  const plain = (text) => parts(text).map((part, i) => (i % 2 && values[part]) || part).join('');
  // Code that may break after its punctuation.
  const breakable = (text) => String(text).split(/(?<=[(,;=_:.>&|])(?=[\w(])/).flatMap((part, i) => (i ? [el('wbr'), short(part)] : [short(part)]));
  function copy(text, what) {
    const button = el('button', { class: 'btn', type: 'button', 'aria-label': 'Copy ' + what }, 'Copy');
    const say = (word) => { button.textContent = word; live(word + ': ' + what); setTimeout(() => { button.textContent = 'Copy'; }, 1600); };
    const byHand = () => {
      const area = el('textarea', { class: 'hidden', readonly: true });
      area.value = text;
      document.body.appendChild(area);
      area.select();
      let done = false;
      try { done = document.execCommand('copy'); } catch (_) { done = false; }
      area.remove();
      button.focus();
      say(done ? 'Copied' : 'Not copied');
    };
    button.addEventListener('click', () => {
      if (navigator.clipboard && window.isSecureContext) navigator.clipboard.writeText(text).then(() => say('Copied'), byHand);
      else byHand();
    });
    return button;
  }
  const liveRegion = el('div', { class: 'hidden', role: 'status', 'aria-live': 'polite' });
  const live = (text) => { liveRegion.textContent = text; };

  return { KINDS, MEANS, DASH, TONE, SIGN, append, el, svg, many, grouped, card, chip, rich, called, short, plain, breakable, copy, live, liveRegion };
}());

