// @ts-check
// What was typed into a form and not sent: it is kept in this tab, so that neither Escape nor a reload loses it.

import { useRef, useState } from '../vendor/htm-preact.js';

const KEPT = 'seckill.draft.';

/** The input events of values that nobody has typed: they make no draft. */
export const FILLED_IN = 'insertReplacementText';

/** The values of a form by name, or by what the draft calls them; those of checkboxes are true or false. @param {HTMLFormElement} form */
function valuesOf(form) {
  /** @type {Record<string, string | boolean>} */
  const values = {};
  for (const field of /** @type {any} */ (form.elements)) {
    if (!field.name || (field.type === 'radio' && !field.checked)) continue;
    values[field.dataset.draft ?? field.name] = field.type === 'checkbox' ? field.checked : field.value;
  }
  return values;
}

/**
 * The draft of a form. of returns what was typed into a field, also into one that is not shown just now, or what it has without a draft; kept says
 * whether there was a draft at first.
 * @param {string} name of the form and of what it is about
 */
export function useDraft(name) {
  const key = KEPT + name;
  const [first, setFirst] = useState(() => JSON.parse(sessionStorage.getItem(key) ?? 'null'));
  const now = useRef(/** @type {any} */ (first ?? {}));
  return {
    kept: first !== null,
    names: () => Object.keys(now.current),
    /** Whether something was typed. */
    typed: () => sessionStorage.getItem(key) !== null,
    /** @param {string} field @param {any} otherwise */
    of: (field, otherwise) => now.current[field] ?? otherwise,
    /** For the form's onInput. @param {any} e */
    keep(e) {
      if (e.inputType === FILLED_IN) return;
      now.current = { ...now.current, ...valuesOf(e.currentTarget) };
      sessionStorage.setItem(key, JSON.stringify(now.current));
    },
    /** Forgets what was typed into a field that is not shown. @param {string} field */
    forget(field) {
      delete now.current[field];
    },
    drop() {
      sessionStorage.removeItem(key);
      now.current = {};
      setFirst(null);
    },
  };
}

/** Forgets all drafts: somebody else may sign in. */
export function dropDrafts() {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(KEPT)) sessionStorage.removeItem(key);
}
