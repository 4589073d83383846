// What is wrong with the layout of the page that is shown, a line each.
(() => {
  const faults = new Set();
  const say = (what, e) => faults.add(what + ': ' + (e.textContent || e.value || '').trim().replace(/\s+/g, ' ').slice(0, 60) + ' <' + e.tagName.toLowerCase() + ' ' + (e.getAttribute('class') || '') + '>');
  const shown = e => e.checkVisibility({ visibilityProperty: true }) && !e.closest('.hidden, .skip, [aria-hidden=true]');
  const text = e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  for (const e of document.querySelectorAll('body *')) {
    const style = getComputedStyle(e);
    if (e instanceof SVGElement || !shown(e)) continue;
    if (/hidden|clip/.test(style.overflowX) && e.scrollWidth > e.clientWidth + 1 && style.textOverflow !== 'ellipsis' && text(e)) say('text is cut off', e);
    if (/flex|block/.test(style.display) && !e.matches('table *:not(.cells):not(.cell), pre *') && style.overflowX === 'visible' && (e.matches('.cells, .cell') || text(e)) && (e.scrollWidth > e.clientWidth + 2 || e.scrollHeight > e.clientHeight + 6) && e.clientWidth) say('content leaves its box', e);
    if (e.matches('button, select, summary, input:not([type=hidden], [type=checkbox])') && e.getBoundingClientRect().height < 24) say('a control is lower than 24 pixels', e);
    if (e.matches('nav [aria-current]') && (e.getBoundingClientRect().right > innerWidth || e.getBoundingClientRect().left < 0)) say('the current tab is out of sight', e);
    if (!e.matches('td, th') || e.closest('tr').cells.length < 2) continue;
    const box = e.closest('.scroll, .grid'), lines = e.clientHeight / (parseFloat(style.lineHeight) || 20);
    if (box && box.scrollWidth > box.clientWidth && e.offsetWidth > box.clientWidth * 0.85) say('one column takes the width of the table', e);
    if (text(e) + e.querySelectorAll('bdi, code').length && e.offsetWidth < 76 && e.textContent.trim().length > 40 && lines > 5) say('a column is squeezed', e);
  }
  // Text of another direction must not reorder what is beside it.
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = walker.nextNode());) {
    if (!/[\u0590-\u08ff\ufb1d-\ufefc\u202a-\u202e\u2066-\u2069]/.test(n.data) || !shown(n.parentElement)) continue;
    if (/[\u202a-\u202e\u2066-\u2069]/.test(n.data)) say('a character changes the direction of the text', n.parentElement);
    let e = n.parentElement;
    if (e.closest('svg, option, textarea, pre, .words')) continue; // a text each, or paragraphs of it
    while (!/isolate|plaintext/.test(getComputedStyle(e).unicodeBidi)) e = e.parentElement;
    if (e.textContent.trim() !== n.data.trim() && !(e.tagName === 'BDI' && [...e.children].every(c => c.tagName === 'MARK'))) say('text is not isolated from the text around it', n.parentElement);
  }
  // Labels of drawings collide with nothing and end within the drawing.
  for (const svg of document.querySelectorAll('svg')) {
    if (!shown(svg)) continue;
    const frame = svg.getBoundingClientRect(), width = svg.closest('.scroll')?.clientWidth;
    if (innerWidth >= 1000 && width && frame.width > width + 1 && !svg.matches('.graph')) say('a drawing is wider than its card', svg);
    const all = [...svg.querySelectorAll('text')].filter(e => e.textContent.trim()).map(e => [e, e.getBoundingClientRect()]).sort((a, b) => a[1].left - b[1].left);
    all.forEach(([e, r], i) => {
      if (r.left < frame.left - 1 || r.right > frame.right + 1) say('a label leaves its drawing', e);
      for (const [other, s] of all.slice(i + 1)) {
        if (s.left > r.right) break;
        if (Math.min(r.right, s.right) - s.left > 2 && Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top) > r.height * 0.45) say('labels collide, with ' + other.textContent, e);
      }
    });
  }
  return [...faults].slice(0, 12);
})()
