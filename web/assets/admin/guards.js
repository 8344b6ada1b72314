// @ts-check
// The guards of a sale against bots: their settings, while a sale is made and while it runs, and what they did.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { Dialog } from '../shell.js';
import { Field, announceChange, numberOf, tied, trouble } from './parts.js';
import { Wrong, refusal, useProblems } from './wrong.js';

/** The guards in the order in which they are asked, each with its fields. What they begin with is what the service proposes. @type {Record<string, string[]>} */
const GUARDS = {
  limits: ['perAddress.requests', 'perAddress.seconds', 'perNetwork.requests', 'perNetwork.seconds', 'perUser.requests', 'perUser.seconds'],
  conditions: ['minLevel', 'minAgeDays'],
  coolDown: ['expired', 'minutes'],
  tickets: ['delayMs', 'leadMinutes', 'expiryMinutes'],
  units: ['perAddress', 'perNetwork', 'shared'],
  challenge: ['difficulty', 'maxDifficulty'],
};

/** Fields that hold text. */
const TEXTS = ['shared'];

/** How many people are expected for each unit, until somebody says so. */
const CROWD = 10;

/** Classes of accounts by their age, the youngest first. */
const AGES = ['unknown', 'day', 'week', 'month', 'year', 'older'];

/** @param {any} settings @param {string} guard */
const stateOf = (settings, guard) => (!settings?.[guard] ? 'off' : settings[guard].dryRun ? 'dryRun' : 'on');

/** A member of a member, by its path. @param {any} from @param {string} path */
const member = (from, path) => path.split('.').reduce((at, name) => at?.[name], from);

/**
 * What is set in a form, in which guards that are as they were are left out: somebody else may have changed them since. A guard that was
 * on and is off is null. @param {any} form @param {any} was undefined for a new sale @param {(key: string) => string} t
 */
export function readGuards(form, was, t) {
  /** @type {Record<string, any>} */
  const guards = {};
  /** @type {Record<string, string>} */
  const wrong = {};
  for (const [guard, fields] of Object.entries(GUARDS)) {
    const state = form.elements[`guards.${guard}`]?.value ?? 'off';
    if (state === 'off') {
      if (was?.[guard]) guards[guard] = null;
      continue;
    }
    guards[guard] = state === 'dryRun' ? { dryRun: true } : {};
    for (const path of fields) {
      const name = `guards.${guard}.${path}`;
      const typed = form.elements[name].value.trim();
      if (typed === '') {
        if (needed(form, guard, path)) wrong[name] = t('wrong.missing');
      } else if (TEXTS.includes(path)) guards[guard][path] = typed;
      else if (!(Number.isInteger(numberOf(typed)) && numberOf(typed) >= 0)) wrong[name] = t('wrong.whole');
      else put(guards[guard], path, numberOf(typed));
    }
    if (was?.[guard] && same(guards[guard], was[guard], fields)) delete guards[guard];
  }
  return { guards, wrong };
}

/** Whether two settings of a guard say the same. @param {any} a @param {any} b @param {string[]} paths */
const same = (a, b, paths) => Boolean(a.dryRun) === Boolean(b.dryRun) && paths.every((path) => (member(a, path) || 0) === (member(b, path) || 0));

/** Whether a field must be filled: conditions may be left out, limits in pairs. @param {any} form @param {string} guard @param {string} path */
function needed(form, guard, path) {
  if (guard === 'conditions' || guard === 'units') return false;
  const [limit, part] = path.split('.');
  if (!part) return true;
  const other = part === 'requests' ? 'seconds' : 'requests';
  return form.elements[`guards.limits.${limit}.${other}`].value.trim() !== '';
}

/** @param {any} into @param {string} path @param {number} n */
function put(into, path, n) {
  const [name, part] = path.split('.');
  if (!part) into[name] = n;
  else (into[name] ??= {})[part] = n;
}

/** The fields of all guards. units says how many are for sale. @param {any} props */
export function GuardFields({ settings, wrong, words, units, perUser, client }) {
  const { t, number } = words;
  const [proposed, setProposed] = useState(/** @type {any} */ (null));
  const [said, setSaid] = useState('');
  const crowd = useRef(/** @type {any} */ (null));
  const [touched] = useState(new Set()); // the fields that somebody has typed into, or emptied
  /** Asks for what is proposed, and puts it into the fields that are shown: into all, or those that nobody has touched. @param {boolean} all */
  const propose = async (all) => {
    const form = crowd.current.form;
    const sold = numberOf(form.elements.stock?.value ?? String(units)) || (all ? 0 : 100);
    const expected = crowd.current.value.trim() === '' && !all ? CROWD * sold : numberOf(crowd.current.value);
    if (!(expected > 0) || !(sold > 0)) return all && setSaid(t('guard.proposal.none'));
    const most = numberOf(form.elements.perUser?.value ?? String(perUser ?? 1)) || 1;
    const answer = await client.ask('GET', `/admin/guards/proposal?units=${sold}&crowd=${expected}&perUser=${most}`);
    if (!answer.success) return all && setSaid(trouble(answer, t));
    setProposed(answer.data.guards);
    for (const [guard, fields] of Object.entries(GUARDS)) {
      for (const path of fields) {
        const field = form.elements[`guards.${guard}.${path}`];
        const value = member(answer.data.guards[guard], path);
        if (!field || value === undefined || (!all && (touched.has(field.name) || settings?.[guard]))) continue;
        field.value = String(value);
        field.dispatchEvent(new Event('input', { bubbles: true })); // as if it were typed
      }
    }
    const { tickets, units: shares } = answer.data.guards;
    if (all) setSaid(t('guard.proposal.says', {
      n: number(tickets.delayMs / 1000), crowd: number(expected), units: number(sold), share: number(shares.perAddress),
      instances: number(answer.data.instances), people: number(answer.data.addressPeople),
    }));
  };
  useEffect(() => { propose(false); }, []);
  return html`<div class="guards wide" onInput=${(/** @type {any} */ e) => touched.add(e.target.name)}>
    <p class="soft">${t('guards.says')}</p>
    <div class="field wide">
      <label for="f-crowd">${t('guard.proposal')}</label>
      <span class="row"><input id="f-crowd" class="small-input" ref=${crowd} inputmode="numeric" autocomplete="off" />
        <button type="button" class="button small" data-act="propose" onClick=${() => propose(true)}>${t('guard.propose')}</button></span>
      <p class="field-hint" role="status">${said}</p>
    </div>
    ${Object.keys(GUARDS).map((guard) => html`<${Guard} key=${guard} guard=${guard} settings=${settings} wrong=${wrong} words=${words} proposed=${proposed} />`)}
  </div>`;
}

/** @param {any} props */
function Guard({ guard, settings, wrong, words, proposed }) {
  const { t, has } = words;
  const [state, setState] = useState(stateOf(settings, guard));
  const name = `guards.${guard}`;
  /** @param {string} path */
  const value = (path) => {
    const set = member(settings?.[guard], path);
    return settings?.[guard] ? set ?? '' : member(proposed?.[guard], path) ?? '';
  };
  return html`<fieldset class="guard" data-guard=${guard}>
    <legend>${t(`guard.${guard}`)}</legend>
    <p class="field-hint" id=${`f-${name}-hint`}>${t(`guard.${guard}.says`)}</p>
    <${Field} name=${name} label=${t('state')} wrong=${wrong[name]}>
      <select ...${tied(name, wrong[name], true)} value=${state} onChange=${(/** @type {any} */ e) => setState(e.target.value)}>
        ${['off', 'dryRun', 'on'].map((s) => html`<option value=${s} selected=${s === state}>${t(`guard.state.${s}`)}</option>`)}
      </select>
    <//>
    ${state !== 'off' && html`<div class="grid">
      ${GUARDS[guard].map((path) => {
        const field = `${name}.${path}`;
        const hint = has(`guard.hint.${guard}.${path}`) && t(`guard.hint.${guard}.${path}`);
        return html`<${Field} key=${path} name=${field} label=${t(`guard.${guard}.${path}`)} wrong=${wrong[field]} hint=${hint}>
          <input ...${tied(field, wrong[field], Boolean(hint))} inputmode=${TEXTS.includes(path) ? 'text' : 'numeric'} autocomplete="off" defaultValue=${value(path)} />
        <//>`;
      })}
    </div>`}
  </fieldset>`;
}

/** Changes the guards of a sale, also while it runs. @param {any} props */
export function GuardsDialog({ voucher, guards, client, words, onClose, onDone }) {
  const { t } = words;
  const [sending, setSending] = useState(false);
  const problem = useProblems(t);
  const [settings] = useState(guards); // as they were when it was opened
  /** @param {any} e */
  const submit = async (e) => {
    e.preventDefault();
    if (sending) return;
    const read = readGuards(problem.ref.current, settings, t);
    if (Object.keys(read.wrong).length > 0) return problem.say(read.wrong);
    if (Object.keys(read.guards).length === 0) return onClose();
    setSending(true);
    const answer = await client.insist('PATCH', `/voucher/${voucher.id}`, { body: { guards: read.guards } });
    setSending(false);
    if (answer.success) {
      announceChange(answer, t);
      onClose();
      return onDone();
    }
    problem.say(...refusal(answer, t, trouble(answer, t)));
  };
  return html`<${Dialog} title=${t('ask.guards', { title: voucher.title })} closeLabel=${t('close')} onClose=${onClose}>
    <form ref=${problem.ref} class="stack" noValidate onInput=${problem.onInput} onSubmit=${submit}>
      ${settings?.unreadable && html`<p class="note warn">${t('guards.unreadable')}</p>`}
      <${GuardFields} settings=${settings} wrong=${problem.wrong} words=${words} units=${voucher.issued ?? voucher.stock} perUser=${voucher.perUser} client=${client} />
      <${Wrong} of=${problem} />
      <div class="row end">
        <button type="button" class="button quiet" onClick=${onClose}>${t('cancel')}</button>
        <button class="button primary" data-act="save" aria-disabled=${String(sending)}>${t('save')}</button>
      </div>
    </form>
  <//>`;
}

/** What the guards of a sale did. @param {any} props */
export function GuardFigures({ figures, words }) {
  const { t, number } = words;
  const settings = figures?.settings;
  const on = Object.keys(GUARDS).filter((g) => settings?.[g] || figures?.stopped[g] || figures?.wouldStop[g]);
  if (on.length === 0 && !settings?.unreadable) return null;
  const units = AGES.filter((a) => figures?.unitsByAge[a]);
  return html`<section class="panel flat" data-guards><h2>${t('guards')}</h2>
    ${settings?.unreadable && html`<p class="note warn">${t('guards.unreadable')}</p>`}
    ${on.length > 0 && html`<table class="plain figures">
      <thead><tr><th scope="col">${t('guard')}</th><th scope="col">${t('state')}</th><th scope="col" class="n">${t('guard.stopped')}</th><th scope="col" class="n">${t('guard.wouldStop')}</th></tr></thead>
      <tbody>${on.map((g) => html`<tr key=${g} data-guard=${g}><th scope="row">${t(`guard.${g}`)}</th><td>${t(`guard.state.${stateOf(settings, g)}`)}</td>
        <td class="n">${number(figures?.stopped[g] ?? 0)}</td><td class="n">${number(figures?.wouldStop[g] ?? 0)}</td></tr>`)}</tbody>
    </table>`}
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
