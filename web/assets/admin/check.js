// @ts-check
// The list before a sale: go or no-go, line by line, as it was when it was asked for.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { announce, useTick } from '../shell.js';
import { trouble } from './parts.js';

/** Seconds after which a list is called old: what it says may have changed. */
const OLD = 60;

/** @type {Record<string, string>} */
const TONES = { ok: 'good', warning: 'warn', no: 'bad' };

/** @param {any} props */
export function Check({ id, client, words, version }) {
  const { t } = words;
  const [list, setList] = useState(/** @type {any} */ (null));
  const [failed, setFailed] = useState(/** @type {any} */ (null));
  const [asking, setAsking] = useState(false);
  const asked = useRef(/** @type {any} */ (0));
  useTick(1000);
  const ask = async () => {
    const mine = ++asked.current;
    setAsking(true);
    const answer = await client.ask('GET', `/admin/check?voucherId=${id}`);
    if (mine !== asked.current) return; // another list was asked for since
    setAsking(false);
    setFailed(answer.success ? null : answer);
    if (!answer.success) return;
    setList(answer.data);
    announce(t(answer.data.go ? 'check.go' : 'check.nogo'));
  };
  useEffect(() => void ask(), [id, words.language, version]);
  const age = list && Math.max(0, Math.round((client.clock.now() - Date.parse(list.at)) / 1000));
  return html`<section class="panel flat" data-check>
    <header class="head">
      <h2>${t('check')} ${list && html`<span class="tag ${list.go ? 'good' : 'bad'}" data-verdict=${list.go ? 'go' : 'nogo'}>${t(list.go ? 'check.go' : 'check.nogo')}</span>`}</h2>
      <button type="button" class="button quiet small" data-act="check" aria-disabled=${String(asking)} onClick=${() => asking || ask()}>${t('check.again')}</button>
    </header>
    <p class=${age > OLD ? 'note warn' : 'soft'} data-age>${asking ? t('check.asking') : list ? t(age > OLD ? 'check.old' : 'check.age', { age: spell(age, t), time: words.time(list.at) }) : ''}</p>
    ${failed && html`<p class="note warn" role="alert">${trouble(failed, t)}</p>`}
    ${list && html`<${Lines} lines=${list.lines} words=${words} label=${t('check')} />`}
  </section>`;
}

/** Lines of a list: what is the case, and what to do about it. @param {any} props */
export function Lines({ lines, words: { t, has }, label }) {
  return html`<div class="sheet" tabindex="0" role="region" aria-label=${label}>
    <table class="check"><tbody>${lines.map((/** @type {any} */ l) => html`<tr key=${l.name} data-line=${l.name} data-level=${l.level}>
      <td class="nowrap"><span class="tag ${TONES[l.level]}">${t(`check.level.${l.level}`)}</span></td>
      <th scope="row">${has(`check.${l.name}`) ? t(`check.${l.name}`) : l.name}</th>
      <td>${l.what}${l.do && html`<p class="do">→ ${l.do}</p>`}</td>
    </tr>`)}</tbody></table>
  </div>`;
}

/** A number of seconds, for people. @param {number} seconds @param {(key: string, values?: any) => string} t */
const spell = (seconds, t) => (seconds < 120 ? t('seconds', { n: seconds }) : t('minutes', { n: Math.round(seconds / 60) }));
