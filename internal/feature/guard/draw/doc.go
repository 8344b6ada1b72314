// Package draw computes and checks the moments of a draw: who may buy when, in a sale whose order anybody can check. It
// asks no store. docs/guards.md says what a draw proves.
//
// The sale's key is secret, and its SHA-256 is public before anybody enters. An entry is a random number; the hash of
// its text, which names voucher and draw, stands for it in everything that is published. When nobody can enter any
// more, the number of entries and their root are published, and then the beacon, which nobody could foresee. So:
//
//	hash   = SHA-256("<voucher>-<draw>-<entry, 16 hexadecimal digits>")
//	root   = SHA-256 of all hashes in hexadecimal and in ascending order, each followed by a line feed
//	moment = begin + ⌊n · delayMs / 2^64⌋ ms, n: the first 8 bytes of HMAC-SHA256(key ‖ beacon, hash)
//
// The HMAC is of the hash and not of the entry, so that moments can be checked with the published list, which has no
// entries.
package draw
