package redemption

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// maxEnded is how many requests EndedRequests remembers. A till reserves a coupon once or twice, and repeats a request
// for seconds.
const maxEnded = 16

// EndedRequests are requests for reservations of one coupon that are over, and redemptions of it that were undone
// (redeemRequest), the last maxEnded of them, as they are stored: 16 hexadecimal digits each, with spaces between them,
// the oldest first.
type EndedRequests string

// Has reports whether the till's request with the key is among them.
func (e EndedRequests) Has(till int64, key string) bool {
	return slices.Contains(strings.Fields(string(e)), digest(till, key))
}

// with returns them with one more.
func (e EndedRequests) with(till int64, key string) EndedRequests {
	all := append(strings.Fields(string(e)), digest(till, key))
	return EndedRequests(strings.Join(all[max(0, len(all)-maxEnded):], " "))
}

// redeemRequest stands for the key of a request that redeems, as the same key may have reserved. No key has a space.
func redeemRequest(key string) string { return "redeem " + key }

// digest is a hash of a request. Two requests for a coupon share one with a probability of 1 in 10^18.
func digest(till int64, key string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", till, key))
	return hex.EncodeToString(sum[:8])
}
