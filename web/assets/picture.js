// @ts-check
// Pictures that others serve: in a fixed box, and never more than what stands there anyway if they do not come.

import { html, useState } from './vendor/htm-preact.js';

/**
 * A picture over the whole of the box around it. What is in the box is seen until the picture is there, and stays if it never is.
 * The address comes last: it is asked for as the attributes before it say.
 * @param {{from: string | undefined}} props
 */
export function Picture({ from }) {
  const [there, setThere] = useState('');
  return from && html`<img key=${from} class="picture ${there === from ? 'there' : ''}" alt="" loading="lazy" decoding="async" referrerpolicy="no-referrer"
    onLoad=${() => setThere(from)} src=${from} />`;
}

/** The picture of a shop; without one, the first letter of its name. @param {{name: string, picture: string | undefined}} props */
export const Face = ({ name, picture }) => html`<span class="face" aria-hidden="true">${[...name][0] ?? ''}<${Picture} from=${picture} /></span>`;
