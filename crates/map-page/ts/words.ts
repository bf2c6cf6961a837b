// The words of the page, those of `skein status` where it has them.
// Owns: how a value reads. Must not: know the browser.
import type { Airspace, Geofence, Mission, Swarm, Vehicle } from "./model.ts";

/** A span of time in short, "42 s", "3 min", "2 h". */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3600)} h`;
}
export const meters = (value: number): string => (value >= 1000 ? `${+(value / 1000).toPrecision(4)} km` : `${+value.toPrecision(3)} m`);
export const count = (n: number, word: string): string => `${n} ${word}${n === 1 ? "" : "s"}`;
export const command = (vehicle: Vehicle): string =>
  vehicle.commandText || { Skein: "Skein is in command", Other: "another station is in command", AutopilotFailsafe: "the autopilot's failsafe is in command", Nobody: "no Drone", Unknown: "who is in command is unknown" }[vehicle.command] || vehicle.command;

const joined = (...parts: (string | false | undefined)[]): string => parts.filter(Boolean).join(" · ");

/** From where to where its vehicle may be, whatever it does. */
function airspace({ pieces = [], notShown, everywhere }: Airspace): string | false {
  if (everywhere) return "owns all airspace, as nothing is known of where it is";
  if (pieces.length === 0) return false;
  const [floor, ceiling] = [Math.min(...pieces.map((piece) => piece.floorAmslMeters)), Math.max(...pieces.map((piece) => piece.ceilingAmslMeters))];
  return `owns airspace from ${Math.floor(floor)} to ${Math.ceil(ceiling)} m AMSL${notShown ? ` (${count(notShown, "more piece")} not drawn)` : ""}`;
}

export const vehicleLine = (v: Vehicle, now: number): string => joined(
  v.phase, v.mode,
  v.batteryPercent !== undefined && `battery ${Math.round(v.batteryPercent)}%${v.batteryOldSinceAtMs ? `, ${span(now - v.batteryOldSinceAtMs)} old` : ""}`,
  v.altitudeAboveHomeMeters !== undefined && `${meters(v.altitudeAboveHomeMeters)} above home`,
  v.speedMetersPerSecond !== undefined && v.speedMetersPerSecond >= 0.5 && `${v.speedMetersPerSecond.toFixed(1)} m/s`,
  v.headingDegrees !== undefined && `heading ${v.headingDegrees}°`,
  v.flying === undefined && "flying: unknown",
  v.latitudeDegrees === undefined ? "position unknown" : !!v.positionOldSinceAtMs && `position ${span(now - v.positionOldSinceAtMs)} old`,
  v.link && `link ${v.link.toLowerCase()}${v.linkOldSinceAtMs ? ` for ${span(now - v.linkOldSinceAtMs)}` : ""}`,
  command(v), !!v.airspace && airspace(v.airspace), v.message);
export const swarmLine = (s: Swarm): string => joined(`${s.flying} of ${s.replicas} flying`, s.grounded && "grounded",
  s.formation && `${s.formation.shape}, ${s.formation.coveredSlots ?? 0} of ${s.formation.slots?.length ?? 0} slots covered`, s.message);
export const missionLine = (m: Mission, now: number): string => joined(m.what, m.state, m.done, m.vehicles !== undefined && count(m.vehicles, "vehicle"),
  m.estimatedCompletionAtMs !== undefined && m.estimatedCompletionAtMs > now && `about ${span(m.estimatedCompletionAtMs - now)} left`, !!m.failures && count(m.failures, "failure"), m.message);
export const geofenceLine = (g: Geofence): string => joined(`in force on ${g.inForce ?? 0} of ${g.selected ?? 0}`, g.breach && `breach: ${g.breach}`,
  g.floorMeters !== undefined && `from ${meters(g.floorMeters)}`, g.ceilingMeters !== undefined && `up to ${meters(g.ceilingMeters)}`, g.message);
export const needsEyes = (v: Vehicle): boolean => (v.link ?? "Live") !== "Live" || v.flying === undefined || !["Skein", "Nobody"].includes(v.command) || !!v.positionOldSinceAtMs;
/** The percentage in a Mission's progress, as a number. */
export const percent = (done: string | undefined): number | undefined => {
  const value = Number.parseFloat(done ?? "");
  return Number.isFinite(value) ? value : undefined;
};
