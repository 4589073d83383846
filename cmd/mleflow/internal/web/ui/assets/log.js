// The script of logs and code: wrapping and following survive changes of the page.
'use strict';
(() => {
  let wrap = true, end = true;
  const text = () => document.querySelector('.logtext');
  function apply() {
    document.querySelector('[data-wrap]')?.toggleAttribute('checked', wrap);
    text()?.classList.toggle('unwrapped', !wrap);
    if (end && document.querySelector('[data-end]')) text().scrollTop = text().scrollHeight;
  }
  document.addEventListener('change', e => {
    if (e.target.matches('[data-wrap]')) wrap = e.target.checked;
    else if (e.target.matches('[data-end]')) end = e.target.checked;
    else return;
    apply();
  });
  const section = document.querySelector('[data-section=logs]');
  if (!section) return;
  new MutationObserver(() => {
    for (const [name, on] of [['wrap', wrap], ['end', end]]) { const box = document.querySelector(`[data-${name}]`); if (box) box.checked = on; }
    apply();
  }).observe(section, { childList: true });
  apply();
})();
