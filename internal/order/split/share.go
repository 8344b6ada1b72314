package split

import "math/bits"

// ShareOf returns which of a voucher's shares is the user's, from 0. Rows and holders depend on it, so it never changes: the
// finalizer of SplitMix64 over the user id, begun at that of the voucher id, and the upper 64 bits of its product with shares.
// It is level for ids in sequence, and a user's shares in two sales have nothing to do with each other.
func ShareOf(voucherID, userID int64, shares int) int {
	if shares <= 1 {
		return 0
	}
	share, _ := bits.Mul64(mix(mix(uint64(voucherID))+uint64(userID)), uint64(shares))
	return int(share)
}

// mix is the step of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
