// @ts-check
// The buyer's places on waiting lists: joining, accepting an invitation, leaving; and asking for news as often as the service says.

import { decided } from '../client.js';

/** @typedef {import('../client.js').Voucher} Voucher */
/** @typedef {import('../client.js').Place} Place */
/** @typedef {import('../client.js').Answer} Answer */

/** How often joining is asked again with another ticket. */
const RETRIES = 3;

/** Seconds until a place is asked for again that could not be read. */
const LATER = 10;

/** States of a place by which its user may still get a unit. */
const OPEN = new Set(['waiting', 'invited', 'accepted']);

/** @param {Place | undefined} place */
export const isOpen = (place) => place !== undefined && OPEN.has(place.state);

export class Places {
  /** What is being done: join, say, accept or leave. @type {Map<number, string>} by voucher */
  doing = new Map();
  /** The refused action. @type {Map<number, Answer>} by voucher */
  refusals = new Map();
  /** @type {Map<number, Place>} by voucher */
  #places = new Map();
  /** When what is known of a place was asked for or done, by performance.now(). @type {Map<number, number>} by voucher */
  #asked = new Map();
  /** @type {Map<number, number>} of the next question, by voucher */
  #timers = new Map();
  #known = false; // the open places were read
  #turn = 0; // how often all was forgotten

  /**
   * @param {import('../client.js').Client} client @param {import('./tickets.js').Tickets} tickets
   * @param {{changed: () => void, acted: () => void, notify: (event: string, place: Place) => void, bought: (place: Place) => void, refused: (answer: Answer) => void}} view
   */
  constructor(client, tickets, view) {
    this.client = client;
    this.tickets = tickets;
    this.view = view;
  }

  /** @param {number} voucherId */
  of(voucherId) {
    return this.#places.get(voucherId);
  }

  /** The places by which the buyer may still get a unit. */
  open() {
    return [...this.#places.values()].filter(isOpen);
  }

  /** Reads the open places once, where some voucher has a waiting list. @param {Voucher[]} vouchers */
  async read(vouchers) {
    if (this.#known || !vouchers.some((v) => v.waitlistWindowSeconds)) return;
    this.#known = true;
    const turn = this.#turn;
    const asked = performance.now();
    const answer = await this.client.places();
    if (turn !== this.#turn) return;
    if (!answer.success) {
      this.#known = false; // the next list asks again
      if (answer.status === 401) this.view.refused(answer);
      return;
    }
    for (const place of answer.data) this.#take(place, asked, place.state === 'invited');
    this.view.changed();
  }

  /** Reads the open places again: another tab may have joined or left. @param {Voucher[]} vouchers */
  async reread(vouchers) {
    const open = this.open().map((place) => place.voucherId);
    this.#known = false;
    await this.read(vouchers);
    await Promise.all(open.filter((id) => !this.doing.has(id)).map((id) => this.#ask(id)));
  }

  /** Joins a list. @param {Voucher} voucher */
  join(voucher) {
    return this.#guarded('join', voucher, (ticket) => this.client.joinWaitlist(voucher.id, { ticket }));
  }

  /** Says yes for whenever it is the buyer's turn, or takes that back. @param {Voucher} voucher @param {boolean} standing */
  say(voucher, standing) {
    return this.#guarded('say', voucher, (ticket) => this.client.joinWaitlist(voucher.id, { ticket, standing }));
  }

  /** Accepts an invitation. @param {Voucher} voucher */
  accept(voucher) {
    return this.#guarded('accept', voucher, (ticket) => this.client.acceptInvitation(voucher.id, ticket));
  }

  /**
   * Does what guards of the sale stand before: with the buyer's ticket where the sale needs one.
   * @param {string} what @param {Voucher} voucher @param {(ticket?: string) => Promise<Answer>} ask
   */
  #guarded(what, voucher, ask) {
    return this.#act(what, voucher.id, async () => {
      let needed = Boolean(voucher.ticketsFrom);
      for (let attempt = 1; ; attempt++) {
        const got = needed ? await this.tickets.get(voucher) : null;
        const answer = await ask(got?.ticket);
        if ((answer.code !== 'TICKET_REQUIRED' && answer.code !== 'TICKET_INVALID') || attempt === RETRIES) return answer;
        if (got?.phase === 'refused') return got.answer ?? answer; // why there was no ticket says more
        needed = true;
        this.tickets.drop(voucher.id);
      }
    });
  }

  /** Leaves a list, or declines. @param {Voucher} voucher */
  leave(voucher) {
    return this.#act('leave', voucher.id, () => this.client.leaveWaitlist(voucher.id));
  }

  /** Forgets all: another user may come. */
  clear() {
    this.#turn++;
    this.#known = false;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    for (const map of [this.#timers, this.#places, this.doing, this.refusals]) map.clear();
  }

  /**
   * Does one thing at a time for a voucher; each may be repeated, so that lost answers are asked again.
   * @param {string} what @param {number} id @param {() => Promise<Answer>} ask
   */
  async #act(what, id, ask) {
    if (this.doing.has(id)) return;
    const turn = this.#turn;
    this.doing.set(id, what);
    this.refusals.delete(id);
    this.view.changed();
    const answer = await ask();
    if (turn !== this.#turn) return;
    this.doing.delete(id);
    if (answer.success) {
      this.#take(answer.data);
      this.view.acted();
    } else {
      this.refusals.set(id, answer);
      this.view.refused(answer);
      if (this.of(id)) await this.#ask(id); // what has become of it says why
      if (turn === this.#turn && !this.doing.has(id)) this.refusals.set(id, answer);
    }
    this.view.changed();
  }

  /** Asks what has become of a place. @param {number} id */
  async #ask(id) {
    const turn = this.#turn;
    const asked = performance.now();
    const answer = await this.client.place(id);
    if (turn !== this.#turn) return;
    if (answer.success) {
      if (!this.doing.has(id)) this.#take(answer.data, asked);
    } else if (decided(answer)) {
      this.#places.delete(id);
      if (answer.status === 401) this.view.refused(answer);
    } else {
      this.#askIn(answer.retryAfter || LATER, id);
    }
    this.view.changed();
  }

  /** The random part keeps those who joined together from asking together. @param {number} seconds @param {number} id */
  #askIn(seconds, id) {
    clearTimeout(this.#timers.get(id));
    this.#timers.set(id, window.setTimeout(() => this.#ask(id), seconds * 1000 * (1 + Math.random() / 4)));
  }

  /** Stores a place, unless what is known of it was asked for later. @param {Place} place @param {number} [asked] by performance.now() @param {boolean} [news] whether its state may be */
  #take(place, asked = performance.now(), news = true) {
    const id = place.voucherId;
    if (asked < (this.#asked.get(id) ?? 0)) return;
    this.#asked.set(id, asked);
    const old = this.#places.get(id);
    this.#places.set(id, place);
    clearTimeout(this.#timers.get(id));
    if (old?.state !== place.state) this.refusals.delete(id); // that was of the state before
    if (place.askAgainSeconds) this.#askIn(place.askAgainSeconds, id);
    if (news && old?.state !== place.state && place.state !== 'bought') this.view.notify(old?.state === 'invited' && place.state === 'waiting' ? 'passed' : place.state, place);
    if (old?.state !== 'bought' && place.state === 'bought') this.view.bought(place);
  }
}
