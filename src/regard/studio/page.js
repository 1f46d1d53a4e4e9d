(() => {
  const asked = (span) => {
    const box = span.closest('.tokens');
    if (!box) return;
    const width = Number(box.dataset.width), row = Number(span.dataset.i);
    const bytes = atob(box.dataset.weights);
    box.querySelectorAll('span[data-i]').forEach((other) => {
      const seen = bytes.charCodeAt(row * width + Number(other.dataset.i)) / 255;
      other.style.background = seen > 0.02 ? `rgb(var(--for) / ${(0.08 + 0.82 * seen).toFixed(2)})` : '';
      other.classList.toggle('asked', other === span);
    });
    const said = box.parentElement.querySelector('.tokens-say');
    if (said) said.textContent = span.dataset.say;
  };
  for (const kind of ['pointerover', 'focusin', 'click'])
    document.addEventListener(kind, (event) => {
      const span = event.target.closest && event.target.closest('.tokens span[data-i]');
      if (span) asked(span);
    });
  document.addEventListener('keydown', (event) => {
    const span = event.target.closest && event.target.closest('.tokens span[data-i]');
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!span || !step) return;
    const next = span.parentElement.querySelector(`span[data-i="${Number(span.dataset.i) + step}"]`);
    if (next) { next.tabIndex = 0; next.focus(); span.tabIndex = -1; event.preventDefault(); }
  });
  document.addEventListener('click', async (event) => {
    const button = event.target.closest && event.target.closest('[data-copy]');
    if (!button) return;
    const code = button.parentElement.querySelector('code');
    try { await navigator.clipboard.writeText(code.textContent); }
    catch { getSelection().selectAllChildren(code); document.execCommand('copy'); }
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
})();
