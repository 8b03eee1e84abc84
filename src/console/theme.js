/** The theme, light or dark, and the page's colours for code that draws on a canvas. */

import { useEffect, useState } from "./vendor/preact.mjs";

const STORAGE_KEY = "toise-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const root = document.documentElement;

/** Returns the chosen theme: `light`, `dark`, or `system`. */
export const chosenTheme = () => localStorage.getItem(STORAGE_KEY) ?? "system";

function apply() {
  const chosen = chosenTheme();
  root.dataset.theme = chosen === "system" ? (dark.matches ? "dark" : "light") : chosen;
}

/** Sets the theme and stores it for the next visit. */
export function chooseTheme(theme) {
  if (theme === "system") localStorage.removeItem(STORAGE_KEY);
  else localStorage.setItem(STORAGE_KEY, theme);
  apply();
}

apply();
dark.addEventListener("change", apply);

/** Returns the current theme; components that draw on a canvas redraw when it changes. */
export function useTheme() {
  const [theme, setTheme] = useState(root.dataset.theme);
  useEffect(() => {
    const watcher = new MutationObserver(() => setTheme(root.dataset.theme));
    watcher.observe(root, { attributes: true, attributeFilter: ["data-theme"] });
    return () => watcher.disconnect();
  }, []);
  return theme;
}

/** Applies a style sheet that the page loads without waiting for it. It stays before those of the console. */
export function applyStyles(path) {
  document.querySelector(`link[href="${path}"]`).media = "all";
}

/** Returns colours of the style sheet, such as `--accent`, in the form that a canvas accepts. */
export function colours(...names) {
  const probe = document.body.appendChild(document.createElement("i"));
  const found = names.map((name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  });
  probe.remove();
  return found;
}
