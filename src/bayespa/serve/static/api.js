// Calls of the service. A call that gets no answer is an Away error: the page continues when the service is back.

export class Away extends Error {}
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

function person() {
  // Who reviews, as far as leases and undo are concerned: this browser's window.
  let name = localStorage.getItem("bayespa.person");
  if (!name) localStorage.setItem("bayespa.person", name = crypto.randomUUID?.() ?? `p${Math.random()}`);
  return name;
}

let csrf = ""; // what the service wants to see with each change

export async function session(token) {
  // Begin a session with a token, or ask for the one there is.
  ({ csrf } = await call("/api/v1/session", token === undefined ? undefined : { token }));
}

const explained = (detail) => Array.isArray(detail)
  ? detail.map(({ where, message }) => `${where}: ${message}`).join("; ") : detail;

export async function call(path, body, wait = 15000) {
  const options = { headers: { Accept: "application/json", "X-Reviewer": person() }, cache: "no-store" };
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
    options.headers["X-CSRF-Token"] = csrf;
  }
  let answer;
  try {
    answer = await fetch(path, { ...options, signal: AbortSignal.timeout(wait) });
  } catch (error) {
    throw new Away("The service does not answer.");
  }
  if (answer.status >= 500) throw new Away("The service is not ready.");
  if (answer.status === 429) throw new Away("The service has much to do.");
  const data = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, explained(data.detail) ?? `The service answered ${answer.status}.`);
  return data;
}
