// Package issuers checks the tokens of identity providers: ID tokens, and access tokens of RFC 9068. The file of
// issuers is authoritative for each provider, and names the source of its keys; a token's header decides nothing.
//
// golang-jwt checks signatures and times. keyfunc, its companion for key sets, is not used: each token with an unknown
// kid waits there for a turn and fetches again, an answer is read without a bound, a constructor starts goroutines, and
// the last good set is used for ever. What this package needs of key sets is in jwks.go and keys.go.
package issuers
