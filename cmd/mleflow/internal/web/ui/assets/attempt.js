// The script of an attempt's course: a line at a time, and the values then.
'use strict';
(() => {
  const clock = ms => { const m = Math.round(ms / 60000); return m < 1 ? `${Math.round(ms / 1000)}s` : m < 60 ? `${m}m` : `${Math.floor(m / 60)}h${String(m % 60).padStart(2, '0')}m`; };
  let now = -1;
  // read shows the values at a share of the time.
  function read(box, share) {
    const plot = box.querySelector('[data-until]'), out = box.parentElement.querySelector('.readout');
    if (!plot) return;
    now = Math.min(Math.max(share, 0), 1);
    const left = Number(plot.dataset.left), right = Number(plot.dataset.right), at = now * Number(plot.dataset.until);
    let line = plot.querySelector('.crosshair');
    if (!line) { line = document.createElementNS('http://www.w3.org/2000/svg', 'path'); line.setAttribute('class', 'crosshair'); plot.append(line); }
    line.setAttribute('d', `M${left + now * (right - left)} 8V${plot.dataset.bottom}`);
    const parts = [clock(at)];
    for (const g of plot.querySelectorAll('[data-lane]')) {
      const times = g.dataset.at.split(' ').map(Number), texts = g.dataset.text.split('|');
      let i = times.length - 1;
      while (i > 0 && times[i] > at) i--;
      parts.push(`${g.dataset.lane} ${g.dataset.at && times[i] <= at ? texts[i] : '–'}`);
    }
    out.hidden = false;
    out.textContent = parts.join(' · ');
  }
  document.addEventListener('pointermove', e => {
    const svg = e.target.closest?.('[data-course] svg');
    if (!svg) return;
    const plot = svg.querySelector('[data-until]'), r = svg.getBoundingClientRect();
    const x = (e.clientX - r.left) / r.width * svg.viewBox.baseVal.width, left = Number(plot.dataset.left), right = Number(plot.dataset.right);
    if (x >= left - 4 && x <= right + 4) read(svg.closest('[data-course]'), (x - left) / (right - left));
  }, { passive: true });
  document.addEventListener('keydown', e => {
    const box = e.target.closest?.('[data-course]');
    const by = { ArrowLeft: -0.01, ArrowRight: 0.01, Home: -2, End: 2 }[e.key];
    if (!box || !by || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    read(box, (now < 0 ? 0 : now) + by);
  });
  for (const e of document.querySelectorAll('.withscript')) e.hidden = false;
})();
