package redemption

import (
	"context"
	"sync"
	"time"
)

// reloadEvery bounds how often wrong codes make the keyring ask the ledger for a key that it does not know.
const reloadEvery = time.Second

// Keyring has the keys of all codes that were ever given out. It reads them when it meets a code of a key that it does not
// know: another instance may have rotated the key.
type Keyring struct {
	ledger Ledger
	now    func() time.Time

	mu     sync.Mutex
	keys   map[int]Key
	loaded time.Time // when the keys were asked for last
}

// NewKeyring returns an empty keyring.
func NewKeyring(ledger Ledger, now func() time.Time) *Keyring {
	return &Keyring{ledger: ledger, now: now}
}

// Made reports whether one of the keys made the code's checksum.
func (k *Keyring) Made(ctx context.Context, c Code) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, known := k.keys[c.KeyID()]
	if !known && (k.loaded.IsZero() || k.now().Sub(k.loaded) >= reloadEvery) {
		keys, err := k.ledger.CouponKeys(ctx)
		if err != nil {
			return false, err
		}
		k.keys, k.loaded = make(map[int]Key, len(keys)), k.now()
		for _, key := range keys {
			k.keys[key.ID] = key
		}
		key, known = k.keys[c.KeyID()]
	}
	return known && key.Made(c), nil
}
