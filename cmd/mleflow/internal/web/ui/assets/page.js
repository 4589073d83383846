// The script of the local page: live sections, filters and keys. Pages work without
// it, as they were loaded.
'use strict';
(() => {
  const content = document.getElementById('content');
  const status = document.getElementById('status');
  const base = new URL('.', document.currentScript.src).pathname;

  // The key that signs in is in the part of the address that no server and no log sees.
  const key = /^#token=(.+)/.exec(location.hash), lock = document.querySelector('.sign-in input');
  if (key) history.replaceState(null, '', location.pathname + location.search);
  if (key && lock) { lock.value = key[1]; lock.form.submit(); }

  // put replaces sections by their names and keeps what is focused, open and scrolled.
  function put(sections) {
    for (const [name, html] of Object.entries(sections)) {
      const at = content.querySelector(`[data-section="${name}"]`);
      if (!at || at.contains(document.activeElement) && document.activeElement.form || at.querySelector('form[data-keep]')) continue; // somebody types there, or has
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

  // The tooltip of a cell.
  content.addEventListener('mouseover', e => {
    const c = e.target.closest('.grid th, .grid td, .clip');
    if (c?.scrollWidth > c?.clientWidth) c.title = c.innerText;
  });

  // Keys.
  const places = { r: 'runs', t: 'attempts', c: 'competitions', a: 'agents', m: 'compare' };
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
    if (went && Date.now() - went < 1500 && places[e.key]) { location.href = base + places[e.key]; return; }
    went = 0;
    const key = {
      '/': () => (content.querySelector('form[data-filter] input[type=search], input[data-find]') || document.getElementById('find')).focus(),
      '?': () => { location.href = base + 'help'; },
      g: () => { went = Date.now(); },
      j: () => move(1), k: () => move(-1),
      '[': () => content.querySelector('a[rel=prev]')?.click(),
      ']': () => content.querySelector('a[rel=next]')?.click(),
      u: () => content.querySelector('.crumbs a:last-of-type')?.click(),
    }[e.key];
    if (key) { e.preventDefault(); key(); }
  });
})();
