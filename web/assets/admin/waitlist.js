// @ts-check
// The waiting list of a sale: how long it is and what has become of those on it, now and in the report.

import { html, useEffect, useState } from '../vendor/htm-preact.js';

/** Milliseconds between two looks at a list. */
const EVERY = 5_000;

/** Units that are kept, and places by state, as GET /admin/voucher/:id/waitlist has them. */
const STATES = ['kept', 'waiting', 'invited', 'accepted', 'bought', 'left', 'declined', 'missed', 'refused', 'over', 'calledOff'];

/** What a report has of it. */
const FIGURES = ['joined', 'waiting', 'invited', 'open', 'accepted', 'bought', 'declined', 'missed'];

/** @param {any} props */
export function Waitlist({ voucher, client, words }) {
  const { t } = words;
  const seconds = voucher.waitlistWindowSeconds;
  const [places, setPlaces] = useState(/** @type {any} */ (null));
  const [away, setAway] = useState(false);
  useEffect(() => {
    let timer = 0;
    let open = true;
    const look = async () => {
      const answer = document.hidden ? null : await client.ask('GET', `/admin/voucher/${voucher.id}/waitlist`);
      if (!open) return;
      if (answer) setAway(!answer.success);
      if (answer?.success) setPlaces(answer.data);
      timer = window.setTimeout(look, EVERY);
    };
    look();
    return () => ((open = false), clearTimeout(timer));
  }, [voucher.id]);
  return html`<section class="panel flat" data-waitlist><h2>${t('waitlist')}</h2>
    <p class="soft">${t('waitlist.says', { within: seconds % 60 === 0 ? t('minutes', { n: words.number(seconds / 60) }) : t('seconds', { n: words.number(seconds) }) })}</p>
    ${away && html`<p class="note warn" role="status">${t('waitlist.away')}</p>`}
    ${places && html`<${Table} names=${STATES} of="places" figures=${places} words=${words} />`}
  </section>`;
}

/** What the list has come to. @param {any} props */
export function WaitlistFigures({ figures, words }) {
  if (!figures) return null;
  return html`<section class="panel flat" data-waitlist><h2>${words.t('waitlist')}</h2><${Table} names=${FIGURES} of="report" figures=${figures} words=${words} /></section>`;
}

/** @param {any} props */
function Table({ names, of, figures, words: { t, number } }) {
  return html`<table class="plain figures"><tbody>
    ${names.map((/** @type {string} */ name) => html`<tr key=${name} data-places=${name} class=${figures[name] ? '' : 'soft'}><th scope="row">${t(`waitlist.${of}.${name}`)}</th><td class="n">${number(figures[name])}</td></tr>`)}
  </tbody></table>`;
}
