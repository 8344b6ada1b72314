// @ts-check
// The page's state: what is on offer, what the buyer has, and what is under way. It asks the service and notifies the view;
// it knows nothing of how it is shown.

import { LIVE, nothingDone } from '../client.js';
import { Followed } from './followed.js';
import { Listing, nearSale } from './listing.js';
import { Places } from './places.js';
import { Tabs } from './tabs.js';
import { LEARNED, UNDER_WAY } from './state.js';
import { Tickets, givenUp } from './tickets.js';

/** @typedef {import('../client.js').Voucher} Voucher */
/** @typedef {import('../client.js').Order} Order */
/** @typedef {import('./state.js').Press} Press */

/** Milliseconds between two reads of the list, while something sells or is about to, and otherwise. */
const SOON = 4_000;
const LATER = 20_000;

/** Milliseconds between two looks at the clock while a press is kept: the server's is known better and better. */
const LOOK = 500;

/** States that orders of a sale that is called off leave without their buyer. */
const UNWOUND = new Set(['queued', 'unpaid', 'paid']);

/** How often a press is sent again with another ticket, or because its moment had not come. */
const RETRIES = 5;

export class Shop {
  /** @type {Voucher[] | null} null until the first list */
  vouchers = null;
  /** Whether the shop has more vouchers than are shown. */
  more = false;
  /** @type {Order[]} newest first */
  orders = [];
  /** Whether the orders were read: without them nobody knows that there are none. */
  ordersKnown = false;
  /** The orders that were live when they were seen. @type {Set<string>} */
  wasLive = new Set();
  /** Whether the buyer has done something on this page. */
  acted = false;
  /** Of the orders, when reading them failed last. @type {import('../client.js').Answer | null} */
  ordersTrouble = null;
  /** Of the list, when reading it failed last. @type {import('../client.js').Answer | null} */
  trouble = null;
  /** @type {Map<number, Press>} by voucher */
  presses = new Map();
  /** How many units the buyer wants, where that is not one. @type {Map<number, number>} by voucher */
  #quantities = new Map();
  /** What is being done to an order: pay, cancel or refund. @type {Map<string, string>} by order */
  doing = new Map();
  /** The refused action of an order, and the state in which it left the order. @type {Map<string, {answer: import('../client.js').Answer, status?: string}>} by order */
  refusals = new Map();

  #listing;
  #followed;
  /** When what is known of an order was asked for or told, by performance.now(). @type {Map<string, number>} by order */
  #asked = new Map();
  /** Idempotency keys of purchases whose outcome is not known. @type {Map<number, string>} by voucher */
  #keys = new Map();
  /** The presses that may go on: withdrawing one ends it. @type {Map<number, object>} by voucher */
  #going = new Map();
  #timer = 0;
  #turn = 0; // how often watching has begun
  #reading = false; // the orders, in the loop of watch
  #ordersAsked = 0; // how often the orders were asked for
  #ordersTaken = 0; // the newest request for them that was answered

  /**
   * @param {import('../client.js').Client} client @param {import('./session.js').Session} session @param {number} shopId
   * @param {{changed: () => void, notify: (event: string, values?: any) => void, signedOut: (then?: () => void) => void, another: () => void}} view signedOut: then is what was refused; another: somebody was signed in or out in another tab
   */
  constructor(client, session, shopId, view) {
    this.client = client;
    this.session = session;
    this.shopId = shopId;
    this.view = view;
    this.#listing = new Listing(client, shopId);
    this.#followed = new Followed(client, { changed: (update) => this.#updatedBy(update), read: () => this.readOrders() });
    this.tickets = new Tickets(client, () => session.user, () => this.view.changed());
    this.tabs = new Tabs({ changed: () => this.#reread(), signed: () => this.session.reread() && this.#another() });
    this.places = new Places(client, this.tickets, {
      changed: () => this.view.changed(),
      acted: () => ((this.acted = true), this.tabs.tell()),
      notify: (event, place) => this.view.notify(`place.${event}`, { title: this.#title(place.voucherId), ahead: place.ahead ?? 0 }),
      bought: (place) => this.#accepted(place),
      refused: (answer) => this.#notPlaced(answer),
    });
  }

  /** The buyer's live order in a sale. @param {number} voucherId */
  liveOrder(voucherId) {
    return this.orders.find((o) => o.voucherId === voucherId && LIVE.has(o.status));
  }

  /** The buyer's newest order of a voucher, in whatever state. @param {number} voucherId */
  orderOf(voucherId) {
    return this.orders.find((o) => o.voucherId === voucherId);
  }

  /** Whether the shop has called a voucher's sale off. @param {number} voucherId */
  calledOff(voucherId) {
    return this.vouchers?.find((v) => v.id === voucherId)?.saleState === 'called_off';
  }

  /** The buyer's live orders of an ordinary voucher, newest first. @param {number} voucherId */
  liveOrders(voucherId) {
    return this.orders.filter((o) => o.voucherId === voucherId && LIVE.has(o.status));
  }

  /** What the service has said to the last action of an order, until that is in another state. @param {Order} order */
  refusalOf(order) {
    const refusal = this.refusals.get(order.id);
    return refusal && refusal.status === order.status ? refusal.answer : undefined;
  }

  /** How many units of a voucher the buyer wants. @param {Voucher} voucher */
  quantity(voucher) {
    return Math.min(this.#quantities.get(voucher.id) ?? 1, voucher.perUser ?? 1);
  }

  /** Sets how many units the buyer wants, which a press under way has settled. @param {Voucher} voucher @param {number} n */
  choose(voucher, n) {
    const press = this.presses.get(voucher.id);
    if (press && press.phase !== 'refused') return;
    this.presses.delete(voucher.id); // a refusal was of another quantity
    this.#quantities.set(voucher.id, n);
    this.view.changed();
  }

  /** Reads the list now, and then at intervals while the page is visible. */
  async watch() {
    clearTimeout(this.#timer);
    const turn = ++this.#turn;
    const answer = document.hidden ? null : await this.#listing.read();
    if (turn !== this.#turn) return; // watching has begun again since then
    if (answer) this.#take(answer);
    if (answer && !this.#reading && (!this.ordersKnown || this.ordersTrouble || this.orders.some((o) => o.processing))) {
      this.#reading = true;
      this.readOrders().finally(() => (this.#reading = false));
    }
    const now = this.client.clock.now();
    const busy = this.trouble !== null || this.vouchers?.some((v) => v.type === 1 && nearSale(v, now));
    this.#timer = window.setTimeout(() => this.watch(), (busy ? SOON : LATER) * (1 + Math.random() / 4));
  }

  /** Shows one page more. */
  showMore() {
    this.#listing.pages++;
    return this.watch();
  }

  /** Stores a list. @param {import('../client.js').Answer} answer */
  #take(answer) {
    if (answer.success) {
      this.trouble = null;
      this.more = Boolean(answer.next);
      const oldest = this.more ? answer.data[answer.data.length - 1].id : 0; // older ones are on the next page
      const gone = (this.vouchers ?? []).filter((old) => old.id > oldest && !answer.data.some((/** @type {Voucher} */ v) => v.id === old.id));
      const listed = answer.data.map((/** @type {Voucher} */ v) => ({ ...v, stale: answer.stale === true, numbersAge: answer.numbersAgeSeconds }));
      this.vouchers = this.#listing.arrange([...listed, ...gone.map((v) => ({ ...v, status: 2 }))]);
      this.planTickets();
      this.readPlaces();
      if (this.orders.some((o) => UNWOUND.has(o.status) && this.calledOff(o.voucherId))) this.readOrders();
    } else {
      this.trouble = answer;
    }
    this.view.changed();
  }

  /** Has the tickets fetched that the buyer will need. */
  planTickets() {
    if (!this.session.token) return;
    for (const v of this.vouchers ?? []) if (v.type === 1 && v.status === 1 && !this.liveOrder(v.id)) this.tickets.plan(v);
  }

  /** Reads the buyer's places on waiting lists. */
  readPlaces() {
    if (this.session.token) this.places.read(this.vouchers ?? []);
  }

  /** An invitation has become an order. @param {import('../client.js').Place} place */
  #accepted({ voucherId, orderId = '' }) {
    if (!this.orders.some((o) => o.id === orderId)) this.#put({ id: orderId, voucherId, status: 'queued' });
    this.view.notify('bought', { title: this.#title(voucherId) });
    this.#settle(orderId);
  }

  /** A waiting list has refused something. @param {import('../client.js').Answer} answer */
  #notPlaced(answer) {
    if (answer.status === 401) return this.signOut();
    this.view.notify('refused', { message: answer.errorMsg });
    this.watch(); // it may be on sale again
    if (answer.code === 'ALREADY_BOUGHT') this.readOrders();
  }

  /** @param {number} voucherId */
  #title(voucherId) {
    return this.vouchers?.find((v) => v.id === voucherId)?.title ?? '';
  }

  /** Reads the buyer's newest orders. */
  async readOrders() {
    if (!this.session.token) return;
    const asked = performance.now();
    const who = this.session.token;
    const mine = ++this.#ordersAsked;
    const answer = await this.client.orders({ limit: '20' });
    if (this.session.token !== who) return; // another user is signed in now
    if (mine < this.#ordersTaken) return; // a request since then was answered first
    this.#ordersTaken = mine;
    if (answer.status === 401) return this.signOut();
    this.ordersTrouble = answer.success ? null : answer;
    if (!answer.success) return this.view.changed();
    this.ordersKnown = true;
    const all = new Map(this.orders.map((o) => [o.id, o]));
    for (const order of answer.data) all.set(order.id, this.#merged(all.get(order.id), order, asked));
    this.orders = [...all.values()].sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? 1 : -1));
    for (const order of this.orders) if (LIVE.has(order.status)) this.wasLive.add(order.id);
    this.#followed.follow(this.orders);
    this.planTickets();
    this.view.changed();
  }

  /** Forgets who the buyer is. */
  /** @param {() => void} [then] what was pressed, and is pressed again once the same user has signed in again */
  signOut(then) {
    const { user } = this.session;
    this.session.signOut();
    this.#forget();
    this.view.signedOut(then && (() => this.session.user === user && then()));
  }

  /** Somebody was signed in or out in another tab. */
  #another() {
    this.#forget();
    this.view.another();
    this.#reread();
  }

  /** Another tab has done something: asks what it came to. */
  #reread() {
    this.readOrders();
    if (this.session.token) this.places.reread(this.vouchers ?? []);
    this.watch();
  }

  /** Forgets what belongs to a buyer. */
  #forget() {
    this.#followed.end();
    this.orders = [];
    this.wasLive.clear();
    this.acted = false;
    this.ordersKnown = false;
    this.ordersTrouble = null;
    this.presses.clear();
    this.#going.clear();
    this.tickets.clear();
    this.places.clear();
    this.doing.clear();
    this.refusals.clear();
  }

  /**
   * The button. While a press is under way, or its order exists, pressing again does nothing: one click, one order.
   * @param {Voucher} voucher
   */
  async press(voucher) {
    const before = this.presses.get(voucher.id);
    if (before && UNDER_WAY.has(before.phase)) return;
    this.acted = true;
    if (voucher.type === 1 && this.liveOrder(voucher.id)) return;
    const who = this.session.token;
    const again = (/** @type {import('../client.js').Answer} */ a) => this.session.token === who && this.#note(voucher.id, { phase: nothingDone(a) ? 'busy' : 'again' });
    let outcome;
    if (voucher.type === 1) {
      outcome = await this.#buy(voucher, again);
    } else {
      this.#note(voucher.id, { phase: 'asking' });
      outcome = await this.client.buyOrdinary(voucher.id, this.#key(voucher.id), again);
    }
    if (this.session.token !== who || !outcome) return;
    if ('orderId' in outcome) {
      this.presses.delete(voucher.id);
      this.#keys.delete(voucher.id);
      this.#quantities.delete(voucher.id);
      this.#put({ id: outcome.orderId, voucherId: voucher.id, status: outcome.status, quantity: outcome.quantity });
      this.view.notify('bought', { title: voucher.title });
      this.watch(); // the stock has changed
      await this.#settle(outcome.orderId);
      return;
    }
    if (outcome.refused === 'UNKNOWN_OUTCOME') {
      this.#note(voucher.id, { phase: 'unknown' });
      this.view.notify('unknown');
      await this.readOrders(); // a guard may have kept the service from saying
      return;
    }
    this.#keys.delete(voucher.id);
    if (outcome.refused === 'UNAUTHENTICATED') {
      const n = this.quantity(voucher);
      this.presses.delete(voucher.id);
      this.signOut(() => {
        if (n > 1) this.choose(voucher, n);
        this.press(voucher);
      });
      return;
    }
    const few = outcome.refused === 'NOT_ENOUGH' && outcome.left ? { stock: outcome.left } : {};
    if (few.stock) this.#quantities.set(voucher.id, few.stock);
    this.vouchers = (this.vouchers ?? []).map((v) => (v.id === voucher.id ? { ...v, ...LEARNED[outcome.refused], ...few } : v));
    this.#note(voucher.id, { phase: 'refused', code: outcome.refused, message: outcome.message, left: few.stock });
    this.view.notify(few.stock ? 'few' : 'refused', outcome);
  }

  /**
   * Buys in a sale: with the buyer's ticket, at their moment, where the sale needs one. Without a ticket, and after an unknown outcome,
   * the purchase is asked all the same: it tells a winner their order. null: the press was withdrawn.
   * @param {Voucher} voucher @param {(a: import('../client.js').Answer) => void} again
   * @returns {Promise<import('../client.js').Outcome | null>}
   */
  async #buy(voucher, again) {
    const unknown = this.presses.get(voucher.id)?.phase === 'unknown';
    const press = {};
    this.#going.set(voucher.id, press);
    const goes = () => this.#going.get(voucher.id) === press;
    let needed = Boolean(voucher.ticketsFrom) && !unknown;
    let ticket = this.tickets.of(voucher.id)?.ticket ?? '';
    for (let attempt = 1; ; attempt++) {
      /** @type {import('./tickets.js').Ticket | null} */
      const got = needed ? await this.#ticket(voucher, goes) : null;
      if (!goes()) return null;
      if (got) ticket = got.ticket ?? '';
      this.#note(voucher.id, { phase: 'asking' });
      const outcome = await this.client.buy(voucher.id, { quantity: this.quantity(voucher), ticket, again });
      if (!goes()) return null;
      if (!('refused' in outcome) || attempt === RETRIES) return outcome;
      if (outcome.refused === 'NOT_STARTED' && outcome.usableFrom) {
        if (!(await this.#until(voucher, () => Date.parse(outcome.usableFrom ?? ''), goes))) return null;
      } else if (got?.phase === 'refused') { // why there was no ticket says more
        return outcome.refused === 'TICKET_REQUIRED' ? { refused: got.answer?.code ?? 'INTERNAL', message: got.answer?.errorMsg ?? '' } : outcome;
      } else if (outcome.refused === 'TICKET_REQUIRED' || outcome.refused === 'TICKET_INVALID') {
        needed = true;
        this.tickets.drop(voucher.id);
      } else {
        return outcome;
      }
    }
  }

  /** The buyer's ticket, once their moment has come. @param {Voucher} voucher @param {() => boolean} goes */
  async #ticket(voucher, goes) {
    for (;;) {
      if (this.tickets.of(voucher.id)?.phase !== 'ready') this.#note(voucher.id, { phase: 'ticket' });
      const listed = () => this.vouchers?.find((v) => v.id === voucher.id) ?? voucher; // its start may be changed meanwhile
      const got = await this.tickets.get(listed());
      if (goes() && givenUp(got) && this.client.clock.now() < Date.parse(listed().beginTime ?? '')) continue; // there is time yet
      if (!goes() || got.phase !== 'ready') return got;
      const stands = () => listed().beginTime === got.beginTime; // the start that the ticket goes by
      const came = await this.#until(voucher, () => (stands() ? got.usableFrom ?? 0 : 0), goes);
      if (!came || stands()) return got;
    }
  }

  /**
   * Keeps a press until a moment, by the server's clock. false: it was withdrawn.
   * @param {Voucher} voucher @param {() => number} moment @param {() => boolean} goes
   */
  async #until(voucher, moment, goes) {
    for (;;) {
      const left = moment() - this.client.clock.now();
      if (left <= 0) return true;
      if (this.presses.get(voucher.id)?.phase !== 'kept') this.view.notify('kept');
      this.#note(voucher.id, { phase: 'kept', at: moment() });
      await new Promise((done) => setTimeout(done, Math.min(left, LOOK)));
      if (!goes()) return false;
    }
  }

  /** Withdraws a press that was not sent yet. @param {Voucher} voucher */
  withdraw(voucher) {
    const phase = this.presses.get(voucher.id)?.phase;
    if (phase !== 'kept' && phase !== 'ticket') return;
    this.#going.delete(voucher.id);
    this.presses.delete(voucher.id);
    this.view.changed();
  }

  /**
   * Pays, cancels or refunds; once, however often it is pressed meanwhile. Paying leaves the page.
   * @param {'pay' | 'cancel' | 'refund'} what @param {Order} order
   */
  async act(what, order) {
    if (this.doing.has(order.id)) return;
    this.doing.set(order.id, what);
    this.refusals.delete(order.id);
    this.view.changed();
    const who = this.session.token;
    const answer = await this.client[what](order.id);
    if (this.session.token !== who) return;
    if (answer.success && answer.data.payUrl) {
      location.assign(answer.data.payUrl);
      return; // it stays "paying" until the page is left
    }
    this.doing.delete(order.id);
    if (answer.status === 401) return this.signOut();
    const refused = () => this.refusals.set(order.id, { answer, status: this.orders.find((o) => o.id === order.id)?.status });
    if (!answer.success) refused();
    await this.readOrder(order.id);
    if (!answer.success && this.session.token === who && !this.doing.has(order.id)) refused(); // the state that it is in now may be why
    this.watch();
  }

  /** Forgets what was being done: the buyer has come back from paying. */
  cameBack() {
    this.doing.clear();
    this.view.changed();
    this.watch();
    this.readOrders();
  }

  /** Reads an order with its history. @param {string} id */
  async readOrder(id) {
    const who = this.session.token;
    const asked = performance.now();
    const answer = await this.client.order(id);
    if (answer.success && this.session.token === who) this.#put(answer.data, asked);
  }

  /** Waits until an order has its row, then follows it. @param {string} id */
  async #settle(id) {
    const who = this.session.token;
    const asked = performance.now();
    const answer = await this.client.order(id, '10s');
    if (answer.success && this.session.token === who) this.#put(answer.data, asked);
    this.#followed.follow(this.orders);
  }

  /** @param {number} voucherId */
  #key(voucherId) {
    const key = this.#keys.get(voucherId) ?? newKey();
    this.#keys.set(voucherId, key);
    return key;
  }

  /** @param {number} voucherId @param {Press} press */
  #note(voucherId, press) {
    this.presses.set(voucherId, press);
    this.view.changed();
  }

  /** Stores an order as it was at a moment, or is now. @param {Order} order @param {number} [asked] by performance.now() */
  #put(order, asked = performance.now()) {
    const i = this.orders.findIndex((o) => o.id === order.id);
    const old = this.orders[i];
    order = this.#merged(old, order, asked);
    if (LIVE.has(order.status)) this.wasLive.add(order.id);
    if (i < 0) this.orders = [order, ...this.orders];
    else this.orders = this.orders.with(i, order);
    if (old && old.status !== order.status) this.view.notify('order', { status: order.status });
    this.#followed.follow(this.orders);
    if (old?.status !== order.status) this.tabs.tell();
    this.view.changed();
  }

  /**
   * What is known of an order with what is heard of it: where that was asked for earlier it only adds what is missing, unless the order was queued,
   * which all other states come after. An order has no state while only Redis knows it. Money that is under way is left out once it is not.
   * @param {Order | undefined} known @param {Order} heard @param {number} asked @returns {Order}
   */
  #merged(known, heard, asked) {
    const last = this.#asked.get(heard.id) ?? 0;
    this.#asked.set(heard.id, Math.max(last, asked));
    const [old, now] = known && known.status !== 'queued' && asked < last ? [heard, known] : [known, heard];
    return { ...old, ...now, processing: now.processing ?? false, status: now.status || old?.status || 'unknown' };
  }

  /** The stream of a followed order has told its state. @param {Order} update */
  async #updatedBy(update) {
    const known = this.orders.find((o) => o.id === update.id);
    if (known?.status === update.status && known.processing === (update.processing ?? false)) return;
    this.#put(update);
    await this.readOrder(update.id);
    this.watch(); // a unit may have gone, or come back
  }
}

/** A random key. crypto.randomUUID exists only on pages that came over HTTPS or from this machine. */
function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');
}
