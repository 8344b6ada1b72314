// @ts-check
// Who the admin or the merchant is: a token, kept for as long as this tab is open.

import { claims } from '../client.js';

const KEPT = 'seckill.admin';

export class Session {
  token = sessionStorage.getItem(KEPT) ?? '';

  /** The shop of a merchant; 0 for an admin. */
  get shop() {
    return claims(this.token)?.merchant ?? 0;
  }

  /** Their number; "" when signed out. */
  get user() {
    return claims(this.token)?.user ?? '';
  }

  /** Whether they have signed in by an identity provider. */
  get ofProvider() {
    return claims(this.token)?.session ?? false;
  }

  /**
   * Returns what is wrong with a token, as far as its own claims show: the key of a text, "" for nothing.
   * @param {string} token @param {number} now
   */
  static problem(token, now) {
    const who = claims(token);
    if (!who) return 'sign.none';
    if (!who.admin && !who.merchant) return 'sign.buyer';
    return who.expires <= now ? 'sign.expired' : '';
  }

  /** @param {string} token */
  keep(token) {
    this.token = token;
    sessionStorage.setItem(KEPT, token);
  }

  forget() {
    this.token = '';
    sessionStorage.removeItem(KEPT);
  }
}
