// The palette: Ctrl-K finds pages, agents, competitions, runs and attempts by name.
'use strict';
(() => {
  const base = new URL('.', document.currentScript.src).pathname.slice(0, -1);
  const pages = [['Runs', '/runs'], ['Attempts', '/attempts'], ['Competitions', '/competitions'], ['Agents', '/agents'], ['Compare', '/compare'], ['Keys', '/help']].map(([text, link]) => ({ kind: 'page', text, link }));
  let dialog, field, list, found = [], at = 0, asked, waiting;

  function make() {
    dialog = document.createElement('dialog');
    dialog.className = 'palette';
    dialog.setAttribute('aria-label', 'Go to');
    dialog.innerHTML = '<input type="search" role="combobox" aria-expanded="true" aria-controls="palette" aria-autocomplete="list" aria-label="Go to" placeholder="Go to an agent, competition, run or attempt" autocomplete="off" spellcheck="false"><ul id="palette" role="listbox" aria-label="Found"></ul>';
    document.body.append(dialog);
    [field, list] = dialog.children;
    field.addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(ask, 80); });
    dialog.addEventListener('click', e => {
      if (e.target === dialog) dialog.close();
      const option = e.target.closest('[role=option]');
      if (option) go(Number(option.dataset.at));
    });
    dialog.addEventListener('keydown', e => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
      if (by) mark((at + by + found.length) % found.length);
      else if (e.key === 'Enter') go(at);
      else return;
      e.preventDefault();
    });
  }
  function go(n) { if (found[n]) location.href = base + found[n].link; }
  function mark(n) {
    at = n;
    [...list.children].forEach((e, i) => e.setAttribute('aria-selected', String(i === n)));
    if (list.children[n]) field.setAttribute('aria-activedescendant', list.children[n].id);
    else field.removeAttribute('aria-activedescendant');
    list.children[n]?.scrollIntoView({ block: 'nearest' });
  }
  function show(all) {
    found = all;
    list.replaceChildren(...all.map((hit, i) => {
      const e = document.createElement('li');
      e.id = 'palette-' + i;
      e.dataset.at = i;
      e.setAttribute('role', 'option');
      for (const [name, text] of [['kind', hit.kind], ['name', hit.text], ['note', hit.note || '']]) {
        const part = document.createElement('bdi');
        part.className = name;
        part.textContent = text;
        e.append(part);
      }
      return e;
    }));
    mark(0);
  }
  async function ask() {
    const q = field.value.trim(), own = pages.filter(p => p.text.toLowerCase().includes(q.toLowerCase()));
    asked?.abort();
    if (!q) { show(pages); return; }
    asked = new AbortController();
    try {
      const r = await fetch(base + '/find?' + new URLSearchParams({ q }), { signal: asked.signal });
      if (!r.ok) return;
      show([...own, ...await r.json(), { kind: 'logs', text: 'Search names and logs for “' + q + '”', link: '/search?' + new URLSearchParams({ q }) }]);
    } catch { /* the next key asks again */ }
  }
  document.addEventListener('keydown', e => {
    if (e.key !== 'k' || !(e.ctrlKey || e.metaKey) || e.shiftKey || e.altKey) return;
    e.preventDefault();
    if (!dialog) make();
    if (dialog.open) { dialog.close(); return; }
    field.value = '';
    show(pages);
    dialog.showModal();
    field.focus();
  });
})();
