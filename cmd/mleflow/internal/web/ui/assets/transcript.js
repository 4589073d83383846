// The script of transcripts: turns are fetched when they are opened and when the end of
// the page comes near, and keys go from turn to turn.
'use strict';
(() => {
  const box = document.querySelector('.transcript[data-turns]');
  if (!box) return;
  const turns = () => [...box.querySelectorAll('.turn')];
  const number = turn => turn.id.slice('turn-'.length);

  // fetchBody fills a turn that was opened.
  async function fetchBody(turn) {
    const link = turn.querySelector('.body > p:only-child > a');
    if (!link || turn.dataset.asked) return;
    turn.dataset.asked = '1';
    link.textContent = 'Reading…';
    const r = await fetch(`${box.dataset.turns}&turn=${number(turn)}`).catch(() => null);
    if (r?.ok) turn.querySelector('.body').innerHTML = (await r.json()).html;
    else { delete turn.dataset.asked; link.textContent = 'It cannot be read; try again'; }
  }
  box.addEventListener('toggle', e => { if (e.target.matches('.turn') && e.target.open) fetchBody(e.target); }, true);

  // more appends the next page.
  let asking = false;
  const next = () => [...document.querySelectorAll('nav.pages a[rel=next]')].pop();
  async function more() {
    const link = next();
    if (!link || asking) return false;
    asking = true;
    try {
      const r = await fetch(link.href);
      if (!r.ok) return false;
      const page = new DOMParser().parseFromString(await r.text(), 'text/html');
      const rows = [...page.querySelectorAll('.transcript .turn')];
      for (const row of rows) { row.open = false; box.append(row); }
      const pages = [...document.querySelectorAll('nav.pages')].pop(), later = [...page.querySelectorAll('nav.pages')].pop();
      pages.innerHTML = later.querySelector('a[rel=next]') ? later.innerHTML : '';
      pages.querySelector('a[rel=prev]')?.remove();
      return rows.length > 0;
    } finally { asking = false; }
  }
  const end = document.createElement('div');
  box.after(end);
  new IntersectionObserver(seen => { if (seen[0].isIntersecting && scrollY > 0) more(); }, { rootMargin: '600px' }).observe(end);

  // show opens the turn that the address names.
  async function show(id) {
    const at = Number(id.slice('turn-'.length));
    if (!at) return;
    const turn = document.getElementById(id);
    if (!turn) { const q = new URLSearchParams(location.search); q.set('turn', at); location.href = `${location.pathname}?${q}#${id}`; return; }
    turn.open = true;
    turn.scrollIntoView({ block: 'start' });
    turn.querySelector('summary').focus({ preventScroll: true });
  }
  addEventListener('hashchange', () => show(location.hash.slice(1)));
  if (location.hash.startsWith('#turn-')) show(location.hash.slice(1));
  box.addEventListener('click', e => {
    const turn = e.target.closest('summary')?.closest('.turn');
    if (turn && !turn.open) history.replaceState(null, '', `${location.pathname}${location.search}#${turn.id}`);
  });

  // Buttons and keys.
  for (const e of document.querySelectorAll('.withscript')) e.hidden = false;
  for (const b of document.querySelectorAll('[data-all]')) b.addEventListener('click', () => { for (const t of turns()) t.open = !!b.dataset.all; });
  const failed = t => t.matches('.failed') || t.querySelector('.body .failed, .body .bad');
  async function go(by, wanted) {
    let all = turns();
    const here = document.activeElement.closest('.turn');
    let at = here ? all.indexOf(here) : by > 0 ? -1 : all.length;
    for (;;) {
      at += by;
      if (at >= all.length && by > 0 && await more()) all = turns();
      if (at < 0 || at >= all.length) {
        if (wanted && by > 0) document.querySelector('[data-errors]').click();
        return;
      }
      if (!wanted || wanted(all[at])) break;
    }
    all[at].querySelector('summary').focus();
    all[at].scrollIntoView({ block: wanted ? 'start' : 'nearest' });
    if (wanted) all[at].open = true;
    history.replaceState(null, '', `${location.pathname}${location.search}#${all[at].id}`);
  }
  document.addEventListener('keydown', e => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest('input, select, textarea')) return;
    const key = { n: () => go(1), p: () => go(-1), e: () => go(1, failed), o: () => { const t = document.activeElement.closest('.turn'); if (t) t.open = !t.open; } }[e.key];
    if (key) { e.preventDefault(); key(); }
  });
})();
