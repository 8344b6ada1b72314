// Package keys derives the keys of guards: one for each purpose, sale and salt, with HKDF (RFC 5869) from one secret
// that all instances are given (SECKILL_GUARD_SECRET).
//
// A [Salt] is random, has an id, and stands in the database; it is no secret. What is signed names the salt, so that
// a rotation voids nothing: tickets made with an older salt stay good until they expire. A new salt is stored a
// minute before its first use, and each instance reads all salts every ten seconds.
//
//	what happens                                   what a caller gets
//	an unknown id                                  ErrUnknownYet for a second at most, while one read for all
//	                                               callers is made
//	still unknown after that read                  it is not ours: not known
//	the database is away                           known salts go on; unknown ids are not known after a second
//	no salt could be read since the start          ErrUnknownYet, until one is: a stranger in the table stops no
//	                                               instance
//	an instance's clock is behind                  it signs with the older salt for longer, which all instances know
//	an instance's clock is ahead                   it signs with the new salt sooner, and the others read it
//	the secret is changed                          everything that was signed before is void; pages fetch new tickets
//
// The seed of a sale's delays comes from the secret alone: a rotation in the middle of a sale moves nobody's moment,
// and nobody can choose between two.
package keys
