// Package openid tests the service with a real identity provider: the example server of github.com/zitadel/oidc, an
// implementation of OpenID Connect that its foundation has certified. Users sign in by authorization code with PKCE, as
// a page would. F53 is what happens to buyers and staff while the provider rotates its keys, hangs, or answers
// nonsense; the other test holds the service's verdicts on hostile tokens to those of go-jose.
package openid
