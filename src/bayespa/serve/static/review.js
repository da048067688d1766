// Review: one document, what the model says of it, one key to answer.
//
// Answers go through an outbox in the browser's storage, in their order. They leave it when the service has
// acknowledged them, so neither a reload nor a service that goes away loses one. The document that is shown never
// changes under the reader's eyes: what the model has learned meanwhile shows in the next one.

import { Away, Refused } from "./api.js";
import { bars, count, element, legend, marked, names, percent, topicsSaid } from "./dom.js";

const AHEAD = 3; // documents held here, for when the service is away
const SOON = 400; // milliseconds within which an answer comes, else the next document is shown as it was fetched
const AGAIN = 1000; // milliseconds until the service is asked again
const OUTBOX = "bayespa.outbox";
const KEYS = "bayespa.keys";

const outbox = {
  all: () => JSON.parse(localStorage.getItem(OUTBOX) ?? "[]"),
  keep: (entries) => localStorage.setItem(OUTBOX, JSON.stringify(entries)),
  add: (entry) => outbox.keep([...outbox.all(), { ...entry, key: Math.random() }]),
  last: () => outbox.all().at(-1),
  drop: ({ key }) => outbox.keep(outbox.all().filter((entry) => entry.key !== key)), // another window may have
};

export function open(page) {
  let items = []; // documents, the first of which is shown
  let chosen = null; // labels of it, where a document may have several
  let classes = [];
  let summary = null;
  let change = null; // what the last answer has changed
  let failed = "";
  let shownId; // the document on the page; undefined: none was drawn yet
  let timer = null;
  let sending = null;
  let gone = false;

  const keys = () => localStorage.getItem(KEYS) !== "off";

  function take(answer) {
    // Keep the document that is shown, and those answered here and not yet sent away.
    const answered = new Set(outbox.all().filter((entry) => entry.action !== "undo").map((entry) => entry.id));
    const current = items[0]?.id === shownId ? items[0] : null;
    const fresh = answer.items.filter((item) => !answered.has(item.id));
    const undone = answer.done?.action === "undo" ? answer.done.id : null;
    items = current && !undone && fresh.some((item) => item.id === current.id)
      ? [current, ...fresh.filter((item) => item.id !== current.id)] : fresh;
    ({ classes, summary } = answer);
  }

  async function send() {
    // One at a time, in order; whoever calls meanwhile waits for the same.
    sending ??= (async () => {
      clearTimeout(timer);
      try {
        while (outbox.all().length) {
          const entry = outbox.all()[0];
          let answer;
          try {
            answer = await page.call(`/api/v1/review/${encodeURIComponent(entry.id)}?n=${AHEAD}`,
              { action: entry.action, label: entry.label });
          } catch (error) {
            if (!(error instanceof Refused) || error.status === 401) throw error;
            failed = `“${entry.action === "label" ? names(entry.label) : entry.action}” was not taken: ${error.message}`;
            outbox.drop(entry);
            continue;
          }
          outbox.drop(entry);
          if (answer.done.action === "label" || !outbox.all().length) change = answer.done;
          take(answer);
        }
        if (!items.length || failed) take(await page.call(`/api/v1/review?n=${AHEAD}`));
      } catch (error) {
        if (gone || (error instanceof Refused && error.status === 401)) return;
        if (!(error instanceof Away)) failed = error.message;
        const kept = outbox.all().length;
        if (kept) page.status(`The service is away; ${kept} answer${kept > 1 ? "s are" : " is"} kept here.`, true);
        timer = setTimeout(() => send().then(draw), AGAIN);
      } finally {
        sending = null;
      }
    })();
    return sending;
  }

  async function answer(action, label) {
    const [item] = items;
    if (!item || item.id !== shownId) return; // a key pressed twice is not meant for a document unseen
    failed = "";
    outbox.add({ id: item.id, action, label, item });
    items = items.slice(1);
    shownId = undefined;
    const sent = send();
    await Promise.race([sent, new Promise((later) => setTimeout(later, SOON))]);
    draw();
    sent.then(draw);
  }

  async function undo() {
    const waiting = outbox.last();
    failed = "";
    if (waiting && waiting.action !== "undo" && !sending) { // it has not left this browser
      outbox.drop(waiting);
      items = [waiting.item, ...items];
    } else if (waiting || summary?.last) {
      const id = waiting?.id ?? summary.last.id;
      outbox.add({ id, action: "undo" });
      shownId = undefined;
      await send();
    }
    draw();
  }

  const accept = () => answer("label", chosen ? [...chosen] : items[0]?.label);
  const choose = (label) => (chosen ? toggle(label) : answer("label", label));
  const skip = () => answer("skip");

  // What is shown

  const finder = makeFinder(() => classes, choose, () => view.querySelector(".action.main")?.focus());
  const view = element("div.view");

  function draw() {
    if (gone) return;
    const [item] = items;
    if (item && item.id === shownId) return drawFoot();
    shownId = item?.id;
    finder.close();
    if (!item) {
      const nothing = summary && !outbox.all().length
        ? "Nothing waits for review. Documents come here as the service predicts them; this page looks again by itself."
        : failed ? "" : "One moment …";
      if (view.querySelector(".empty")?.textContent === nothing) drawFoot();
      else view.replaceChildren(element("h1.hidden", {}, "Review"), changeLine(), element("p.empty", {}, nothing), foot());
      clearTimeout(timer);
      timer = setTimeout(() => send().then(draw), AGAIN);
      return;
    }
    chosen = Array.isArray(item.label) ? new Set(item.label) : null;
    const hadFocus = view.contains(document.activeElement);
    view.replaceChildren(
      element("h1.hidden", {}, "Review"),
      changeLine(),
      element("div.review", {},
        verdict(item),
        element("article.card.document", {},
          element("header", {},
            element("span.muted", {}, item.drawn === "random" ? "Drawn at random, to measure accuracy" : "The model is unsure"),
            element("span.muted.number", {}, `model ${count(item.version)}`)),
          element("p.text", {}, marked(item.text, item.words)),
          legend(item.explained)),
        element("div.dock", {}, actions(), finder.element),
        element("div.side", {},
          labelBars(item),
          item.topics.length ? element("section", {}, element("h2", {}, "Topics, and what they add"), topicsSaid(item.topics)) : null)),
      foot());
    scrollTo(0, 0);
    if (hadFocus || document.activeElement === document.body) view.querySelector(".action.main").focus({ preventScroll: true });
  }

  function verdict(item) {
    const same = !chosen || names([...chosen].sort()) === names(item.label);
    return element("section.verdict", { "aria-label": "Prediction" },
      element("p.said", {}, chosen ? names([...chosen]) : item.label),
      element("p.muted", {}, same ? `The model says so with ${percent(item.probability)}.` : `Yours. The model says ${names(item.label)}.`));
  }

  function labelBars(item) {
    const shown = item.labels.map((row) => row.label);
    const more = [...(chosen ?? [])].filter((label) => !shown.includes(label)); // found by typing
    return bars([...item.labels, ...more.map((label) => ({ label, probability: null }))].map(({ label, probability }, place) => ({
      key: keys() && place < 9 ? String(place + 1) : null,
      label,
      share: probability,
      pressed: chosen?.has(label),
      action: () => choose(label),
    })));
  }

  function toggle(label) {
    const [item] = items;
    if (!item || item.id !== shownId) return;
    if (!chosen.delete(label)) chosen.add(label);
    const old = view.querySelector(".bars");
    const place = [...old.querySelectorAll("button")].indexOf(document.activeElement);
    view.querySelector(".verdict").replaceWith(verdict(item));
    old.replaceWith(labelBars(item));
    view.querySelectorAll(".bars button")[place]?.focus();
  }

  const key = (letter) => (keys() ? element("kbd", {}, letter) : null);
  const canUndo = () => Boolean(outbox.last() || summary?.last);

  function actions() {
    return element("div.actions", { role: "group", "aria-label": "Answer" },
      element("button.action.main", { type: "button", onclick: accept }, "Accept", key("A")),
      element("button.action", { type: "button", onclick: () => finder.open(), "aria-haspopup": "listbox" }, chosen ? "More labels" : "Another label", key("L")),
      element("button.action", { type: "button", onclick: skip }, "Skip", key("S")),
      undoButton());
  }

  const undoButton = () => element("button.action.undo",
    { type: "button", onclick: undo, "aria-disabled": canUndo() ? null : "true" }, "Undo", key("U"));

  function changeLine() {
    const line = element("p.change", { role: "status" });
    if (failed) line.append(element("span.error", {}, failed));
    else if (change?.action === "label") {
      line.append("Learned ", element("b", {}, names(change.label)), ": for that document the model gave it ", percent(change.before), " and now gives ",
        element("b", {}, percent(change.after)), ".",
        names(change.label) === names(change.predicted) ? "" : ` It had said ${names(change.predicted)}.`);
    } else if (change?.action === "skip") line.append("Skipped. Nothing was learned.");
    else if (change?.action === "undo") line.append("Taken back. The label that you give now is learned in addition, and replaces the first one in exports.");
    return line;
  }

  function foot() {
    if (!summary) return element("div.foot");
    const { accuracy } = summary;
    return element("div.foot", {},
      element("span", {}, `${count(summary.reviewed)} reviewed, ${count(summary.skipped)} skipped, ${count(summary.waiting)} wait`),
      element("span", {}, accuracy.n
        ? `${percent(accuracy.value)} right of ${count(accuracy.n)} drawn at random (95 %: ${percent(accuracy.low)} to ${percent(accuracy.high)})`
        : `${percent(summary.share)} are drawn at random, to measure accuracy`),
      element("a", { href: "/api/v1/review/export", download: "reviews.jsonl" }, "Export as JSONL"),
      element("label.switch", {}, element("input", { type: "checkbox", checked: keys(), onchange: (event) => {
        localStorage.setItem(KEYS, event.target.checked ? "on" : "off");
        shownId = undefined;
        draw();
        view.querySelector(".switch input").focus();
      } }), "Single keys"));
  }

  function drawFoot() {
    const old = view.querySelector(".foot");
    if (!old?.contains(document.activeElement)) old?.replaceWith(foot());
    view.querySelector(".change")?.replaceWith(changeLine());
    view.querySelector(".undo")?.replaceWith(undoButton());
  }

  function press(event) {
    if (!keys() || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea")) return;
    const digit = /^[1-9]$/.test(event.key) && view.querySelectorAll(".bars button")[Number(event.key) - 1];
    const act = { a: accept, l: () => finder.open(), s: skip, u: undo }[event.key.toLowerCase()]
      ?? (digit && (() => digit.click()));
    if (!act || event.repeat) return;
    event.preventDefault();
    act();
  }

  document.addEventListener("keydown", press);
  page.show(view);
  draw();
  send().then(draw);
  return {
    leave() {
      gone = true;
      clearTimeout(timer);
      document.removeEventListener("keydown", press);
    },
  };
}

// A list of labels to type into: arrows move, Enter chooses, Escape closes.
function makeFinder(classes, choose, closed) {
  let found = [];
  let place = 0;
  const list = element("ul", { id: "labels", role: "listbox", "aria-label": "Labels" });
  const input = element("input", {
    id: "find", type: "text", role: "combobox", autocomplete: "off", spellcheck: "false",
    "aria-controls": "labels", "aria-expanded": "true", "aria-autocomplete": "list",
    oninput: () => { place = 0; draw(); },
    onkeydown: (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step && found.length) place = (place + step + found.length) % found.length;
      else if (event.key === "Enter" && found[place]) pick(found[place].label);
      else if (event.key === "Escape") { close(); closed(); }
      else return;
      event.preventDefault();
      draw();
    },
  });
  const box = element("div.finder", { hidden: true }, element("label.muted", { for: "find" }, "Label: type to find, Enter to choose"), input, list);

  function draw() {
    const typed = input.value.trim();
    const has = (label) => label.toLowerCase().includes(typed.toLowerCase());
    const starts = (label) => label.toLowerCase().startsWith(typed.toLowerCase());
    found = classes().filter(has).sort((a, b) => starts(b) - starts(a)).map((label) => ({ label, text: label }));
    if (typed && !classes().includes(typed)) found.push({ label: typed, text: `New label: ${typed}` });
    list.replaceChildren(...found.map(({ label, text }, i) => element("li", {
      role: "option", id: `label-${i}`, "aria-selected": i === place ? "true" : "false", onclick: () => pick(label),
    }, text)));
    input.setAttribute("aria-activedescendant", found.length ? `label-${place}` : "");
    list.children[place]?.scrollIntoView({ block: "nearest" });
  }
  function pick(label) {
    close();
    closed();
    choose(label);
  }
  function close() {
    box.hidden = true;
  }
  return {
    element: box,
    close,
    open() {
      input.value = "";
      place = 0;
      box.hidden = false;
      draw();
      input.focus();
    },
  };
}
