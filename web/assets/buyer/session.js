// @ts-check
// Who the buyer is: a token, kept on this browser until it expires or they sign out.

import { claims } from '../client.js';

/** The token's name in localStorage. */
export const KEPT = 'seckill.token';

export class Session {
  token = localStorage.getItem(KEPT) ?? '';

  /** The user's number; "" for nobody. */
  get user() {
    return claims(this.token)?.user ?? '';
  }

  /** Whether they have signed in by an identity provider. */
  get ofProvider() {
    return claims(this.token)?.session ?? false;
  }

  /** Takes a token; false for what is none, or has expired by the given time. @param {string} token @param {number} now */
  signIn(token, now) {
    token = token.trim().replace(/^bearer\s+/i, '');
    const who = claims(token);
    if (!who || who.expires <= now) return false;
    this.token = token;
    localStorage.setItem(KEPT, token);
    return true;
  }

  /** Takes what another tab has kept; false when it is the same. */
  reread() {
    const now = localStorage.getItem(KEPT) ?? '';
    if (now === this.token) return false;
    this.token = now;
    return true;
  }

  signOut() {
    this.token = '';
    localStorage.removeItem(KEPT);
  }
}
