// What the scheduler says. Everything is a GET; answers are JSON.

const session = "berth-session";

// enter exchanges the token in the link of berth ui for a session, which this tab keeps. The debug port has no tokens of
// this kind: there the browser authenticates.
export async function enter() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  history.replaceState(null, "", location.pathname + "#/queue");
  const r = await fetch("session", { headers: { Authorization: "Bearer " + token } });
  if (!r.ok && sessionStorage.getItem(session)) return; // the tab was in before
  if (!r.ok) throw new Error((await r.text()).trim());
  sessionStorage.setItem(session, (await r.text()).trim());
}

// ask returns an answer of the scheduler.
export async function ask(path) {
  const secret = sessionStorage.getItem(session);
  let r;
  try {
    r = await fetch("../debug/berth/" + path, { headers: secret ? { Authorization: "Bearer " + secret } : {} });
  } catch {
    throw new Error("Nothing answers. Does berth still run?");
  }
  if (!r.ok) throw new Error((await r.text()).trim().slice(0, 2000) || r.statusText);
  return r.json();
}
