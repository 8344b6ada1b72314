// @ts-check
// What a buyer's tabs tell each other: that something was done, so that the others ask the service what it came to. A tab never
// takes another one's word for what the buyer has.

import { KEPT } from './session.js';

/** Milliseconds in which several changes are told as one. */
const GATHER = 100;

export class Tabs {
  #channel = 'BroadcastChannel' in window ? new BroadcastChannel('seckill.buyer') : null;
  #timer = 0;

  /**
   * @param {{changed: () => void, signed: () => void}} on changed: another tab has done something; signed: somebody was signed in or
   * out there
   */
  constructor(on) {
    let timer = 0;
    const soon = () => (clearTimeout(timer), (timer = window.setTimeout(on.changed, GATHER)));
    if (this.#channel) this.#channel.onmessage = soon;
    window.addEventListener('storage', (e) => (e.key === KEPT || e.key === null) && on.signed());
  }

  /** Tells the others that something was done here. */
  tell() {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#channel?.postMessage('changed'), GATHER);
  }
}
