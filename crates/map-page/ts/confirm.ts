// The confirmation of everything that changes something.
// Owns: the dialog. Must not: send.
import { element, items } from "./dom.ts";
import { span } from "./words.ts";

export interface Question { title: string; does: string; yes: string; livesMs: number; concerns?: string[]; number?: string; warnings?: string[]; yaml?: string }

/** Whether a person said yes before the code of the preview ran out. */
export function confirmed(question: Question): Promise<boolean> {
  const dialog = element<HTMLDialogElement>("confirm");
  const yes = element<HTMLButtonElement>("confirm-yes");
  const no = element<HTMLButtonElement>("confirm-no");
  element("confirm-title").textContent = question.title;
  element("confirm-does").textContent = question.does;
  element("confirm-number").textContent = question.number ?? "";
  element("confirm-whom").hidden = !question.concerns;
  items(element("confirm-whom"), question.concerns ?? []);
  items(element("confirm-warnings"), (question.warnings ?? []).map((warning) => `⚠ ${warning}`));
  const yaml = element("confirm-yaml");
  yaml.hidden = !question.yaml;
  yaml.textContent = question.yaml ?? "";
  yes.textContent = question.yes;
  yes.disabled = false;
  return new Promise((resolve) => {
    const late = setTimeout(() => {
      yes.disabled = true;
      element("confirm-number").textContent = `This preview is older than ${span(question.livesMs)}: cancel, and ask again.`;
    }, question.livesMs);
    let answer = false;
    yes.onclick = () => { answer = true; dialog.close(); };
    no.onclick = () => dialog.close();
    dialog.onclose = () => { clearTimeout(late); resolve(answer); };
    dialog.showModal();
    no.focus();
  });
}
