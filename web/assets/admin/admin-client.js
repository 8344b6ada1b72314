// @ts-check
// The console's client of the service: the client of all pages, with pages of lists, and the stream of a sale's stats.

import { BASE, Client, pause } from '../client.js';
import { Again } from '../sign-in/again.js';
import { Windows } from '../windows.js';

/** @typedef {import('../client.js').Answer} Answer */

/**
 * How a sale goes, across all instances.
 * @typedef {object} Figures
 * @property {string} at @property {string} saleState @property {string} beginTime @property {string} endTime
 * @property {number} epoch @property {number} sequence
 * @property {number} issued @property {number} stock @property {number} held @property {number} recorded @property {boolean} stale
 * @property {number} accepted @property {Record<string, number>} refused by code @property {number} [p99Ms] of the answers since the figures before
 * @property {{settings?: any, stopped: Record<string, number>, wouldStop: Record<string, number>, unitsByAge: Record<string, number>, stoppedNetworks: {network: string, count: number}[], unitNetworks: {network: string, count: number}[]}} [guards]
 * @property {number} waiting @property {number} waitingMs @property {number} deadLetters @property {number} [partition]
 * @property {{at: string, finding: string, why?: string, issued: number, stock: number, held: number, live: number, difference: number, lost: number}} [balance]
 * @property {{at: string, kind?: string, redis: any, database: any}} [lostDecision] while it is paused: what the database has lost
 */

/** What is before the path and the body of a creation in the tab's storage. */
const CREATING = 'seckill.creating ';

/** Seconds between two attempts to watch again. */
const AGAIN = 2;

/** Seconds of a stream that brings nothing, though figures come every second, after which it is taken for dead: a network may go without a word. */
const SILENT = 15;

/** Seconds between two looks at a sale where the window may have no stream. */
const LOOK = 2;

export class AdminClient extends Client {
  #session;
  #windows = new Windows(() => this.#turned());
  #watched = 0;
  /** Ends when this window gets a stream, or has to give it up. */
  #turn = new AbortController();
  /** The shop to which the signed-in user is restricted; 0: none. */
  get shop() {
    return this.#session.shop;
  }

  /** Called with the answer when the service no longer accepts the token. @type {(a: Answer) => void} */
  refused = () => {};

  /** @param {import('./session.js').Session} session @param {() => string} language */
  constructor(session, language) {
    super({ token: () => session.token, language });
    this.#session = session;
    this.again = new Again(session);
  }

  /** @param {string} method @param {string} path @param {import('../client.js').Options} [options] @returns {Promise<Answer>} */
  async ask(method, path, options) {
    const asked = this.#session.token;
    const answer = await super.ask(method, path, options);
    if (answer.status === 401 && (await this.again.renewed(asked))) return this.ask(method, path, options);
    if (this.#session.token && (answer.status === 401 || answer.code === 'FORBIDDEN')) this.refused(answer);
    return answer;
  }

  /**
   * Creates something, once, however often it is called with the same body until the service has answered: the key of a creation whose outcome is
   * not known stays in the tab, also when the page is loaded anew. @param {string} path @param {any} [body]
   */
  async create(path, body) {
    const what = `${CREATING}${path} ${JSON.stringify(body)}`;
    const key = sessionStorage.getItem(what) ?? newKey();
    sessionStorage.setItem(what, key);
    const answer = await this.insist('POST', path, { body, key });
    if (!answer.unknown) sessionStorage.removeItem(what);
    return answer;
  }

  /** A file, null when it does not come, or not as a whole. @param {string} path @returns {Promise<Blob | null>} */
  async file(path) {
    const asked = this.#session.token;
    try {
      const response = await fetch(BASE + path, { headers: { Authorization: `Bearer ${asked}` }, cache: 'no-store' });
      if (response.status === 401 && (await this.again.renewed(asked))) return this.file(path);
      if (response.status === 401 || response.status === 403) this.refused({ ...(await response.json()), status: response.status });
      return response.ok ? await response.blob() : null;
    } catch {
      return null;
    }
  }

  /** A page of a list. @param {string} path @param {Record<string, string>} filter empty ones are left out; a coupon's code goes into a header, as the service reads it; a header has ASCII alone, so another letter becomes U, which no code has */
  list(path, { code = '', ...filter } = {}) {
    const given = Object.entries(filter).filter(([, value]) => value !== '');
    return this.ask('GET', `${path}?${new URLSearchParams(given)}`, code ? { headers: { 'Coupon-Code': code.normalize('NFKC').replace(/[^\p{L}\p{Nd}]/gu, '').replace(/[^ -~]/gu, 'U') || 'U' } } : {});
  }

  /**
   * Watches a sale until the returned function is called. figures comes every second; away means that they do not come
   * now, and has the reason: "stores" when a store cannot be asked, "service" when there is no answer.
   * @param {number} id @param {{figures: (f: Figures) => void, away: (why: string) => void}} view
   */
  watch(id, view) {
    const stop = new AbortController();
    this.#windows.want(++this.#watched > 0);
    this.#watch(id, view, stop.signal);
    return () => {
      stop.abort();
      this.#windows.want(--this.#watched > 0);
    };
  }

  #turned() {
    this.#turn.abort();
    this.#turn = new AbortController();
  }

  /** @param {number} id @param {{figures: (f: Figures) => void, away: (why: string) => void}} view @param {AbortSignal} signal */
  async #watch(id, view, signal) {
    while (!signal.aborted) {
      const asked = this.#session.token;
      const silence = new AbortController();
      const turn = AbortSignal.any([signal, this.#turn.signal]);
      const stream = this.#windows.may;
      if (document.hidden) {
        await pause(LOOK, turn);
        continue;
      }
      let timer = 0;
      const heard = () => (clearTimeout(timer), (timer = window.setTimeout(() => silence.abort(), SILENT * 1000)));
      heard();
      try {
        // Not an EventSource: that cannot send the token in a header, and an admin's token must not be in an address.
        const response = await fetch(`${BASE}/admin/voucher/${id}/live`, {
          headers: { Authorization: `Bearer ${asked}`, Accept: 'text/event-stream' }, cache: 'no-store', signal: AbortSignal.any([turn, silence.signal]),
        });
        if (response.status === 401 && (await this.again.renewed(asked))) continue;
        if (response.status === 401 || response.status === 403) {
          this.refused({ ...(await response.json()), status: response.status });
          return;
        }
        if (!response.ok || !response.body) view.away(response.status === 503 ? 'stores' : 'service');
        else await this.#read(response.body, view, heard, stream);
      } catch {
        if (!turn.aborted) view.away('service');
      } finally {
        clearTimeout(timer);
      }
      await pause(stream ? AGAIN : LOOK, turn);
    }
  }

  /**
   * Reads a stream to its end, or its first event.
   * @param {ReadableStream<Uint8Array>} body @param {{figures: (f: Figures) => void, away: (why: string) => void}} view @param {() => void} heard is called with each piece @param {boolean} all
   */
  async #read(body, view, heard, all) {
    const reader = body.pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
    let text = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      text += value;
      const events = text.split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) {
        const lines = event.split('\n');
        const name = lines.find((l) => l.startsWith('event: '))?.slice(7);
        const data = lines.find((l) => l.startsWith('data: '))?.slice(6) ?? '{}';
        if (name === 'figures') view.figures(JSON.parse(data));
        else if (name === 'away') view.away('stores');
        if (!all && name) return reader.cancel();
      }
    }
  }
}

/** A random key. crypto.randomUUID exists only on pages that came over HTTPS or from this machine. */
export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');
}
