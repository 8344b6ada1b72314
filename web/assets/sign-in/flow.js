// @ts-check
// Signing in by an identity provider: authorization code with PKCE. There is no secret in a page. What it needs when the
// browser comes back is kept for this tab, or in memory; the provider's own token is exchanged at once and not kept.

import { Client } from '../client.js';
import { PROVIDERS } from '../site.js';

/** @typedef {typeof PROVIDERS[number]} Provider */

/**
 * A sign-in that has begun: what the answer is held against, and where its user was.
 * @typedef {{issuer: string, state: string, nonce: string, verifier: string, back: string, url: string, search: string, hash: string, then?: any}} Flow
 */

/** What came of a sign-in: the service's token, or the key of what is wrong, with the service's own words where it has any.
 * away is the issuer that does not answer. @typedef {{token?: string, problem?: string, message?: string, forbidden?: boolean, away?: string}} Result */

/** The flow's name in sessionStorage, and that of the mark that somebody has signed out. */
const KEPT = 'seckill.sign-in', LEFT = 'seckill.signed-out';

/** Milliseconds for the provider's answer. */
const PATIENCE = 20_000;

/** Milliseconds in which the page that has opened a window answers it. */
const TAKEN = 1000;

/** Whether this browser can sign in here: what PKCE needs is there only on pages over HTTPS, or of this machine. */
export const POSSIBLE = globalThis.crypto?.subtle !== undefined;

/** @param {Uint8Array} bytes */
const base64url = (bytes) => btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

/** Begins a sign-in, which is good for one attempt. @param {Provider} provider @returns {Promise<Flow>} */
export async function begin(provider) {
  const { origin, pathname, search, hash } = location;
  const flow = { issuer: provider.issuer, state: random(), nonce: random(), verifier: random(), back: origin + pathname, search, hash };
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(flow.verifier));
  const url = new URL(provider.authorize);
  const query = {
    response_type: 'code', client_id: provider.client, redirect_uri: flow.back, scope: provider.scope, state: flow.state, nonce: flow.nonce,
    code_challenge: base64url(new Uint8Array(digest)), code_challenge_method: 'S256',
    ...(sessionStorage.getItem(LEFT) && { prompt: 'login' }), // who has signed out is not signed in again without a question
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return { ...flow, url: url.href };
}

/** Milliseconds for the first answer of a provider, before a page is left for it. */
const SILENT = 5000;

/** Whether a provider answers at all: without an answer, its page would be an error page of the browser. @param {Provider} provider @returns {Promise<boolean>} */
export const answers = ({ token }) => fetch(token, { mode: 'no-cors', credentials: 'omit', cache: 'no-store', signal: AbortSignal.timeout(SILENT) }).then(() => true, () => false);

/** Leaves for the provider. then is what the page goes on with afterwards. @param {Flow} flow @param {any} [then] */
export function leave(flow, then) {
  sessionStorage.setItem(KEPT, JSON.stringify({ ...flow, then }));
  location.assign(flow.url);
}

/**
 * Takes the provider's answer out of the address, which is again what it was; null when there is none. flow is the sign-in that it answers,
 * and null when that has not begun in this tab. Nothing in an address decides which page is shown.
 * @returns {{flow: Flow | null, answer: Record<string, string>} | null}
 */
export function comeBack() {
  const query = new URLSearchParams(location.search);
  if (!query.has('state') || !(query.has('code') || query.has('error'))) return null;
  /** @type {Flow | null} */
  let flow = JSON.parse(sessionStorage.getItem(KEPT) ?? 'null');
  if (flow?.state === query.get('state')) sessionStorage.removeItem(KEPT);
  else flow = null;
  history.replaceState(null, '', location.pathname + (flow?.search ?? '') + (flow?.hash ?? ''));
  return { flow, answer: Object.fromEntries(query) };
}

/**
 * Sends a window of its own to the provider, so that this page stays as it is. The promise is of the answer.
 * @param {Window} popup @param {Flow} flow @param {AbortSignal} signal ends the waiting @returns {Promise<Record<string, string>>}
 */
export function awaitWindow(popup, flow, signal) {
  popup.location.replace(flow.url);
  const channel = new BroadcastChannel(KEPT);
  signal.addEventListener('abort', () => channel.close());
  return new Promise((done) => {
    channel.onmessage = ({ data }) => {
      if (data.answer?.state !== flow.state) return;
      channel.postMessage({ taken: flow.state });
      channel.close();
      done(data.answer);
    };
  });
}

/** Hands an answer over to the page that has opened this window, and closes it; false when no page waits for it. @param {Record<string, string>} answer @returns {Promise<boolean>} */
export function handOver(answer) {
  const channel = new BroadcastChannel(KEPT);
  return new Promise((done) => {
    const end = (/** @type {boolean} */ taken) => {
      channel.close();
      if (taken) window.close();
      done(taken);
    };
    const timer = setTimeout(() => end(false), TAKEN);
    channel.onmessage = ({ data }) => data.taken === answer.state && (clearTimeout(timer), end(true));
    channel.postMessage({ answer });
  });
}

/**
 * Ends a sign-in: fetches the provider's token for the code, and exchanges it.
 * @param {Flow} flow @param {Record<string, string>} answer @param {'shop' | 'console' | 'till'} purpose @param {() => string} language
 * @returns {Promise<Result>}
 */
export async function finish(flow, answer, purpose, language) {
  const provider = PROVIDERS.find((p) => p.issuer === flow.issuer);
  if (!provider || answer.state !== flow.state || (answer.iss && answer.iss !== provider.issuer)) return { problem: 'provider.stray' };
  if (answer.error) return { problem: answer.error === 'access_denied' ? 'provider.denied' : 'provider.failed' };
  const got = await fetchTokens(provider, flow, answer.code);
  if (got === AWAY) return { problem: 'provider.away', away: provider.issuer };
  const token = provider.access ? got?.access_token : got?.id_token;
  if (!token) return { problem: 'provider.failed' };
  if ((got.id_token || !provider.access) && nonceOf(got.id_token) !== flow.nonce) return { problem: 'provider.stray' };
  const session = await new Client({ language }).ask('POST', '/session', { body: { token, for: purpose } });
  if (session.success) {
    sessionStorage.removeItem(LEFT);
    return { token: session.data.token };
  }
  if (session.code === 'FORBIDDEN') sessionStorage.setItem(LEFT, 'yes'); // else the provider gives the same account at once
  return { problem: session.status === 0 ? 'provider.silent' : 'provider.refused', message: session.errorMsg, forbidden: session.code === 'FORBIDDEN' };
}

/** What stands for the tokens of a provider that is away. */
const AWAY = {};

/** @param {Provider} provider @param {Flow} flow @param {string} code @returns {Promise<any>} null when there is no good answer */
async function fetchTokens(provider, flow, code) {
  try {
    const response = await fetch(provider.token, {
      method: 'POST', credentials: 'omit', cache: 'no-store', redirect: 'error', signal: AbortSignal.timeout(PATIENCE),
      body: new URLSearchParams({
        grant_type: 'authorization_code', code, redirect_uri: flow.back, client_id: provider.client, code_verifier: flow.verifier,
      }),
    });
    return response.ok ? await response.json() : response.status >= 500 ? AWAY : null;
  } catch {
    return await answers(provider) ? null : AWAY;
  }
}

/** @param {string} token */
function nonceOf(token) {
  try {
    return JSON.parse(atob(token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/'))).nonce;
  } catch {
    return undefined;
  }
}

/** Ends the session of who signs out, at all instances; the page forgets the token by itself. @param {Client} client @param {boolean} ofProvider */
export function end(client, ofProvider) {
  if (!ofProvider) return;
  sessionStorage.setItem(LEFT, 'yes');
  client.ask('POST', '/session/end');
}
