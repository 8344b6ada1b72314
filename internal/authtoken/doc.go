// Package authtoken checks and signs the tokens that say who is asking: JWTs (RFC 7519) in compact form (RFC 7515),
// signed with HMAC-SHA-256.
//
// A token is three segments of base64url without padding, joined by dots: header, claims, signature. It is valid when
// all of this holds:
//
//   - It has at most [MaxLength] bytes.
//   - Its signature is that of [Rules].Secret, or of Rules.Previous while keys are being changed. If Rules.Admin is
//     set, these two are for buyers' tokens alone, and tokens of every other role are signed with Rules.Admin, or with
//     Rules.AdminPrevious while keys are being changed.
//   - Header and claims are JSON objects (RFC 8259) in UTF-8, each without two members of one name. Names are
//     compared exactly: "ROLE" is not "role".
//   - The header has alg "HS256" and no crit. Its members may be in any order. Other members, such as typ and kid,
//     may have any value and are ignored.
//   - sub is text: a user's id, from 1 to voucher.MaxID.
//   - exp is present. exp, nbf and iat are seconds since 1970, from 0 to the end of the year 9999; fractions are
//     cut off. The time is not before nbf and is before exp, by this machine's clock, without leeway.
//   - iss, jti and role are text; aud is text or a list of texts. If Rules.Issuer is set, iss equals it; if
//     Rules.Audience is set, aud contains it. The role "admin" makes an admin. The roles "merchant" and "till" make a
//     merchant or a till of the shop in the claim shop, a number from 1 to voucher.MaxID. The role "crowd" makes the
//     crowd of the rehearsal in the claim voucher. Any other role is a buyer's.
//   - level and since describe the account, for the conditions of a sale (internal/feature/guard): a whole number
//     from 1 on, and whole seconds since 1970. Any other value, such as text or a fraction, counts as absent: the
//     claims may mean something else to other services.
//   - via is text. Where Rules.Accounts is set, only tokens with via "session" have the ids of accounts, and they have
//     no other. Where Rules.SessionsOnly is set, too, buyers' tokens have via "session", unless their user is a
//     rehearsal's, and may also have an id below those of accounts.
//   - If Rules bound the life of a token, iat is present, exp is at most that long after iat, and exp is at most
//     that long plus a minute from now (the issuer's clock may be ahead).
//
// A null claim counts as absent. Other claims may have any value and are ignored.
//
// # What is authoritative
//
// The rules above, and otherwise github.com/golang-jwt/jwt/v5. The tests build a second verifier from that library,
// encoding/json and the rules, and compare the two on tokens from a fuzzer and a generator: both must accept the same
// tokens and read the same from them. The package exists because the library takes five times as long and forty times
// the allocations, in a service whose busiest answers cost little more than the check of a token.
//
// # What can go wrong
//
// The JSON of a token is read only after its signature has been verified, so it was written by somebody who knows the
// secret. Signatures are compared as text, in constant time: each has exactly one valid spelling.
package authtoken
