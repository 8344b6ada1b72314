// @ts-check
// The guards of a sale against bots while it runs: changing them, and what they did. guard-fields.js has their form.

import { html, useState } from '../vendor/htm-preact.js';
import { Dialog } from '../shell.js';
import { useDraft } from './drafts.js';
import { Discard } from './form.js';
import { GUARDS, GuardFields, overAt, readGuards, stateOf } from './guard-fields.js';
import { announceChange, trouble } from './parts.js';
import { Wrong, refusal, useProblems } from './wrong.js';

/** Classes of accounts by their age, the youngest first. */
const AGES = ['unknown', 'day', 'week', 'month', 'year', 'older'];

/** Changes the guards of a sale, also while it runs. @param {any} props */
export function GuardsDialog({ voucher, guards, client, words, onClose, onDone }) {
  const { t } = words;
  const [sending, setSending] = useState(false);
  const problem = useProblems(t);
  const draft = useDraft(`guards.${voucher.id}`);
  const [settings] = useState(guards); // as they were when it was opened
  const [asking, setAsking] = useState(false); // before what was typed is discarded
  /** @param {any} e */
  const submit = async (e) => {
    e.preventDefault();
    if (sending) return;
    const read = readGuards(problem.ref.current, settings, t);
    if (Object.keys(read.wrong).length > 0) return problem.say(read.wrong);
    if (Object.keys(read.guards).length === 0) return draft.drop(), onClose();
    setSending(true);
    const answer = await client.insist('PATCH', `/voucher/${voucher.id}`, { body: { guards: read.guards } });
    setSending(false);
    if (answer.success) {
      draft.drop();
      announceChange(answer, t, turned(read.guards, words));
      onClose();
      return onDone();
    }
    problem.say(...refusal(answer, t, trouble(answer, t)));
  };
  return html`${asking && html`<${Discard} t=${t} onClose=${() => setAsking(false)} run=${() => (draft.drop(), onClose())} />`}
  <${Dialog} class="tall" title=${t('ask.guards', { title: voucher.title })} closeLabel=${t('close')} onClose=${onClose}>
    <form ref=${problem.ref} noValidate onInput=${(/** @type {any} */ e) => (draft.keep(e), problem.onInput(e))} onSubmit=${submit}>
      <div class="scroller stack">${settings?.unreadable && html`<p class="note warn">${t('guards.unreadable')}</p>`}
      <${GuardFields} settings=${settings} draft=${draft} wrong=${problem.wrong} words=${words} units=${voucher.issued ?? voucher.stock} perUser=${voucher.perUser} begin=${voucher.beginTime} client=${client} /></div>
      <div class="foot">
        <${Wrong} of=${problem} />
        <div class="row end">
          <button type="button" class="button quiet" data-act="cancel" onClick=${() => (draft.typed() ? setAsking(true) : onClose())}>${t('cancel')}</button>
          <button class="button primary" data-act="save" aria-disabled=${String(sending)}>${t('save')}</button>
        </div>
      </div>
    </form>
  <//>`;
}

/** The names of the guards that are on. @param {any} settings @param {import('../words.js').Words} words */
const namesOn = (settings, { t }) => Object.keys(GUARDS).filter((guard) => settings?.[guard])
  .map((guard) => (settings[guard].dryRun ? t('guards.on.dryRun', { name: t(`guard.${guard}`) }) : t(`guard.${guard}`))).join(t('comma'));

/** Which guards of a sale are on, in one line. @param {any} settings @param {import('../words.js').Words} words */
export function guardLine(settings, words) {
  const names = namesOn(settings, words);
  return words.t(names ? 'guards.on' : 'guards.on.none', { names });
}

/** What was done to guards; of the others somebody else may have changed some since. @param {any} changes @param {import('../words.js').Words} words */
function turned(changes, words) {
  const { t } = words;
  const on = namesOn(changes, words), off = Object.keys(changes).filter((guard) => !changes[guard]).map((guard) => t(`guard.${guard}`)).join(t('comma'));
  return [on && t('said.guards.on', { names: on }), off && t('said.guards.off', { names: off })].filter(Boolean).join(' ');
}

/** What the guards of a sale did. begin is when it begins, if the sale is still of interest. @param {any} props */
export function GuardFigures({ figures, begin, now, words }) {
  const { t, number } = words;
  const settings = figures?.settings;
  const on = Object.keys(GUARDS).filter((g) => settings?.[g] || figures?.stopped[g] || figures?.wouldStop[g]);
  if (on.length === 0 && !settings?.unreadable) return null;
  const units = AGES.filter((a) => figures?.unitsByAge[a]);
  return html`<section class="panel flat" data-guards><h2>${t('guards')}</h2>
    ${settings?.unreadable && html`<p class="note warn">${t('guards.unreadable')}</p>`}
    ${on.length > 0 && html`<div class="scrolls" tabindex="0" role="region" aria-label=${t('guards')}><table class="plain figures">
      <thead><tr><th scope="col">${t('guard')}</th><th scope="col">${t('state')}</th><th scope="col" class="n">${t('guard.stopped')}</th><th scope="col" class="n">${t('guard.wouldStop')}</th></tr></thead>
      <tbody>${on.map((g) => html`<tr key=${g} data-guard=${g}><th scope="row">${t(`guard.${g}`)}</th><td>${t(`guard.state.${stateOf(settings, g)}`)}${g === 'tickets' && begin && overAt(settings, begin) <= now && html`<p class="soft small-text">${t('guard.tickets.over')}</p>`}</td>
        <td class="n">${number(figures?.stopped[g] ?? 0)}</td><td class="n">${number(figures?.wouldStop[g] ?? 0)}</td></tr>`)}</tbody>
    </table></div>`}
    <div class="guard-tables">
      <${Networks} title=${t('guard.stopped.networks')} rows=${figures?.stoppedNetworks} words=${words} />
      <${Networks} title=${t('guard.unit.networks')} rows=${figures?.unitNetworks} words=${words} />
      ${units.length > 0 && html`<table class="plain figures"><caption>${t('guard.unit.ages')}</caption><tbody>
        ${units.map((a) => html`<tr key=${a}><th scope="row">${t(`guard.age.${a}`)}</th><td class="n">${number(figures.unitsByAge[a])}</td></tr>`)}
      </tbody></table>`}
    </div>
  </section>`;
}

/** @param {any} props */
function Networks({ title, rows, words }) {
  if (!rows?.length) return null;
  return html`<table class="plain figures"><caption>${title}</caption><tbody>
    ${rows.map((/** @type {any} */ r) => html`<tr key=${r.network}><th scope="row">${r.network === 'other' ? words.t('guard.others') : html`<code>${r.network}</code>`}</th><td class="n">${words.number(r.count)}</td></tr>`)}
  </tbody></table>`;
}
