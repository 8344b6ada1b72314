// @ts-check
// Signing in by an identity provider. Its code is loaded only where the service names providers.

import { PROVIDERS } from './site.js';

const none = {
  Providers: () => null, Otherwise: (/** @type {any} */ { children }) => children, SignInAgain: () => null,
  returned: false, left: undefined, end() {}, PROVIDER_TEXTS: {},
};

/** @type {any} */
const all = PROVIDERS.length > 0 ? await import('./sign-in/providers.js') : none;

export const { Providers, Otherwise, SignInAgain, returned, left, end, PROVIDER_TEXTS } = all;
