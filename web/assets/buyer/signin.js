// @ts-check
// Signing in: by an identity provider, with a token, or where the service runs for trying out, as a buyer made on the spot.

import { html, useRef, useState } from '../vendor/htm-preact.js';
import { Dialog } from '../shell.js';
import { Otherwise, Providers } from '../sign-in.js';
import { DEMO, PROVIDERS } from '../site.js';

/**
 * @param {{client: import('../client.js').Client, session: import('./session.js').Session, words: import('../words.js').Words,
 *   why: string, again: boolean, kept?: any, onClose: () => void, onSignedIn: () => void}} props why is the dialog's title; again and kept are
 *   as Providers takes them
 */
export function SignIn({ client, session, words, why, again, kept, onClose, onSignedIn }) {
  const { t } = words;
  const [problem, setProblem] = useState('');
  const [asking, setAsking] = useState(false);
  const field = useRef(/** @type {any} */ (null));
  /** @param {string} token */
  const take = (token) => {
    if (session.signIn(token, client.clock.now())) return onSignedIn();
    setProblem('sign.bad');
    field.current.focus(); // what is wrong with it is read out
  };
  const demo = async () => {
    if (asking) return;
    setProblem('');
    setAsking(true);
    const answer = await client.demoBuyer();
    setAsking(false);
    if (answer.success) take(answer.data.token);
    else setProblem('sign.failed');
  };
  /** @param {any} e */
  const submit = (e) => {
    e.preventDefault();
    take(new FormData(e.target).get('token')?.toString() ?? '');
  };
  return html`<${Dialog} back title=${why} closeLabel=${t('close')} onClose=${onClose}>
    <div class="stack">
      <${Providers} words=${words} purpose="shop" again=${again} kept=${kept} onToken=${take} />
      ${DEMO && html`
        <button type="button" class="button primary wide" data-act="demo" aria-describedby="demo-note" aria-disabled=${String(asking)} onClick=${demo}>${t('sign.demo')}</button>
        <p class="soft" id="demo-note">${t('sign.demo.note')}</p>
        ${PROVIDERS.length === 0 && html`<p class="or" aria-hidden="true"><span>${t('sign.or')}</span></p>`}`}
      <${Otherwise} words=${words}><form class="stack" onInput=${() => setProblem('')} onSubmit=${submit}>
        <div class="field">
          <label for="token">${t('sign.token')}</label>
          <textarea ref=${field} id="token" name="token" rows="3" required spellcheck="false" autocomplete="off" autocapitalize="off"
            aria-invalid=${String(problem === 'sign.bad')} aria-describedby="token-hint token-problem"></textarea>
          <p class="field-hint" id="token-hint">${t('sign.token.hint')}</p>
          <p class="field-problem" id="token-problem" role="alert">${problem && t(problem)}</p>
        </div>
        <button class="button ${DEMO || PROVIDERS.length ? '' : 'primary'}">${t('sign.in')}</button>
      </form><//>
    </div>
  <//>`;
}
