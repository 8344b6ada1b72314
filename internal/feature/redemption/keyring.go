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

// Keyring has the keys of all codes that were ever given out. It reads them when it meets a code of a key that it
// does not know: another instance may have rotated the key.
type Keyring struct {
	ledger Coupons
	now    func() time.Time

	asking chan struct{} // taken by the one who asks the ledger

	mu        sync.Mutex
	keys      map[int]Key
	loaded    time.Time // when the keys were last read
	questions int       // how often the ledger was asked
	failed    error     // why the last question told nothing
}

// NewKeyring returns an empty keyring.
func NewKeyring(ledger Coupons, now func() time.Time) *Keyring {
	return &Keyring{ledger: ledger, now: now, asking: make(chan struct{}, 1)}
}

// Made reports whether one of the keys made the code's checksum. Its error says that the ledger does not tell the
// key. Who waits while others ask the ledger shares the failure of their question.
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

// ask asks the ledger, unless it told its keys a moment ago or failed since it had been asked so often.
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

// loadKeysEvery is how long an instance may go on making codes with the key before a rotation.
const loadKeysEvery = 20 * time.Second

// KeyLoader reads the keys of codes every so often, so that the ledger makes new codes with the newest one and no
// payment waits for a key. While they cannot be read, the key that is known stays in use.
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
