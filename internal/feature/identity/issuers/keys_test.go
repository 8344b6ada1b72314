package issuers

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/order"
	"seckill/internal/testkit/idp"
)

// provided is a provider's keys, which are fetched and counted.
type provided struct {
	mu      sync.Mutex
	set     []byte
	err     error
	takes   time.Duration
	fetched atomic.Int64
}

func (p *provided) read(context.Context) ([]byte, error) {
	p.fetched.Add(1)
	time.Sleep(p.takes)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.set, p.err
}

func (p *provided) become(set []byte, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set, p.err = set, err
}

func newKeySet(p *provided) *keySet {
	return &keySet{issuer: "it", read: p.read, now: time.Now, log: slog.New(slog.DiscardHandler)}
}

// Whoever asks while keys are fetched waits for that, and nobody fetches again within 30 s, however many ask.
func TestUnknownKidsFetchOnce(t *testing.T) {
	t.Parallel()
	set := idp.Set(t, idp.Keys(t))
	synctest.Test(t, func(t *testing.T) {
		p := &provided{set: set, takes: time.Second}
		s := newKeySet(p)
		ask := func(kid string) (failed int64) {
			var all sync.WaitGroup
			var n atomic.Int64
			for range 1000 {
				all.Go(func() {
					if key, err := s.find(t.Context(), kid, RS256); err != nil || key == nil {
						n.Add(1)
					}
				})
			}
			all.Wait()
			return n.Load()
		}
		if failed := ask("RS256"); failed != 0 || p.fetched.Load() != 1 {
			t.Errorf("the first tokens: %d failed, %d fetches", failed, p.fetched.Load())
		}
		if failed := ask("unknown"); failed != 1000 || p.fetched.Load() != 1 {
			t.Errorf("unknown at once: %d failed, %d fetches", failed, p.fetched.Load())
		}
		time.Sleep(keysPause)
		if failed := ask("unknown"); failed != 1000 || p.fetched.Load() != 2 {
			t.Errorf("unknown after 30 s: %d failed, %d fetches", failed, p.fetched.Load())
		}
		if _, err := s.find(t.Context(), "unknown", RS256); !errors.Is(err, errNoKey) {
			t.Errorf("an unknown kid: %v", err)
		}
		if failed := ask("RS256"); failed != 0 || p.fetched.Load() != 2 {
			t.Errorf("known ones: %d failed, %d fetches", failed, p.fetched.Load())
		}
	})
}

// Keys that rotate are found at once if the last fetch was 30 s ago, and old ones end with the next set.
func TestKeysRotate(t *testing.T) {
	t.Parallel()
	before := idp.Set(t, map[string]idp.Key{"RS256": idp.Keys(t)["RS256"]})
	after := idp.Set(t, map[string]idp.Key{"EdDSA": idp.Keys(t)["EdDSA"]})
	synctest.Test(t, func(t *testing.T) {
		p := &provided{set: before}
		s := newKeySet(p)
		s.refresh(t.Context())
		p.become(after, nil)
		time.Sleep(keysPause)
		if _, err := s.find(t.Context(), "EdDSA", EdDSA); err != nil {
			t.Errorf("the new key: %v", err)
		}
		if _, err := s.find(t.Context(), "RS256", RS256); !errors.Is(err, errNoKey) {
			t.Errorf("the old key: %v", err)
		}
		p.become(before, nil)
		s.refresh(t.Context())
		if p.fetched.Load() != 2 {
			t.Errorf("%d fetches before the five minutes are over", p.fetched.Load())
		}
		time.Sleep(keysEvery)
		s.refresh(t.Context())
		if _, err := s.find(t.Context(), "RS256", RS256); err != nil || p.fetched.Load() != 3 {
			t.Errorf("after five minutes: %v, %d fetches", err, p.fetched.Load())
		}
	})
}

// While a provider is away, or answers nonsense, its last good keys are used for a day. Then nobody is let in, and
// nobody is called a forger.
func TestLastGoodKeys(t *testing.T) {
	t.Parallel()
	set := idp.Set(t, idp.Keys(t))
	for name, broken := range map[string]struct {
		set []byte
		err error
	}{"away": {nil, errors.New("no route")}, "nonsense": {[]byte("{}"), nil}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &provided{set: set}
				s := newKeySet(p)
				s.refresh(t.Context())
				p.become(broken.set, broken.err)
				began := time.Now()
				for time.Since(began) < keysLast-time.Second {
					s.refresh(t.Context())
					if _, err := s.find(t.Context(), "RS256", RS256); err != nil {
						t.Fatalf("after %v: %v", time.Since(began), err)
					}
					time.Sleep(keysPause)
				}
				if _, err := s.find(t.Context(), "unknown", RS256); !errors.Is(err, order.ErrUnavailable) {
					t.Errorf("an unknown kid: %v", err)
				}
				time.Sleep(keysPause)
				if _, err := s.find(t.Context(), "RS256", RS256); !errors.Is(err, order.ErrUnavailable) {
					t.Errorf("after a day: %v", err)
				}
				time.Sleep(keysPause)
				p.become(set, nil)
				if _, err := s.find(t.Context(), "RS256", RS256); err != nil {
					t.Errorf("once it is back: %v", err)
				}
			})
		})
	}
}

// Whoever stops waiting does not end the fetch for the others.
func TestWaitersLeave(t *testing.T) {
	t.Parallel()
	set := idp.Set(t, idp.Keys(t))
	synctest.Test(t, func(t *testing.T) {
		p := &provided{set: set, takes: 2 * time.Second}
		s := newKeySet(p)
		first, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		var others sync.WaitGroup
		others.Go(func() {
			_, _ = s.find(first, "RS256", RS256) // it makes the attempt
		})
		synctest.Wait()
		others.Go(func() {
			if _, err := s.find(t.Context(), "RS256", RS256); err != nil {
				t.Errorf("who stays: %v", err)
			}
		})
		others.Go(func() {
			if _, err := s.find(first, "RS256", RS256); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("who leaves: %v", err)
			}
		})
		others.Wait()
	})
}

// A token without a kid is checked with the only key of its algorithm, and with none where there are several.
func TestTokensWithoutKid(t *testing.T) {
	t.Parallel()
	set := idp.Set(t, idp.Keys(t))
	p := &provided{set: set}
	s := newKeySet(p)
	if key, err := s.find(t.Context(), "", ES256); err != nil || key == nil {
		t.Errorf("the only one: %v", err)
	}
	s.keys[keyID{"another", ES256}] = s.keys[keyID{"ES256", ES256}]
	if _, err := s.find(t.Context(), "", ES256); !errors.Is(err, errNoKey) {
		t.Errorf("one of two: %v", err)
	}
}
