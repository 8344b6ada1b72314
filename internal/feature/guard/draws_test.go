package guard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/feature/guard/draw"
	"seckill/internal/feature/guard/keys"
	"seckill/internal/feature/guard/store"
	"seckill/internal/feature/guard/ticket"
	"seckill/internal/kit/moment"
	"seckill/internal/order"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher/guards"
)

// drawTable is the ledger's draw of one sale.
type drawTable struct {
	mu      sync.Mutex
	row     store.DrawRow
	entries map[int64]int64
	away    bool
	reads   int
}

func (d *drawTable) RunningDraws(context.Context) (map[int64]*store.DrawRow, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reads++; d.away {
		return nil, order.ErrUnavailable
	}
	row := d.row
	return map[int64]*store.DrawRow{row.VoucherID: &row}, nil
}

func (d *drawTable) goAway(away bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away = away
}

func (d *drawTable) Enter(_ context.Context, _, number int64, users []int64) (map[int64]int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.away {
		return nil, order.ErrUnavailable
	}
	in := map[int64]int64{}
	for _, user := range users {
		if _, has := d.entries[user]; !has && number == d.row.Number && time.Now().Before(d.row.Close) {
			d.entries[user] = 1_000 + user
		}
		if entry, has := d.entries[user]; has && number == d.row.Number {
			in[user] = entry
		}
	}
	return in, nil
}

func (d *drawTable) Entries(ctx context.Context, id, number int64, users []int64) (map[int64]int64, error) {
	return d.Enter(ctx, id, number, users)
}

// alter changes the row, and waits until the instances have read it.
func (d *drawTable) alter(change func(row *store.DrawRow)) {
	d.mu.Lock()
	change(&d.row)
	d.mu.Unlock()
	time.Sleep(2 * time.Second)
}

// close publishes the root.
func (d *drawTable) close() {
	d.alter(func(row *store.DrawRow) {
		at, root := time.Now(), draw.NewRoot().Sum()
		row.Closed, row.Root = &at, root[:]
	})
}

// drawing is an instance whose sale begins in an hour, and whose draw closes in half an hour.
type drawing struct {
	*instance

	table *drawTable
	draws *Draws
	at    time.Time // the sale's begin
}

func newDrawing(t *testing.T, table *drawTable, source string) *drawing {
	t.Helper()
	begin := time.Now().Add(time.Hour)
	settings := &guards.Settings{Tickets: &guards.Tickets{
		DelayMs: 20_000, LeadMinutes: 60, ExpiryMinutes: 120,
		Draw: &guards.Draw{CloseTime: moment.Of(begin.Add(-30 * time.Minute)), Source: source, Round: source},
	}}
	if table.entries == nil {
		key := [draw.Bytes]byte{7}
		hash := draw.KeyHash(key)
		table.entries, table.row = map[int64]int64{}, store.DrawRow{
			VoucherID: ordertest.VoucherAt(1, 0).ID, Number: 3, Key: key[:], KeyHash: hash[:], Begin: begin,
			DelayMs: 20_000, Close: begin.Add(-30 * time.Minute), Source: source, Round: source,
		}
	}
	i := newInstance(t, &saltTable{salts: []keys.Salt{{Value: [keys.Bytes]byte{9}}}}, settings)
	d := NewDraws(table, func(f func(*guards.Settings) bool) bool { return f(settings) }, ordertest.Quiet())
	i.tickets.draws, i.check.Draws = d, d
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	synctest.Wait()
	return &drawing{i, table, d, begin}
}

func (d *drawing) ticket(t *testing.T, user int64) Ticket {
	t.Helper()
	given, err := d.tickets.Give(t.Context(), d.instance.at.ID, Caller{UserID: user}, "")
	if err != nil {
		t.Fatal(err)
	}
	return given
}

// early holds a refusal to be an EarlyError with this moment.
func early(t *testing.T, err error, want time.Time) {
	t.Helper()
	e, is := errors.AsType[*ticket.EarlyError](err)
	if !is || !e.UsableFrom.Equal(want) {
		t.Errorf("%v, want early until %v", err, want)
	}
}

// A key or a hash that was changed by hand, whatever its length, leaves its draw out and ends no instance.
func TestChangedKeyOfADraw(t *testing.T) {
	t.Parallel()
	key := [draw.Bytes]byte{7}
	hash := draw.KeyHash(key)
	for name, tc := range map[string]struct {
		key, hash []byte
		known     bool
	}{
		"as committed":   {key[:], hash[:], true},
		"another key":    {hash[:], hash[:], false},
		"a short key":    {key[:5], hash[:], false},
		"a short hash":   {key[:], hash[:5], false},
		"nothing at all": {nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := NewDraws(nil, nil, ordertest.Quiet())
			d.keep(t.Context(), map[int64]*store.DrawRow{5: {VoucherID: 5, Key: tc.key, KeyHash: tc.hash}})
			if _, known := (*d.running.Load())[5]; known != tc.known {
				t.Errorf("known: %t", known)
			}
		})
	}
}

// Who asks before the draw is closed has an entry and its moment, the same on every instance; who asks later, or holds
// another's ticket, comes after all of them. Until the beacon is in, the sale begins for nobody.
func TestDrawDecidesMoments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &drawTable{}
		one, two := newDrawing(t, table, "drand"), newDrawing(t, table, "drand")
		mine := one.ticket(t, 42)
		again := two.ticket(t, 42)
		if mine.Entry != draw.EntryText(one.instance.at.ID, 3, 1042) || again.Entry != mine.Entry ||
			!mine.UsableFrom.Equal(one.at) || len(mine.Text) != 43 {
			t.Fatalf("%+v, and again %+v", mine, again)
		}
		time.Sleep(31 * time.Minute)
		late := one.ticket(t, 43)
		if late.Entry != "" || !late.UsableFrom.Equal(one.at.Add(20*time.Second)) {
			t.Errorf("after the close time: %+v", late)
		}
		table.close()
		if got := two.ticket(t, 42); got.Entry != mine.Entry || !got.UsableFrom.Equal(one.at) {
			t.Errorf("without the beacon: %+v", got)
		}
		time.Sleep(time.Until(one.at) + time.Hour/2)
		early(t, one.enter(t, 42, mine.Text), time.Time{})
		early(t, one.enter(t, 43, late.Text), time.Time{})
		table.alter(func(row *store.DrawRow) { row.Beacon = "c0ffee" })
		if err := one.enter(t, 43, late.Text); err != nil {
			t.Errorf("with the beacon: %v", err)
		}
		if err := one.enter(t, 43, mine.Text); !errors.Is(err, ticket.ErrInvalid) {
			t.Errorf("another's ticket: %v", err)
		}
		if err := one.enter(t, 42, ""); !errors.Is(err, ticket.ErrRequired) {
			t.Errorf("without a ticket: %v", err)
		}
		usual, err := one.check.Tickets.Issue(one.instance.at.ID, 42, time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if err := one.enter(t, 42, usual); !errors.Is(err, ticket.ErrInvalid) {
			t.Errorf("a ticket without a draw: %v", err)
		}
	})
}

// Before their moments, entrants are told these; at them, they are let in.
func TestMomentsOfADraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDrawing(t, &drawTable{}, "")
		texts := map[int64]string{}
		for user := range int64(50) {
			texts[user] = d.ticket(t, user).Text
		}
		time.Sleep(31 * time.Minute)
		none := d.ticket(t, 77)
		d.table.close()
		time.Sleep(time.Until(d.at) - time.Second)
		m := draw.NewMoments([draw.Bytes]byte{7}, "", d.at, 20_000)
		moments := map[int64]time.Time{77: d.at.Add(20 * time.Second)}
		texts[77] = none.Text
		for user := range int64(50) {
			moments[user] = m.Of(draw.EntryHash(draw.EntryText(d.instance.at.ID, 3, 1_000+user)))
			if got := d.ticket(t, user).UsableFrom; !got.Equal(moments[user]) {
				t.Errorf("user %d is told %v, and has %v", user, got, moments[user])
			}
		}
		for time.Now().Before(d.at.Add(21 * time.Second)) {
			for user, text := range texts {
				switch err := d.enter(t, user, text); {
				case time.Now().Before(moments[user]):
					early(t, err, moments[user])
				case err != nil:
					t.Fatalf("user %d at %v, whose moment was %v: %v", user, time.Now(), moments[user], err)
				}
			}
			time.Sleep(250 * time.Millisecond)
		}
	})
}

// An instance that does not know the sale's draw, or another one than the sale's, sells nothing of it; one that has
// read it before goes on without the ledger. A draw that is void, or whose key is another, lets nobody in.
func TestDrawsThatDoNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDrawing(t, &drawTable{}, "")
		text := d.ticket(t, 42).Text
		time.Sleep(31 * time.Minute)
		d.table.close()
		time.Sleep(time.Until(d.at) + 21*time.Second)
		in := func(want error) {
			t.Helper()
			if err := d.enter(t, 42, text); !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
		}
		in(nil)
		d.table.goAway(true)
		time.Sleep(time.Minute)
		in(nil)
		_, err := d.tickets.Give(t.Context(), d.instance.at.ID, Caller{UserID: 42}, "")
		if !errors.Is(err, order.ErrUnavailable) {
			t.Errorf("a ticket without the ledger: %v", err)
		}
		d.table.goAway(false)
		begin := d.instance.at.Begin
		d.instance.at.Begin = begin.Add(-time.Minute)
		in(ticket.ErrTryAgain)
		d.instance.at.Begin = begin
		d.table.alter(func(row *store.DrawRow) { row.Number = 4 })
		in(ticket.ErrInvalid)
		d.table.alter(func(row *store.DrawRow) { row.Number, row.Key = 3, make([]byte, draw.Bytes) })
		in(ticket.ErrTryAgain)
		now := time.Now()
		d.table.alter(func(row *store.DrawRow) { row.Key, row.Void = append([]byte{7}, make([]byte, 31)...), &now })
		early(t, d.enter(t, 42, text), time.Time{})
		_, err = d.tickets.Give(t.Context(), d.instance.at.ID, Caller{UserID: 42}, "")
		early(t, err, time.Time{})
		d.table.alter(func(row *store.DrawRow) { row.VoucherID++ })
		in(ticket.ErrTryAgain)
		d.instance.at.Over = true // the sale itself refuses everybody, and says why
		in(nil)
	})
}

// An instance without a sale that has a draw never asks for one, and a ticket of a sale without one is what it was.
func TestSalesWithoutADraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &drawTable{away: true}
		anySale := func(f func(*guards.Settings) bool) bool { return f(ticketed()) || f(nil) }
		d := NewDraws(table, anySale, ordertest.Quiet())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_ = d.Run(ctx)
		if table.reads > 0 {
			t.Errorf("%d reads", table.reads)
		}
		i := newInstance(t, &saltTable{salts: []keys.Salt{{Value: [keys.Bytes]byte{9}}}}, ticketed())
		given, err := i.tickets.Give(t.Context(), i.at.ID, Caller{UserID: 42}, "")
		if !errors.As(err, new(*TicketsLaterError)) {
			t.Fatalf("%+v, %v", given, err)
		}
		time.Sleep(31 * time.Minute)
		given, err = i.tickets.Give(t.Context(), i.at.ID, Caller{UserID: 42}, "")
		if err != nil || given.Entry != "" || len(given.Text) != ticket.Length {
			t.Fatalf("%+v, %v", given, err)
		}
		time.Sleep(30*time.Minute + 1500*time.Millisecond)
		if err := i.enter(t, 42, given.Text); err != nil {
			t.Error(err)
		}
	})
}

// TestForgedEntries: no ticket lets anybody in whose entry, draw, sale, user or text was altered.
func TestForgedEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDrawing(t, &drawTable{}, "")
		tickets, now := d.check.Tickets, time.Now()
		text, err := tickets.IssueEntry(1, 2, 3, 4, now.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if entry, err := tickets.CheckEntry(text, 1, 2, 3, now); entry != 4 || err != nil {
			t.Fatalf("%d, %v", entry, err)
		}
		for name, c := range map[string]struct {
			text             string
			sale, user, draw int64
			at               time.Time
		}{
			"another sale": {text, 9, 2, 3, now}, "another user": {text, 1, 9, 3, now},
			"another draw": {text, 1, 2, 9, now},
			"expired":      {text, 1, 2, 3, now.Add(time.Hour)}, "cut": {text[:42], 1, 2, 3, now},
			"longer": {text + "A", 1, 2, 3, now}, "a line feed": {text[:40] + "\n" + text[40:], 1, 2, 3, now},
			"nothing like it": {strings.Repeat("!", 43), 1, 2, 3, now},
		} {
			if _, err := tickets.CheckEntry(c.text, c.sale, c.user, c.draw, c.at); !errors.Is(err, ticket.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for i := range text {
			if i > 1 && i < 5 { // the id of the salt, which is looked for
				continue
			}
			other := byte('A')
			if text[i] == other {
				other = 'B'
			}
			altered := fmt.Sprintf("%s%c%s", text[:i], other, text[i+1:])
			if _, err := tickets.CheckEntry(altered, 1, 2, 3, now); !errors.Is(err, ticket.ErrInvalid) {
				t.Errorf("altered at %d: %v", i, err)
			}
		}
		if _, err := tickets.CheckEntry("", 1, 2, 3, now); !errors.Is(err, ticket.ErrRequired) {
			t.Errorf("none: %v", err)
		}
	})
}
