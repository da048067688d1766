// The frame of the page: which view is shown, whether the service answers, and who is signed in.

import { Away, Refused, call, session } from "./api.js";
import { element } from "./dom.js";
import * as ask from "./ask.js";
import * as review from "./review.js";
import * as stream from "./stream.js";
import * as topics from "./topics.js";

const VIEWS = { review, stream, topics, ask };
const main = document.getElementById("main");
const connection = document.getElementById("connection");
let shown = null; // the view, and how to leave it
let moved = 0;

const page = {
  // A view calls the service through these, so that one place says whether it answers.
  async call(path, body) {
    try {
      const answer = await call(path, body);
      page.status("");
      return answer;
    } catch (error) {
      if (error instanceof Away) page.status(`${error.message} Trying again …`, true);
      else if (error instanceof Refused && error.status === 401) signIn();
      throw error;
    }
  },
  status(text, away = false) {
    if (connection.textContent !== text) connection.textContent = text;
    connection.classList.toggle("away", away);
  },
  show(...content) {
    main.replaceChildren(...content);
  },
};

function open() {
  const name = location.hash.slice(1) in VIEWS ? location.hash.slice(1) : "review";
  shown?.leave?.();
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${name[0].toUpperCase()}${name.slice(1)} · bayespa`;
  page.show();
  shown = VIEWS[name].open(page);
  if (moved++) main.focus();
}

function signIn(message = "") {
  const input = element("input", { type: "password", id: "token", autocomplete: "current-password", required: true });
  const form = element("form.sign-in", { onsubmit: async (event) => {
    event.preventDefault();
    try {
      await session(input.value);
      open();
    } catch (error) {
      signIn(error.message);
    }
  } },
  element("h1", {}, "Sign in"),
  element("label", { for: "token" }, "Token"), input,
  element("p.error", { role: "alert" }, message),
  element("button.action.main", {}, "Sign in"));
  shown?.leave?.();
  page.show(form);
  input.focus();
}

window.addEventListener("hashchange", () => { if (location.hash !== "#main") open(); });
session().catch(() => {}).then(open); // without a session the first call asks for a token
