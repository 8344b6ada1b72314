package keys

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"strconv"
	"sync"
	"time"
)

// Bytes is the length of salts and keys: the width of their hash.
const Bytes = sha256.Size

// RotationLead is how long a salt is stored before its first use.
const RotationLead = time.Minute

// Purpose is what a key is used for. A signature for one purpose is invalid for any other.
type Purpose string

// The purposes.
const (
	Ticket    Purpose = "ticket"
	Challenge Purpose = "challenge"
	Solution  Purpose = "solution" // the answer that belongs to a challenge
	Delay     Purpose = "delay"    // when a user's ticket becomes usable
)

// Salt makes keys differ. It is no secret.
type Salt struct {
	ID       uint16
	Value    [Bytes]byte
	UsedFrom time.Time
}

// Key signs messages. It is safe for concurrent use.
type Key struct {
	secret [Bytes]byte
	macs   sync.Pool // of *mac
}

// mac is the state of one signature, reused so that signing allocates nothing.
type mac struct {
	hash hash.Hash
	text []byte
	sum  []byte
}

// newKey derives the key of a purpose and a sale. The derived name contains a version, in case it ever changes.
func newKey(secret []byte, salt []byte, purpose Purpose, saleID int64) *Key {
	info := "seckill guard 1 " + string(purpose) + " " + strconv.FormatInt(saleID, 10)
	derived, err := hkdf.Key(sha256.New, secret, salt, info, Bytes)
	if err != nil {
		panic(err) // only if Bytes were above 255 hashes, or if FIPS mode forbids short secrets
	}
	k := &Key{secret: [Bytes]byte(derived)}
	k.macs.New = func() any {
		return &mac{hash: hmac.New(sha256.New, k.secret[:]), text: make([]byte, 0, 64), sum: make([]byte, 0, Bytes)}
	}
	return k
}

// Secret returns the key itself, for formats whose signatures are made elsewhere.
func (k *Key) Secret() [Bytes]byte { return k.secret }

// Sign returns the HMAC of a message.
func (k *Key) Sign(message []byte) [Bytes]byte {
	m := k.macs.Get().(*mac)
	defer k.macs.Put(m)
	m.text = append(m.text[:0], message...)
	return m.finish()
}

// Number returns a number for a user: always the same, and unpredictable without the key.
func (k *Key) Number(userID int64) uint64 {
	m := k.macs.Get().(*mac)
	defer k.macs.Put(m)
	m.text = binary.BigEndian.AppendUint64(m.text[:0], uint64(userID))
	sum := m.finish()
	return binary.BigEndian.Uint64(sum[:])
}

func (m *mac) finish() [Bytes]byte {
	m.hash.Reset()
	_, _ = m.hash.Write(m.text) // a hash never fails
	m.sum = m.hash.Sum(m.sum[:0])
	return [Bytes]byte(m.sum)
}
