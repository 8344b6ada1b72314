package issuers

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"seckill/internal/order"
)

const (
	keysEvery = 5 * time.Minute  // between two fetches, so that a withdrawn key is not trusted for longer
	keysPause = 30 * time.Second // between two attempts, whatever the reason
	keysLook  = time.Second      // how often to check whether keys are due
	keysLast  = 24 * time.Hour   // how long the last good set is used while no newer one can be read
)

var errNoKey = errors.New("the token's key is not among the issuer's")

// Source reads an issuer's key set, within seconds.
type Source func(ctx context.Context) ([]byte, error)

// keySet is the keys of an issuer. It is safe for concurrent use.
type keySet struct {
	issuer string
	read   Source
	now    func() time.Time
	log    *slog.Logger

	mu      sync.Mutex
	keys    map[keyID]crypto.PublicKey
	skipped []string      // why keys of the last set were skipped: each is logged once
	readAt  time.Time     // when keys were read last; zero: never
	tried   time.Time     // when the last attempt to read them began
	failed  error         // why it failed; nil if it succeeded
	running chan struct{} // closed when the attempt under way has ended; nil: there is none
}

// find returns the key of a token. If the key is not known, find waits for an attempt to read the keys; attempts begin
// at least keysPause apart. Errors: errNoKey, order.ErrUnavailable if the issuer's keys cannot be read.
func (s *keySet) find(ctx context.Context, kid string, a Algorithm) (crypto.PublicKey, error) {
	for {
		key, attempt, wait, err := s.look(kid, a)
		switch {
		case key != nil || err != nil:
			return key, err
		case attempt:
			s.attempt(ctx)
		default:
			select {
			case <-wait:
			case <-ctx.Done():
				return nil, fmt.Errorf("waiting for the issuer's keys: %w", ctx.Err())
			}
		}
	}
}

// look returns the key; or attempt = true if the caller has to make an attempt; or the end of another attempt to wait
// for. Errors: errNoKey, order.ErrUnavailable.
func (s *keySet) look(kid string, a Algorithm) (key crypto.PublicKey, attempt bool, wait chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.readAt.IsZero() && s.now().Sub(s.readAt) < keysLast {
		if key = s.named(kid, a); key != nil {
			return key, false, nil, nil
		}
	}
	switch {
	case s.running != nil:
		return nil, false, s.running, nil
	case s.begin():
		return nil, true, nil, nil
	case s.failed != nil:
		return nil, false, nil, fmt.Errorf("%w: the keys of %s: %w", order.ErrUnavailable, s.issuer, s.failed)
	default:
		return nil, false, nil, errNoKey
	}
}

// named returns the key of a kid; without a kid, the algorithm's key if it has only one. The caller holds mu.
func (s *keySet) named(kid string, a Algorithm) crypto.PublicKey {
	if kid != "" {
		return s.keys[keyID{kid, a}]
	}
	var only crypto.PublicKey
	for id, key := range s.keys {
		if id.algorithm != a {
			continue
		}
		if only != nil {
			return nil
		}
		only = key
	}
	return only
}

// begin reports whether an attempt may begin now, and if so marks it as begun. The caller holds mu.
func (s *keySet) begin() bool {
	now := s.now()
	if s.running != nil || !s.tried.IsZero() && now.Sub(s.tried) < keysPause {
		return false
	}
	s.tried, s.running = now, make(chan struct{})
	return true
}

// attempt reads the keys. It does not end with its caller's context, because others may be waiting for it.
func (s *keySet) attempt(ctx context.Context) {
	b, err := s.read(context.WithoutCancel(ctx))
	var keys map[keyID]crypto.PublicKey
	var skipped []string
	if err == nil {
		if keys, skipped, err = parseKeys(b); err != nil {
			err = fmt.Errorf("the key set %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil && s.readAt.IsZero():
		s.log.WarnContext(ctx, "an issuer's keys cannot be read; until they can, its users cannot sign in",
			"issuer", s.issuer, "error", err)
	case err != nil:
		s.log.WarnContext(ctx, "an issuer's keys cannot be read; its last ones are used for a day",
			"issuer", s.issuer, "read", s.readAt, "error", err)
	default:
		if s.failed != nil {
			s.log.InfoContext(ctx, "the issuer's keys can be read again", "issuer", s.issuer)
		}
		s.keys, s.readAt = keys, s.now()
		for _, why := range skipped {
			if !slices.Contains(s.skipped, why) {
				s.log.WarnContext(ctx, "a key of an issuer cannot be used, and is skipped",
					"issuer", s.issuer, "key", why)
			}
		}
		s.skipped = skipped
	}
	s.failed = err
	close(s.running)
	s.running = nil
}

// refresh reads the keys if they are due.
func (s *keySet) refresh(ctx context.Context) {
	s.mu.Lock()
	due := (s.failed != nil || s.now().Sub(s.tried) >= keysEvery) && s.begin()
	s.mu.Unlock()
	if due {
		s.attempt(ctx)
	}
}

// age returns how old the keys are; false: there are none.
func (s *keySet) age() (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now().Sub(s.readAt), !s.readAt.IsZero()
}
