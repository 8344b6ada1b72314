// @ts-check
// Reading a QR code with the camera, where the browser has a BarcodeDetector.

/** Milliseconds between two looks. */
const EVERY = 150;

/** Whether this browser can. Cameras exist only on pages that came over HTTPS or from this machine. */
export const canScan = 'BarcodeDetector' in window && navigator.mediaDevices !== undefined;

/**
 * Shows the camera in a video element until it has read a code, or signal aborts. It rejects if there is no camera, or it may
 * not be used; after an abort it never resolves.
 * @param {HTMLVideoElement} video @param {AbortSignal} signal @returns {Promise<string>}
 */
export async function scan(video, signal) {
  const detector = new (/** @type {any} */ (window).BarcodeDetector)({ formats: ['qr_code'] });
  const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' } });
  const stop = () => stream.getTracks().forEach((track) => track.stop());
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop);
  video.srcObject = stream;
  await video.play();
  return new Promise((found) => {
    const look = async () => {
      if (signal.aborted) return;
      const [code] = await detector.detect(video).catch(() => []);
      if (signal.aborted) return;
      if (!code) return void setTimeout(look, EVERY);
      stop();
      found(code.rawValue);
    };
    look();
  });
}
