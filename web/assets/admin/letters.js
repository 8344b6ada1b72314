// @ts-check
// Entries of the stream that could not be decoded: what became of their orders, and what to do about them.

import { html, useState } from '../vendor/htm-preact.js';
import { announce } from '../shell.js';
import { Ask, Field, Foot, problems, tied, trouble, usePages } from './parts.js';

/** The colour of what became of a letter's order. @type {Record<string, string>} */
const STANDINGS = { waiting: 'bad', recorded: 'good' };

/** @param {any} props */
export function Letters({ desk, words }) {
  const { t, time, number } = words;
  const [open, setOpen] = useState(/** @type {any} */ (null));
  const pages = usePages(desk, '/admin/deadletter', { limit: '50' }, 'after');
  return html`
    <header class="head"><h1>${t('place.deadletters')} ${pages.total > 0 && html`<span class="soft figures">${number(pages.total)}</span>`}</h1>
      <button type="button" class="button quiet small" onClick=${pages.again}>${t('reload')}</button>
    </header>
    <p class="soft">${t('letters.intro')}</p>
    <div class="sheet" tabindex="0" role="region" aria-label=${t('place.deadletters')}>
      <table>
        <thead><tr><th scope="col">${t('when')}</th><th scope="col">${t('letter.why')}</th><th scope="col">${t('letter.says')}</th><th scope="col">${t('letter.order')}</th><th scope="col">${t('what')}</th></tr></thead>
        <tbody>${(pages.rows ?? []).map((/** @type {any} */ l) => html`<tr key=${l.id} data-letter=${l.id}>
          <td class="figures nowrap">${time(l.at)}</td>
          <td lang="en">${l.why}</td>
          <td><code class="wrap">${Object.entries(l.fields).map(([k, v]) => `${k}=${v}`).join(' ')}</code></td>
          <td><span class="tag ${STANDINGS[l.standing] ?? ''}">${t(`standing.${l.standing}`)}</span> ${l.orderId && html`<span class="figures soft">${l.orderId}</span>`}</td>
          <td class="row">
            ${l.standing === 'waiting' && html`<button type="button" class="button small" data-act="replay" onClick=${() => setOpen({ letter: l, act: 'replay' })}>${t('act.replay')}</button>`}
            <button type="button" class="button small danger" data-act="discard" onClick=${() => setOpen({ letter: l, act: 'discard' })}>${t('act.discard')}</button>
          </td>
        </tr>`)}</tbody>
      </table>
    </div>
    <${Foot} pages=${pages} t=${t} empty=${t('letters.none')} />
    ${open && html`<${Wish} ...${open} desk=${desk} t=${t} onClose=${() => setOpen(null)} onDone=${pages.again} />`}
  `;
}

/** Asks why, says what will happen, and does it. @param {any} props */
function Wish({ letter, act, desk, t, onClose, onDone }) {
  const [wrong, setWrong] = useState('');
  /** @param {FormData} form */
  const run = async (form) => {
    const answer = await desk.ask('POST', `/admin/deadletter/${encodeURIComponent(letter.id)}/${act}`, { body: { why: String(form.get('why')) } });
    setWrong(problems(answer).why ?? '');
    if (!answer.success && answer.errors) return ' ';
    onDone();
    if (!answer.success) return trouble(answer, t);
    announce(t('done'));
    return '';
  };
  const says = act === 'replay' ? t('says.replay', { order: letter.orderId }) : t(`says.discard.${letter.standing}`, { order: letter.orderId ?? '' });
  return html`<${Ask} title=${t(`ask.${act}`)} says=${says} yes=${t(`act.${act}`)} danger=${act === 'discard'} t=${t} run=${run} onClose=${onClose}>
    <${Field} name="why" label=${t('field.why')} hint=${t('hint.why')} wrong=${wrong}>
      <input ...${tied('why', wrong, true)} autocomplete="off" />
    <//>
  <//>`;
}
