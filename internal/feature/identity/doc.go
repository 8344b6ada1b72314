// Package identity lets users of identity providers buy, and staff work. POST /session exchanges a provider's token,
// an ID token or an access token of RFC 9068, for one that this service signs; purchases know only the latter.
//
// The file of issuers names the providers that are trusted, and gives the meaning of their claims. It also names the
// staff; they get their role only when they sign in for something that needs it. The rows of tb_account map subjects
// to users, and those of tb_session_void name the users whose tokens are void: both are authoritative. A session's iat
// is the iat of the provider's token, so that a revocation voids both, however late an instance reads it.
//
//	provider ──JWKS──► keys (last good set for 24 h)        tb_account (issuer, subject) → user
//	token ───────────► Verifier ──► Sessions.Exchange ─────────────┴──► the service's token
//	                                     └── Void ◄── tb_session_void, each second
//
//	what goes wrong                     what happens
//	the provider is away                its last good keys are used for 24 h; then its users are answered UNAVAILABLE
//	it hangs, answers 2 MB, redirects   the same: an answer may take 5 s and 1 MB, and no redirect is followed
//	its keys rotate                     a token with an unknown kid causes a fetch, at most one in 30 s
//	its address leads into the network  it is not dialled (package dialguard)
//	the ledger is away                  accounts that this instance has seen sign in; others are answered UNAVAILABLE
//	an instance cannot read which       it goes by those that it knows, and logs the failure
//	tokens are void
package identity
