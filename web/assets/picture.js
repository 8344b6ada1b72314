// @ts-check
// Pictures that others serve: in a fixed box, and never more than what stands there anyway if they do not come.

import { html, useState } from './vendor/htm-preact.js';
import { PICTURES } from './site.js';

/** Whether the page may load a picture: its host may not be named any more, or an address is being typed. @param {string | undefined} address */
function loads(address) {
  try {
    const { protocol, host } = new URL(address ?? '');
    return protocol === 'https:' && PICTURES.includes(host);
  } catch {
    return false;
  }
}

/**
 * A picture over the whole of the box around it. What is in the box is seen until the picture is there, and stays if it never is.
 * The address comes last: it is asked for as the attributes before it say.
 * @param {{from: string | undefined}} props
 */
export function Picture({ from }) {
  const [there, setThere] = useState('');
  return loads(from) && html`<img key=${from} class="picture ${there === from ? 'there' : ''}" alt="" loading="lazy" decoding="async" referrerpolicy="no-referrer"
    onLoad=${() => setThere(from ?? '')} src=${from} />`;
}

/** The picture of a shop; without one, the first letter of its name. @param {{name: string, picture: string | undefined}} props */
export const Face = ({ name, picture }) => html`<span class="face" aria-hidden="true">${[...name][0] ?? ''}<${Picture} from=${picture} /></span>`;

/** A voucher's picture before its title in a list, on sites that have pictures. @param {{name: string, picture: string | undefined}} props */
export const Small = (props) => PICTURES.length > 0 && html`<${Face} ...${props} />`;
