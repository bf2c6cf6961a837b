// Elements of index.html.
// Owns: finding them. Must not: know the fleet.
export function element<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`index.html has no #${id}`);
  return found as T;
}
export function items(list: HTMLElement, texts: string[]): void {
  list.replaceChildren(...texts.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
}
export function outcome(text: string, bad = false): void {
  const place = element("outcome");
  place.textContent = text;
  place.classList.toggle("bad", bad);
}
