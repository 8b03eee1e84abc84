/** Icons, drawn on a grid of 20 pixels with one stroke, and the logo. */

import { html } from "./vendor/preact.mjs";

const PATHS = {
  map: "M2.5 5.5l5-2.5 5 2.5 5-2.5v11.5l-5 2.5-5-2.5-5 2.5zM7.5 3v11.5M12.5 5.5V17",
  portfolios: "M3 7h14v9.5H3zM7.5 7V4.5h5V7M3 11.5h14",
  home: "M3 9.5L10 3.5l7 6M5 8v8.5h10V8M8.5 16.5V12h3v4.5",
  alerts: "M5 14V9a5 5 0 0 1 10 0v5l1.5 1.5h-13zM8.5 17.5a1.8 1.8 0 0 0 3 0",
  operations: "M2.5 11h3.2l2-6 3.6 11 2.2-5h4",
  pairs: "M3 4.5h5.5v11H3zM11.5 4.5H17v11h-5.5zM5 7.5h1.5M13.5 7.5H15M5 10h1.5M13.5 10H15",
  query: "M3 4.5h14v11H3zM6 8l2.5 2L6 12M10.5 12.5h3.5",
  search: "M9 3.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM13 13l4 4",
  account: "M10 10.2a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4zM3.8 16.8c.8-3 3.2-4.3 6.2-4.3s5.4 1.3 6.2 4.3",
  close: "M5.5 5.5l9 9M14.5 5.5l-9 9",
  plus: "M10 4.5v11M4.5 10h11",
  down: "M5.5 8l4.5 4.5L14.5 8",
  up: "M5.5 12l4.5-4.5 4.5 4.5",
  back: "M12 5l-5 5 5 5",
  pin: "M10 17.5s5.5-4.8 5.5-9a5.5 5.5 0 0 0-11 0c0 4.2 5.5 9 5.5 9zM10 10.3a1.9 1.9 0 1 0 0-3.8 1.9 1.9 0 0 0 0 3.8z",
  town: "M3 17V9.5l4-2.5v10M7 17V4.5l5-1.5v14M12 8h5v9M2 17h16M9.5 7v.5M9.5 10v.5M9.5 13v.5M14.5 11v.5M14.5 14v.5",
  house: "M3 9.5L10 3.5l7 6M5 8v8.5h10V8M8.5 16.5V12h3v4.5",
  flat: "M5 17V3.5h10V17M3.5 17h13M8 7h1M11 7h1M8 10h1M11 10h1M9 17v-3.5h2V17",
  land: "M2.5 15.5h15M4.5 15.5c0-4 2-6 4-6M12 15.5v-9M12 6.5l-2 2M12 6.5l2 2M12 10l-2 2M12 10l2 2",
  shop: "M3.5 8L5 4h10l1.5 4M3.5 8h13M4.5 8v8.5h11V8M8 16.5V12h4v4.5",
  box: "M3.5 6.5L10 3.5l6.5 3v7L10 16.5l-6.5-3zM3.5 6.5L10 9.5l6.5-3M10 9.5v7",
  sun: "M10 13.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM10 2.5v1.5M10 16v1.5M2.5 10H4M16 10h1.5M4.7 4.7l1 1M14.3 14.3l1 1M4.7 15.3l1-1M14.3 5.7l1-1",
  moon: "M16.5 11.5A6.8 6.8 0 0 1 8.5 3.5a6.8 6.8 0 1 0 8 8z",
  language: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM3 10h14M10 3c2 2 2.8 4.4 2.8 7s-.8 5-2.8 7c-2-2-2.8-4.4-2.8-7S8 5 10 3z",
  code: "M7 6l-4 4 4 4M13 6l4 4-4 4",
  leave: "M8.5 3.5h-5v13h5M8 10h9M13.5 6.5L17 10l-3.5 3.5",
  info: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 9v4.5M10 6.5v.2",
  warn: "M10 3.5L17.5 16.5h-15zM10 8v4M10 14.2v.2",
  check: "M4.5 10.5l3.5 3.5 7.5-8",
  pause: "M7 5v10M13 5v10",
  play: "M6.5 4.5l9 5.5-9 5.5z",
  edit: "M4 16l.8-3.4 8.3-8.3 2.6 2.6-8.3 8.3zM11.4 6l2.6 2.6",
  send: "M3.5 10L16.5 4l-4 12.5-3-5zM9.5 11.5L16.5 4",
  replay: "M4 10a6 6 0 1 0 2-4.5M4 3.5V7h3.5",
  download: "M10 3.5v9M6.5 9l3.5 3.5L13.5 9M3.5 16.5h13",
  upload: "M10 12.5v-9M6.5 7L10 3.5 13.5 7M3.5 16.5h13",
  print: "M6 7.5v-4h8v4M6 13.5H3.5v-6h13v6H14M6 11.5h8v5H6z",
  save: "M5 3.5h10v13.5l-5-3.5-5 3.5z",
  trash: "M4 6h12M8 6V4h4v2M5.5 6l.8 10.5h7.4L14.5 6",
  table: "M3 4.5h14v11H3zM3 8h14M8 8v7.5",
  columns: "M3 4.5h14v11H3zM7.5 4.5v11M12.5 4.5v11",
  chart: "M3.5 3.5v13h13M6.5 13l3-4 2.5 2 4-5.5",
  area: "M4 6.5l7-3 5.5 5-3 7.5-8-1.5zM4 6.5m-1.4 0a1.4 1.4 0 1 0 2.8 0 1.4 1.4 0 1 0-2.8 0M16.5 8.5m-1.4 0a1.4 1.4 0 1 0 2.8 0 1.4 1.4 0 1 0-2.8 0",
  globe: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM3 10h14M10 3c2 2 2.8 4.4 2.8 7s-.8 5-2.8 7c-2-2-2.8-4.4-2.8-7S8 5 10 3z",
  key: "M7 15.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM9.6 9.4L16.5 3M13.5 5.8l2.3 2.3M11.8 7.4l1.5 1.5",
  link: "M8.5 11.5l3-3M7 9l-2.5 2.5a2.8 2.8 0 0 0 4 4L11 13M9 7l2.5-2.5a2.8 2.8 0 0 1 4 4L13 11",
};

/** An icon by name. Screen readers skip it, because the label is next to it. */
export const Icon = ({ name, small = false }) =>
  html`<svg class=${small ? "icon tiny" : "icon"} viewBox="0 0 20 20" aria-hidden="true"><path d=${PATHS[name]}></path></svg>`;

/** The logo: a measuring rod along the gable of a house. */
export const Mark = () => html`<svg viewBox="0 0 32 32" aria-hidden="true">
  <rect width="32" height="32" rx="8" fill="currentColor"></rect>
  <path d="M7 16.5L16 8l9 8.5M10 14.5V24h12v-9.5M10 20h3M10 17h2M10 23h2" fill="none" stroke="var(--on-accent)" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"></path></svg>`;
