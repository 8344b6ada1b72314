// @ts-check
// The service's API as a page uses it. It has no dependencies and keeps no state but the server's clock. docs/frontends.md
// explains what it relies on. Nothing here throws or rejects because of what the network or the service does.

/** The path below which the service is, as its pages say; "" for the root. */
export const BASE = globalThis.document?.querySelector('meta[name=base]')?.getAttribute('content') ?? '';

/**
 * The result of one request. status is 0 when no answer came; then code is "NO_ANSWER".
 * @typedef {object} Answer
 * @property {boolean} success
 * @property {number} status HTTP status
 * @property {string} [code] of a failure; stable
 * @property {string} [errorMsg] of a failure, for people, in the client's language
 * @property {{field: string, code: string, allowedCode: string, data?: Record<string, any>, reason: string, allowed: string}[]} [errors] of INVALID
 * @property {any} [data]
 * @property {number} [total] of lists
 * @property {string} [next] of lists: the cursor of the following page
 * @property {string} [serverTime]
 * @property {boolean} [stale] of reads: a store could not be asked, and this is what was known last
 * @property {number} [numbersAgeSeconds] of stale vouchers: how long ago stock and states were read
 * @property {number} retryAfter seconds; 0: not in the answer
 */

/**
 * @typedef {object} Voucher
 * @property {number} id
 * @property {number} shopId
 * @property {string} title
 * @property {string} [subTitle]
 * @property {string} [rules]
 * @property {string} [picture] its address
 * @property {number} payValue in the currency's least unit, as all amounts
 * @property {number} actualValue
 * @property {number} type 0 ordinary, 1 sold in a sale
 * @property {number} status 1 on the shelf, 2 off
 * @property {number} [stock] units left now
 * @property {number} [issued] units in all
 * @property {string} [beginTime]
 * @property {string} [endTime]
 * @property {string} [callOffTime] when the shop called its sale off
 * @property {number} [perUser] units that a buyer may have: in a sale in one order, one where it is absent; of an ordinary voucher in as many orders, any number where it is absent
 * @property {boolean} [redeemable] a paid order has a code
 * @property {number} [waitlistWindowSeconds] how long an invitation of its waiting list stands, where it has one
 * @property {string} [ticketsFrom] from when the sale's tickets are given out, where it needs one
 * @property {boolean} [drawn] whether their moments are drawn so that anybody can check it
 * @property {boolean} [stale] stock and state are not of now
 * @property {number} [numbersAge] seconds since they were read, where they are stale
 * @property {string} [saleState] preparing, called_off, off_shelf, paused, not_started, ended, sold_out or on_sale
 */

/**
 * @typedef {object} Order
 * @property {string} id a string: JavaScript cannot represent it exactly
 * @property {number} voucherId
 * @property {string} status queued, unpaid, paid, redeemed, cancelled, refunding, refunded, failed or lapsed; missing while the ledger cannot say
 * @property {number} [quantity] units; one where it is absent
 * @property {number} [amount] for all units
 * @property {string} [reason] why it failed
 * @property {string} [createTime]
 * @property {string} [payBefore]
 * @property {boolean} [processing] it is unpaid, and money for it is under way
 * @property {{amount: number, state: string, createTime: string, refundTime?: string, failTime?: string}[]} [refunds]
 * @property {{status: string, at: string, by: string, why?: string}[]} [history]
 * @property {{code: string, validUntil?: string}} [coupon] where one order was asked for
 */

/**
 * A buyer's place on the waiting list of a sale.
 * @typedef {object} Place
 * @property {number} voucherId
 * @property {string} state waiting, invited, accepted, bought, left, declined, missed, refused, over or called_off
 * @property {boolean} standing it is accepted as soon as it is its turn
 * @property {number} missed how many invitations it has missed
 * @property {number} [ahead] how many wait before it, while it waits
 * @property {boolean} [aheadMore] there are that many or more
 * @property {string} [acceptBefore] until when an invitation may be accepted
 * @property {boolean} [paused] acceptBefore moves on, as the sale stands still
 * @property {string} [orderId] of an accepted one
 * @property {number} [askAgainSeconds] when to ask again, while it is open
 */

/**
 * What a request may have in addition to its method and path.
 * @typedef {object} Options
 * @property {any} [body] sent as JSON
 * @property {string} [key] Idempotency-Key
 * @property {Record<string, string>} [headers] others
 * @property {number} [timeout] milliseconds; default 20,000, more than every ?wait= here
 * @property {AbortSignal} [signal] aborts the request
 */

/** How many attempts are made before the outcome counts as unknown: for some fifteen seconds. */
const ATTEMPTS = 6;

/** Order states in which units are taken and the buyer is a holder in the sale; unknown is what a page calls that of a holder's order without one. */
export const LIVE = new Set(['queued', 'unpaid', 'paid', 'redeemed', 'refunding', 'lapsed', 'unknown']);

/**
 * What came of a purchase: the order, which the buyer may have had before, or why there is none.
 * @typedef {{orderId: string, status: string, quantity?: number} | {refused: string, message: string, left?: number, usableFrom?: string}} Outcome
 */

/**
 * The server's clock, calculated from the browser's monotonic one: a buyer's clock may be wrong or be changed.
 */
export class ServerClock {
  #ahead = Date.now() - performance.now(); // until the server's time is known, the browser's own clock
  #doubt = Infinity; // milliseconds by which it may be wrong

  /**
   * Takes a server time that was received between two readings of performance.now(). The fastest answer is the best one.
   * @param {string | undefined} serverTime @param {number} sent @param {number} received
   */
  note(serverTime, sent, received) {
    const said = Date.parse(serverTime ?? '');
    const doubt = (received - sent) / 2;
    this.#doubt += 1; // crystals drift: an old reading is worth a little less each time
    if (Number.isNaN(said) || doubt > this.#doubt) return;
    this.#doubt = doubt;
    this.#ahead = said - (sent + received) / 2;
  }

  /** Milliseconds since 1970. */
  now() {
    return performance.now() + this.#ahead;
  }
}

/**
 * Seconds to wait before the attempt that follows so many: what the service asked for, else longer each time. The random
 * part keeps many clients from coming back in the same second.
 * @param {number} attempts @param {number} retryAfter
 */
const pauseAfter = (attempts, retryAfter) => (retryAfter || Math.min(8, 0.4 * 2 ** (attempts - 1))) * (1 + Math.random() / 2);

/** Resolves after that time, or when the signal aborts. @param {number} seconds @param {AbortSignal} [signal] */
export const pause = (seconds, signal) =>
  new Promise((done) => {
    const timer = setTimeout(done, signal?.aborted ? 0 : seconds * 1000);
    signal?.addEventListener('abort', () => (clearTimeout(timer), done(undefined)), { once: true });
  });

/** Whether an answer means for certain that nothing was done, and a later retry can help. @param {Answer} a */
export const nothingDone = (a) => a.status === 429 || a.code === 'PAUSED' || a.code === 'UNAVAILABLE';

/** Seconds: who is to wait longer is told so, and their request not repeated. */
const LONGEST_WAIT = 30;

/** Whether an answer lets nobody in for long. @param {Answer} a */
const forLong = (a) => a.code === 'COOL_DOWN' || a.retryAfter > LONGEST_WAIT;

/** The headers of a request that guards may want a ticket of. @param {string} [ticket] @returns {{headers: Record<string, string>}} */
const ticketed = (ticket) => ({ headers: ticket ? { 'X-Seckill-Ticket': ticket } : {} });

/** Whether a retry would give the same answer, at least soon. @param {Answer} a */
export const decided = (a) => a.success || (a.status >= 400 && a.status < 500 && (a.status !== 429 || forLong(a)));

export class Client {
  /** The server's clock, set by every list of vouchers. */
  clock = new ServerClock();
  #token;
  #language;
  /** @type {Map<string, Promise<any>>} purchases under way, by what is bought and by whom */
  #buying = new Map();

  /**
   * @param {object} [from]
   * @param {() => string} [from.token] the token; "" when signed out
   * @param {() => string} [from.language] in which errorMsg is to be
   */
  constructor({ token = () => '', language = () => 'en' } = {}) {
    this.#token = token;
    this.#language = language;
  }

  /**
   * One request.
   * @param {string} method @param {string} path @param {Options} [options]
   * @returns {Promise<Answer>}
   */
  async ask(method, path, { body, key, headers: others, timeout = 20_000, signal } = {}) {
    /** @type {Record<string, string>} */
    const headers = { 'Accept-Language': this.#language(), ...others };
    if (this.#token()) headers.Authorization = `Bearer ${this.#token()}`;
    if (key) headers['Idempotency-Key'] = key;
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    const patience = AbortSignal.timeout(timeout);
    const sent = performance.now();
    try {
      const response = await fetch(BASE + path, {
        method,
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        cache: 'no-store',
        signal: signal ? AbortSignal.any([signal, patience]) : patience,
      });
      const heard = performance.now(); // the headers are there; on a slow line the body takes long, and only one way
      const answer = await response.json().catch(() => ({})); // a proxy may answer in HTML
      this.clock.note(answer.serverTime ?? answer.data?.serverTime, sent, heard);
      return {
        ...answer,
        success: response.ok && answer.success === true,
        status: response.status,
        retryAfter: Number(response.headers.get('Retry-After')) || 0,
      };
    } catch {
      return { success: false, status: 0, code: 'NO_ANSWER', retryAfter: 0 };
    }
  }

  /**
   * Retries until the answer is certain, at most ATTEMPTS times. Only for what may be repeated. What is uncertain at the end has
   * unknown set: it may have been done, also where a guard's refusal follows that does not say. A paused sale is not retried: a person has decided it, and it may last.
   * @param {string} method @param {string} path
   * @param {Options & {again?: (a: Answer) => void}} [options] again is called with each answer that is not the last
   * @returns {Promise<Answer & {unknown?: boolean}>}
   */
  async insist(method, path, { again, ...options } = {}) {
    const who = this.#token();
    let unknown = false; // one of the attempts may have done it
    for (let attempt = 1; ; attempt++) {
      const answer = await this.ask(method, path, options);
      if (decided(answer)) return unknown && answer.data?.orderKnown === false ? { ...answer, unknown } : answer;
      if (!nothingDone(answer)) unknown = true;
      if (answer.code === 'PAUSED' || attempt === ATTEMPTS || options.signal?.aborted) return { ...answer, unknown };
      again?.(answer);
      await pause(pauseAfter(attempt, answer.retryAfter), options.signal);
      if (this.#token() !== who) return { ...answer, unknown }; // another user is signed in now
    }
  }

  /**
   * Buys in a sale, once however often it is called meanwhile. ALREADY_BOUGHT is a success here: it is also the
   * answer to a repeated request whose first answer was lost. Where fewer units are left than quantity, nothing is bought:
   * refused is NOT_ENOUGH, and left is how many there are. Before the ticket's moment it is NOT_STARTED, and usableFrom is the moment.
   * @param {number} voucherId
   * @param {{quantity?: number, ticket?: string, again?: (a: Answer) => void}} [options] quantity is at most the voucher's perUser
   * @returns {Promise<Outcome>}
   */
  buy(voucherId, { quantity = 1, ticket = '', again } = {}) {
    /** @type {Record<string, string>} */
    const headers = ticket ? { 'X-Seckill-Ticket': ticket } : {};
    const path = `/voucher/seckill/${voucherId}?wait=2s${quantity > 1 ? `&quantity=${quantity}` : ''}`;
    return this.#once(`seckill/${voucherId}`, () => this.insist('POST', path, { headers, again }));
  }

  /**
   * Asks once for the buyer's ticket for a sale. CHALLENGE_REQUIRED has a challenge in data, whose solution the next request
   * sends: /assets/buyer/work.js solves it. Repeating is harmless.
   * @param {number} voucherId @param {string} [solution] ALTCHA's payload
   * @returns {Promise<Answer>}
   */
  ticket(voucherId, solution) {
    /** @type {Record<string, string>} */
    const headers = solution ? { 'X-Seckill-Altcha': solution } : {};
    return this.ask('POST', `/voucher/seckill/${voucherId}/ticket`, { headers });
  }

  /**
   * Buys an ordinary voucher, once for each key.
   * @param {number} voucherId @param {string} key a uuid made when the buyer presses @param {(a: Answer) => void} [again]
   * @returns {Promise<Outcome>}
   */
  buyOrdinary(voucherId, key, again) {
    return this.#once(`buy/${voucherId}`, () => this.insist('POST', `/voucher/buy/${voucherId}`, { key, again }));
  }

  /**
   * @param {string} what @param {() => Promise<Answer & {unknown?: boolean}>} purchase
   * @returns {Promise<Outcome>}
   */
  #once(what, purchase) {
    const mine = `${what} ${this.#token()}`;
    const running = this.#buying.get(mine);
    if (running) return running;
    const promise = purchase()
      .then((a) => {
        if (a.success || a.code === 'ALREADY_BOUGHT') return a.data;
        return { refused: a.unknown ? 'UNKNOWN_OUTCOME' : a.code || 'INTERNAL', message: a.errorMsg || '', left: a.data?.left, usableFrom: a.data?.usableFrom };
      })
      .finally(() => this.#buying.delete(mine));
    this.#buying.set(mine, promise);
    return promise;
  }

  /**
   * A page of a shop's vouchers, newest first; next is where the following page begins, without one it is the last.
   * @param {number} shopId @param {Record<string, string>} [page] limit, before
   */
  vouchers(shopId, page = {}) {
    return this.ask('GET', `/voucher/list/${shopId}?${new URLSearchParams(page)}`);
  }

  /** One order with its history. @param {string} id @param {string} [wait] such as "10s", for as long as it is queued */
  order(id, wait) {
    return this.insist('GET', `/order/${id}${wait ? `?wait=${wait}` : ''}`);
  }

  /** A page of my orders, newest first. @param {Record<string, string>} [filter] limit, before, status, voucherId */
  orders(filter = {}) {
    return this.insist('GET', `/order?${new URLSearchParams(filter)}`);
  }

  /** Begins a payment; data.payUrl is where it is paid, none when there is nothing to pay. @param {string} id */
  pay(id) {
    return this.insist('POST', `/order/${id}/pay`);
  }

  /** @param {string} id */
  cancel(id) {
    return this.insist('POST', `/order/${id}/cancel`);
  }

  /** @param {string} id */
  refund(id) {
    return this.insist('POST', `/order/${id}/refund`);
  }

  /** My open places on waiting lists. */
  places() {
    return this.ask('GET', '/waitlist');
  }

  /** My place on a sale's waiting list, open or ended. @param {number} voucherId */
  place(voucherId) {
    return this.ask('GET', `/voucher/${voucherId}/waitlist`);
  }

  /**
   * Joins the waiting list of a sold-out sale; again gives the same place. standing says yes for whenever it is my turn.
   * @param {number} voucherId @param {{ticket?: string, standing?: boolean}} [options]
   */
  joinWaitlist(voucherId, { ticket, standing } = {}) {
    return this.insist('POST', `/voucher/${voucherId}/waitlist${standing === undefined ? '' : `?standing=${standing}`}`, ticketed(ticket));
  }

  /** Accepts the invitation of my place; data.orderId is the order. @param {number} voucherId @param {string} [ticket] */
  acceptInvitation(voucherId, ticket) {
    return this.insist('POST', `/voucher/${voucherId}/waitlist/accept`, ticketed(ticket));
  }

  /** Gives up my place, or declines. @param {number} voucherId */
  leaveWaitlist(voucherId) {
    return this.insist('POST', `/voucher/${voucherId}/waitlist/leave`);
  }

  /** The code of an order as a picture, for <img src>; "" when there is no answer. @param {string} id */
  async qr(id) {
    try {
      const response = await fetch(`${BASE}/order/${id}/qr`, { headers: { Authorization: `Bearer ${this.#token()}` }, signal: AbortSignal.timeout(20_000) });
      return response.ok ? `data:image/svg+xml,${encodeURIComponent(await response.text())}` : '';
    } catch {
      return '';
    }
  }

  /** A fresh buyer for trying out; only the embedded mode has any. */
  demoBuyer() {
    return this.ask('POST', '/demo/buyer');
  }

  /**
   * Calls changed with each of my orders that may change by itself, at once and at every change, until it is stopped: it returns a
   * function for that. It does not tell of orders that are made later. ended is called when nothing follows any more, or where the
   * service refuses the stream; a connection that is lost comes back by itself.
   * @param {(order: Order) => void} changed @param {(refused: boolean) => void} ended
   */
  follow(changed, ended) {
    const events = new EventSource(`${BASE}/order/events?access_token=${encodeURIComponent(this.#token())}`);
    let last = false; // nothing follows
    events.addEventListener('order', (e) => changed(JSON.parse(e.data)));
    events.addEventListener('bye', (e) => (last = JSON.parse(e.data).reason === 'final'));
    events.addEventListener('error', () => {
      if (!last && events.readyState !== EventSource.CLOSED) return;
      events.close();
      ended(!last);
    });
    return () => events.close();
  }
}

/** The claims of a token, merchant and shop being those of a merchant's and of a till's, session whether an identity provider's user has signed in; null when it is no token. Only the service can decide whether it is valid. @param {string} token */
export function claims(token) {
  try {
    const payload = token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/');
    const { sub, role, shop, exp, via } = JSON.parse(atob(payload));
    /** @param {string} one */
    const shopOf = (one) => (role === one ? Number(shop) || 0 : 0);
    return { user: String(sub), admin: role === 'admin', merchant: shopOf('merchant'), shop: shopOf('till'), expires: Number(exp) * 1000, session: via === 'session' };
  } catch {
    return null;
  }
}
