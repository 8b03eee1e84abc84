/** The map as a picture, with a legend and the sources. */

import { STEPS, UNITS, rampOf, stepText } from "./mapstyle.js";
import { colours } from "./theme.js";

/** Sizes of the legend of a picture, in screen pixels. */
const MARGIN = 16;
const WIDTH = 260;
const HEIGHT = 74;
const PAD = 12;
const RAMP = 10;
/** Height of the line with the sources, pixels. */
const STRIP = 24;

/** Draws the legend of a figure in the lower left corner. */
function drawLegend(pen, bottom, { figure, title }, { surface, line, text, quiet, font }) {
  const ramp = rampOf(figure);
  const [left, top, end] = [MARGIN + PAD, bottom - MARGIN - HEIGHT + PAD, MARGIN + WIDTH - PAD];
  pen.fillStyle = surface;
  pen.strokeStyle = line;
  pen.beginPath();
  pen.roundRect(MARGIN, bottom - MARGIN - HEIGHT, WIDTH, HEIGHT, 8);
  pen.fill();
  pen.stroke();
  pen.fillStyle = text;
  pen.font = `600 12px ${font}`;
  pen.fillText(title, left, top + 10, end - left);
  const shades = pen.createLinearGradient(left, 0, end, 0);
  ramp.forEach((colour, nth) => shades.addColorStop(nth / (ramp.length - 1), colour));
  pen.fillStyle = shades;
  pen.fillRect(left, top + 22, end - left, RAMP);
  pen.fillStyle = quiet;
  pen.font = `10px ${font}`;
  const labels = STEPS[figure].map((step, nth, steps) => `${stepText(figure, step)}${nth === steps.length - 1 ? UNITS[figure] ?? "" : ""}`);
  const widths = labels.map((label) => pen.measureText(label).width);
  const gap = (end - left - widths.reduce((sum, width) => sum + width, 0)) / (labels.length - 1);
  let at = left;
  labels.forEach((label, nth) => {
    pen.fillText(label, at, top + 48);
    at += widths[nth] + gap;
  });
}

/** Draws the sources in the lower right corner. */
function drawSource(pen, width, bottom, source, { surface, quiet, font }) {
  pen.font = `11px ${font}`;
  const wide = pen.measureText(source).width;
  pen.fillStyle = surface;
  pen.fillRect(width - wide - 2 * PAD, bottom - STRIP, wide + 2 * PAD, STRIP);
  pen.fillStyle = quiet;
  pen.textAlign = "right";
  pen.fillText(source, width - PAD, bottom - 8);
}

/** Returns the picture; a map can only be read while it is being drawn. `legend` is the figure of the colours and its title. */
export function pictureOf(made, legend) {
  const [surface, line, text, quiet] = colours("--surface", "--line", "--text", "--quiet");
  const look = { surface, line, text, quiet, font: getComputedStyle(document.body).fontFamily };
  return new Promise((resolve) => {
    made.once("render", () => {
      const map = made.getCanvas();
      const drawn = document.createElement("canvas");
      [drawn.width, drawn.height] = [map.width, map.height];
      const pen = drawn.getContext("2d");
      pen.drawImage(map, 0, 0);
      const scale = map.width / map.clientWidth;
      pen.scale(scale, scale);
      drawLegend(pen, map.clientHeight - STRIP, legend, look);
      const source = made.getContainer().querySelector(".maplibregl-ctrl-attrib-inner")?.textContent;
      drawSource(pen, map.clientWidth, map.clientHeight, [source, "toise"].filter(Boolean).join(" · "), look);
      drawn.toBlob(resolve, "image/png");
    });
    made.triggerRepaint();
  });
}
