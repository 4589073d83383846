// The script of logs: wrapping and following survive changes of the page.
'use strict';
(() => {
  const section = document.querySelector('[data-section=logs]');
  if (!section) return;
  const wrap = document.querySelector('[data-wrap]'), end = document.querySelector('[data-end]');
  function apply() {
    const text = section.querySelector('.logtext');
    text?.classList.toggle('unwrapped', !!wrap && !wrap.checked);
    if (end?.checked && text) text.scrollTop = text.scrollHeight;
  }
  for (const box of [wrap, end]) box?.addEventListener('change', apply);
  new MutationObserver(apply).observe(section, { childList: true });
  apply();
})();
