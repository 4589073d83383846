// The script of the local page: live sections, filters, keys and the list of a
// transcript. Pages work without it, as they were when they were loaded.
'use strict';
(() => {
  const content = document.getElementById('content');
  const status = document.getElementById('status');

  // put replaces sections by their names and keeps what is focused, open and scrolled.
  function put(sections) {
    for (const [name, html] of Object.entries(sections)) {
      const at = content.querySelector(`[data-section="${name}"]`);
      if (!at || at.contains(document.activeElement) && document.activeElement.form) continue; // somebody types there
      const focused = at.contains(document.activeElement) ? document.activeElement : null;
      const key = focused && (focused.getAttribute('href') || focused.getAttribute('aria-label'));
      const open = [...at.querySelectorAll('details')].map(d => d.open);
      const scrolled = [...at.querySelectorAll('.scroll, .log, .grid')].map(e => [e.scrollLeft, e.scrollTop]);
      at.innerHTML = html;
      document.dispatchEvent(new CustomEvent('section', { detail: at }));
      at.querySelectorAll('details').forEach((d, i) => { d.open = open[i] || d.open; });
      at.querySelectorAll('.scroll, .log, .grid').forEach((e, i) => { if (scrolled[i]) [e.scrollLeft, e.scrollTop] = scrolled[i]; });
      if (key) [...at.querySelectorAll('a, [tabindex]')].find(e => (e.getAttribute('href') || e.getAttribute('aria-label')) === key)?.focus({ preventScroll: true });
    }
  }

  let stream;
  // follow asks for the changes of a page that may change.
  function follow() {
    stream?.close();
    stream = null;
    if (!content.hasAttribute('data-live') || document.hidden) return;
    stream = new EventSource(location.href);
    stream.addEventListener('sections', e => put(JSON.parse(e.data)));
    stream.addEventListener('end', () => {
      stream.close();
      content.removeAttribute('data-live');
      status.textContent = 'This page does not change any more.';
    });
  }
  document.addEventListener('visibilitychange', follow);
  follow();

  // Filters: the table follows what is typed, and the address keeps it.
  let typing, asked;
  function filter(form) {
    const q = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value) q.append(name, value);
    if (!form.hasAttribute('data-custom') && [...form.querySelectorAll('[name=col]')].every(c => c.checked === c.defaultChecked)) q.delete('col');
    visit(form.action + (q.size ? '?' + q : ''));
  }
  // visit asks for another state of the page and takes over its sections: without the
  // form, unless all is asked for.
  function visit(to, all) {
    asked?.abort();
    asked = new AbortController();
    return fetch(to, { signal: asked.signal }).then(r => r.ok ? r.text() : Promise.reject(r.status)).then(text => {
      const page = new DOMParser().parseFromString(text, 'text/html').getElementById('content');
      const sections = {};
      for (const s of page.querySelectorAll('[data-section]')) if (all || !s.querySelector('form')) sections[s.dataset.section] = s.innerHTML;
      history.replaceState(null, '', to);
      content.toggleAttribute('data-live', page.hasAttribute('data-live'));
      put(sections);
      follow();
      document.dispatchEvent(new Event('shown'));
    }).catch(() => { });
  }
  content.addEventListener('click', e => {
    const a = e.target.closest('a[data-stay]');
    if (!a || e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    visit(a.href, true);
  });
  content.addEventListener('input', e => {
    const form = e.target.closest('form[data-filter]');
    if (form) { clearTimeout(typing); typing = setTimeout(() => filter(form), 150); }
  });
  content.addEventListener('submit', e => {
    const form = e.target.closest('form[data-filter]');
    if (form) { e.preventDefault(); filter(form); }
  });

  // Keys.
  const places = { r: '/runs', t: '/attempts', c: '/competitions', a: '/agents', m: '/compare' };
  let went = 0;
  function move(by) {
    const links = [...content.querySelectorAll('[data-rows] tbody tr')].map(r => r.querySelector('a')).filter(Boolean);
    if (!links.length) return;
    const at = links.findIndex(a => a.closest('tr').contains(document.activeElement));
    links[at < 0 ? 0 : Math.min(Math.max(at + by, 0), links.length - 1)].focus();
  }
  document.addEventListener('keydown', e => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || document.querySelector('dialog[open]')) return;
    if (e.target.closest('input, select, textarea')) {
      if (e.key === 'Escape') e.target.blur();
      return;
    }
    if (went && Date.now() - went < 1500 && places[e.key]) { location.href = places[e.key]; return; }
    went = 0;
    const key = {
      '/': () => (content.querySelector('form[data-filter] input[type=search]') || document.getElementById('find')).focus(),
      '?': () => { location.href = '/help'; },
      g: () => { went = Date.now(); },
      j: () => move(1), k: () => move(-1),
      '[': () => content.querySelector('a[rel=prev]')?.click(),
      ']': () => content.querySelector('a[rel=next]')?.click(),
      u: () => content.querySelector('.crumbs a:last-of-type')?.click(),
    }[e.key];
    if (key) { e.preventDefault(); key(); }
  });

  // The list of a transcript: rows of one height, of which those in sight are there.
  const box = content.querySelector('[data-turns]');
  if (!box) return;
  const total = Number(box.dataset.total), per = 100, list = box.querySelector('.turnlist');
  const height = list.firstElementChild.getBoundingClientRect().height;
  const parts = new Map([[Number(box.dataset.from) / per, list.innerHTML]]);
  const loading = new Set();
  const detail = document.getElementById('turn');
  let here = Number(new URLSearchParams(location.search).get('turn')) || 0;
  content.querySelector('.without-script').hidden = true;
  list.classList.add('virtual');
  list.style.height = total * height + 'px';
  list.replaceChildren();
  const shown = new Map();

  async function load(n) {
    if (parts.has(n) || loading.has(n)) return;
    loading.add(n);
    try {
      const r = await fetch(`${box.dataset.turns}&from=${n * per}`);
      if (r.ok) { parts.set(n, (await r.json()).html); show(); }
    } finally { loading.delete(n); }
  }
  function show() {
    const first = Math.floor(Math.max(0, box.scrollTop / height - 30) / per);
    const last = Math.min(Math.floor((total - 1) / per), Math.floor((box.scrollTop + box.clientHeight) / height + 30) / per | 0);
    for (const [n, e] of shown) if (n < first || n > last) { e.remove(); shown.delete(n); }
    for (let n = first; n <= last; n++) {
      if (shown.has(n)) continue;
      if (!parts.has(n)) { load(n); continue; }
      const li = document.createElement('li');
      li.className = 'part';
      li.style.top = n * per * height + 'px';
      const inner = document.createElement('ol');
      inner.start = n * per + 1;
      inner.innerHTML = parts.get(n);
      li.append(inner);
      list.append(li);
      shown.set(n, li);
    }
    if (parts.size > 60) for (const n of parts.keys()) if (!shown.has(n) && parts.size > 40) parts.delete(n);
    mark();
  }
  function mark() {
    for (const a of list.querySelectorAll('a[data-turn]')) a.toggleAttribute('aria-current', Number(a.dataset.turn) === here);
    list.querySelectorAll('a[aria-current]').forEach(a => a.setAttribute('aria-current', 'true'));
  }
  async function open(n, address) {
    here = n;
    mark();
    const r = await fetch(`${box.dataset.turns}&turn=${n}`);
    if (!r.ok || here !== n) return;
    detail.innerHTML = (await r.json()).html;
    detail.scrollTop = 0;
    if (address) history.replaceState(null, '', address);
  }
  let waiting = false;
  box.addEventListener('scroll', () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; show(); });
  }, { passive: true });
  box.addEventListener('click', e => {
    const a = e.target.closest('a[data-turn]');
    if (!a || e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    open(Number(a.dataset.turn), a.href);
  });
  box.addEventListener('keydown', e => {
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: Math.floor(box.clientHeight / height), PageUp: -Math.floor(box.clientHeight / height), Home: -total, End: total }[e.key];
    if (!step) return;
    e.preventDefault();
    e.stopPropagation();
    const n = Math.min(Math.max(here + step, 1), total);
    const top = (n - 1) * height;
    if (top < box.scrollTop) box.scrollTop = top;
    if (top + height > box.scrollTop + box.clientHeight) box.scrollTop = top + height - box.clientHeight;
    show();
    const a = list.querySelector(`a[data-turn="${n}"]`);
    open(n, a?.href);
  });
  box.scrollTop = Math.max(0, (here ? here - 1 : Number(box.dataset.from)) * height - (here ? box.clientHeight / 2 : 0));
  show();
})();
