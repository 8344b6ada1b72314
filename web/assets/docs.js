// @ts-check
// The description of the HTTP interface, /docs: Scalar draws openapi.yaml, and makes the requests that people try.

import { BASE } from './client.js';
import { DEMO } from './site.js';

/** The token for requests that need one: the console's, from an admin who is signed in there in this tab; else, where the service hands out buyers for trying out, a new buyer's. The reader may put in another one. */
async function token() {
  const admin = sessionStorage.getItem('seckill.admin');
  if (admin || !DEMO) return admin ?? '';
  try {
    const response = await fetch(`${BASE}/demo/buyer`, { method: 'POST', signal: AbortSignal.timeout(5_000) });
    return (await response.json()).data?.token ?? '';
  } catch {
    return '';
  }
}

const { Scalar } = /** @type {any} */ (globalThis);
const kept = await token();
document.getElementById('loading')?.remove();
Scalar.createApiReference('#docs', {
  url: `${BASE}/openapi.yaml`,
  servers: [{ url: location.origin + BASE }],
  authentication: { preferredSecurityScheme: 'token', securitySchemes: { token: { token: kept } } },
  persistAuth: false, // the token ends with the tab
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  documentDownloadType: 'none', // it is in the bar
  hideClientButton: true,
  // Nothing leaves this service: no fonts, no telemetry, no assistant of somebody else's.
  withDefaultFonts: false,
  telemetry: false,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
});
