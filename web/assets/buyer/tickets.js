// @ts-check
// The buyer's tickets for sales that need one: fetched early, with the work that the sale wants solved in a worker, and
// renewed. A ticket is kept for this tab, so that loading the page anew costs no work; fetching another is harmless.

import { decided } from '../client.js';

/** @typedef {import('../client.js').Voucher} Voucher */
/** @typedef {import('../client.js').Answer} Answer */

/**
 * What there is of a ticket. waiting: it will be fetched; asking; solving: the device works, part of it is done; ready; none: the sale
 * needs no ticket; refused: the service gives none.
 * @typedef {{phase: 'waiting' | 'asking' | 'solving' | 'ready' | 'none' | 'refused', part?: number, ticket?: string, entry?: string, usableFrom?: number,
 *   expires?: number, beginTime?: string, answer?: Answer}} Ticket
 */

/** Milliseconds before its expiry at which a ticket is fetched anew. */
const MARGIN = 15_000;

/** Requests for one ticket: a challenge may expire on a device that sleeps. */
const ATTEMPTS = 8;

/** How often a ticket is fetched anew because the answer goes by another start than the list: instances know a change within about a second. */
const OTHER_STARTS = 3;

const KEPT = 'seckill.ticket.';

/** @param {number} ms */
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

export class Tickets {
  /** @type {Map<number, Ticket>} by voucher */
  #tickets = new Map();
  /** @type {Map<number, Promise<Ticket>>} requests under way, by voucher */
  #fetching = new Map();
  /** @type {Map<number, number>} of the first request, by voucher */
  #timers = new Map();
  #turn = 0; // how often all was forgotten

  /**
   * @param {import('../client.js').Client} client
   * @param {() => string} user
   * @param {() => void} changed
   * @param {(challenge: any, progress: (part: number) => void) => Promise<string>} solve
   */
  constructor(client, user, changed, solve = solveInWorker) {
    this.client = client;
    this.user = user;
    this.changed = changed;
    this.solve = solve;
  }

  /** @param {number} voucherId @returns {Ticket | undefined} */
  of(voucherId) {
    const has = this.#tickets.get(voucherId);
    if (has) return has;
    const kept = JSON.parse(sessionStorage.getItem(this.#key(voucherId)) ?? 'null');
    if (kept) this.#tickets.set(voucherId, kept);
    return kept ?? undefined;
  }

  /** @param {number} voucherId */
  #key(voucherId) {
    return `${KEPT}${this.user()}.${voucherId}`;
  }

  /**
   * Has the sale's ticket fetched at a moment of this page's own in the first half of what is left until the start once they are given out,
   * or soon where the sale runs already; anew where it could not be given. Harmless to repeat.
   * @param {Voucher} voucher
   */
  plan(voucher) {
    const { id, ticketsFrom, beginTime = '' } = voucher;
    const has = this.of(id);
    if (!ticketsFrom) return this.#forget(id);
    if (has && has.beginTime === beginTime && !givenUp(has) && (has.phase !== 'ready' || this.#fresh(has))) return;
    if (has && this.#fetching.has(id)) return;
    const now = this.client.clock.now();
    const first = Math.max(0, Date.parse(ticketsFrom) - now);
    if (first > 3_600_000 || now >= Date.parse(voucher.endTime ?? '')) return; // a later list plans it
    const spread = Math.max(0, Date.parse(beginTime) - now - first) / 2;
    clearTimeout(this.#timers.get(id));
    this.#set(id, { phase: 'waiting', beginTime });
    this.#timers.set(id, window.setTimeout(() => this.get(voucher), first + spread * Math.random()));
  }

  /** The buyer's ticket for a sale, fetched if need be. Never rejects. @param {Voucher} voucher @returns {Promise<Ticket>} */
  get(voucher) {
    const { id, beginTime = '' } = voucher;
    const has = this.of(id);
    if (has?.phase === 'ready' && has.beginTime === beginTime && this.#fresh(has)) return Promise.resolve(has);
    const under = this.#fetching.get(id);
    if (under) return under;
    clearTimeout(this.#timers.get(id));
    const turn = this.#turn;
    const promise = this.#fetch(voucher).then((ticket) => {
      if (turn === this.#turn) {
        this.#fetching.delete(id);
        if (ticket.phase === 'ready') sessionStorage.setItem(this.#key(id), JSON.stringify(ticket));
        this.#set(id, ticket);
      }
      return ticket;
    });
    this.#fetching.set(id, promise);
    return promise;
  }

  /** Drops a ticket that was refused. @param {number} voucherId */
  drop(voucherId) {
    sessionStorage.removeItem(this.#key(voucherId));
    if (!this.#fetching.has(voucherId)) this.#tickets.delete(voucherId);
  }

  /** Forgets all: another user may come. */
  clear() {
    this.#turn++;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#fetching.clear();
    this.#tickets.clear();
  }

  /** @param {number} id */
  #forget(id) {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
    if (!this.#fetching.has(id)) this.#tickets.delete(id);
  }

  /** @param {Ticket} ticket */
  #fresh({ expires = 0 }) {
    return this.client.clock.now() < expires - MARGIN;
  }

  /** @param {Voucher} voucher @returns {Promise<Ticket>} */
  async #fetch({ id, beginTime = '', ticketsFrom = '' }) {
    const turn = this.#turn;
    const show = (/** @type {Ticket} */ ticket) => turn === this.#turn && this.#set(id, { ...ticket, beginTime });
    let solution = ''; // good until it expires, also for another ticket
    let otherStarts = 0;
    show({ phase: 'asking' });
    for (let attempt = 1; ; attempt++) {
      const answer = await this.client.ticket(id, solution);
      if (otherStart(answer, beginTime, ticketsFrom) && ++otherStarts <= OTHER_STARTS && turn === this.#turn) {
        await pause(1000);
        continue;
      }
      if (answer.success) {
        const { ticket, entry, usableFrom, validUntil } = answer.data;
        return { phase: 'ready', ticket, entry, usableFrom: Date.parse(usableFrom), expires: Date.parse(validUntil), beginTime };
      }
      if (answer.code === 'NO_TICKETS') return { phase: 'none', beginTime };
      const challenge = answer.code === 'CHALLENGE_REQUIRED' ? answer.data?.challenge : null;
      if ((decided(answer) && !challenge) || turn !== this.#turn || attempt === ATTEMPTS) return { phase: 'refused', answer, beginTime };
      if (challenge) {
        show({ phase: 'solving', part: 0 });
        solution = await this.solve(challenge, (part) => show({ phase: 'solving', part })).catch(() => '');
        show({ phase: 'asking' });
        if (solution) continue;
      }
      await pause(1000 * (answer.retryAfter || 1) * (1 + Math.random()));
    }
  }

  /** @param {number} id @param {Ticket} ticket */
  #set(id, ticket) {
    this.#tickets.set(id, ticket);
    this.changed();
  }
}

/** Whether an answer goes by another start than the list. @param {Answer} answer @param {string} beginTime @param {string} ticketsFrom */
function otherStart({ success, code, data }, beginTime, ticketsFrom) {
  const [said, listed] = success ? [data.beginTime, beginTime] : [code === 'NOT_STARTED' && data?.ticketsFrom, ticketsFrom];
  return Boolean(said && listed) && Date.parse(said) !== Date.parse(listed);
}

/** Whether no ticket was given, and one may be later. @param {Ticket} ticket */
export const givenUp = ({ phase, answer }) => phase === 'refused' && answer !== undefined && !decided(answer);

/**
 * Solves a challenge in a worker, so that the page stays alive meanwhile.
 * @param {any} challenge @param {(part: number) => void} progress @returns {Promise<string>} ALTCHA's payload
 */
function solveInWorker(challenge, progress) {
  const worker = new Worker(new URL('./work.js', import.meta.url), { type: 'module' });
  const solved = new Promise((done, fail) => {
    worker.onerror = (e) => fail(new Error(e.message));
    worker.onmessage = ({ data: { part, payload, error } }) => {
      if (part !== undefined) progress(part);
      else if (payload) done(payload);
      else fail(new Error(error));
    };
  });
  worker.postMessage(challenge);
  return solved.finally(() => worker.terminate());
}
