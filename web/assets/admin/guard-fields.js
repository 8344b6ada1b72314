// @ts-check
// The guards of a sale against bots as switches: what each stops, what it costs an honest buyer, and the values that are proposed.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { FILLED_IN } from './drafts.js';
import { Field, numberOf, tied, trouble } from './parts.js';
import { worded } from './wrong.js';

/** @typedef {{min: number, max: number}} Bounds */

/** The guards in the order in which they are asked, each with its fields and what they may be. What they begin with is what the service proposes. @type {Record<string, Record<string, Bounds>>} */
export const GUARDS = {
  limits: Object.fromEntries(['perAddress', 'perNetwork', 'perUser'].flatMap((of) => [[`${of}.requests`, { min: 1, max: 1_000_000 }], [`${of}.seconds`, { min: 1, max: 86_400 }]])),
  conditions: { minLevel: { min: 0, max: 1_000_000 }, minAgeDays: { min: 0, max: 36_500 } },
  coolDown: { expired: { min: 1, max: 100 }, minutes: { min: 1, max: 10_080 } },
  tickets: { delayMs: { min: 0, max: 600_000 }, leadMinutes: { min: 1, max: 1440 }, expiryMinutes: { min: 1, max: 1440 } },
  units: { perAddress: { min: 0, max: 100_000 }, perNetwork: { min: 0, max: 100_000 }, shared: { min: 0, max: 0 } },
  challenge: { difficulty: { min: 2, max: 64 }, maxDifficulty: { min: 2, max: 64 } },
};

/** The guards in the order in which those come first that help a sale which has begun. */
const BEGUN = ['limits', 'conditions', 'coolDown', 'units', 'challenge', 'tickets'];

/** Guards that the service can keep: some sign, for which it needs a secret. */
const SIGNING = ['tickets', 'challenge'];

/** Whether tickets and challenges can be signed here. */
const SIGNS = document.querySelector('meta[name=tickets]')?.getAttribute('content') !== 'no';

/** Fields that hold text. */
const TEXTS = ['shared'];

/** How many people are expected for each unit, until somebody says so. */
const CROWD = 10;

/** How many units one buyer may have at most. */
const MOST = 20;

/** A count as it is typed, 0 for what is none: a proposal is made all the same. @param {string} text */
const whole = (text) => (Number.isInteger(numberOf(text)) && numberOf(text) > 0 ? numberOf(text) : 0);

/** @param {any} settings @param {string} guard */
export const stateOf = (settings, guard) => (!settings?.[guard] ? 'off' : settings[guard].dryRun ? 'dryRun' : 'on');

/** When the moments of a sale with tickets are over, NaN without tickets. @param {any} settings @param {string} begin of the sale */
export const overAt = (settings, begin) => Date.parse(begin) + (settings?.tickets?.delayMs ?? NaN);

/** A member of a member, by its path. @param {any} from @param {string} path */
const member = (from, path) => path.split('.').reduce((at, name) => at?.[name], from);

/**
 * What is set in a form, in which guards that are as they were are left out: somebody else may have changed them since. A guard that was
 * on and is off is null. @param {any} form @param {any} was undefined for a new sale @param {(key: string, values?: any) => string} t
 */
export function readGuards(form, was, t) {
  /** @type {Record<string, any>} */
  const guards = {};
  /** @type {Record<string, string>} */
  const wrong = {};
  for (const [guard, fields] of Object.entries(GUARDS)) {
    if (!form.elements[`guards.${guard}`]?.checked) {
      if (was?.[guard]) guards[guard] = null;
      continue;
    }
    guards[guard] = form.elements[`guards.${guard}.dryRun`].checked ? { dryRun: true } : {};
    for (const [path, { min, max }] of Object.entries(fields)) {
      const name = `guards.${guard}.${path}`;
      const typed = form.elements[name].value.trim();
      const value = numberOf(typed);
      if (typed === '') {
        if (needed(form, guard, path)) wrong[name] = t('wrong.missing');
      } else if (TEXTS.includes(path)) guards[guard][path] = typed;
      else if (!Number.isInteger(value) || value < 0) wrong[name] = t('wrong.whole');
      else if (value < min || value > max) wrong[name] = worded({ code: 'OUT_OF_RANGE', allowedCode: 'RANGE', data: { value, min, max } }, t);
      else put(guards[guard], path, value);
    }
    if (was?.[guard] && same(guards[guard], was[guard], Object.keys(fields))) delete guards[guard];
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

/** The values of a guard in words, "" where none are known. @param {string} guard @param {any} s its settings @param {import('../words.js').Words} words */
function inWords(guard, s, { t, has, number, tenths }) {
  if (!s) return '';
  const parts = Object.entries(s).flatMap(([name, value]) => {
    const key = `guard.${guard}.${name}.is`;
    if (!has(key) || !value) return [];
    const values = value.closeTime ? { closeTime: new Date(value.closeTime) } : typeof value === 'object' ? value : { n: name === 'delayMs' ? (Number(value) % 1000 ? tenths(Number(value) / 1000) : number(Number(value) / 1000)) : value };
    return [t(key, values)];
  });
  return parts.join(t('comma'));
}

/** A guard and how it is set, in words. @param {string} guard @param {any} settings @param {import('../words.js').Words} words */
const told = (guard, settings, words) => [words.t(`guard.state.${stateOf(settings, guard)}`), inWords(guard, settings?.[guard], words)].filter(Boolean).join(words.t('colon'));

/**
 * What was changed of a sale's guards, by guard and in words, from two settings as the audit trail has them; null for what cannot be read.
 * @param {string} from @param {string} to @param {import('../words.js').Words} words
 */
export function guardChanges(from, to, words) {
  let was, is;
  try {
    [was, is] = [from, to].map((text) => JSON.parse(text || '{}'));
  } catch {
    return null;
  }
  return Object.keys(GUARDS).filter((guard) => JSON.stringify(was?.[guard]) !== JSON.stringify(is?.[guard]))
    .map((guard) => ({ name: words.t(`guard.${guard}`), from: told(guard, was, words), to: told(guard, is, words) }));
}

/** The switches of all guards. units says how many are for sale, begin when the sale of a voucher begins that there is. @param {any} props */
export function GuardFields({ settings, draft, wrong, words, units, perUser, begin, client }) {
  const { t, number } = words;
  const [proposed, setProposed] = useState(/** @type {any} */ (null));
  const [said, setSaid] = useState('');
  const [unsold, setUnsold] = useState(''); // how many units the proposed shares may leave
  const [on, setOn] = useState(() => Object.fromEntries(Object.keys(GUARDS).map((guard) => [guard, draft.of(`guards.${guard}`, stateOf(settings, guard) !== 'off')])));
  const crowd = useRef(/** @type {any} */ (null));
  const [touched] = useState(() => new Set(draft.names())); // the fields that somebody has typed into, or emptied
  /** Asks for what is proposed, and puts it into the fields that are shown: into all, or those that nobody has touched. It returns the proposal. @param {boolean} all */
  const propose = async (all) => {
    if (all) setUnsold('');
    const form = crowd.current.form;
    const sold = whole(form.elements.stock?.value ?? String(units)) || (all ? 0 : 100);
    const expected = crowd.current.value.trim() === '' ? CROWD * sold : whole(crowd.current.value);
    if (!(expected > 0) || !(sold > 0)) return void (all && setSaid(t('guard.proposal.none')));
    const most = Math.min(MOST, whole(form.elements.perUser?.value ?? String(perUser ?? 1)) || 1);
    const answer = await client.ask('GET', `/admin/guards/proposal?units=${sold}&crowd=${expected}&perUser=${most}`);
    if (!answer.success) return void (all && setSaid(trouble(answer, t)));
    setProposed(answer.data.guards);
    for (const [guard, fields] of Object.entries(GUARDS)) {
      for (const path of Object.keys(fields)) {
        const field = form.elements[`guards.${guard}.${path}`];
        const value = member(answer.data.guards[guard], path);
        if (!field && all) draft.forget(`guards.${guard}.${path}`); // it is shown with what is proposed
        if (!field || value === undefined || (!all && (touched.has(field.name) || settings?.[guard]))) continue;
        field.value = String(value);
        field.dispatchEvent(new InputEvent('input', { bubbles: true, inputType: FILLED_IN }));
      }
    }
    const { tickets, units: shares } = answer.data.guards;
    const left = answer.data.leftOfTwoNetworks;
    if (all && left > 0) setUnsold(t('guard.proposal.left', { n: number(answer.data.networksForAll), left: number(left), units: number(sold) }));
    if (all) setSaid(t('guard.proposal.says', {
      n: number(tickets.delayMs / 1000), crowd: number(expected), units: number(sold), share: number(shares.perAddress),
      instances: number(answer.data.instances), people: number(answer.data.addressPeople),
    }));
    return answer.data.guards;
  };
  /** Turns on what is proposed, with its values: all guards of a sale to come, of one that runs those that still help. It is saved with the form. */
  const recommend = async () => {
    const values = await propose(true);
    if (!values) return;
    const { form } = crowd.current;
    const chosen = Object.keys(GUARDS).filter((guard) => can(guard) && !(begun && SIGNING.includes(guard)));
    for (const guard of chosen) if (!form.elements[`guards.${guard}`].checked) form.elements[`guards.${guard}`].click(); // as a person does: it is kept in the draft
    setSaid(t(begun ? 'guard.recommended.late' : 'guard.recommended', { names: chosen.map((guard) => t(`guard.${guard}`)).join(t('comma')), days: values.conditions.minAgeDays }));
  };
  useEffect(() => { propose(false); }, []);
  /** Turns a guard on or off. Work is done for a ticket: it goes with tickets. @param {string} guard @param {boolean} to */
  const turn = (guard, to) => setOn((/** @type {any} */ now) => ({ ...now, [guard]: to, ...(guard === 'challenge' && to && { tickets: true }), ...(guard === 'tickets' && !to && { challenge: false }) }));
  const now = client.clock.now();
  const begun = begin && Date.parse(begin) <= now;
  const can = (/** @type {string} */ guard) => SIGNS || !SIGNING.includes(guard) || settings?.[guard];
  return html`<div class="guards wide" onInput=${(/** @type {any} */ e) => touched.add(e.target.name)}>
    <p class="soft">${t('guards.says')}</p>
    <p><button type="button" class="button small" data-act="recommend" onClick=${recommend}>${t('guard.recommend')}</button></p>
    <div class="field wide">
      <label for="f-crowd">${t('guard.proposal')}</label>
      <span class="row"><input id="f-crowd" class="small-input" aria-describedby="f-crowd-hint" ref=${crowd} inputmode="numeric" autocomplete="off" />
        <button type="button" class="button quiet small" data-act="propose" onClick=${() => propose(true)}>${t('guard.propose')}</button></span>
      <p class="field-hint" id="f-crowd-hint">${t('guard.propose.says')}</p>
      <div class="field-hint" role="status"><p>${said}</p>${unsold && html`<p class="note" data-unsold>${unsold}</p>`}</div>
    </div>
    ${!SIGNS && html`<p class="note">${t('guards.unsigned')}</p>`}
    ${(begun ? BEGUN : Object.keys(GUARDS)).filter(can).map((guard) => html`<${Guard} key=${guard} guard=${guard} on=${on[guard]} turn=${turn}
      late=${Boolean(begun && (guard === 'units' || guard === 'tickets' && overAt(settings?.tickets ? settings : proposed, begin) <= now))} settings=${settings?.[guard]} proposed=${proposed?.[guard]} draft=${draft} wrong=${wrong} words=${words} />`)}
  </div>`;
}

/** One guard: its switch, and its values folded. @param {any} props */
function Guard({ guard, on, turn, late, settings, proposed, draft, wrong, words }) {
  const { t, has } = words;
  const name = `guards.${guard}`;
  const dryRun = `${name}.dryRun`;
  const values = inWords(guard, proposed, words);
  return html`<div class="guard" data-guard=${guard}>
    <label class="pick switch"><input type="checkbox" role="switch" ...${tied(name, wrong[name], true)} checked=${on} onInput=${(/** @type {any} */ e) => turn(guard, e.target.checked)} /> <span><b>${t(`guard.${guard}`)}</b>${t('colon')}${t(`guard.${guard}.switch`)}</span></label>
    <div class="field-hint" id=${`f-${name}-hint`}>
      ${late && guard === 'tickets' && html`<p class="note warn" data-late>${settings ? t('guard.tickets.over') : t('guard.tickets.late', { n: Math.ceil(proposed.delayMs / 1000) })}</p>`}
      ${late && guard === 'units' && !settings && html`<p data-late>${t('guard.units.late')}</p>`}
      <p>${t('guard.stops', { what: t(`guard.${guard}.stops`) })}</p>
      <p>${t('guard.costs', { what: t(`guard.${guard}.costs`) })}</p>
      ${values && html`<p>${t('guard.proposed', { values })}</p>`}
    </div>
    ${wrong[name] && html`<p class="field-problem" id=${`f-${name}-wrong`}>${wrong[name]}</p>`}
    ${on && html`
      <label class="pick"><input type="checkbox" name=${dryRun} defaultChecked=${draft.of(dryRun, Boolean(settings?.dryRun))} /> ${t('guard.try')}</label>
      <details open=${Boolean(settings)}><summary>${t('guard.values')}</summary><div class="grid">
        ${Object.keys(GUARDS[guard]).map((path) => {
          const field = `${name}.${path}`;
          const hint = has(`guard.hint.${guard}.${path}`) && t(`guard.hint.${guard}.${path}`);
          return html`<${Field} key=${path} name=${field} label=${t(`guard.${guard}.${path}`)} wrong=${wrong[field]} hint=${hint}>
            <input ...${tied(field, wrong[field], Boolean(hint))} inputmode=${TEXTS.includes(path) ? 'text' : 'numeric'} autocomplete="off" defaultValue=${draft.of(field, member(settings ?? proposed, path) ?? '')} />
          <//>`;
        })}
      </div></details>`}
  </div>`;
}
