package bulkhead

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// takeAll takes permits for a class until it gets none.
func takeAll(b *Bulkhead, c Class) (permits []Permit) {
	for s, ok := b.Try(c); ok; s, ok = b.Try(c) {
		permits = append(permits, s)
	}
	return permits
}

// Each class gets its limit when it comes alone, and then leaves the other classes their reserve.
func TestPermitsOfClasses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		size  int
		users []Class
		most  map[Class]int
	}{
		"the smallest pool of connections": {
			8, Stores(), map[Class]int{PublicRead: 1, OwnRead: 2, Background: 2, Purchase: 3, Admin: 3, Recording: 3},
		},
		"MySQL's pool by default": {
			16, Stores(), map[Class]int{
				PublicRead: 3, OwnRead: 6, Background: 8, Purchase: 11, Admin: 11, Recording: 11,
			},
		},
		"Redis's pool by default": {
			64, Stores(), map[Class]int{
				PublicRead: 14, OwnRead: 24, Background: 34, Purchase: 44, Admin: 44, Recording: 44,
			},
		},
		"requests by default": {
			20_000, Requests(),
			map[Class]int{PublicRead: 5000, OwnRead: 8750, Purchase: 16_250, Admin: 16_250, Background: 0},
		},
		"fewer permits than classes": {1, Requests(), map[Class]int{PublicRead: 1, OwnRead: 1, Purchase: 1, Admin: 1}},
	} {
		for c, most := range tc.most {
			b := New(tc.size, time.Second, tc.users...)
			if got := len(takeAll(b, c)); got != most {
				t.Errorf("%s: %s gets %d, want %d", name, c, got, most)
			}
			for _, other := range tc.users {
				if other == c {
					continue
				}
				if got, reserve := len(takeAll(b, other)), max(1, tc.size/16); got < reserve {
					t.Errorf("%s: beside %s, %s gets %d, less than its %d", name, c, other, got, reserve)
				}
			}
			if taken, size := b.Taken(); taken != size || size < tc.size && most > 0 {
				t.Errorf("%s: %d of %d taken in the end, of %d", name, taken, size, tc.size)
			}
		}
	}
}

// The more permits are taken, the fewer classes get one: public reads are shed first, admins last.
func TestOrderOfShedding(t *testing.T) {
	t.Parallel()
	b := New(160, time.Second, Requests()...) // 10 reserved for each class, 120 free
	for _, c := range Requests() {
		for range 10 {
			if _, ok := b.Try(c); !ok {
				t.Fatalf("%s does not get its reserve", c)
			}
		}
	}
	var shed []string
	for range 120 {
		for _, c := range Requests() {
			if s, ok := b.Try(c); ok {
				s.Release()
			} else if !slices.Contains(shed, c.String()) {
				shed = append(shed, c.String())
			}
		}
		if _, ok := b.Try(Purchase); !ok {
			t.Fatal("a purchase is shed before the end")
		}
	}
	if diff := cmp.Diff([]string{"public_read", "own_read"}, shed); diff != "" {
		t.Errorf("shed while there was room for purchases (-want +got):\n%s", diff)
	}
	for _, c := range []Class{Purchase, Admin} {
		if _, ok := b.Try(c); ok {
			t.Errorf("%s gets more than there are", c)
		}
	}
}

// Whatever classes take and release: no more permits are taken than there are, every class always gets its reserve, and
// it gets more only below its limit.
func TestBulkheadProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(6, 100).Draw(t, "size")
		b := New(size, time.Second, Stores()...)
		reserve, rest := max(1, size/16), size-6*max(1, size/16)
		held := map[Class][]Permit{}
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			c := rapid.SampledFrom(Stores()).Draw(t, "class")
			if n := len(held[c]); n > 0 && rapid.IntRange(0, 2).Draw(t, "release") == 0 {
				held[c][n-1].Release()
				held[c] = held[c][:n-1]
				continue
			}
			beyond, total := 0, 0
			for _, permits := range held {
				beyond, total = beyond+max(0, len(permits)-reserve), total+len(permits)
			}
			s, ok := b.Try(c)
			if want := len(held[c]) < reserve || beyond < rest*c.quarters()/4; ok != want {
				t.Fatalf("%s has %d, %d of %d are taken: %t, want %t", c, len(held[c]), total, size, ok, want)
			}
			if ok {
				held[c] = append(held[c], s)
				total++
			}
			if taken, _ := b.Taken(); taken != total || total > size {
				t.Fatalf("%d of %d taken, counted %d", taken, size, total)
			}
		}
	})
}

// A released permit goes to the highest class that waits, and within it to the first caller.
func TestWaitersGetPermitsByRank(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(8, time.Minute, Stores()...)
		var permits []Permit
		for c := Recording; c > Unnamed; c-- {
			permits = append(permits, takeAll(b, c)...)
		}
		var mu sync.Mutex
		var got []string
		var all sync.WaitGroup
		for i := range 2 {
			for _, c := range []Class{OwnRead, Purchase, Recording, Admin} {
				all.Go(func() {
					s, err := b.Acquire(With(t.Context(), c))
					if err != nil {
						t.Errorf("%s: %v", c, err)
						return
					}
					mu.Lock()
					got = append(got, fmt.Sprint(c, " ", i))
					mu.Unlock()
					s.Release()
				})
				synctest.Wait()
			}
		}
		for _, l := range b.Loads() {
			if want := map[Class]int{OwnRead: 2, Purchase: 2, Recording: 2, Admin: 2}[l.Class]; l.Waiting != want {
				t.Errorf("%s: %d wait, want %d", l.Class, l.Waiting, want)
			}
		}
		for _, s := range permits {
			s.Release()
			synctest.Wait()
		}
		all.Wait()
		if want := "recording 0"; got[0] != want {
			t.Errorf("the first is %s of %v", got[0], got)
		}
		if i, j := slices.Index(got, "purchase 0"), slices.Index(got, "purchase 1"); i > j || len(got) != 8 {
			t.Errorf("in the order %v", got)
		}
		if taken, _ := b.Taken(); taken != 0 {
			t.Errorf("%d permits are still taken in the end", taken)
		}
	})
}

// Nobody waits longer than allowed, and a caller that gives up leaves nothing behind.
func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		gives time.Duration // gives up after this; 0: never
		want  time.Duration
		cause error
	}{
		"the wait is over":  {want: 2 * time.Second},
		"the caller leaves": {gives: time.Second, want: time.Second, cause: context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := New(8, 2*time.Second, Stores()...)
				permits := takeAll(b, PublicRead)
				ctx := With(t.Context(), PublicRead)
				if tc.gives > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.gives)
					defer cancel()
				}
				began := time.Now()
				_, err := b.Acquire(ctx)
				if took := time.Since(began); !errors.Is(err, ErrFull) || took != tc.want ||
					tc.cause != nil && !errors.Is(err, tc.cause) {
					t.Errorf("%v after %v, want ErrFull after %v", err, took, tc.want)
				}
				if l := b.Loads()[0]; l.Waiting != 0 || l.Shed != 2 { // includes takeAll's last try
					t.Errorf("afterwards %+v", l)
				}
				permits[0].Release()
				if s, err := b.Acquire(ctx); err != nil && tc.cause == nil {
					t.Errorf("after a release: %v", err)
				} else if err == nil {
					s.Release()
				}
				if taken, _ := b.Taken(); taken != 0 {
					t.Errorf("%d permits are still taken in the end", taken)
				}
			})
		})
	}
}

// Many callers of all classes, some of whom give up just as they get their permit: the holders never exceed the size,
// and in the end there are none.
func TestManyCallers(t *testing.T) {
	t.Parallel()
	const size = 16
	b := New(size, 3*time.Millisecond, Stores()...)
	var held, beyond, got atomic.Int64
	var all sync.WaitGroup
	for i := range 300 {
		all.Go(func() {
			// Not t.Context: the caller ends by its own timeout.
			//nolint:usetesting // see above
			ctx := With(context.Background(), Stores()[i%6])
			for n := range 20 {
				ctx, cancel := context.WithTimeout(ctx, time.Duration(n%5)*time.Millisecond)
				s, err := b.Acquire(ctx)
				cancel()
				if err != nil {
					continue
				}
				if held.Add(1) > size {
					beyond.Add(1)
				}
				got.Add(1)
				time.Sleep(50 * time.Microsecond)
				held.Add(-1)
				s.Release()
			}
		})
	}
	all.Wait()
	if beyond.Load() > 0 || got.Load() == 0 {
		t.Errorf("%d times more than %d at once, %d in all", beyond.Load(), size, got.Load())
	}
	for _, l := range b.Loads() {
		if l.InUse != 0 || l.Waiting != 0 {
			t.Errorf("in the end %+v", l)
		}
	}
}

func TestClassOfAContext(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	if c := Of(ctx); c != Purchase {
		t.Errorf("the default class is %s", c)
	}
	read := With(ctx, PublicRead)
	if c := Of(context.WithoutCancel(read)); c != PublicRead || With(read, PublicRead) != read {
		t.Errorf("named %s", c)
	}
	if c := Of(With(read, Unnamed)); c != Purchase {
		t.Errorf("the class was not cleared: %s", c)
	}
	one, another := New(8, 0, Stores()...), New(8, 0, Stores()...)
	if ctx := one.Holding(read); !one.Held(ctx) || another.Held(ctx) || one.Held(read) || Of(ctx) != PublicRead {
		t.Error("a holder is not recognized")
	}
}

func BenchmarkTry(b *testing.B) {
	shared := New(20_000, 0, Requests()...)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if s, ok := shared.Try(Purchase); ok {
				s.Release()
			}
		}
	})
}

func BenchmarkAcquire(b *testing.B) {
	shared := New(64, time.Second, Stores()...)
	ctx := context.WithValue(b.Context(), "k", 1) //nolint:revive,staticcheck // any value
	for b.Loop() {
		s, err := shared.Acquire(ctx)
		if err != nil {
			b.Fatal(err)
		}
		s.Release()
	}
}
