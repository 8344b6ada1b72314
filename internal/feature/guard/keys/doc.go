// Package keys derives the keys of guards: one for each purpose, sale and salt, with HKDF (RFC 5869) from one secret
// that all instances are given (SECKILL_GUARD_SECRET).
//
// A [Salt] is random, has an id, and is stored in the database; it is no secret. Tickets and challenges name their
// salt, so that a rotation voids nothing: tickets made with an older salt stay valid until they expire. A new salt is
// stored a minute before its first use, and each instance reads all salts every ten seconds.
//
//	what happens                                   what a caller gets
//	an unknown id                                  ErrUnknownYet for a second at most, while one read for all
//	                                               callers is made
//	still unknown after that read                  ErrNotKnown: it is not ours
//	the database is away                           known salts go on; unknown ids get ErrNotKnown after a second
//	no salt could be read since the start          ErrUnknownYet, until one is read: a malformed row stops no instance
//	an instance's clock is behind                  it signs with the older salt for longer, which all instances know
//	an instance's clock is ahead                   it signs with the new salt sooner, and the others read it
//	the secret is changed                          everything that was signed before is void; pages fetch new tickets
//
// The seed of a sale's delays comes from the secret alone: a rotation in the middle of a sale moves nobody's moment,
// and nobody can choose between two.
package keys
