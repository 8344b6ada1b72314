// @ts-check
// The texts of signing in by an identity provider, on all pages.

/** @type {Record<string, Record<import('../words.js').Language, string>>} */
export const PROVIDER_TEXTS = {
  'provider.in': { en: 'Sign in with {label}', zh: '使用 {label} 登录' },
  'provider.asking': { en: 'Signing in…', zh: '正在登录…' },
  'provider.waits': { en: 'A window has opened. Sign in there: this page stays as it is.', zh: '已打开新窗口，请在其中登录；本页内容会保留。' },
  'provider.close': { en: 'You are signed in on the page that opened this window. You may close this one.', zh: '已在原页面登录，可关闭本窗口。' },
  'provider.token': { en: 'Sign in with a token', zh: '使用令牌登录' },
  'provider.blocked': { en: 'The browser did not open a window. Please allow it for this page, and press again.', zh: '浏览器未打开新窗口，请允许本页弹出窗口后重试。' },
  'provider.insecure': { en: 'Signing in needs this page over HTTPS.', zh: '登录须通过 HTTPS 打开本页。' },
  'provider.denied': { en: 'You did not sign in.', zh: '您取消了登录。' },
  'provider.failed': { en: 'The provider did not sign you in. Please try again.', zh: '登录方未完成登录，请重试。' },
  'provider.away': { en: '{label} does not answer just now. You are still here, and nothing is lost.', zh: '{label} 暂无应答。您仍在本页，内容不会丢失。' },
  'provider.retry': { en: 'Try again', zh: '重试' },
  'provider.anyway': { en: 'Go to {label} all the same', zh: '仍然前往 {label}' },
  'provider.silent': { en: 'The service does not answer. Please try again.', zh: '服务暂无应答，请重试。' },
  'provider.refused': { en: 'The service did not accept this sign-in. Please try again.', zh: '服务未接受本次登录，请重试。' },
  'provider.stray': { en: 'This sign-in did not begin on this page. Please sign in again.', zh: '本次登录并非由本页发起，请重新登录。' },
  'provider.other': { en: 'To use another account, press again: you will be asked who you are.', zh: '如需使用其他账号，请再次点击，届时可重新选择。' },
  'provider.out': { en: 'Sign out', zh: '退出' },
  'provider.again': { en: 'Please sign in again', zh: '请重新登录' },
  'provider.again.hint': { en: 'Your session has ended. Nothing on this page is lost: it goes on once you have signed in.', zh: '登录已到期。本页内容不会丢失，登录后将继续。' },
};
