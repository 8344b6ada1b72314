package redemption

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"seckill/internal/kit/periodic"
)

// reloadEvery bounds how often wrong codes make the keyring ask the ledger for a key that it does not know.
const reloadEvery = time.Second

// Keyring has the keys of all codes that were ever made. It reads them again when a code names an unknown key, because
// another instance may have rotated the key.
type Keyring struct {
	ledger Coupons
	now    func() time.Time

	asking chan struct{} // taken by the caller that asks the ledger

	mu        sync.Mutex
	keys      map[int]Key
	loaded    time.Time // when the keys were last read
	questions int       // how often the ledger was asked
	failed    error     // why the last question failed
}

// NewKeyring returns an empty keyring.
func NewKeyring(ledger Coupons, now func() time.Time) *Keyring {
	return &Keyring{ledger: ledger, now: now, asking: make(chan struct{}, 1)}
}

// Made reports whether one of the keys made the code's checksum. It returns an error if the key cannot be read from the
// ledger. A caller that waits while another asks the ledger shares the other's error.
func (k *Keyring) Made(ctx context.Context, c Code) (bool, error) {
	key, known, questions := k.key(c.KeyID())
	if !known {
		select {
		case k.asking <- struct{}{}:
		case <-ctx.Done():
			return false, ctx.Err()
		}
		err := k.ask(ctx, questions)
		<-k.asking
		if err != nil {
			return false, err
		}
		key, known, _ = k.key(c.KeyID())
	}
	return known && key.Made(c), nil
}

// key returns a key if it is known, and how often the ledger was asked.
func (k *Keyring) key(id int) (key Key, known bool, questions int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, known = k.keys[id]
	return key, known, k.questions
}

// ask reads the keys from the ledger, unless they were read a moment ago. If another caller has read them since the
// count was questions, it returns that caller's result.
func (k *Keyring) ask(ctx context.Context, questions int) error {
	k.mu.Lock()
	recent := !k.loaded.IsZero() && k.now().Sub(k.loaded) < reloadEvery
	asked, failed := k.questions != questions, k.failed
	k.mu.Unlock()
	switch {
	case asked:
		return failed
	case recent:
		return nil
	}
	keys, err := k.ledger.CouponKeys(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.questions, k.failed = k.questions+1, err
	if err == nil {
		k.loaded, k.keys = k.now(), make(map[int]Key, len(keys))
		for _, key := range keys {
			k.keys[key.ID] = key
		}
	}
	return err
}

// loadKeysEvery is how long an instance may go on making codes with the old key after a rotation.
const loadKeysEvery = 20 * time.Second

// KeyLoader reads the keys of codes every loadKeysEvery, so that the ledger makes new codes with the newest key and no
// payment waits for one. While the keys cannot be read, the last known key stays in use.
type KeyLoader struct {
	ledger Coupons
	log    *slog.Logger
}

// NewKeyLoader returns a loader; Run starts it.
func NewKeyLoader(ledger Coupons, log *slog.Logger) *KeyLoader {
	return &KeyLoader{ledger: ledger, log: log}
}

// Run loads the keys until ctx ends. It always returns nil.
func (l *KeyLoader) Run(ctx context.Context) error {
	return periodic.Every(ctx, loadKeysEvery, func(ctx context.Context) {
		if _, err := l.ledger.CouponKeys(ctx); err != nil && ctx.Err() == nil {
			l.log.DebugContext(ctx, "the keys of codes cannot be read; the one that is known stays in use",
				"error", err)
		}
	})
}
