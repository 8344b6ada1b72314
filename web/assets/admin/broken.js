// @ts-check
// What keeps an error of one page from the others: the navigation works on, and the page says that it cannot be shown.

import { html, useEffect, useErrorBoundary, useState } from '../vendor/htm-preact.js';

/** A page. It is made anew with its key, so the next page begins without the error of the one before. @param {any} props */
export function Guarded({ t, children }) {
  const [error] = useErrorBoundary((/** @type {any} */ e) => reportError(e)); // as an error that nothing catches is
  const [failed, setFailed] = useState(false); // what was read could not be used: what is shown lacks it
  useEffect(() => {
    /** Refusals of the browser, as of its clipboard, are no errors of the page. @param {any} e */
    const failure = (e) => {
      const why = e.reason ?? e.error;
      if (why instanceof Error && !(why instanceof DOMException)) setFailed(true);
    };
    const events = ['error', 'unhandledrejection'];
    events.forEach((name) => window.addEventListener(name, failure));
    return () => events.forEach((name) => window.removeEventListener(name, failure));
  }, []);
  return html`${(error || failed) && html`<div class="note warn broken" role="alert" data-broken>
    ${error ? html`<h1>${t('broken')}</h1>` : html`<p>${t('broken.partly')}</p>`}
    <p class="row"><button type="button" class="button small" data-act="reload-page" onClick=${() => location.reload()}>${t('broken.reload')}</button>
      <a class="button quiet small" href="#/start">${t('place.start')}</a></p>
  </div>`}${!error && children}`;
}
