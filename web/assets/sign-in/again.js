// @ts-check
// Signing in again while a page is in use: requests that were refused wait until their user has, and are sent again.

import { claims } from '../client.js';

/** @param {string} token */
const who = (token) => {
  const c = claims(token);
  return c ? `${c.user} ${c.admin} ${c.merchant} ${c.shop}` : '';
};

export class Again {
  #session;
  /** @type {Promise<boolean> | null} whether the same user has signed in again */
  #waiting = null;
  /** @type {(ok: boolean) => void} */
  #done = () => {};
  /** Shows that somebody has to sign in, and hides it; the page sets it. @type {(open: boolean) => void} */
  show = () => {};

  /** @param {{token: string}} session */
  constructor(session) {
    this.#session = session;
  }

  /** Waits until the user of a token that was refused has another one; false when they have signed out. @param {string} refused @returns {Promise<boolean>} */
  async renewed(refused) {
    if (!claims(refused)?.session) return false; // a token that was pasted has nobody who would give another
    if (this.#session.token !== refused) return this.#session.token !== '' && who(this.#session.token) === who(refused);
    if (!this.#waiting) {
      this.#waiting = new Promise((done) => (this.#done = done));
      this.show(true);
    }
    return this.#waiting;
  }

  /** Whether a token is of the user who is signed in. @param {string} token */
  same(token) {
    return who(token) === who(this.#session.token);
  }

  /** Ends the waiting; the session has the new token, or none. @param {boolean} ok */
  end(ok) {
    this.#waiting = null;
    this.show(false);
    this.#done(ok);
  }
}
