package order

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/voucher"
)

// board keeps counts, and fails as it is told to.
type board struct {
	counts Counts
	calls  int
	fails  error // of the next call
	lost   bool  // the next call adds and fails all the same
}

func (b *board) Add(_ context.Context, sale SaleRef, since Counts) error {
	b.calls++
	err := b.fails
	b.fails = nil
	if sale.VoucherID != soldOutSale {
		return fmt.Errorf("asked about sale %d", sale.VoucherID)
	}
	if err == nil || b.lost {
		for i, n := range since {
			b.counts[i] += n
		}
	}
	b.lost = false
	return err
}

// ear hears what the crier tells of the memory.
type ear struct{ soldOut, notStarted int64 }

func (e *ear) Remembered(soldOut, notStarted int64) {
	e.soldOut += soldOut
	e.notStarted += notStarted
}

// Whoever is refused is counted once, whether Redis or the memory refuses him, and others hear of it once a second.
func TestCrierTellsEverybodyWasTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := soldOutOf(t, 10)
		b, e := &board{}, &ear{}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if err := NewCrier(a, b, e, quiet()).Run(ctx); err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(cryEvery / 2) // so that what is looked at lies between two cries
		cry := func(refused int) {
			for range refused {
				refuse(t, a, 3)
			}
			time.Sleep(cryEvery)
			synctest.Wait() // until he has cried, too
		}
		cry(50)
		before := b.counts[ToldSoldOut] // soldOutOf has refused some, too
		cry(7)
		cry(0)
		if got := b.counts[ToldSoldOut] - before; got != 7 || b.calls != 2 {
			t.Errorf("%d of 7 are counted, in %d calls", got, b.calls)
		}
		b.fails = fmt.Errorf("%w: no connection", ErrUnavailable)
		cry(3) // certainly not told: told later
		cry(0)
		b.fails, b.lost = errors.New("no reply"), true
		cry(2) // perhaps told: not told again
		cry(0)
		refuse(t, a, 3)
		cancel()
		<-ended // with a last word
		if got := b.counts[ToldSoldOut] - before; got != 7+3+2+1 {
			t.Errorf("%d are counted, want 13", got)
		}
		if e.soldOut == 0 || e.soldOut > b.counts[ToldSoldOut] || e.notStarted != 0 {
			t.Errorf("the observer heard of %+v, of %d in all", *e, b.counts[ToldSoldOut])
		}
	})
}

func TestTally(t *testing.T) {
	t.Parallel()
	var y tally
	outcomes := make([]Outcome, 0, 14)
	for code := Doubtful; code <= Backlogged+1; code++ {
		outcomes = append(outcomes, Outcome{Code: code})
	}
	y.outcomes(outcomes)
	y.add(toldBy(fmt.Errorf("call: %w", ErrUnavailable)), 2)
	y.add(toldBy(errors.New("no reply")), 3)
	y.remembered.Add(10)
	y.early.Add(20)
	got, soldOut, notStarted := y.counts()
	want := Counts{
		ToldAccepted: 1, ToldAlreadyBought: 1, ToldSoldOut: 11, ToldNotStarted: 21, ToldEnded: 1, ToldPaused: 4, ToldOffShelf: 1,
		ToldUnavailable: 3, ToldUnknown: 6,
	}
	if diff := cmp.Diff(want, got); diff != "" || soldOut != 10 || notStarted != 20 {
		t.Errorf("%d and %d from memory; counts (-want +got):\n%s", soldOut, notStarted, diff)
	}
}

// The words are fields in Redis and codes in answers: each has its own.
func TestToldHasWords(t *testing.T) {
	t.Parallel()
	words := map[string]bool{}
	for told := range ToldKinds {
		words[told.String()] = true
	}
	if len(words) != int(ToldKinds) || words[""] {
		t.Errorf("words: %v", words)
	}
}

// pulses is Redis with one sale.
type pulses struct {
	pulse Pulse
	fails error
}

func (p pulses) Pulse(context.Context, voucher.Voucher) (Pulse, error) { return p.pulse, p.fails }

// ledgerOf answers with one voucher, or fails.
type ledgerOf struct {
	voucher voucher.Voucher
	fails   error
}

func (l ledgerOf) Voucher(context.Context, int64) (voucher.Voucher, error) { return l.voucher, l.fails }

// balances has one, or none.
type balances struct{ balance *Balance }

func (b balances) Balance(context.Context, int64) (Balance, error) {
	if b.balance == nil {
		return Balance{}, voucher.ErrNotSeckill
	}
	return *b.balance, nil
}

func TestFigures(t *testing.T) {
	t.Parallel()
	pulse := Pulse{State: voucher.StateOnSale, View: SaleView{Stock: 3, Buyers: 7}, Waiting: 2}
	retired := Pulse{State: voucher.StateEnded, View: SaleView{Stock: 4, Buyers: 6}}
	selling := voucher.Voucher{ID: 1, Sale: &voucher.Sale{Issued: 10, Stock: 5}}
	over := voucher.Voucher{ID: 1, Sale: &voucher.Sale{Issued: 10, Stock: 4, Retired: true}}
	for name, tc := range map[string]struct {
		ledger   ledgerOf
		known    *voucher.Voucher // by the catalog
		pulses   pulses
		balances balances
		want     Figures
		err      error
	}{
		"selling": {ledger: ledgerOf{voucher: selling}, pulses: pulses{pulse: pulse}, want: Figures{Pulse: pulse, Issued: 10, Recorded: 5}},
		"with its balance": {
			ledger: ledgerOf{voucher: selling}, pulses: pulses{pulse: pulse}, balances: balances{&Balance{Finding: Balanced}},
			want: Figures{Pulse: pulse, Issued: 10, Recorded: 5, Balance: &Balance{Finding: Balanced}},
		},
		"retired":              {ledger: ledgerOf{voucher: over}, want: Figures{Pulse: retired, Issued: 10, Recorded: 6}},
		"the ledger is away":   {ledger: ledgerOf{fails: errAway}, known: &selling, pulses: pulses{pulse: pulse}, want: Figures{Pulse: pulse, Issued: 10, Recorded: 5, Stale: true}},
		"away and not known":   {ledger: ledgerOf{fails: errAway}, err: ErrUnavailable},
		"Redis is away":        {ledger: ledgerOf{voucher: selling}, pulses: pulses{fails: ErrUnavailable}, err: ErrUnavailable},
		"an ordinary voucher":  {ledger: ledgerOf{voucher: voucher.Voucher{ID: 1}}, err: voucher.ErrNotSeckill},
		"there is no such one": {ledger: ledgerOf{fails: voucher.ErrNotFound}, err: voucher.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			catalog := NewCatalog(ledgerOf{fails: tc.ledger.fails})
			t.Cleanup(catalog.Close)
			if tc.known != nil {
				catalog.keep([]voucher.Voucher{*tc.known})
			}
			got, err := NewMonitor(tc.ledger, catalog, tc.pulses, tc.balances).Figures(t.Context(), 1)
			if diff := cmp.Diff(tc.want, got); diff != "" || !errors.Is(err, tc.err) {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
