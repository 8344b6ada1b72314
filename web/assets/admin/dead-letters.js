// @ts-check
// Dead letters, entries of the stream that could not be decoded: the state of their orders, and what to do about them.

import { html, useState } from '../vendor/htm-preact.js';
import { notify } from './notice.js';
import { Ask, Field, Foot, Table, tied, trouble, usePages } from './parts.js';
import { refusal } from './wrong.js';

/** The colour of the state of a dead letter's order. @type {Record<string, string>} */
const STANDINGS = { waiting: 'bad', recorded: 'good' };

/** @param {any} props */
export function DeadLetters({ client, words }) {
  const { t, time, number } = words;
  const [open, setOpen] = useState(/** @type {any} */ (null));
  const pages = usePages(client, '/admin/deadletter', { limit: '50' }, { cursor: 'after' });
  return html`
    <header class="head"><h1>${t('place.deadletters')} ${pages.total > 0 && html`<span class="soft figures">${number(pages.total)}</span>`}</h1>
      <button type="button" class="button quiet small" onClick=${pages.again}>${t('reload')}</button>
    </header>
    <p class="soft">${t('letters.intro')}</p>
    <${Table} label=${t('place.deadletters')} rows=${pages.rows ?? []}
      columns=${[{ label: t('when'), kind: 'figures nowrap' }, { label: t('letter.why') }, { label: t('letter.says') }, { label: t('letter.order') }, { label: t('what') }]}
      row=${(/** @type {any} */ l) => ({ key: l.id, 'data-letter': l.id, cells: [
        time(l.at),
        html`<span lang="en">${l.why}</span>`,
        html`<code class="wrap">${Object.entries(l.fields).map(([k, v]) => `${k}=${v}`).join(' ')}</code>`,
        html`<span class="tag ${STANDINGS[l.state] ?? ''}">${t(`standing.${l.state}`)}</span> ${l.orderId && html`<span class="figures soft">${l.orderId}</span>`}`,
        html`<div class="row">
          ${l.state === 'waiting' && html`<button type="button" class="button small" data-act="replay" onClick=${() => setOpen({ deadLetter: l, act: 'replay' })}>${t('act.replay')}</button>`}
          <button type="button" class="button small danger" data-act="discard" onClick=${() => setOpen({ deadLetter: l, act: 'discard' })}>${t('act.discard')}</button>
        </div>`,
      ] })} />
    <${Foot} pages=${pages} t=${t} empty=${t('letters.none')} action=${html`<a class="button small" href="#/start">${t('place.start')}</a>`} />
    ${open && html`<${ActionDialog} ...${open} client=${client} t=${t} onClose=${() => setOpen(null)} onDone=${pages.again} />`}
  `;
}

/** Asks for the reason, shows what will happen, and does it. @param {any} props */
function ActionDialog({ deadLetter, act, client, t, onClose, onDone }) {
  /** @param {FormData} form */
  const run = async (form) => {
    const answer = await client.ask('POST', `/admin/deadletter/${encodeURIComponent(deadLetter.id)}/${act}`, { body: { why: String(form.get('why')) } });
    if (answer.errors) return refusal(answer, t, '');
    onDone();
    if (!answer.success) return trouble(answer, t);
    notify(t('done'));
    return '';
  };
  const says = act === 'replay' ? t('says.replay', { order: deadLetter.orderId }) : t(`says.discard.${deadLetter.state}`, { order: deadLetter.orderId ?? '' });
  return html`<${Ask} title=${t(`ask.${act}`)} says=${says} yes=${t(`act.${act}`)} danger=${act === 'discard'} t=${t} run=${run} onClose=${onClose}>${(/** @type {Record<string, string>} */ wrong) => html`
    <${Field} name="why" label=${t('field.why')} hint=${t('hint.why')} wrong=${wrong.why}>
      <input ...${tied('why', wrong.why, true)} autocomplete="off" />
    <//>`}
  <//>`;
}
