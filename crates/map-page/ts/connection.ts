// The connection to the feed.
// Owns: reading it, connecting again, and knowing since when nothing has come. Must not: draw.
import { backoffMs, events, type Fleet, FleetDocument } from "./model.ts";
import { credentials, enter } from "./session.ts";

/** The server sends something at least every 10 s. */
const SILENCE_MS = 15_000;

export interface Connection { fleet?: Fleet; lastHeardMs: number; state: "connecting" | "live" | "cut off" | "refused"; why: string }

/** Follows the feed for ever; calls `changed` for each document and each change of state. */
export async function follow(connection: Connection, changed: () => void): Promise<void> {
  const refused = (why: string): void => {
    connection.state = "refused";
    connection.why = why;
    changed();
  };
  const none = await enter();
  if (none !== "") return refused(none);
  for (let attempt = 0; ; attempt += 1) {
    const abort = new AbortController();
    let silence = setTimeout(() => abort.abort(), SILENCE_MS);
    const heard = (): void => {
      clearTimeout(silence);
      silence = setTimeout(() => abort.abort(), SILENCE_MS);
      connection.lastHeardMs = Date.now();
    };
    try {
      const response = await fetch("/api/feed", { signal: abort.signal, cache: "no-store", headers: { Accept: "text/event-stream", ...credentials() } });
      if (response.status === 401 || response.status === 403) return refused("this page has no session any more; run `skein map` again");
      if (!response.ok || !response.body) throw new Error(`the feed answers ${response.status}`);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      let document: FleetDocument | undefined;
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        heard();
        // A large event comes in many parts: only the one that ends it is worth a search through all of it.
        const before = rest.length;
        rest += part.value;
        if (!/\r?\n\r?\n/.test(rest.slice(Math.max(0, before - 3)))) continue;
        const split = events(rest);
        rest = split.rest;
        for (const event of split.events) {
          if (event.name === "snapshot") {
            document = new FleetDocument(JSON.parse(event.data) as Fleet);
            attempt = 0;
          } else if (event.name === "changes" && document) {
            document.change(JSON.parse(event.data) as Parameters<FleetDocument["change"]>[0]);
          } else continue;
          connection.fleet = document.fleet;
          connection.state = "live";
          connection.why = "";
          changed();
        }
      }
      throw new Error("the feed ended");
    } catch (error) {
      connection.state = "cut off";
      connection.why = abort.signal.aborted ? "nothing came for 15 s" : error instanceof TypeError ? "`skein map` does not answer, look whether it still runs" : error instanceof Error ? error.message : String(error);
      changed();
    }
    clearTimeout(silence);
    abort.abort();
    await new Promise((resolve) => setTimeout(resolve, backoffMs(attempt, Math.random())));
  }
}

/** Posts once, never again: an order without an answer may have been given. */
export async function post<T>(path: string, body: unknown): Promise<T> {
  let response: Response;
  try {
    response = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json", ...credentials() }, body: JSON.stringify(body), signal: AbortSignal.timeout(60_000) });
  } catch {
    throw new Error("no answer came; it may have been done: look at the lists before you try again");
  }
  const answer = (await response.json().catch(() => ({ error: `the server answers ${response.status}` }))) as { error?: string };
  if (!response.ok) throw new Error(answer.error ?? `the server answers ${response.status}`);
  return answer as T;
}
