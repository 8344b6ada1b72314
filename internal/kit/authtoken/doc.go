// Package authtoken checks and signs the tokens that say who is asking: JWTs (RFC 7519) in compact form (RFC 7515),
// signed with HMAC-SHA-256.
//
// A token is three segments of base64url without padding, joined by dots: header, claims, signature. It is valid when
// all of this holds:
//
//   - It has at most [MaxLength] bytes.
//   - Its signature is that of [Rules].Secret, or of Rules.Previous while keys change.
//   - Header and claims are JSON objects (RFC 8259) in UTF-8, each without two members of one name. Names are
//     compared exactly: "ROLE" is not "role".
//   - The header has alg "HS256" and no crit. Its members may stand in any order; further ones, such as typ and kid,
//     may have any value and mean nothing.
//   - sub is text: a user's id, from 1 to voucher.MaxID.
//   - exp is there; exp, nbf and iat are numbers of seconds since 1970, from 0 to the end of the year 9999, whose
//     fractions are cut off. It is not before nbf and before exp, by this machine's clock, without leeway.
//   - iss, jti and role are text; aud is text or a list of texts. iss is Rules.Issuer, and one of aud is
//     Rules.Audience, when those are set. The role "admin" makes an admin, "till" with a number as shop (from 1 to
//     voucher.MaxID) a till of that shop; any other is a buyer's.
//   - level and since say what the account is, for the conditions of a sale (internal/guard): a whole number from 1
//     on, and whole seconds since 1970. Written otherwise, as text or as a fraction, they count as absent: the claims
//     may mean something else to others.
//   - Where Rules bound the life of a token, iat is there, exp is no further from it than that, and from now at most
//     a minute further (the issuer's clock may be ahead).
//
// A claim that is null counts as absent. Other claims may have any value and mean nothing.
//
// # What is authoritative
//
// The rules above, and for everything that they do not say github.com/golang-jwt/jwt/v5. The tests build a second
// verifier from that library, encoding/json and the rules, and hold this one against it on tokens made up by a fuzzer
// and by a generator: both must accept the same tokens and read the same from them. There is one of our own because
// the library takes five times as long and forty times the allocations, in a service whose busiest answers are little
// else than the check of a token.
//
// # What can go wrong
//
// Nothing of a token is looked at before its signature is right, so the JSON here was written by somebody who knows
// the secret. The signature is compared as text, in constant time; there is exactly one right spelling of it.
package authtoken
