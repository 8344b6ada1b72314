package keys

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"seckill/internal/kit/periodic"
)

const (
	// reloadEvery is how often salts are read: several times within RotationLead.
	reloadEvery = 10 * time.Second
	// unknownFor is how long an unknown id counts as one that this instance has not read yet, and the shortest time
	// between two reads.
	unknownFor = time.Second
	// readTimeout bounds one read.
	readTimeout = time.Second
	// maxDerived bounds how many keys are remembered. A busy sale needs four for each salt in use.
	maxDerived = 16_384
)

// ErrUnknownYet is the error for an unknown salt that is being looked up: ask again in a second.
var ErrUnknownYet = errors.New("the key is not known yet")

// ErrNotKnown is the error for an id without a salt.
var ErrNotKnown = errors.New("there is no such key")

// ErrShortSecret is the error for a secret so short that keys from it could be guessed.
var ErrShortSecret = errors.New("the secret of guards is too short")

// Ring has the keys of all sales.
type Ring struct {
	secret []byte
	read   func(context.Context) ([]Salt, error)
	now    func() time.Time
	log    *slog.Logger
	wanted chan struct{} // a read is wanted soon

	mu      sync.RWMutex
	salts   []Salt // in the order of their ids
	loaded  time.Time
	asked   time.Time // when a read for an unknown id was last requested
	derived map[derivation]*Key
}

// derivation identifies a key. Seeds have no salt: salted is false.
type derivation struct {
	purpose Purpose
	saleID  int64
	saltID  uint16
	salted  bool
}

// NewRing returns a ring without salts, or ErrShortSecret. Load reads the salts once, Run keeps reading them. read must
// return the stored salts in the order of their ids, at least one.
func NewRing(
	secret string, read func(context.Context) ([]Salt, error), now func() time.Time, log *slog.Logger,
) (*Ring, error) {
	if len(secret) < Bytes {
		return nil, fmt.Errorf("%w: it has %d bytes, and needs %d", ErrShortSecret, len(secret), Bytes)
	}
	return &Ring{
		secret: []byte(secret), read: read, now: now, log: log,
		wanted: make(chan struct{}, 1), derived: map[derivation]*Key{},
	}, nil
}

// Load reads the salts once. Without them a ring can neither sign nor check.
func (r *Ring) Load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	began := r.now()
	salts, err := r.read(ctx)
	if err == nil && len(salts) == 0 {
		err = errors.New("there is none")
	}
	if err != nil {
		return fmt.Errorf("the salts of guards: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.salts, r.loaded = salts, began
	return nil
}

// Run reads the salts at once, every ten seconds, and soon after an unknown id was found, until ctx ends.
func (r *Ring) Run(ctx context.Context) error {
	r.reload(ctx)
	return periodic.EveryOr(ctx, reloadEvery, r.wanted, r.reload)
}

func (r *Ring) reload(ctx context.Context) {
	if err := r.Load(ctx); err != nil && ctx.Err() == nil {
		r.log.WarnContext(ctx, "the salts of guards could not be read; those that are known go on", "error", err)
	}
}

// Current returns the key to sign with, of the newest salt in use, and the salt's id. Before Load it returns
// ErrNotKnown.
func (r *Ring) Current(purpose Purpose, saleID int64) (*Key, uint16, error) {
	now := r.now()
	r.mu.RLock()
	salts := r.salts
	r.mu.RUnlock()
	if len(salts) == 0 {
		_ = r.unknown() // has them read
		return nil, 0, ErrNotKnown
	}
	current := salts[0]
	for _, s := range salts[1:] {
		if !s.UsedFrom.After(now) {
			current = s
		}
	}
	return r.derive(derivation{purpose, saleID, current.ID, true}, current.Value[:]), current.ID, nil
}

// Find returns the key that a signature names. Errors: ErrUnknownYet, ErrNotKnown.
func (r *Ring) Find(purpose Purpose, saleID int64, saltID uint16) (*Key, error) {
	r.mu.RLock()
	salts := r.salts
	r.mu.RUnlock()
	for _, s := range salts {
		if s.ID == saltID {
			return r.derive(derivation{purpose, saleID, saltID, true}, s.Value[:]), nil
		}
	}
	return nil, r.unknown()
}

// Seed returns the key of a purpose and a sale that rotations do not change.
func (r *Ring) Seed(purpose Purpose, saleID int64) *Key {
	return r.derive(derivation{purpose: purpose, saleID: saleID}, nil)
}

// unknown returns the error for an unknown id. It requests a read, shared by all callers, at most once a second.
func (r *Ring) unknown() error {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case len(r.salts) == 0 && now.Sub(r.asked) < unknownFor: // no salt could be read yet
		return ErrUnknownYet
	case len(r.salts) == 0:
		r.ask(now)
		return ErrUnknownYet
	case now.Sub(r.loaded) < unknownFor: // a salt is stored a minute before its first use, so one in use was read
		return ErrNotKnown
	case r.asked.After(r.loaded) && now.Sub(r.asked) < unknownFor:
		return ErrUnknownYet
	case r.asked.After(r.loaded) && now.Sub(r.asked) < 2*readTimeout: // the read failed or hangs
		return ErrNotKnown
	}
	r.ask(now)
	return ErrUnknownYet
}

// ask makes Run read the salts. The caller holds r.mu.
func (r *Ring) ask(now time.Time) {
	r.asked = now
	select {
	case r.wanted <- struct{}{}:
	default:
	}
}

// derive returns a key, made now if it is not remembered. When there are too many keys, it forgets all: making a key
// takes a few microseconds.
func (r *Ring) derive(name derivation, salt []byte) *Key {
	r.mu.RLock()
	key, known := r.derived[name]
	r.mu.RUnlock()
	if known {
		return key
	}
	key = newKey(r.secret, salt, name.purpose, name.saleID)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.derived) >= maxDerived {
		clear(r.derived)
	}
	r.derived[name] = key
	return key
}
