// @ts-check
// The page on which anybody checks a sale's draw, without signing in: ?voucher= in the address is the sale, and what is behind # an entry.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { BASE, Client } from '../client.js';
import { announce, show } from '../shell.js';
import { preferred } from '../words.js';
import { TEXTS } from './texts.js';
import { canVerify, check, compare, drawIn, hashOf, own } from './verify.js';

const id = Number(new URLSearchParams(location.search).get('voucher')) || 0;
const path = `/voucher/${id}/draw`;
const command = `server draw verify ${location.origin}${BASE}${path}`;
const client = new Client({ language: preferred });

/** Lines of a page of the list, the most that the service gives. */
const LINES = 1000;

/** The most problems that are shown. */
const SHOWN = 100;

/** The colour of a state. @type {Record<string, string>} */
const TONES = { closed: 'warn', drawn: 'good', void: 'bad' };

/** @typedef {import('./verify.js').Draw} Draw */
/** @typedef {import('./verify.js').Wrong} Wrong */

/** A page of the draw. @param {string} [after] where it begins */
const page = (after) => client.insist('GET', `${path}?limit=${LINES}${after ? `&after=${after}` : ''}`);

/** Reads the rest of the list behind a first page. @param {any} first its answer @param {(n: number) => void} read is told how many lines there are @returns {Promise<Draw | null>} */
async function whole(first, read) {
  const draw = { ...first.data, entrants: [...(first.data.entrants ?? [])] };
  for (let after = first.next ?? ''; after;) {
    const answer = await page(after);
    const next = answer.next ?? '';
    if (!drawIn(answer) || (next && next <= after)) return null;
    draw.entrants.push(...(answer.data.entrants ?? []));
    read(draw.entrants.length);
    after = next;
  }
  return draw;
}

/** @param {{words: import('../words.js').Words}} props */
function Page({ words }) {
  const { t } = words;
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const [title, setTitle] = useState('');
  const read = async () => setAnswer(await page());
  useEffect(() => void read(), []);
  useEffect(() => void client.ask('GET', `/voucher/${id}`).then((a) => a.success && setTitle(a.data.title)), [words.language]);
  const draw = drawIn(answer);
  const d = /** @type {Draw} */ (draw);
  return html`
    <div class="intro"><h1>${t('title')}</h1>
      ${draw && html`<p class="of">${title ? t('of', { title, n: d.drawNumber }) : t('of.number', { id: String(id), n: d.drawNumber })}</p>`}
      <p class="soft">${t('intro')}</p></div>
    ${!draw && html`<p class="note ${answer ? 'warn' : ''}" role="status">${t(answer ? (answer.status === 404 ? 'none' : 'trouble') : 'loading')}</p>`}
    ${draw && html`<${State} draw=${draw} words=${words} onAgain=${read} />
      <${Check} key=${`${d.drawNumber} ${d.state} ${d.root ?? ''}`} answer=${answer} words=${words} />
      <${Facts} draw=${draw} words=${words} />
      <${Proves} draw=${draw} words=${words} />
      ${d.earlier && html`<section class="panel stack"><h2>${t('earlier')}</h2><ul class="points">
        ${d.earlier.map((e) => html`<li key=${e.drawNumber}>${t('earlier.is', { n: e.drawNumber, time: at(e.voidTime), reason: reason(e, t) })}</li>`)}
      </ul></section>`}`}
  `;
}

/** A time for a text, as it stands where it is none: the page reads what may have been tampered with. @param {string} [text] */
const at = (text = '') => (Number.isNaN(Date.parse(text)) ? text : new Date(text));

/** Why a draw counts no more. @param {any} draw @param {import('../words.js').Words['t']} t */
const reason = ({ voidReason }, t) => (TEXTS[`why.${voidReason}`] ? t(`why.${voidReason}`) : voidReason);

/** What the draw is just now, in plain words. @param {any} props */
function State({ draw: d, words: { t }, onAgain }) {
  const says = d.state === 'closed' && !d.root ? 'closing' : d.state;
  return html`<section class="panel stack" data-state=${d.state}>
    <p class="row state"><span class="tag ${TONES[d.state] ?? ''}">${TEXTS[`state.${d.state}`] ? t(`state.${d.state}`) : d.state}</span>
      ${d.state !== 'over' && html`<button type="button" class="button quiet" data-act="again" onClick=${onAgain}>${t('again')}</button>`}</p>
    ${TEXTS[`says.${says}`] && html`<p>${t(`says.${says}`, { close: at(d.closeTime), time: at(d.voidTime), reason: reason(d, t) })}</p>`}
  </section>`;
}

/** All that is public just now. @param {any} props */
function Facts({ draw: d, words: { t, number, tenths } }) {
  const code = (/** @type {string} */ text) => text && html`<code>${text}</code>`;
  const facts = [
    ['begin', t('at', { time: at(d.beginTime) })], ['delay', t('delay.is', { n: d.delayMs % 1000 ? tenths(d.delayMs / 1000) : d.delayMs / 1000 })], ['close', t('at', { time: at(d.closeTime) })],
    ['source', d.source ? t('source.is', d) : t('source.none')], ['beacon', code(d.beacon)], ['beaconTime', d.beaconTime && t('at', { time: at(d.beaconTime) })], ['keyHash', code(d.keyHash)], ['entries', d.entries !== undefined && number(d.entries)], ['root', code(d.root)],
    ['drawKey', code(d.drawKey)], ['others', d.otherOrders !== undefined && number(d.otherOrders)],
  ];
  return html`<section class="panel stack"><h2>${t('facts')}</h2>
    <dl class="facts figures">${facts.map(([name, value]) => value && html`<dt>${t(name)}</dt><dd data-fact=${name}>${value}</dd>`)}</dl>
  </section>`;
}

/** The form with which somebody checks the draw, and what came out. @param {any} props */
function Check({ answer, words }) {
  const { t, number } = words;
  const [draw, setDraw] = useState(/** @type {Draw} */ (answer.data)); // with the whole list, once it is read
  const [busy, setBusy] = useState(/** @type {{says: string, part: number} | null} */ (null));
  const [verdict, setVerdict] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState('');
  const form = useRef(/** @type {any} */ (null));
  const over = answer.data.state === 'over';
  const entries = answer.data.entries ?? 0;
  /** Reads the list, unless it is read. @returns {Promise<Draw | null>} */
  const list = async () => {
    if (!over || !answer.next || draw !== answer.data) return draw;
    const all = await whole(answer, (n) => setBusy({ says: t('reading', { n, all: entries }), part: n / entries }));
    if (all) setDraw(all);
    return all;
  };
  /** @param {any} e */
  const submit = async (e) => {
    e.preventDefault();
    if (busy) return;
    const { entry, saved } = form.current.elements;
    const text = entry.value.trim().toLowerCase();
    const was = saved.files[0] ? drawIn(await saved.files[0].text().then(JSON.parse).catch(() => null)) : null;
    setVerdict(null);
    const wrong = saved.files[0] ? !was && 'saved.bad' : !over && !text && 'nothing';
    setProblem(wrong || '');
    if (wrong) return saved.focus();
    setBusy({ says: t('loading'), part: 0 });
    const found = await list().then((all) => all && verdictOf(all, text, was, (part) => setBusy({ says: t('computing', { n: Math.floor(100 * part) }), part }))).catch(() => null);
    setBusy(null);
    if (!found) return setProblem('trouble');
    setVerdict(found);
    announce(t(found.wrong.length > 0 ? 'bad' : 'good'));
  };
  const save = () => {
    const address = URL.createObjectURL(new Blob([JSON.stringify({ success: true, data: draw })], { type: 'application/json' }));
    Object.assign(document.createElement('a'), { href: address, download: `draw-${draw.voucherId}-${draw.drawNumber}-${draw.state}.json` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  };
  return html`<section class="panel stack" data-check><h2>${t('check')}</h2>
    ${!over && draw.state !== 'void' && html`<p>${t('save.says')}</p>`}
    ${!canVerify && html`<div class="note warn">${t('unable')}<code class="command">${command}</code></div>`}
    <form class="stack" ref=${form} onSubmit=${submit}>
      ${canVerify && html`
      <div class="field"><label for="entry">${t('entry')}</label>
        <input id="entry" name="entry" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="entry-hint" defaultValue=${location.hash.slice(1)} />
        <p class="field-hint" id="entry-hint">${t('entry.hint', { entry: `${draw.voucherId}-${draw.drawNumber}-0123456789abcdef` })}</p></div>
      <div class="field"><label for="saved">${t('saved')}</label>
        <input id="saved" name="saved" type="file" accept="application/json,.json" aria-invalid=${String(problem !== '' && problem !== 'trouble')} aria-describedby="problem" /></div>`}
      <p class="field-problem" id="problem" role="alert">${problem && t(problem)}</p>
      ${busy && html`<div><label for="progress">${busy.says}</label><progress id="progress" max="1" value=${busy.part}></progress></div>`}
      <div class="row">
        ${canVerify && html`<button class="button ${over ? 'primary' : ''}" data-act="check" aria-disabled=${String(busy !== null)}>${t(over ? 'check.now' : 'compare')}</button>`}
        <button type="button" class="button ${over ? '' : 'primary'}" data-act="save" onClick=${save}>${t('save')}</button>
      </div>
    </form>
    ${verdict && html`<${Verdict} verdict=${verdict} over=${over} decided=${Boolean(draw.root && (!draw.source || draw.beacon))} lines=${number(draw.entrants?.length ?? 0)} words=${words} />`}
  </section>`;
}

/**
 * What comes out of a check: before the sale is over, only what an earlier answer shows.
 * @param {Draw} draw @param {string} entry "" for none @param {Draw | null} was @param {(part: number) => void} progress
 */
async function verdictOf(draw, entry, was, progress) {
  const over = draw.state === 'over';
  const wrong = over ? await check(draw, was, progress) : was ? compare(was, draw) : [];
  const mine = entry ? await own(draw, entry) : { line: 0 };
  const listed = over || mine.wrong?.what !== 'own.missing'; // nothing is listed before
  if (mine.wrong && listed) wrong.push(mine.wrong);
  return { wrong, compared: was && `good.same.${!was.root ? 'open' : !draw.source && was.state !== 'over' ? 'ahead' : was.state === 'closed' && !was.beacon ? 'closed' : 'late'}`, own: draw.entrants?.[mine.line - 1], ...sooner(draw, mine.line), line: mine.line, hash: listed ? '' : await hashOf(entry) };
}

/** How many entrants had an earlier moment than a line's, and how many of those have an order. @param {Draw} draw @param {number} line from 1; 0: none */
function sooner({ entrants: list = [] }, line) {
  const mine = list[line - 1], earlier = mine ? list.filter((e) => Date.parse(e.momentTime) < Date.parse(mine.momentTime)) : [];
  return { sooner: earlier.length, bought: earlier.filter((e) => e.outcome === 'order').length };
}

/** @param {any} props */
function Verdict({ verdict: { wrong, compared, own: mine, sooner: before, bought, line, hash }, over, decided, lines, words: { t, exact } }) {
  const clock = (/** @type {string} */ text) => (typeof at(text) === 'string' ? text : exact(text));
  const says = (/** @type {Wrong} */ w) => (w.line ? t('line', { n: w.line, what: t(`wrong.${w.what}`, w.values) }) : t(`wrong.${w.what}`, w.values));
  return html`<div class="verdict" data-verdict=${wrong.length > 0 ? 'bad' : 'good'}>
    ${wrong.length > 0 && html`<div class="note bad"><h3>${t('bad')}</h3><ul class="wrongs figures">
      ${wrong.slice(0, SHOWN).map((/** @type {Wrong} */ w) => html`<li data-line=${w.line}>${says(w)}</li>`)}
      ${wrong.length > SHOWN && html`<li>${t('more', { n: wrong.length - SHOWN })}</li>`}</ul></div>`}
    ${wrong.length === 0 && (over || compared) && html`<div class="note good"><h3>${t('good')}</h3><p>${over && t(decided ? 'good.says' : 'good.off', { n: lines })} ${compared && t(compared)}</p></div>`}
    ${mine && decided && html`<p class="note own" data-own>${t('own', { line, n: lines, sooner: before, bought, moment: clock(mine.momentTime), outcome: TEXTS[`own.${mine.outcome}`] ? t(`own.${mine.outcome}`, { time: clock(mine.decideTime) }) : mine.outcome })}</p>`}
    ${hash && html`<p class="note own" data-own>${t('own.hash', { hash })}</p>`}
    ${over && !compared && html`<p class="soft">${t('unsaved')}</p>`}
  </div>`;
}

/** What it proves, and what not. @param {any} props */
function Proves({ draw, words: { t } }) {
  return html`<section class="panel stack"><h2>${t('proves')}</h2><ul class="points">
    <li>${t(draw.source ? 'proves.checkable' : 'proves.committed')}</li>
    <li>${t('proves.not')}</li>
    ${draw.source && html`<li>${t('proves.beacon', { close: at(draw.closeTime) })}</li>`}
    <li>${t('unsaved')}</li>
    <li>${t('proves.page')} <code class="command">${command}</code></li>
  </ul></section>`;
}

show((words) => html`<${Page} words=${words} />`, TEXTS, { title: 'title' });
