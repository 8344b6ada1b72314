package redemption

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"seckill/internal/order"
)

// fakeLedger is a ledger of coupons with the keys of their codes.
type fakeLedger struct {
	mu      sync.Mutex
	coupons map[Code]*Coupon
	keys    []Key
	fails   error
	hangs   bool
	calls   int // of Do
	asked   int // of CouponKeys
	due     []order.Order
}

func (f *fakeLedger) Do(_ context.Context, cmds []Command) ([]Outcome, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	outcomes := make([]Outcome, len(cmds))
	for i, cmd := range cmds {
		if c := f.coupons[cmd.Code]; c != nil {
			outcomes[i], _ = c.Do(cmd, noon)
		} else {
			outcomes[i].Err = ErrNotFound
		}
	}
	return outcomes, f.fails
}

func (f *fakeLedger) CouponOf(ctx context.Context, _ order.Order) (Coupon, error) {
	if f.hangs {
		<-ctx.Done()
		return Coupon{}, ctx.Err()
	}
	return paid(), f.fails
}

func (f *fakeLedger) CouponKeys(context.Context) ([]Key, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	return f.keys, f.fails
}

func (f *fakeLedger) LapseDue(context.Context, int64, int) ([]order.Order, int, error) {
	due := f.due
	f.due = nil
	return due, len(due), f.fails
}

// notes records the notifications that it gets.
type notes struct {
	mu       sync.Mutex
	outcomes map[int64]order.Status
	told     chan int // receives the number of orders of each notification; may be nil
}

func (n *notes) Notify(outcomes map[int64]order.Status) {
	n.mu.Lock()
	n.outcomes = outcomes
	n.mu.Unlock()
	if n.told != nil {
		n.told <- len(outcomes)
	}
}

func openTills(n *notes) (*Tills, *fakeLedger, *atomic.Int64) {
	clock := new(atomic.Int64)
	k := key(0, "secret")
	c := paid()
	c.Code = k.NewCode()
	f := &fakeLedger{coupons: map[Code]*Coupon{c.Code: &c}, keys: []Key{k}}
	ids := 0
	newID := func() string { ids++; return fmt.Sprint("r", ids) }
	now := func() time.Time { return noon.Add(time.Duration(clock.Load())) }
	return NewTills(f, n, NewMetrics(), newID, now), f, clock
}

func (f *fakeLedger) code() string {
	for c := range f.coupons {
		return c.Shown()
	}
	return ""
}

// Validate tells whether the till could redeem the code now.
func (t *Tills) Validate(ctx context.Context, till Till, text string) (Outcome, error) {
	return t.Do(ctx, Command{Verb: Validate, Till: till}, text)
}

// Redeem redeems the code, once for each key.
func (t *Tills) Redeem(ctx context.Context, till Till, text, reservation, key string) (Outcome, error) {
	return t.Do(ctx, Command{Verb: Redeem, Till: till, Key: key, Reservation: reservation}, text)
}

func TestTillsRedeem(t *testing.T) {
	t.Parallel()
	var n notes
	tills, f, _ := openTills(&n)
	ctx, code := t.Context(), f.code()
	if o, err := tills.Validate(ctx, tillA, code); err != nil || o.Coupon.OrderID != 5 {
		t.Fatalf("Validate = %+v, %v", o, err)
	}
	o, err := tills.Do(ctx, Command{Verb: Reserve, Till: tillA, Key: "k"}, code)
	if err != nil ||
		o.Coupon.Reservation != (Reservation{ID: "r1", Till: 1, Key: "k", Until: noon.Add(ReservationTime)}) {
		t.Fatalf("Reserve = %+v, %v", o, err)
	}
	if _, err := tills.Redeem(ctx, tillB, code, "", "k"); !errors.Is(err, ErrReserved) {
		t.Errorf("another till: %v, want ErrReserved", err)
	}
	if len(n.outcomes) != 0 {
		t.Errorf("notified of %v", n.outcomes)
	}
	for _, again := range []bool{false, true} {
		o, err := tills.Redeem(ctx, tillA, code, "r1", "l")
		if err != nil || o.Repeated != again || n.outcomes[5] != order.Redeemed {
			t.Errorf("Redeem = %+v, %v; notified %v", o, err, n.outcomes)
		}
	}
	release := Command{Verb: Release, Till: tillA, Reservation: "r1"}
	if _, err := tills.Do(ctx, release, code); !errors.Is(err, ErrRedeemed) {
		t.Errorf("Release: %v, want ErrRedeemed", err)
	}
	if c, err := tills.CouponOf(ctx, order.Order{}); err != nil || c != paid() {
		t.Errorf("CouponOf = %+v, %v", c, err)
	}
}

// Wrong codes cost no question to the ledger, and after some the till has to wait, for right ones too; others need not.
func TestWrongCodesAreLimited(t *testing.T) {
	t.Parallel()
	tills, f, clock := openTills(new(notes))
	ctx, right, wrong := t.Context(), f.code(), string(key(0, "guess").NewCode())
	for range 3 {
		if _, err := tills.Validate(ctx, tillA, "typing"); !errors.Is(err, ErrMalformed) {
			t.Fatalf("malformed: %v", err)
		}
	}
	for i := range wrongBurst {
		if _, err := tills.Validate(ctx, tillA, wrong); !errors.Is(err, ErrNotFound) {
			t.Fatalf("wrong code %d: %v, want ErrNotFound", i, err)
		}
	}
	if f.calls != 0 || f.asked != 1 {
		t.Errorf("the ledger was asked %d times, and %d times for keys", f.calls, f.asked)
	}
	if _, err := tills.Validate(ctx, tillA, right); !errors.Is(err, ErrWrongCodes) {
		t.Errorf("a right one now: %v, want ErrWrongCodes", err)
	}
	if _, err := tills.Validate(ctx, tillB, right); err != nil {
		t.Errorf("another till: %v", err)
	}
	clock.Store(int64(wrongEvery))
	for _, want := range []error{nil, ErrNotFound, ErrWrongCodes} {
		code := right
		if want == ErrNotFound { //nolint:errorlint // it is the table's own
			code = wrong
		}
		if _, err := tills.Validate(ctx, tillA, code); !errors.Is(err, want) {
			t.Errorf("later: %v, want %v", err, want)
		}
	}
}

// Another shop's code, and one with a right checksum that no order has, count as wrong too.
func TestWhatIsNotFoundIsWrong(t *testing.T) {
	t.Parallel()
	tills, f, _ := openTills(new(notes))
	guess := string(f.keys[0].NewCode())
	for range wrongBurst / 2 {
		_, err := tills.Redeem(t.Context(), tillC, f.code(), "", "k")
		_, err2 := tills.Redeem(t.Context(), tillC, guess, "", "k")
		if !errors.Is(err, ErrNotFound) || !errors.Is(err2, ErrNotFound) {
			t.Fatalf("%v, %v", err, err2)
		}
	}
	if _, err := tills.Validate(t.Context(), tillC, guess); !errors.Is(err, ErrWrongCodes) {
		t.Errorf("%v, want ErrWrongCodes", err)
	}
}

// An order is shown without its coupon while the ledger hangs.
func TestCouponOfAHangingLedger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tills, f, _ := openTills(new(notes))
		f.hangs = true
		start := time.Now()
		if _, err := tills.CouponOf(t.Context(), order.Order{ID: 1}); !errors.Is(err, order.ErrUnavailable) ||
			time.Since(start) != couponTimeout {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		f.hangs, f.fails = false, ErrNotFound
		if _, err := tills.CouponOf(t.Context(), order.Order{ID: 1}); !errors.Is(err, ErrNotFound) ||
			errors.Is(err, order.ErrUnavailable) {
			t.Errorf("without one: %v", err)
		}
	})
}

func TestRememberedTillsAreBounded(t *testing.T) {
	t.Parallel()
	var w wrongCodes
	for i := range int64(3 * wrongTills) {
		w.count(i, noon.Add(time.Duration(i)*time.Millisecond))
	}
	if n := len(w.younger) + len(w.older); n > 2*wrongTills {
		t.Errorf("%d tills are remembered", n)
	}
	last := int64(3*wrongTills - 1)
	for range wrongBurst {
		w.count(last, noon)
	}
	w.count(last+1, noon.Add(2*wrongBurst*wrongEvery)) // a generation later
	if w.wait(last, noon) == 0 {
		t.Error("a till is forgotten before its bucket is full")
	}
}

// A key that another instance has added is found, and codes that name a key that does not exist cost one question a
// second.
func TestKeyIsRotated(t *testing.T) {
	t.Parallel()
	tills, f, clock := openTills(new(notes))
	ctx, old := t.Context(), f.code()
	if _, err := tills.Validate(ctx, tillA, old); err != nil {
		t.Fatal(err)
	}
	next := key(1, "next")
	c := paid()
	c.Code = next.NewCode()
	f.mu.Lock()
	f.keys = append(f.keys, next)
	f.coupons[c.Code] = &c
	f.mu.Unlock()
	clock.Store(int64(reloadEvery))
	for _, code := range []string{string(c.Code), old} {
		if _, err := tills.Validate(ctx, tillA, code); err != nil {
			t.Errorf("code %s after the rotation: %v", code, err)
		}
	}
	for range 5 {
		if _, err := tills.Validate(ctx, tillA, string(key(2, "none").NewCode())); !errors.Is(err, ErrNotFound) {
			t.Errorf("a key that does not exist: %v", err)
		}
	}
	if f.asked != 2 {
		t.Errorf("keys were asked for %d times, want 2", f.asked)
	}
}

func TestTillsWithoutLedger(t *testing.T) {
	t.Parallel()
	tills, f, _ := openTills(new(notes))
	code := f.code()
	f.fails = errors.New("away")
	if _, err := tills.Redeem(t.Context(), tillA, code, "", "k"); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("without keys: %v", err)
	}
	f.fails = nil
	if _, err := tills.Validate(t.Context(), tillA, code); err != nil {
		t.Fatal(err)
	}
	f.fails = errors.New("away") // after its commit, as it happens
	if _, err := tills.Redeem(t.Context(), tillA, code, "", "k"); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("the answer is lost: %v", err)
	}
	f.fails = nil
	if o, err := tills.Redeem(t.Context(), tillA, code, "", "k"); err != nil || !o.Repeated {
		t.Errorf("asked again: %+v, %v; want that it was redeemed by this request", o, err)
	}
}

// lock is a fenced lock that nobody else wants.
type lock struct{}

func (lock) TryDoFenced(ctx context.Context, name string, f func(context.Context, int64) error) error {
	if name != lapserJob {
		return fmt.Errorf("lock %q", name)
	}
	return f(ctx, 1)
}

func TestLapserLapses(t *testing.T) {
	t.Parallel()
	n := &notes{told: make(chan int)}
	f := &fakeLedger{due: []order.Order{{ID: 5, Status: order.Lapsed}}}
	ctx, stop := context.WithCancel(t.Context())
	done, m := make(chan error), NewMetrics()
	go func() { done <- lapser(f, lock{}.TryDoFenced, n, m, nil)(ctx) }()
	if got := <-n.told; got != 1 {
		t.Errorf("told of %d orders", got)
	}
	stop()
	err := <-done
	if counted := testutil.ToFloat64(m.lapsed); err != nil || n.outcomes[5] != order.Lapsed || counted != 1 {
		t.Errorf("%v; notified %v, counted %v", err, n.outcomes, counted)
	}
}

// hangingLedger does not tell its keys until it is released.
type hangingLedger struct {
	fakeLedger
	begun chan struct{}
}

func (h *hangingLedger) CouponKeys(ctx context.Context) ([]Key, error) {
	h.begun <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

// While the ledger does not tell a key, codes of known keys are checked, and who gives up does not wait for others.
func TestKeyringWithALedgerThatHangs(t *testing.T) {
	t.Parallel()
	known, unknown := key(0, "secret"), key(1, "another")
	h := &hangingLedger{begun: make(chan struct{}, 1)}
	k := NewKeyring(h.CouponKeys, time.Now)
	k.keys = map[int]Key{0: known}
	hangs, release := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { _, err := k.Made(hangs, unknown.NewCode()); first <- err }()
	<-h.begun
	if made, err := k.Made(t.Context(), known.NewCode()); !made || err != nil {
		t.Errorf("a known key: %t, %v", made, err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := k.Made(gone, unknown.NewCode()); !errors.Is(err, context.Canceled) {
		t.Errorf("one who has gone: %v", err)
	}
	release()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first: %v", err)
	}
}
