// Topics: what texts are about, as the model has learned it, and the labels that each speaks for.

import { element, percent, signed } from "./dom.js";

export function open(page) {
  const view = element("div.view", {}, element("h1", {}, "Topics"), element("p.muted", {}, "One moment …"));
  page.show(view);
  page.call("/api/v1/topics").then(({ version, topics }) => {
    view.replaceChildren(
      element("div.lead", {}, element("h1", {}, "Topics"), element("p.muted", {}, topics.length
        ? `${topics.length} topics of model ${version.toLocaleString("en")}, the largest first: the words that tell it apart, its commonest words, and the label it speaks for most clearly.`
        : "This model has no topics, only weights of words; Ask shows them.")),
      element("ul.cards", {}, topics.map((topic) => element("li.card", {},
        element("header", {}, element("h2", {}, topic.label.join(", ")), element("span.muted.number", {}, percent(topic.share))),
        element("p.words", {}, topic.words.join(", ")),
        element("p.muted", {}, topic.weight !== undefined ? `adds ${signed(topic.weight)}`
          : topic.class === null ? "speaks for no label clearly" : `speaks for ${topic.class}`)))));
  }).catch((error) => view.lastChild.replaceChildren(error.message));
  return {};
}
