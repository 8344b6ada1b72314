// @ts-check
// Checks a published draw in the browser, as `server draw verify` does: the same checks in the same order, with the same words in English
// (internal/feature/guard/draw/check.go). docs/guards.md says what they prove.

/**
 * A draw as GET /voucher/:id/draw answers it, with the lines of all pages.
 * @typedef {{voucherId: number, state: string, proof: string, drawNumber: number, keyHash: string, beginTime: string, delayMs: number, closeTime: string,
 *   source?: string, round?: string, createTime: string, voidTime?: string, voidReason?: string, closedTime?: string, entries?: number, root?: string,
 *   beacon?: string, beaconTime?: string, drawKey?: string, otherOrders?: number, firstOtherTime?: string, entrants?: Entrant[], earlier?: any[]}} Draw
 */

/** @typedef {{hash: string, momentTime: string, outcome: string, decideTime?: string}} Entrant */

/** What is wrong: what is a key of the texts, line is of the list, from 1; 0 is the draw as a whole. @typedef {{line: number, what: string, values?: Record<string, any>}} Wrong */

/** By how many milliseconds the clock of orders may be behind that of moments. */
const TOLERANCE = 1000;

/** Lines whose moments are computed at once. */
const AT_ONCE = 2000;

const HASH = /^[0-9a-f]{64}$/;

/** Whether this browser computes hashes: it does on https, and on this machine. */
export const canVerify = Boolean(globalThis.crypto?.subtle);

/** @param {string} text in hexadecimal */
const bytes = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** @param {ArrayBuffer} buffer */
const hex = (buffer) => Array.from(new Uint8Array(buffer), (b) => b.toString(16).padStart(2, '0')).join('');

/** @param {string | Uint8Array<ArrayBuffer>} of a text, or bytes */
const sha256 = async (of) => hex(await crypto.subtle.digest('SHA-256', typeof of === 'string' ? new TextEncoder().encode(of) : of));

/** What a line counts as in the root: what is no hash, as far as it is one. @param {string} text */
const asHash = (text) => (HASH.test(text) ? text : (/^(?:[0-9a-f]{2}){0,32}/i.exec(text)?.[0] ?? '').toLowerCase().padEnd(64, '0'));

/** A time as answers have it. @param {number} ms */
const written = (ms) => new Date(ms).toISOString();

/** Whether one time is before another; false if one is missing. @param {string | undefined} a @param {string | undefined} b */
const before = (a, b) => Date.parse(a ?? '') < Date.parse(b ?? '');

/** The draw in an answer; null if there is none. @param {any} answer @returns {Draw | null} */
export function drawIn(answer) {
  const d = answer?.data;
  const whole = ['voucherId', 'drawNumber', 'delayMs'].every((name) => Number.isSafeInteger(d?.[name]));
  const timed = ['beginTime', 'closeTime'].every((name) => !Number.isNaN(Date.parse(d?.[name])));
  return whole && timed && typeof d.keyHash === 'string' && typeof d.state === 'string' && Array.isArray(d.entrants ?? []) ? d : null;
}

/**
 * Everything that is wrong with a draw whose sale is over. was is the same draw as somebody saw it earlier; progress is told which part is done.
 * @param {Draw} l @param {Draw | null} [was] @param {(part: number) => void} [progress] @returns {Promise<Wrong[]>}
 */
export async function check(l, was, progress = () => {}) {
  /** @type {Wrong[]} */
  const wrong = [];
  /** @param {number} line @param {string} what @param {Record<string, any>} [values] */
  const bad = (line, what, values) => void wrong.push({ line, what, values });
  if (l.state !== 'over') return bad(0, 'state', { state: l.state }), wrong;
  if (l.voidTime) bad(0, 'void', { time: l.voidTime, reason: l.voidReason ?? '' });
  const sold = bought(l);
  times(l, sold, bad);
  beacon(l, sold, bad);
  await root(l, sold, bad);
  if (await keyed(l, bad)) await entrants(l, bad, progress);
  return was ? [...wrong, ...compare(was, l)] : wrong;
}

/** @typedef {(line: number, what: string, values?: Record<string, any>) => void} Bad */

/** Whether somebody bought, or it is not said whether anybody did. Of a sale that was called off before, nothing has to be there. @param {Draw} l */
const bought = ({ otherOrders: others, entrants: list = [] }) => others === undefined || others > 0 || list.some(({ outcome }) => outcome !== 'none');

/** Everything happened in the order that makes a choice impossible. @param {Draw} l @param {boolean} sold @param {Bad} bad */
function times({ createTime, closeTime, closedTime, beginTime }, sold, bad) {
  if (!closedTime) return sold ? bad(0, 'closed.missing') : undefined;
  if (!before(createTime, closeTime) || before(closedTime, closeTime)) bad(0, 'closed', { made: createTime, closed: closedTime, close: closeTime });
  if (!before(closeTime, beginTime)) bad(0, 'close', { close: closeTime, begin: beginTime });
}

/** It has a beacon exactly if one was named. @param {Draw} l @param {boolean} sold @param {Bad} bad */
function beacon({ source, round, beacon: value, beaconTime, closedTime, beginTime, proof }, sold, bad) {
  const named = Boolean(source && round);
  const ended = named && !value && !beaconTime && !sold; // before it
  if (!ended && named !== Boolean(value && beaconTime)) bad(0, 'beacon');
  else if (!ended && named && closedTime && before(beaconTime, closedTime)) bad(0, 'beacon.early', { time: beaconTime });
  else if (!ended && named && !before(beaconTime, beginTime)) bad(0, 'beacon.late', { time: beaconTime });
  const want = named ? 'checkable' : 'committed';
  if (proof !== want) bad(0, 'proof', { proof, want });
}

/** The list is as it was closed: its order, its length and its root. @param {Draw} l @param {boolean} sold @param {Bad} bad */
async function root({ entrants: list = [], entries, root: published = '' }, sold, bad) {
  if (!published && entries === undefined && !sold) return;
  let last = '';
  for (const [i, { hash }] of list.entries()) {
    if (!HASH.test(hash)) bad(i + 1, 'hash', { hash: JSON.stringify(hash) });
    else if (hash === last) bad(i + 1, 'twice', { hash });
    else if (hash < last) bad(i + 1, 'order', { hash, last });
    last = hash;
  }
  if (entries !== list.length) bad(0, 'entries', { n: list.length });
  const got = await sha256(list.map(({ hash }) => `${asHash(hash)}\n`).join(''));
  if (got !== published) bad(0, 'root', { got, root: published });
}

/** Whether the published key is the one that the draw was committed to. @param {Draw} l @param {Bad} bad */
async function keyed({ drawKey = '', keyHash }, bad) {
  if (!HASH.test(drawKey)) return bad(0, 'key.missing'), false;
  const got = await sha256(bytes(drawKey));
  if (got !== keyHash) bad(0, 'key', { got, hash: keyHash });
  return got === keyHash;
}

/** Each line's moment, and that nobody bought before theirs. @param {Draw} l @param {Bad} bad @param {(part: number) => void} progress */
async function entrants(l, bad, progress) {
  const { entrants: list = [], beginTime, otherOrders: others, firstOtherTime: first } = l;
  const begin = Date.parse(beginTime), delay = Math.max(0, l.delayMs);
  const secret = new Uint8Array([...bytes(l.drawKey ?? ''), ...new TextEncoder().encode(l.beacon ?? '')]);
  const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  /** @param {string} hash */
  const momentOf = async (hash) => {
    const n = new DataView(await crypto.subtle.sign('HMAC', key, bytes(hash))).getBigUint64(0);
    return begin + Number((n * BigInt(delay)) >> 64n);
  };
  for (let from = 0; from < list.length; from += AT_ONCE) {
    const some = list.slice(from, from + AT_ONCE);
    const moments = await Promise.all(some.map(({ hash }) => (HASH.test(hash) ? momentOf(hash) : NaN)));
    for (const [i, want] of moments.entries()) if (!Number.isNaN(want)) entrant(some[i], want, from + i + 1, bad);
    progress((from + some.length) / list.length);
  }
  if (others === undefined) bad(0, 'others.missing');
  else if (others > 0 !== Boolean(first)) bad(0, 'others');
  else if (first && !(Date.parse(first) + TOLERANCE >= begin + delay)) bad(0, 'others.early', { time: first, last: written(begin + delay) });
}

/** @param {Entrant} e @param {number} want its moment @param {number} line @param {Bad} bad */
function entrant({ momentTime, outcome, decideTime }, want, line, bad) {
  const moment = written(want);
  if (momentTime !== moment) bad(line, 'moment', { time: momentTime, moment });
  if (!['order', 'failed', 'none'].includes(outcome)) bad(line, 'outcome', { outcome: JSON.stringify(outcome) });
  else if (Boolean(decideTime) !== (outcome !== 'none')) bad(line, 'decided');
  else if (decideTime && !(Date.parse(decideTime) + TOLERANCE >= want)) bad(line, 'early', { time: decideTime, moment });
}

/** What has changed of a draw since somebody saw it: nothing that was published then may have. @param {Draw} was @param {Draw} is @returns {Wrong[]} */
export function compare(was, is) {
  /** @type {[string, (l: Draw) => any][]} */
  const fields = [
    ['voucherId', (l) => l.voucherId], ['drawNumber', (l) => l.drawNumber], ['keyHash', (l) => l.keyHash], ['beginTime', (l) => l.beginTime],
    ['delayMs', (l) => l.delayMs], ['closeTime', (l) => l.closeTime], ['source and round', (l) => `${l.source ?? ''} ${l.round ?? ''}`], ['root', (l) => l.root],
    ['beacon', (l) => l.beacon],
  ];
  return fields.map(([field, of]) => ({ field, from: String(of(was) ?? ''), to: String(of(is) ?? '') })).filter(({ from, to }) => from && from !== to)
    .map((values) => ({ line: 0, what: 'changed', values }));
}

/** The hash that stands for an entry in the list. @param {string} entry */
export const hashOf = (entry) => sha256(entry);

/** An entry's line, from 1, or what is wrong with it. @param {Draw} l @param {string} entry @returns {Promise<{line: number, wrong?: Wrong}>} */
export async function own(l, entry) {
  const draw = `${l.voucherId}-${l.drawNumber}`;
  if (!entry.startsWith(`${draw}-`)) return { line: 0, wrong: { line: 0, what: 'own.other', values: { entry, draw } } };
  const hash = await hashOf(entry);
  const line = (l.entrants ?? []).findIndex((e) => e.hash === hash) + 1;
  return line ? { line } : { line, wrong: { line, what: 'own.missing', values: { entry, hash } } };
}
