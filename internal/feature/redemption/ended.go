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

// EndedRequests are the requests for reservations of one coupon that are over, and those whose redemption was undone
// (redeemRequest). It has the last maxEnded of them, oldest first, as they are stored: 16 hexadecimal digits each,
// separated by spaces.
type EndedRequests string

// Has reports whether the till's request with the key is among them.
func (e EndedRequests) Has(till int64, key string) bool {
	return slices.Contains(strings.Fields(string(e)), digest(till, key))
}

// with returns the requests and one more.
func (e EndedRequests) with(till int64, key string) EndedRequests {
	all := append(strings.Fields(string(e)), digest(till, key))
	return EndedRequests(strings.Join(all[max(0, len(all)-maxEnded):], " "))
}

// redeemRequest returns the entry for a request that redeems. It differs from the key, which may also have been used to
// reserve. No key has a space.
func redeemRequest(key string) string { return "redeem " + key }

// digest returns a hash of a request. Two requests for a coupon have the same with a probability of 1 in 10^18.
func digest(till int64, key string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", till, key))
	return hex.EncodeToString(sum[:8])
}
