() => {
  // Text against the first opaque ground behind it, for what is visible and not turned off.
  const context = document.createElement('canvas').getContext('2d', {willReadFrequently: true}), known = new Map();
  const drawn = (text) => { context.clearRect(0, 0, 1, 1); context.fillStyle = text; context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data]; };
  const parse = (text) => { if (!known.has(text)) known.set(text, drawn(text)); return known.get(text); };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const out = [];
  for (const node of document.querySelectorAll('body *')) {
    const text = [...node.childNodes].filter((one) => one.nodeType === 3).map((one) => one.data.trim()).join('');
    if (!text || !node.checkVisibility({opacityProperty: true, visibilityProperty: true}) || node.closest('.idle, .stale, .unseen, :disabled, svg, option')) continue;
    let ground = node, back = [0, 0, 0, 0];
    while (ground && back[3] < 255) { back = parse(getComputedStyle(ground).backgroundColor); ground = ground.parentElement; }
    if (back[3] < 255) back = parse(getComputedStyle(document.documentElement).backgroundColor);
    const style = getComputedStyle(node), a = light(parse(style.color)), b = light(back);
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05), size = parseFloat(style.fontSize);
    if (ratio < (size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5)) out.push([text, Number(ratio.toFixed(2))]);
  }
  return out;
}
