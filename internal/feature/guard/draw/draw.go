package draw

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math/bits"
	"time"
)

// Bytes is the length of keys, hashes and roots.
const Bytes = sha256.Size

// Hash is what is published of a key or an entry, or of all entries.
type Hash [Bytes]byte

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// KeyHash returns the hash by which a draw is committed to its key.
func KeyHash(key [Bytes]byte) Hash { return sha256.Sum256(key[:]) }

// EntryText returns an entry as its entrant keeps it.
func EntryText(voucherID, number, entry int64) string {
	return fmt.Sprintf("%d-%d-%016x", voucherID, number, uint64(entry))
}

// EntryHash returns the hash of an entry's text.
func EntryHash(text string) Hash { return sha256.Sum256([]byte(text)) }

// Root computes the root of hashes, which are added in ascending order.
type Root struct{ sum hash.Hash }

// NewRoot returns the root of no hashes.
func NewRoot() *Root { return &Root{sha256.New()} }

// Add adds a hash.
func (r *Root) Add(h Hash) {
	line := append(hex.AppendEncode(make([]byte, 0, 2*Bytes+1), h[:]), '\n')
	_, _ = r.sum.Write(line) // a hash never fails
}

// Sum returns the root of the hashes that were added.
func (r *Root) Sum() Hash { return Hash(r.sum.Sum(nil)) }

// Moments computes the moments of one draw. It is safe for concurrent use.
type Moments struct {
	secret []byte // key and beacon
	begin  time.Time
	delay  uint64 // milliseconds
}

// NewMoments returns the moments of a draw, whose beacon may be "".
func NewMoments(key [Bytes]byte, beacon string, begin time.Time, delayMs int64) *Moments {
	return &Moments{append(key[:], beacon...), begin, uint64(max(0, delayMs))}
}

// Of returns the moment of an entry.
func (m *Moments) Of(h Hash) time.Time {
	mac := hmac.New(sha256.New, m.secret)
	_, _ = mac.Write(h[:]) // a hash never fails
	n := binary.BigEndian.Uint64(mac.Sum(nil))
	ms, _ := bits.Mul64(n, m.delay)
	return m.begin.Add(time.Duration(ms) * time.Millisecond)
}

// Last returns the moment of those without an entry, after those of all entries.
func (m *Moments) Last() time.Time { return m.begin.Add(time.Duration(m.delay) * time.Millisecond) }
