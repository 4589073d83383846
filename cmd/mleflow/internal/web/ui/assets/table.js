// Tables: rows beyond the first part come as they are scrolled to, and a menu has what
// can be done with a row.
'use strict';
(() => {
  const content = document.getElementById('content');
  document.documentElement.classList.add('js');
  const per = 100;
  // kept are the rows of the parts of this table, by number; of what address they are.
  let kept = new Map(), keptOf = '', asking = new Set();

  const address = () => { const u = new URL(location.href); u.searchParams.delete('page'); return u.href; };

  // pinned keeps the pinned columns beside each other.
  const pinned = new ResizeObserver(all => all.forEach(({ target }) => {
    let left = 0;
    target.querySelectorAll('thead th').forEach((th, i) => { target.style.setProperty('--pin' + (i + 1), left + 'px'); left += th.offsetWidth; });
  }));

  // The columns to choose among stay within the window.
  document.addEventListener('toggle', e => {
    const list = e.target.matches('.drop') && e.target.querySelector('fieldset');
    if (list) list.style.left = Math.min(0, document.documentElement.clientWidth - 12 - e.target.getBoundingClientRect().left - list.offsetWidth) + 'px';
  }, true);

  // windowed makes a table hold only the parts near what is seen, between two fillers.
  function windowed(box) {
    const total = Number(box.dataset.total);
    if (!total) return;
    const first = Math.floor((Number(box.dataset.from) - 1) / per), body = box.querySelector('tbody:not(.widest)');
    const height = body.rows[0].getBoundingClientRect().height;
    const of = address();
    if (of !== keptOf) { kept = new Map(); keptOf = of; }
    kept.set(first, body.innerHTML);
    const fresh = new Set([first]), above = filler(), below = filler();
    body.before(above);
    body.after(below);
    box.parentNode.querySelector('.without-script').hidden = true;
    box.querySelector('table').setAttribute('aria-rowcount', total + 1);
    let from = -1, to = -1;

    function fill() {
      const head = box.querySelector('thead').offsetHeight;
      const a = Math.max(0, Math.floor((box.scrollTop - head) / height / per - .3));
      const b = Math.min(Math.ceil(total / per) - 1, Math.floor((box.scrollTop + box.clientHeight) / height / per + .3));
      for (let n = a; n <= b; n++) if (!fresh.has(n)) ask(n);
      if (a === from && b === to) return;
      [from, to] = [a, b];
      draw();
    }
    function draw() {
      let html = '';
      for (let n = from; n <= to; n++) html += kept.get(n) || '<tr class="blank"><th scope="row">…</th></tr>'.repeat(Math.min(per, total - n * per));
      const at = box.scrollTop;
      body.innerHTML = html;
      above.firstChild.firstChild.style.height = from * per * height + 'px';
      below.firstChild.firstChild.style.height = Math.max(0, total - (to + 1) * per) * height + 'px';
      above.hidden = from === 0;
      below.hidden = (to + 1) * per >= total;
      box.scrollTop = at;
    }
    async function ask(n) {
      if (asking.has(of + n)) return;
      asking.add(of + n);
      try {
        const u = new URL(of);
        if (n) u.searchParams.set('page', n);
        const r = await fetch(u);
        if (!r.ok || keptOf !== of) return;
        const rows = new DOMParser().parseFromString(await r.text(), 'text/html').querySelector('.grid tbody:not(.widest)');
        if (!rows) return;
        kept.set(n, rows.innerHTML);
        fresh.add(n);
        if (box.isConnected && n >= from && n <= to) draw();
      } finally { asking.delete(of + n); }
    }
    let waiting = false;
    box.addEventListener('scroll', () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; fill(); });
    }, { passive: true });
    below.firstChild.firstChild.style.height = Math.max(0, total - (first + 1) * per) * height + 'px';
    above.firstChild.firstChild.style.height = first * per * height + 'px';
    [from, to] = [first, first];
    if (first) box.scrollTop = first * per * height;
  }
  function filler() {
    const t = document.createElement('tbody');
    t.setAttribute('aria-hidden', 'true');
    t.append(document.createElement('tr'));
    t.firstChild.append(document.createElement('td'));
    return t;
  }
  function made(within) {
    within.querySelectorAll('.grid > table').forEach(table => pinned.observe(table));
    within.querySelectorAll('.grid').forEach(windowed);
  }
  document.addEventListener('section', e => made(e.detail));
  document.addEventListener('shown', () => content.querySelectorAll('.grid').forEach(box => { box.scrollTop = 0; }));
  made(content);

  // The menu of a row.
  const menu = document.createElement('div');
  menu.className = 'menu card';
  menu.setAttribute('role', 'menu');
  menu.setAttribute('aria-label', 'Actions');
  menu.hidden = true;
  content.append(menu);
  let opener;

  function item(text, act) {
    const e = document.createElement(typeof act === 'string' ? 'a' : 'button');
    e.setAttribute('role', 'menuitem');
    e.textContent = text;
    if (typeof act === 'string') e.href = act;
    else { e.type = 'button'; e.addEventListener('click', act); }
    menu.append(e);
  }
  function copied(text) {
    return () => navigator.clipboard.writeText(text).then(() => 'Copied.', () => 'The browser does not allow copying.').then(say => {
      document.getElementById('status').textContent = say;
      close();
    });
  }
  function open(button) {
    const row = button.closest('tr');
    opener = button;
    menu.replaceChildren();
    if (row.dataset.address) item('Copy the address', copied(row.dataset.address));
    const retry = row.closest('.grid').dataset.retry;
    if (retry && row.dataset.address) item('Copy the command to try again', copied(retry + "'" + row.dataset.address.replaceAll("'", "'\\''") + "'"));
    if (row.dataset.compare) item('Compare …', row.dataset.compare);
    menu.hidden = false;
    const at = button.getBoundingClientRect(), size = menu.getBoundingClientRect();
    menu.style.left = Math.max(8, Math.min(at.right - size.width, innerWidth - size.width - 8)) + 'px';
    menu.style.top = (at.bottom + size.height > innerHeight ? at.top - size.height : at.bottom) + 'px';
    menu.firstChild?.focus();
  }
  function close() {
    if (menu.hidden) return;
    menu.hidden = true;
    opener?.focus({ preventScroll: true });
  }
  content.addEventListener('click', e => {
    const copy = e.target.closest('button[data-copy]');
    if (copy) copied(copy.dataset.copy)();
    const button = e.target.closest('button[data-acts]');
    if (button) open(button);
    else if (!menu.contains(e.target)) menu.hidden = true;
  });
  document.addEventListener('scroll', () => { menu.hidden = true; }, { passive: true, capture: true });
  menu.addEventListener('keydown', e => {
    const items = [...menu.children], at = items.indexOf(document.activeElement);
    const key = { ArrowDown: () => items[(at + 1) % items.length].focus(), ArrowUp: () => items[(at + items.length - 1) % items.length].focus(), Escape: close, Tab: close }[e.key];
    if (!key) return;
    e.preventDefault();
    e.stopPropagation();
    key();
  });
})();
