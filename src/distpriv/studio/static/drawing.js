// Curves and the table of errors, drawn from numbers; nothing here knows where they come from.

const SPACE = "http://www.w3.org/2000/svg";
const LEFT = 46, RIGHT = 12, TOP = 8, BOTTOM = 40;

export const sizes = { left: LEFT, right: RIGHT };

function add(parent, tag, attributes, text) {
  const element = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

function emptied(svg) {
  svg.replaceChildren();
  const width = Math.max(200, svg.clientWidth), height = Math.max(120, svg.clientHeight);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  return { width, height };
}

function scale(from, to, start, end, log = false) {
  const f = log ? Math.log : (x) => x;
  return (x) => start + ((f(x) - f(from)) / (f(to) - f(from))) * (end - start);
}

const path = (points) => points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

export function shown(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e7)) return value.toExponential(digits - 1);
  const text = Number(value.toPrecision(digits));
  return Math.abs(text) >= 1000 ? Math.round(value).toLocaleString("en-US") : String(text);
}

// Two bell curves along the most telling direction.
export function drawCurves(svg, grid, curves, top) {
  const { width, height } = emptied(svg);
  const x = scale(grid[0], grid[grid.length - 1], LEFT, width - RIGHT), y = scale(0, 1.08 * top, height - BOTTOM, TOP);
  for (let k = Math.ceil(grid[0] / 2) * 2; k <= grid[grid.length - 1]; k += 2) {
    add(svg, "line", { class: "rule", x1: x(k), x2: x(k), y1: TOP, y2: height - BOTTOM });
    add(svg, "text", { class: "tick", x: x(k), y: height - BOTTOM + 16, "text-anchor": "middle" }, String(k).replace("-", "−"));
  }
  add(svg, "line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: height - BOTTOM, y2: height - BOTTOM });
  add(svg, "text", { class: "tick", x: (LEFT + width - RIGHT) / 2, y: height - 6, "text-anchor": "middle" }, "most telling direction (standard deviations)");
  add(svg, "text", { class: "tick", x: 12, y: (TOP + height - BOTTOM) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(TOP + height - BOTTOM) / 2})` }, "how likely");
  curves.forEach(({ density }, k) => {
    const points = density.map((value, j) => [x(grid[j]), y(value)]), look = k ? "two-line" : "one";
    add(svg, "path", { class: `area ${look}`, d: `${path(points)}L${x(grid[grid.length - 1])} ${y(0)}L${x(grid[0])} ${y(0)}Z` });
    add(svg, "path", { class: `line ${look}`, d: path(points) });
  });
}

// The error against ε or against what an attacker may reach, with a grip where the choice is.
export function drawTrade(svg, trade, at, error) {
  const { width, height } = emptied(svg), log = trade.along === "epsilon";
  const points = trade.x.map((value, k) => [value, trade.error[k]]).filter(([, value]) => value !== null);
  const most = 1.12 * Math.max(trade.public_error, error ?? 0, ...points.map(([, value]) => value));
  const x = scale(trade.x[0], trade.x[trade.x.length - 1], LEFT, width - RIGHT, log), y = scale(0, most, height - BOTTOM, TOP);
  const ticks = log ? [0.05, 0.1, 0.2, 0.5, 1, 2, 4, 8] : [0.51, 0.6, 0.7, 0.8, 0.9, 0.95];
  for (const value of ticks) {
    const text = log ? String(value) : `${Math.round(100 * value)} %`;
    add(svg, "line", { class: "rule", x1: x(value), x2: x(value), y1: TOP, y2: height - BOTTOM });
    add(svg, "text", { class: "tick", x: x(value), y: height - BOTTOM + 16, "text-anchor": "middle" }, text);
  }
  const step = nice(most / 4);
  for (let value = 0; value <= most; value += step) {
    add(svg, "line", { class: "rule", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) });
    add(svg, "text", { class: "tick", x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, shown(value));
  }
  add(svg, "line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: height - BOTTOM, y2: height - BOTTOM });
  const label = log ? "ε, smaller is more private" : "how often an attacker may be right";
  add(svg, "text", { class: "tick", x: (LEFT + width - RIGHT) / 2, y: height - 6, "text-anchor": "middle" }, label);
  add(svg, "line", { class: "public", x1: LEFT, x2: width - RIGHT, y1: y(trade.public_error), y2: y(trade.public_error) });
  add(svg, "text", { class: "tick", x: width - RIGHT - 4, y: y(trade.public_error) - 5, "text-anchor": "end" }, "printing the public mean");
  if (points.length) add(svg, "path", { class: "line one", d: path(points.map(([a, b]) => [x(a), y(b)])) });
  if (error !== null && error !== undefined) {
    add(svg, "line", { class: "follow", x1: x(at), x2: x(at), y1: y(error), y2: height - BOTTOM });
    add(svg, "circle", { class: "grip", cx: x(at), cy: y(error), r: 7 });
  }
  return (pixels) => {
    const part = Math.min(1, Math.max(0, (pixels - LEFT) / (width - RIGHT - LEFT)));
    const [low, high] = [trade.x[0], trade.x[trade.x.length - 1]];
    return log ? low * (high / low) ** part : low + part * (high - low);
  };
}

function nice(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
}

// One row for each statistic: what the public mean misses, and what the estimate does.
export function fillErrors(body, numbers) {
  const rows = Object.keys(numbers.errors).map((name) => {
    const before = numbers.public_errors[name], after = numbers.errors[name];
    const share = before > 0 ? Math.min(1, after / before) : 1;
    const row = document.createElement("tr");
    row.append(cell("th", name), cell("td", shown(numbers.public_means[name])), cell("td", `± ${shown(before)}`), cell("td", `± ${shown(after)}`), bar(share));
    return row;
  });
  body.replaceChildren(...rows);
}

// Put a text into an element; lines may end after an underscore, and not inside of a word.
export function put(element, text) {
  element.replaceChildren(...text.split(/(?<=_)/).flatMap((part, k) => (k ? [document.createElement("wbr"), part] : [part])));
  return element;
}

export function cell(tag, text) {
  const element = document.createElement(tag);
  if (tag === "th") element.scope = "row"; else element.className = "r";
  return put(element, text);
}

function bar(share) {
  const element = document.createElement("td"), track = document.createElement("span"), fill = document.createElement("i");
  element.textContent = `${Math.round(100 * share)} %`;
  track.className = "track";
  track.setAttribute("aria-hidden", "true");
  fill.style.width = `${100 * share}%`;
  track.append(fill);
  element.append(track);
  return element;
}
