// Stream: how right the model is and how sure, what comes, and whether that changes.

import { count, drawing, element, percent } from "./dom.js";

const EVERY = 4000; // milliseconds between two looks
const HEIGHT = 220, LEFT = 44, RIGHT = 12, TOP = 10, BOTTOM = 30;
const width = () => (innerWidth < 640 ? 320 : 560); // of a chart, so that its letters stay legible
const MOST_ROWS = 24; // of strips

export function open(page) {
  let timer = null;
  let gone = false;
  let stream = null;
  const view = element("div.view", {}, element("h1", {}, "Stream"), element("p.muted", {}, "One moment …"));
  page.show(view);

  function draw() {
    if (gone || !stream || view.contains(document.activeElement?.closest("summary") ?? document)) return;
    const opened = [...view.querySelectorAll("details")].map((one) => one.open);
    view.replaceChildren(...parts(stream));
    [...view.querySelectorAll("details")].forEach((one, i) => { one.open = opened[i] ?? false; });
  }

  async function look() {
    try {
      stream = await page.call("/api/v1/stream");
      draw();
    } catch { /* the bar says it */ }
    if (!gone) timer = setTimeout(look, EVERY);
  }

  addEventListener("resize", draw);
  look();
  return { leave() { gone = true; clearTimeout(timer); removeEventListener("resize", draw); } };
}

function parts(stream) {
  const { accuracy, calibration, points, drift } = stream;
  const facts = [
    ["documents predicted", count(stream.documents), ""],
    fact("right, of labels given", accuracy.given),
    fact("right, of reviews drawn at random", accuracy.random),
    ["calibration error", calibration.error === null ? "–" : calibration.error.toFixed(3), "mean gap of confidence and accuracy"],
  ];
  return [
    element("div.lead", {}, element("h1", {}, "Stream"),
      element("p.muted", {}, "Every number is about predictions made before their label was learned.",
        accuracy.chosen.n ? ` Documents that were chosen because the model was unsure are harder than the stream and do not count: of ${count(accuracy.chosen.n)} it had ${count(accuracy.chosen.right)} right.` : "")),
    element("dl.facts", {}, facts.map(([name, value, note]) => element("div", {},
      element("dt", {}, name), element("dd", {}, value, note ? element("small", {}, note) : null)))),
    alarm(stream),
    element("div.charts", {},
      element("figure.card", {}, element("h2", {}, "Accuracy over time"), accuracyChart(points, drift.alarms, stream.documents),
        element("figcaption", {}, "Share of predictions that were right, with its 95 % interval, by documents predicted. Labels given and reviews drawn at random."),
        table(["documents", "judged", "right", "from", "to"], points.filter((p) => p.accuracy.n).map((p) =>
          [count(p.first + p.documents), count(p.accuracy.n), percent(p.accuracy.value), percent(p.accuracy.low), percent(p.accuracy.high)]))),
      element("figure.card", {}, element("h2", {}, "Calibration"), calibrationChart(calibration.bins),
        element("figcaption", {}, "How often predictions were right, by how sure the model was. On the dashed line the two are the same."),
        table(["said", "right", "judged"], calibration.bins.map((bin) =>
          [percent(bin.confidence), percent(bin.accuracy.value), count(bin.n)]))),
      element("figure.card.wide", {}, element("h2", {}, "Labels over time"),
        strips(labelRows(points)), element("figcaption", {}, "What was predicted: the darker, the larger its share of that time. At the right, its share of all.")),
      points.some((p) => Object.keys(p.topics).length) ? element("figure.card.wide", {}, element("h2", {}, "Topics over time"),
        strips(topicRows(points, stream.topics)), element("figcaption", {}, "Words that each topic has learned, as a share of all, from the left to the right. A dark edge is where a topic was born; at the right, its share now.")) : null),
  ];
}

function fact(name, { n, value, low, high }) {
  return [name, n ? percent(value) : "–", n ? `${percent(low)} to ${percent(high)}, of ${count(n)}` : "none yet"];
}

function alarm({ drift }) {
  const bound = `If nothing changes, a false alarm comes within n judged documents with probability at most n / ${count(Math.round(1 / drift.rate))}.`;
  if (drift.alarms.length) {
    const last = drift.alarms.at(-1);
    return element("section.card.alarm", { role: "status" }, element("h2", {}, `The stream drifts: alarm after ${count(last)} documents`),
      element("p.muted", {}, `Predictions have become worse than before. ${drift.alarms.length > 1 ? `This is alarm ${drift.alarms.length}. ` : ""}${bound}`));
  }
  return element("section", { role: "status" }, element("p", {}, drift.judged
    ? `No drift: evidence ${drift.evidence < 10 ? drift.evidence.toFixed(1) : count(Math.round(drift.evidence))}, an alarm is raised at ${count(drift.threshold)}.`
    : "No label is known yet, so nothing can be said of drift."), element("p.muted", {}, bound));
}

function frame(label, yTicks, xTicks, x, y, ...inside) {
  return drawing("svg", { viewBox: `0 0 ${width()} ${HEIGHT}`, role: "img", "aria-label": label },
    ...yTicks.flatMap((value) => [
      drawing("path", { class: "axis", d: `M${LEFT} ${y(value)}H${width() - RIGHT}` }),
      drawing("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, percent(value))]),
    ...xTicks.map(([value, text]) => drawing("text", { x: x(value), y: HEIGHT - 8, "text-anchor": value === xTicks[0][0] ? "start" : "end" }, text)),
    ...inside);
}

const scale = (from, to, low, high) => (value) => low + (high - low) * (to > from ? (value - from) / (to - from) : 0.5);

function accuracyChart(points, alarms, documents) {
  const known = points.filter((p) => p.accuracy.n);
  if (!known.length) return element("p.muted", {}, "No label is known yet.");
  const x = scale(0, Math.max(1, documents), LEFT, width() - RIGHT);
  const y = scale(0, 1, HEIGHT - BOTTOM, TOP);
  const at = (p) => x(p.first + p.documents / 2).toFixed(1);
  const line = (key) => known.map((p) => `${at(p)} ${y(p.accuracy[key]).toFixed(1)}`);
  const last = known.at(-1).accuracy;
  return frame(`Accuracy over time: ${percent(last.value)} lately, interval ${percent(last.low)} to ${percent(last.high)}`,
    [0, 0.25, 0.5, 0.75, 1], [[0, "0"], [documents, `${count(documents)} documents`]], x, y,
    drawing("path", { class: "band", d: `M${line("high").join("L")}L${line("low").reverse().join("L")}Z` }),
    drawing("path", { class: "curve", d: `M${line("value").join("L")}` }),
    ...(known.length === 1 ? [drawing("circle", { class: "dot", cx: at(known[0]), cy: y(last.value), r: 4 })] : []),
    ...alarms.map((place) => drawing("path", { class: "alarm-line", d: `M${x(place).toFixed(1)} ${TOP}V${HEIGHT - BOTTOM}` })));
}

function calibrationChart(bins) {
  if (!bins.length) return element("p.muted", {}, "No label is known yet.");
  const x = scale(0, 1, LEFT, width() - RIGHT);
  const y = scale(0, 1, HEIGHT - BOTTOM, TOP);
  const most = Math.max(...bins.map((bin) => bin.n));
  return frame(`Calibration in ${bins.length} groups of predictions`, [0, 0.25, 0.5, 0.75, 1], [[0, "0 % sure"], [1, "100 % sure"]], x, y,
    drawing("path", { class: "ideal", d: `M${x(0)} ${y(0)}L${x(1)} ${y(1)}` }),
    ...bins.flatMap((bin) => [
      drawing("path", { class: "whisker", d: `M${x(bin.confidence)} ${y(bin.accuracy.low)}V${y(bin.accuracy.high)}` }),
      drawing("circle", { class: "dot", cx: x(bin.confidence), cy: y(bin.accuracy.value), r: 3 + 5 * Math.sqrt(bin.n / most) })]));
}

// Rows of cells: { name, title, cells: [share, null where there is none], born, last }.
function strips(rows) {
  if (!rows.length) return element("p.muted", {}, "Nothing was predicted yet.");
  // The last cell may be of few documents: it does not say how dark the others are.
  const whole = (row) => (row.cells.length > 1 ? row.cells.slice(0, -1) : row.cells);
  const most = Math.max(1e-9, ...rows.flatMap((row) => whole(row).filter((cell) => cell !== null)));
  const left = rows.length - MOST_ROWS;
  return element("div.strips", {}, rows.slice(0, MOST_ROWS).map((row) => element("div.strip", {},
    element("span", { title: row.title ?? row.name }, row.name),
    element("span.cells", { role: "img", "aria-label": `${row.name}: ${percent(row.last)}` }, row.cells.map((cell, i) =>
      element(cell === null ? "i.none" : i === row.born ? "i.born" : "i", { share: Math.min(1, (cell ?? 0) / most) }))),
    element("span", {}, percent(row.last)))),
  left > 0 ? element("p.muted", {}, `and ${left} more, which are smaller`) : null);
}

function labelRows(points) {
  const all = new Map();
  for (const point of points) for (const [label, n] of Object.entries(point.labels)) all.set(label, (all.get(label) ?? 0) + n);
  const total = [...all.values()].reduce((sum, n) => sum + n, 0);
  return [...all].sort(([a, m], [b, n]) => n - m || a.localeCompare(b)).map(([name, n]) => ({
    name, last: n / total, cells: points.map((p) => (p.labels[name] ?? 0) / Math.max(1, p.documents)),
  }));
}

function topicRows(points, topics) {
  const sums = points.map((p) => Object.values(p.topics).reduce((sum, n) => sum + n, 0));
  const share = (point, i, name) => (name in point.topics ? point.topics[name] / Math.max(1e-9, sums[i]) : null);
  return topics.map(({ name, words }) => {
    const cells = points.map((p, i) => share(p, i, name));
    const born = cells.findIndex((cell) => cell !== null);
    const label = words?.length ? words.join(", ") : `topic ${name}`;
    return { name: label, title: `topic ${name}: ${label}`, cells, born: born > 0 ? born : -1, last: cells.at(-1) ?? 0 };
  }).sort((a, b) => b.last - a.last);
}

function table(head, rows) {
  return element("details", {}, element("summary", {}, "Numbers"), element("div.scroll", { tabindex: "0", role: "region", "aria-label": "Numbers" }, element("table", {},
    element("thead", {}, element("tr", {}, head.map((cell) => element("th", { scope: "col" }, cell)))),
    element("tbody", {}, rows.map((row) => element("tr", {}, row.map((cell) => element("td", {}, cell))))))));
}
