// Ask: a text of one's own, what the model says of it, and why.

import { bars, element, legend, marked, percent, topicsSaid } from "./dom.js";

const KEPT = "bayespa.ask";

export function open(page) {
  const text = element("textarea", { id: "text", maxlength: 20000, spellcheck: "false", placeholder: "Paste an abstract, a message, a line …" });
  text.value = sessionStorage.getItem(KEPT) ?? "";
  const said = element("div", { "aria-live": "polite" });
  const form = element("form.ask", { onsubmit: (event) => { event.preventDefault(); ask(); } },
    element("div.lead", {}, element("h1", {}, "Ask"), element("p.muted", {}, "Nothing of it is learned, and it does not join the queue.")),
    element("label.hidden", { for: "text" }, "Text"), text,
    element("div.actions", {}, element("button.action.main", {}, "Explain"), element("span.muted", {}, "or Ctrl + Enter")));
  text.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask(); });
  page.show(element("div.view", {}, form, said));

  async function ask() {
    sessionStorage.setItem(KEPT, text.value);
    if (!text.value.trim()) return text.focus();
    try {
      const answer = await page.call("/api/v1/explain", { text: text.value });
      const labels = [[answer.target, answer.probability], [answer.runner_up, answer.runner_up_probability]]
        .filter(([label]) => label !== null).map(([label, share]) => ({ label, share: share ?? 0 }));
      said.replaceChildren(element("div.review", {},
        element("article.card.document", {},
          element("p.text", {}, marked(text.value, answer.words.map(({ word, contribution }) => [word, contribution]))),
          legend(answer.target)),
        element("section.verdict", { "aria-label": "Prediction" }, element("p.said", {}, answer.target),
          element("p.muted", {}, answer.probability === null ? `${answer.decision.toPrecision(4)} ± ${answer.std.toPrecision(2)}`
            : `The model says so with ${percent(answer.probability)}.`)),
        element("div.side", {}, bars(labels),
          answer.topics.length ? element("section", {}, element("h2", {}, "Topics, and what they add"), topicsSaid(answer.topics.slice(0, 4))) : null)));
    } catch (error) {
      said.replaceChildren(element("p.error", { role: "alert" }, error.message));
    }
  }
  return {};
}
