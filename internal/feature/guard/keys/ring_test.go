package keys_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/feature/guard/keys"
)

const secret = "0123456789abcdef-0123456789abcdef-guard"

// table is a table of salts in memory.
type table struct {
	mu    sync.Mutex
	salts []keys.Salt
	reads int
	fail  error
	hang  bool
	takes time.Duration // what a read takes
}

func (t *table) GuardSalts(ctx context.Context) ([]keys.Salt, error) {
	t.mu.Lock()
	t.reads++
	salts, fail, hang, takes := append([]keys.Salt(nil), t.salts...), t.fail, t.hang, t.takes
	t.mu.Unlock()
	if hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	time.Sleep(takes)
	return salts, fail
}

func (t *table) set(change func(*table)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(t)
}

func (t *table) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reads
}

func salt(id uint16, from time.Time) keys.Salt {
	return keys.Salt{ID: id, Value: [keys.Bytes]byte{byte(id), byte(id >> 8), 7}, UsedFrom: from}
}

// ringOf returns a ring that has read nothing.
func ringOf(t *testing.T, secret string, source *table) *keys.Ring {
	t.Helper()
	r, err := keys.NewRing(secret, source.GuardSalts, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// newRing returns a ring that has read its table and keeps reading it. It is for synctest, whose clock it uses.
func newRing(t *testing.T, source *table) *keys.Ring {
	t.Helper()
	r := ringOf(t, secret, source)
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	ended.Go(func() { _ = r.Run(ctx) })
	t.Cleanup(func() { cancel(); ended.Wait() })
	synctest.Wait()
	return r
}

func TestKeysDiffer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRing(t, &table{salts: []keys.Salt{salt(0, time.Now()), salt(1, time.Now().Add(time.Hour))}})
		seen := map[[keys.Bytes]byte]string{}
		add := func(name string, k *keys.Key) {
			t.Helper()
			if other, twice := seen[k.Secret()]; twice {
				t.Errorf("%s has the key of %s", name, other)
			}
			seen[k.Secret()] = name
		}
		for _, purpose := range []keys.Purpose{keys.Ticket, keys.Challenge, keys.Solution, keys.Delay} {
			for _, sale := range []int64{1, 2, 12} {
				add(string(purpose)+" without salt", r.Seed(purpose, sale))
				for id := range uint16(2) {
					k, err := r.Find(purpose, sale, id)
					if err != nil {
						t.Fatal(err)
					}
					add(string(purpose), k)
				}
			}
		}
		if again, _ := r.Find(keys.Ticket, 1, 0); seen[again.Secret()] == "" {
			t.Error("the same key is another when it is asked for again")
		}
	})
}

func TestTwoInstancesSignAlike(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &table{salts: []keys.Salt{salt(0, time.Now())}}
		a, b := newRing(t, source), newRing(t, source)
		key, id, err := a.Current(keys.Ticket, 7)
		if err != nil {
			t.Fatal(err)
		}
		other, err := b.Find(keys.Ticket, 7, id)
		if err != nil || key.Sign([]byte("x")) != other.Sign([]byte("x")) {
			t.Errorf("the other instance signs otherwise, or not at all: %v", err)
		}
		stranger := ringOf(t, secret+"!", source)
		if err := stranger.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if k, _, _ := stranger.Current(keys.Ticket, 7); k.Secret() == key.Secret() {
			t.Error("another secret gives the same key")
		}
	})
}

func TestRotationIsKnownBeforeItsFirstUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &table{salts: []keys.Salt{salt(0, time.Now())}}
		r := newRing(t, source)
		seed := r.Seed(keys.Delay, 7)
		source.set(func(t *table) { t.salts = append(t.salts, salt(1, time.Now().Add(keys.RotationLead))) })
		time.Sleep(11 * time.Second) // by then every instance has read it
		if _, err := r.Find(keys.Ticket, 7, 1); err != nil {
			t.Errorf("the new salt is not known: %v", err)
		}
		if _, id, _ := r.Current(keys.Ticket, 7); id != 0 {
			t.Error("the new salt is used before its time")
		}
		time.Sleep(keys.RotationLead)
		if _, id, _ := r.Current(keys.Ticket, 7); id != 1 {
			t.Error("the new salt is not used after its time")
		}
		if _, err := r.Find(keys.Ticket, 7, 0); err != nil {
			t.Errorf("the old salt is no longer good: %v", err)
		}
		if r.Seed(keys.Delay, 7) != seed {
			t.Error("the rotation changed everybody's moment")
		}
	})
}

func TestUnknownSalt(t *testing.T) {
	t.Parallel()
	type step struct {
		after time.Duration
		want  error
	}
	none := func(*table) {}
	for name, tt := range map[string]struct {
		change func(*table)
		steps  []step
		reads  int // besides the first
	}{
		"there is none": {none, []step{{0, keys.ErrUnknownYet}, {time.Millisecond, keys.ErrNotKnown}}, 1},
		"it was just stored": {
			func(t *table) { t.salts = append(t.salts, salt(9, time.Now())) },
			[]step{{0, keys.ErrUnknownYet}, {time.Millisecond, nil}},
			1,
		},
		"the database refuses": {
			func(t *table) { t.fail = errors.New("away") },
			[]step{
				{0, keys.ErrUnknownYet}, {500 * time.Millisecond, keys.ErrUnknownYet}, {time.Second, keys.ErrNotKnown},
			},
			1,
		},
		"the database hangs": {
			func(t *table) { t.hang = true },
			[]step{{0, keys.ErrUnknownYet}, {999 * time.Millisecond, keys.ErrUnknownYet}, {
				time.Millisecond, keys.ErrNotKnown,
			}},
			1,
		},
		"many ask": {none, []step{
			{0, keys.ErrUnknownYet}, {time.Millisecond, keys.ErrNotKnown}, {time.Second, keys.ErrUnknownYet}, {
				time.Millisecond, keys.ErrNotKnown,
			},
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				source := &table{salts: []keys.Salt{salt(0, time.Now())}}
				r := newRing(t, source)
				time.Sleep(2 * time.Second)
				source.set(tt.change)
				// So that no read ends while the same step asks.
				source.set(func(t *table) { t.takes = time.Microsecond })
				for i, s := range tt.steps {
					time.Sleep(s.after)
					synctest.Wait()
					for range 100 {
						if _, err := r.Find(keys.Ticket, 7, 9); !errors.Is(err, s.want) {
							t.Fatalf("step %d: %v, want %v", i, err, s.want)
						}
						if _, err := r.Find(keys.Ticket, 7, 0); err != nil {
							t.Fatalf("step %d: a known salt is refused: %v", i, err)
						}
					}
				}
				if got := source.count() - 1; got != tt.reads {
					t.Errorf("%d reads, want %d", got, tt.reads)
				}
			})
		})
	}
}

func TestEmptyRing(t *testing.T) {
	t.Parallel()
	r := ringOf(t, secret, &table{})
	if err := r.Load(t.Context()); err == nil {
		t.Error("a table without salts was taken")
	}
	if _, _, err := r.Current(keys.Ticket, 1); !errors.Is(err, keys.ErrNotKnown) {
		t.Errorf("%v, want ErrNotKnown", err)
	}
	if _, err := r.Find(keys.Ticket, 1, 0); !errors.Is(err, keys.ErrUnknownYet) {
		t.Errorf("%v, want ErrUnknownYet: any salt may be in the table", err)
	}
}

// TestSaltsAreReadLater holds that an instance whose table could not be read when it started gets its salts all the
// same.
func TestSaltsAreReadLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &table{fail: errors.New("away")}
		r := newRing(t, source)
		source.set(func(t *table) { t.fail, t.salts = nil, []keys.Salt{salt(0, time.Now())} })
		time.Sleep(11 * time.Second)
		if _, _, err := r.Current(keys.Ticket, 1); err != nil {
			t.Error(err)
		}
	})
}

func TestShortSecret(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "secret", secret[:31]} {
		if _, err := keys.NewRing(s, new(table).GuardSalts, time.Now,
			slog.New(slog.DiscardHandler)); !errors.Is(err, keys.ErrShortSecret) {
			t.Errorf("%d bytes: %v", len(s), err)
		}
	}
}

func TestSigningIsSafeForManyCallers(t *testing.T) {
	t.Parallel()
	r := ringOf(t, secret, &table{salts: []keys.Salt{salt(0, time.Now())}})
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	key := r.Seed(keys.Delay, 1)
	want := key.Number(5)
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for i := range int64(1000) {
				_ = key.Number(i)
				if got := key.Number(5); got != want {
					t.Errorf("%d, want %d", got, want)
				}
			}
		})
	}
	callers.Wait()
}
