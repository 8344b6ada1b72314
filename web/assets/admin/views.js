// @ts-check
// Views: filters of a list under names of one's own, kept in this browser. A view is an address, so it can be sent as well.

import { html, useRef, useState } from '../vendor/htm-preact.js';

const KEPT = 'seckill.views';

/** How long a name may be, and how many of them a list may have. */
const LONGEST = 40, MOST = 20;

/** Of all lists: the addresses by their names. @returns {Record<string, Record<string, string>>} */
function read() {
  try {
    return JSON.parse(localStorage.getItem(KEPT) ?? '') ?? {};
  } catch {
    return {}; // none, or what another program has written
  }
}

/** The views of the list that is shown, and a name for what its filter is now. @param {any} props */
export function Views({ t }) {
  const [place, query = ''] = location.hash.split('?');
  const [all, set] = useState(read);
  const menu = useRef(/** @type {any} */ (null));
  const mine = Object.entries(all[place] ?? {});
  /** @param {(of: Record<string, string>) => void} change */
  const keep = (change) => {
    const next = read(); // another tab may have changed it
    change((next[place] ??= {}));
    localStorage.setItem(KEPT, JSON.stringify(next));
    set(next);
  };
  /** @param {any} e */
  const add = (e) => {
    const field = menu.current.querySelector('[name=view]'), name = field.value.trim();
    if (e.key && e.key !== 'Enter') return;
    e.preventDefault(); // the form around it searches
    if (!name) return field.focus();
    keep((of) => (of[name] = query));
    field.value = '';
    menu.current.removeAttribute('open');
  };
  if (mine.length === 0 && !query) return null;
  return html`<details class="menu views" ref=${menu} onKeyDown=${(/** @type {any} */ e) => e.key === 'Escape' && menu.current.removeAttribute('open')}>
    <summary class="button quiet small" data-act="views">${t('views')}</summary>
    <div class="menu-list">
      ${mine.map(([name, to]) => html`<span class="row" key=${name}><a class="button small" aria-current=${to === query ? 'true' : undefined} href=${`${place}?${to}`} onClick=${() => menu.current.removeAttribute('open')}>${name}</a>
        <button type="button" class="button quiet small" data-act="forget-view" aria-label=${t('views.forget', { name })} onClick=${() => keep((of) => delete of[name])}>×</button></span>`)}
      ${query && mine.length < MOST && html`<span class="row"><label class="unseen" for="view-name">${t('views.name')}</label>
        <input id="view-name" name="view" class="small-input" maxlength=${LONGEST} autocomplete="off" placeholder=${t('views.name')} onKeyDown=${add} />
        <button type="button" class="button small" data-act="keep-view" onClick=${add}>${t('views.keep')}</button></span>`}
    </div>
  </details>`;
}
