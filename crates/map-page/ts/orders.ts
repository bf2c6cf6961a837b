// Ground, release and resume.
// Owns: from what is selected to an order that a person confirmed. Must not: repeat one.
import { confirmed } from "./confirm.ts";
import { post } from "./connection.ts";
import { outcome } from "./dom.ts";
import type { Vehicle } from "./model.ts";
import { count } from "./words.ts";

interface Preview { confirm: string; livesMs: number; does: string; whom: string[]; concerns: { title: string; flying?: boolean }[] }

/** What an order can name: Drones, and nodes without one unless the order is for Drones only. */
export function addressees(verb: string, vehicles: Vehicle[]): { drone?: string; node?: string }[] {
  return vehicles.flatMap((v): { drone?: string; node?: string }[] => (v.drone ? [{ drone: `${v.namespace}/${v.drone}` }] : v.node && verb !== "resume" ? [{ node: v.node }] : []));
}

export async function order(verb: string, vehicles: Vehicle[], swarm: string | undefined): Promise<void> {
  try {
    const whom = swarm && verb !== "resume" ? [{ swarm }] : addressees(verb, vehicles);
    if (whom.length === 0) throw new Error(`nothing selected can be asked to ${verb}: select a vehicle with a Drone`);
    if (whom.length > 500) throw new Error("more than 500 are selected: select their Swarm instead");
    outcome("");
    const preview = await post<Preview>("/api/orders/preview", { verb, whom });
    const title = `${verb.charAt(0).toUpperCase()}${verb.slice(1)} ${count(preview.concerns.length, "vehicle")}?`;
    const flying = preview.concerns.filter((each) => each.flying).length;
    const yes = await confirmed({
      title, does: `${preview.whom.join(", ")}\n${preview.does}`, yes: title.replace("?", ""), livesMs: preview.livesMs,
      number: `Concerns ${count(preview.concerns.length, "vehicle")}, ${flying} flying:`,
      concerns: preview.concerns.map((each) => `${each.title}: ${each.flying === undefined ? "flying: unknown" : each.flying ? "flying" : "on the ground"}`),
    });
    if (!yes) return outcome("Cancelled; nothing was ordered.");
    const answer = await post<{ answers: { text: string; done: boolean }[] }>("/api/orders", { confirm: preview.confirm });
    outcome(answer.answers.map((each) => `${each.done ? "✓" : "✗"} ${each.text}`).join("\n"), answer.answers.some((each) => !each.done));
  } catch (error) {
    outcome(error instanceof Error ? error.message : String(error), true);
  }
}
