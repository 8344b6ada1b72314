// @ts-check
// Rehearsals of a sale: starting one, the command of its crowd, how it goes, and what each says of the sale.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { BASE } from '../client.js';
import { announce } from '../shell.js';
import { notify } from './notice.js';
import { DEMO } from '../site.js';
import { Ask, Command, trouble } from './parts.js';
import { Lines } from './check.js';

/** Seconds between two looks at a rehearsal that has not ended, and while none runs. */
const LOOK = 2, IDLE = 15;

/** @type {Record<string, string>} */
const TONES = { waiting: 'warn', running: 'good', done: '', lost: 'bad' };

const open = (/** @type {any} */ run) => run.state === 'waiting' || run.state === 'running';

/** @param {any} props */
export function Rehearsals({ id, issued, client, words, onDone }) {
  const { t } = words;
  const [runs, setRuns] = useState(/** @type {any[] | null} */ (null));
  const [failed, setFailed] = useState(/** @type {any} */ (null));
  const [dialog, setDialog] = useState('');
  const seen = useRef(/** @type {any} */ (''));
  const asked = useRef(/** @type {any} */ (0)), shown = useRef(/** @type {any} */ (0)); // numbers of looks
  const read = async () => {
    const mine = ++asked.current;
    const answer = await client.ask('GET', `/admin/voucher/${id}/rehearsal`);
    if (mine < shown.current) return; // a later look was answered first
    shown.current = mine;
    setFailed(answer.success ? null : answer);
    if (!answer.success) return;
    setRuns(answer.data);
    const first = answer.data[0];
    const now = first ? `${first.id} ${first.state}` : '';
    if (seen.current && seen.current !== now && first) {
      announce(t(`rehearsal.${first.state}`));
      if (first.state === 'done') onDone();
    }
    seen.current = now;
  };
  const under = runs?.find(open);
  useEffect(() => {
    read();
    const timer = setInterval(read, (under ? LOOK : IDLE) * 1000);
    return () => clearInterval(timer);
  }, [id, words.language, Boolean(under)]);
  /** @param {Promise<any>} asked */
  const act = async (asked) => {
    const answer = await asked;
    if (answer.success) notify(t('done'));
    await read();
    return answer.success ? '' : refusal(answer, words);
  };
  return html`<section class="panel flat" data-rehearsals>
    <header class="head"><h2>${t('rehearsals')}</h2>
      ${under
        ? html`<button type="button" class="button quiet small" data-act="end" onClick=${() => setDialog('end')}>${t('rehearsal.end')}</button>`
        : !client.shop && html`<button type="button" class="button primary small" data-act="rehearse" onClick=${() => setDialog('start')}>${t('rehearsal.start')}</button>`}
    </header>
    ${failed && html`<p class="note warn" role="alert">${trouble(failed, t)}</p>`}
    ${runs?.length === 0 && html`<p class="soft">${t('rehearsal.none')}</p>`}
    ${under && html`<${Progress} run=${under} words=${words} now=${client.clock.now()} />`}
    ${(runs ?? []).filter((r) => !open(r)).map((r, i) => html`<${Past} key=${r.id} run=${r} words=${words} latest=${i === 0} />`)}
    ${dialog === 'start' && html`<${Ask} title=${t('rehearsal.start')} says=${t('rehearsal.says', { issued: words.number(issued) })} yes=${t('rehearsal.yes')} t=${t}
      run=${() => act(client.create(`/admin/voucher/${id}/rehearsal`))} onClose=${() => setDialog('')} />`}
    ${dialog === 'end' && under && html`<${Ask} title=${t('rehearsal.end')} says=${t('rehearsal.end.says')} yes=${t('rehearsal.end')} danger=${true} t=${t}
      run=${() => act(client.ask('POST', `/admin/rehearsal/${under.id}/end`))} onClose=${() => setDialog('')} />`}
  </section>`;
}

/** Why it cannot be, with the sale that is near. @param {import('../client.js').Answer} answer @param {import('../words.js').Words} words */
function refusal(answer, words) {
  const sale = answer.code === 'SALE_NEAR' && answer.data;
  return trouble(answer, words.t) + (sale ? ` (#${sale.voucherId}, ${words.time(sale.beginTime)} – ${words.time(sale.endTime)})` : '');
}

/** The one under way: what its crowd is to be started with, and how far it has got. @param {any} props */
function Progress({ run, words, now }) {
  const { t, number } = words;
  const buyers = run.buyers || Math.min(1_000_000, 20 * run.issued);
  const command = `${DEMO ? 'SECKILL_JWT_SECRET=$(cat data/secret) ' : ''}bin/loadgen -url ${location.origin}${BASE} -voucher ${run.id} -buyers ${buyers} -duration 10s -longest 20m`;
  const minutes = Math.max(0, Math.ceil((Date.parse(run.endTime) - now) / 60_000));
  return html`<div class="stack" data-run=${run.id} data-state=${run.state}>
    <p><span class="tag ${TONES[run.state]}">${t(`rehearsal.${run.state}`)}</span> <span class="soft">${t('rehearsal.ends', { n: minutes, time: words.time(run.endTime) })} · <a href=${`#/voucher/${run.id}`}>${t('rehearsal.watch')}</a></span></p>
    ${run.state === 'waiting' && html`<p>${t(DEMO ? 'rehearsal.crowd.demo' : 'rehearsal.crowd')}</p><${Command} text=${command} t=${t} />`}
    ${run.state === 'running' && html`<div class="tiles figures" role="group" aria-label=${t('rehearsals')}>
      <${Figure} name="arrived" label=${t('rehearsal.arrived')} value=${number(run.arrived)} note=${t('of', { n: number(run.buyers) })} />
      <${Figure} name="accepted" label=${t('rehearsal.accepted')} value=${number(run.accepted)} note=${t('of', { n: number(run.issued) })} />
      <${Figure} name="p99" label=${t('rehearsal.p99')} value=${t('millis', { n: number(Math.round(run.p99Ms)) })} note=${t('rehearsal.requests', { n: number(run.requests) })} />
      <${Figure} name="unclear" label=${t('rehearsal.unclear')} value=${number(run.unclear)} note=${t('of', { n: number(run.requests) })} />
    </div>
    <p class="soft">${t('rehearsal.reported', { time: words.time(run.reportTime) })}</p>`}
  </div>`;
}

/** @param {any} props */
function Figure({ name, label, value, note }) {
  return html`<div class="tile" data-tile=${name}><p class="tile-label">${label}</p><p class="tile-value">${value}</p><p class="tile-note">${note}</p></div>`;
}

/** One that has ended, with its forecast. @param {any} props */
function Past({ run, words, latest }) {
  const { t } = words;
  const who = run.adminId ? t('admin', { user: String(run.adminId) }) : 'server rehearse';
  return html`<details open=${latest} data-run=${run.id} data-state=${run.state}>
    <summary>${run.state === 'done' ? html`<span class="tag ${run.go ? 'good' : 'bad'}">${t(run.go ? 'check.go' : 'check.nogo')}</span>` : html`<span class="tag bad">${t('rehearsal.lost')}</span>`}
      ${` ${words.time(run.beginTime)} · ${who} · ${t('rehearsal.buyers', { n: words.number(run.buyers) })}`}</summary>
    ${run.state === 'lost' ? html`<p class="soft">${t('rehearsal.lost.says')}</p>` : html`<${Lines} lines=${run.lines} words=${words} label=${t('rehearsals')} />`}
  </details>`;
}
