// @ts-check
// What the service says of itself in its pages.

/** @param {string} name */
const says = (name) => document.querySelector(`meta[name=${name}]`)?.getAttribute('content');

/** Whether it hands out demo buyers. */
export const DEMO = says('demo') === 'yes';

/** Whether what has a price can be paid: without a payment provider it cannot. */
export const PAYABLE = says('payable') !== 'no';

/** The hosts from which the page may load pictures. */
export const PICTURES = says('pictures')?.split(' ') ?? [];

/**
 * The identity providers by which users sign in; none: by a token.
 * @type {{issuer: string, label: string, authorize: string, token: string, client: string, scope: string, access: boolean}[]}
 */
export const PROVIDERS = JSON.parse(document.getElementById('page')?.dataset.providers || '[]');
