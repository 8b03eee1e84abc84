/** What reach.py asks of a page: texts whose contrast is too low, and what has the focus. An expression: an object of functions. */
({
  /** Contrast is at least 4.5, or 3 for large text: from 24 pixels, or from 18.66 if it is bold. */
  contrast() {
    const parse = (text) => {
      const [r, g, b, a = 1] = text.match(/[\d.]+(?:e-?\d+)?/g).map(Number);
      return text.startsWith("color(srgb") ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
    };
    const over = (top, below) => top.slice(0, 3).map((one, nth) => one * top[3] + below[nth] * (1 - top[3]));
    const light = (colour) => {
      const [r, g, b] = colour.map((one) => one / 255).map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const isImage = (style) => style.backgroundImage !== "none" && !/^linear-gradient/.test(style.backgroundImage);
    const faults = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const holder = node.parentElement;
      if (!node.data.trim() || !holder.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      if (holder.closest("noscript, [aria-hidden=true], :disabled, .hidden, .map, .maplibregl-map, option")) continue;
      const layers = [];
      let isOnImage = false;
      let opacity = 1;
      for (let at = holder; at; at = at.parentElement) {
        const style = getComputedStyle(at);
        opacity *= Number(style.opacity);
        isOnImage ||= isImage(style);
        layers.unshift(parse(style.backgroundColor));
      }
      if (isOnImage || opacity < 1) continue;
      const ground = layers.reduce((below, layer) => over(layer, below), [255, 255, 255]);
      const style = getComputedStyle(holder);
      const text = over(parse(style.color), ground);
      const [least, most] = [light(text), light(ground)].sort((one, other) => one - other);
      const ratio = (most + 0.05) / (least + 0.05);
      const size = parseFloat(style.fontSize);
      const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      if (ratio < (isLarge ? 3 : 4.5)) faults.push(`contrast ${ratio.toFixed(2)} of "${node.data.trim().slice(0, 30)}" (${holder.className})`);
    }
    return [...new Set(faults)];
  },

  /** The element that has the focus, and whether it or its label shows that; null without one. */
  focused() {
    const one = document.activeElement;
    if (!one || one === document.body) return null;
    const shows = (at) => {
      const style = getComputedStyle(at);
      return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    };
    // A file field shows the focus on its label; the map and the palette are where the keys go without a frame.
    const label = one.closest("label");
    const isShown = shows(one) || Boolean(label && shows(label)) || one.matches(".maplibregl-canvas, dialog input");
    return { name: one.outerHTML.slice(0, 120), isShown };
  },
})
