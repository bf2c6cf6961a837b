// The session of this tab.
// Owns: the exchange of the token in the address, which is good once, and the header that each request carries. It is no cookie: a browser
// sends those to every port of a host, and so to other programs of this machine. Must not: decide what is asked.
import { tokenOf } from "./model.ts";

const KEY = "skein-map-session";

/** What a request of the session carries. */
export const credentials = (): Record<string, string> => {
  const session = sessionStorage.getItem(KEY);
  return session === null ? {} : { Authorization: `Bearer ${session}` };
};

/** Exchanges the token of the address, if it has one; why there is no session, or "". */
export async function enter(): Promise<string> {
  // The address of a `skein map` that was started again differs from that of this page in its token alone.
  addEventListener("hashchange", () => location.reload());
  const token = tokenOf(location.hash);
  let why = "this tab has no session; run `skein map`, and open the address that it prints";
  if (token !== undefined) {
    try {
      const answer = await fetch("/api/session", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }), signal: AbortSignal.timeout(60_000) });
      const said = (await answer.json()) as { session?: string; error?: string };
      if (answer.ok && said.session !== undefined) sessionStorage.setItem(KEY, said.session);
      else why = said.error ?? `the server answers ${answer.status}`;
    } catch {
      return "`skein map` does not answer, look whether it still runs, and reload this page";
    }
    // What was used is not left in the history.
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(KEY) === null ? why : "";
}
