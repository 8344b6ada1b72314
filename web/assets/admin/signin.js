// @ts-check
// Signing in: by an identity provider, or with an admin's or a merchant's token. What its own claims show to be wrong is reported before the service is asked.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { claims } from '../client.js';
import { Otherwise, Providers } from '../sign-in.js';
import { PROVIDERS } from '../site.js';
import { Session } from './session.js';

/** The code of the sign-in link that the service prints at its start, out of the address and not in its history any more. */
export function linkCode() {
  const code = /^#sign-in=(\w+)$/.exec(location.hash)?.[1] ?? '';
  if (code) history.replaceState(null, '', location.pathname);
  return code;
}

/** Seconds without an answer after which the page says that it waits. */
const SLOW = 2;

/** @param {any} props why is the key of the reason to sign in again, or ""; code is a sign-in link's, or "" */
export function SignIn({ client, session, words, why, code, onTried, onSignedIn }) {
  const { t } = words;
  const [problem, setProblem] = useState('');
  const [asking, setAsking] = useState(false);
  const [slow, setSlow] = useState(false);
  const field = useRef(/** @type {any} */ (null));
  useEffect(() => field.current.focus(), [problem]); // with a problem, it is read out
  useEffect(() => void (code && follow()), [code]);
  useEffect(() => {
    setSlow(false);
    const timer = asking ? setTimeout(() => setSlow(true), SLOW * 1000) : 0;
    return () => clearTimeout(timer);
  }, [asking]);
  const follow = async () => {
    onTried();
    setAsking(true);
    const answer = await client.ask('POST', '/demo/admin', { body: { code } });
    setAsking(false);
    if (answer.success) return session.keep(answer.data.token), onSignedIn();
    setProblem(answer.errorMsg || t('no.answer'));
  };
  /** @param {any} e */
  const submit = async (e) => {
    e.preventDefault();
    if (asking) return;
    const token = field.current.value.trim().replace(/^bearer\s+/i, '');
    const wrong = Session.problem(token, client.clock.now());
    if (wrong) return setProblem(t(wrong, { user: claims(token)?.user ?? '' }));
    setProblem('');
    setAsking(true);
    session.token = token; // only for this request
    const refused = client.refused;
    client.refused = () => {};
    const answer = await client.list('/admin/voucher', { limit: '1' });
    client.refused = refused;
    setAsking(false);
    // Who is an admin may in while a store is away: the pages say so, and what was running can be watched.
    if (answer.success || answer.code === 'UNAVAILABLE') return session.keep(token), onSignedIn();
    session.token = '';
    if (answer.status === 401) setProblem(t('sign.refused'));
    else setProblem(answer.errorMsg || t('no.answer'));
  };
  return html`
    <div class="panel sign-in stack">
      <h1>${t('title')}</h1>
      ${why && html`<p class="note warn" role="alert">${t(why, { user: '' })}</p>`}
      <${Providers} words=${words} purpose="console" onToken=${(/** @type {string} */ token) => (session.keep(token), onSignedIn())} />
      <${Otherwise} words=${words}><form class="stack" onInput=${() => setProblem('')} onSubmit=${submit}>
      <div class="field">
        <label for="token">${t('sign.token')}</label>
        <textarea id="token" ref=${field} rows="4" required spellcheck="false" autocomplete="off" autocapitalize="off"
          aria-invalid=${String(problem !== '')} aria-describedby="token-hint token-problem"></textarea>
        <p class="field-hint" id="token-hint">${t('sign.hint')}</p>
        <p class="field-problem" id="token-problem" role="alert">${problem}</p>
      </div>
      <button class="button ${PROVIDERS.length ? '' : 'primary'}" aria-disabled=${String(asking)}>${asking && html`<span class="spinner" aria-hidden="true"></span>`}${t(asking ? 'sign.asking' : 'sign.in')}</button>
      <p class="soft" role="status">${slow && t('sign.slow')}</p>
      </form><//>
    </div>
  `;
}
