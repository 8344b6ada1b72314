// @ts-check
// Notifications of the browser, for buyers who wait on another page meanwhile. Nothing is shown without their consent.

/** Whether the buyer has not been asked yet, and can be. */
export const canAsk = () => 'Notification' in window && Notification.permission === 'default';

/** Asks for consent, and resolves once that is decided. */
export const ask = () => Notification.requestPermission();

/** Shows a notification if the buyer has consented and looks elsewhere. @param {string} title @param {string} body */
export function alertBuyer(title, body) {
  if (!document.hidden || !('Notification' in window) || Notification.permission !== 'granted') return;
  try {
    const shown = new Notification(title, { body, tag: title });
    shown.onclick = () => (window.focus(), shown.close());
  } catch { // telephones show them only for installed pages
  }
}
