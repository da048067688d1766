// Elements by name, and words and numbers as the page writes them. Text is always text, never HTML.

export function element(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const made = document.createElement(tag || "div");
  if (classes.length) made.className = classes.join(" ");
  return fill(made, attributes, children);
}

export function drawing(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "share") made.style.setProperty("--share", value.toFixed(4));
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

export const count = (number) => number.toLocaleString("en");
export const percent = (share) =>
  share > 0.995 && share < 1 ? ">\u00a099\u00a0%" : share > 0 && share < 0.005 ? "<\u00a01\u00a0%" : `${Math.round(100 * share)}\u00a0%`;
export const names = (label) => (Array.isArray(label) ? label.join(", ") || "no label" : label); // of one class, or several
export const signed = (number) => `${number < 0 ? "−" : "+"}${Math.abs(number).toFixed(2)}`;

const FOR = 0.15, AGAINST = 0.3; // of the strongest word's weight: what is below is not marked

// A text whose words are marked by what they add: [[word, contribution], ...].
export function marked(text, words) {
  const added = new Map(words);
  const strongest = Math.max(1e-9, ...words.map(([, value]) => Math.abs(value)));
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(/[\p{L}\p{M}\p{N}_]+/gu)) {
    const value = added.get(match[0]) ?? added.get(match[0].toLowerCase());
    const share = Math.abs(value ?? 0) / strongest;
    if (share < (value > 0 ? FOR : AGAINST)) continue;
    parts.push(text.slice(end, match.index));
    const kind = value > 0 ? "for" : "against";
    parts.push(element(`mark.${kind}`, { share, title: signed(value) }, match[0]));
    end = match.index + match[0].length;
  }
  return [...parts, text.slice(end)];
}

// Labels with their probabilities, which may be unknown; where several can be chosen, `pressed` says which are.
export function bars(rows) {
  return element("ul.bars", {}, rows.map(({ key, label, share, action, pressed }) => {
    const inside = [
      key ? element("kbd", {}, key) : null,
      element("span", {}, label),
      element("span.value.number", {}, share === null ? "–" : percent(share)),
      element("span.meter", {}, element("i", { share: share ?? 0 })),
    ];
    const kind = key ? "" : ".plain";
    return element("li", {}, action
      ? element(`button${kind}`, { type: "button", onclick: action, "aria-pressed": pressed === undefined ? null : String(pressed) }, inside)
      : element(`span.row${kind}`, {}, inside));
  }));
}

export function topicsSaid(topics) {
  return element("ul.topics-said", {}, topics.map((topic) => element("li", {},
    element("span.number", { title: "what the topic adds to the decision" }, signed(topic.contribution)),
    element("span", {}, topic.words.join(", "),
      element("span.muted", {}, ` · ${percent(topic.share)} of the text`)))));
}

export const legend = (label) => element("p.legend", {},
  element("span", {}, element("mark.for", { share: 0.7 }, "for"), ` ${label}`),
  element("span", {}, element("mark.against", { share: 0.7 }, "against"), " it"));
