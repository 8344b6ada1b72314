package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"seckill/internal/feature/webhook"
	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/order"
	"seckill/internal/testkit/ledgertest"
)

// opened opens the stream, with events of all shops.
func (l ledger) opened(tb testing.TB) {
	tb.Helper()
	if err := l.OpenStream(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	if err := l.WriteAll(tb.Context(), time.Hour); err != nil {
		tb.Fatal(err)
	}
}

// read reads a page of the stream.
func (l ledger) read(tb testing.TB, q dispatch.StreamQuery) dispatch.StreamPage {
	tb.Helper()
	page, err := l.Events(tb.Context(), q)
	if err != nil {
		tb.Fatal(err)
	}
	return page
}

// follow reads all that is behind a cursor in pages, and returns the numbers of the events, and the last cursor.
func (l ledger) follow(tb testing.TB, q dispatch.StreamQuery) (ids []string, last dispatch.Cursor) {
	tb.Helper()
	for {
		page := l.read(tb, q)
		for _, e := range page.Events {
			ids = append(ids, e.ID())
		}
		if q.After = (dispatch.After{Cursor: &page.Next}); !page.More {
			return ids, page.Next
		}
	}
}

// A transaction that has written its event first and commits last is read by a reader that has gone past it meanwhile.
func TestReaderWaitsForNobodyAndMissesNothing(t *testing.T) {
	t.Parallel()
	l := withEvents(ledgertest.OpenMySQL(t, ledgertest.MigratedMySQL(t)))
	l.opened(t)
	v := l.sale(t, 20, 0)
	l.numbered(t)
	_, at := l.follow(t, dispatch.StreamQuery{Limit: 10})
	held, err := l.Raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Rollback() }() // unless it is committed
	const insert = "INSERT INTO tb_webhook_event (shop_id, subject, subject_number, type, body, create_time) " +
		"VALUES (1, 'order-5', 1, 'order.unpaid', '{}', UTC_TIMESTAMP(3))"
	if _, err := held.ExecContext(t.Context(), insert); err != nil {
		t.Fatal(err)
	}
	c := ledgertest.Claims(v, 1, 1)
	l.Record(t, c)
	l.numbered(t)
	read, at := l.follow(t, dispatch.StreamQuery{Limit: 1, After: dispatch.After{Cursor: &at}})
	if want := []string{fmt.Sprintf("order-%d-2", c[0].OrderID)}; !slices.Equal(read, want) {
		t.Errorf("while a transaction is open %v is read, want %v", read, want)
	}
	if err := held.Commit(); err != nil {
		t.Fatal(err)
	}
	l.numbered(t)
	read, _ = l.follow(t, dispatch.StreamQuery{Limit: 1, After: dispatch.After{Cursor: &at}})
	if want := []string{"order-5-1"}; !slices.Equal(read, want) {
		t.Errorf("after its commit %v is read, want %v", read, want)
	}
}

// Pages have all events of the shop and the types, each once; a merchant's go on over those of others.
func TestStreamSelects(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.opened(t)
		for i := range 30 {
			l.event(t, int64(1+i%3), fmt.Sprintf("order-%d", i+1), 1, []string{"order.unpaid", "order.paid"}[i%2])
		}
		l.numbered(t)
		for shop, want := range map[int64]int{0: 30, 1: 10, 2: 10, 7: 0} {
			for types, part := range map[string]int{"": want, "order.paid": want / 2, "order.unpaid,order.paid": want} {
				q := dispatch.StreamQuery{ShopID: shop, Types: dispatch.ParseTypes(types), Limit: 4}
				got, end := l.follow(t, q)
				if len(got) != part || len(slices.Compact(slices.Sorted(slices.Values(got)))) != part {
					t.Errorf("shop %d, types %q: %v, want %d", shop, types, got, part)
				}
				q.Back, q.After.End = true, true
				back, _ := l.follow(t, q)
				if slices.Reverse(back); !slices.Equal(back, got) {
					t.Errorf("shop %d, types %q: backwards %v, want %v", shop, types, back, got)
				}
				q.Back, q.After = false, dispatch.After{Cursor: &end}
				if len(l.read(t, q).Events) != 0 {
					t.Errorf("shop %d, types %q: there are more behind the end", shop, types)
				}
			}
		}
		end := l.read(t, dispatch.StreamQuery{After: dispatch.After{End: true}, Limit: 4})
		l.event(t, 1, "order-99", 1, "order.paid")
		l.numbered(t)
		got, _ := l.follow(t, dispatch.StreamQuery{After: dispatch.After{Cursor: &end.Next}, Limit: 4})
		if len(end.Events) != 0 || end.More || !slices.Equal(got, []string{"order-99-1"}) {
			t.Errorf("the end is %+v, and behind it is %v", end, got)
		}
	})
}

// The newest events are read where the stream has a gap, too; a cursor of another stream leads nowhere.
func TestStreamBackwards(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.opened(t)
		for i := range 4 {
			l.event(t, 1, "order-1", int64(i+1), "order.paid")
		}
		l.numbered(t)
		l.Exec(t, "DELETE FROM tb_webhook_event WHERE number = 3")
		l.Exec(t, "UPDATE tb_event_stream SET gone = 3")
		q := dispatch.StreamQuery{Back: true, After: dispatch.After{End: true}, Limit: 1}
		first := l.read(t, q)
		q.After = dispatch.After{Cursor: &first.Next}
		l.event(t, 1, "order-1", 5, "order.paid")
		l.numbered(t)
		got, _ := l.follow(t, q)
		if want := []string{"order-1-2", "order-1-1"}; first.Events[0].ID() != "order-1-4" || !slices.Equal(got, want) {
			t.Errorf("the newest is %s, before it are %v, want %v", first.Events[0].ID(), got, want)
		}
		if err := l.NoteRestored(t.Context(), ledgertest.Admin); err != nil {
			t.Fatal(err)
		}
		l.opened(t)
		_, err := l.Events(t.Context(), q)
		if _, gone := errors.AsType[*dispatch.GoneError](err); !gone {
			t.Errorf("with a cursor from before a restore: %v", err)
		}
	})
}

// event writes an event, of yesterday.
func (l ledger) event(tb testing.TB, shop int64, subject string, number int64, kind string) {
	tb.Helper()
	l.Exec(tb, "INSERT INTO tb_webhook_event (shop_id, subject, subject_number, type, body, create_time) "+
		"VALUES (?, ?, ?, ?, '{}', ?)", shop, subject, number, kind, ledgertest.StartTime.Add(-24*time.Hour))
}

// A cursor ends when an event behind it was deleted, and when events were not written for a while; the error says where
// to begin.
func TestStreamIsGone(t *testing.T) {
	tests := map[string]struct {
		between func(t *testing.T, l ledger)
		gone    bool
	}{
		"nothing":             {func(*testing.T, ledger) {}, false},
		"deleted by age":      {func(t *testing.T, l ledger) { t.Helper(); l.deletesOlder(t, time.Hour) }, true},
		"nothing is that old": {func(t *testing.T, l ledger) { t.Helper(); l.deletesOlder(t, 48*time.Hour) }, false},
		"restored": {func(t *testing.T, l ledger) {
			t.Helper()
			if err := l.NoteRestored(t.Context(), ledgertest.Admin); err != nil {
				t.Fatal(err)
			}
			l.opened(t)
		}, true},
		"not written for a while": {func(t *testing.T, l ledger) {
			t.Helper()
			if err := l.WriteAll(t.Context(), -time.Second); err != nil {
				t.Fatal(err)
			}
			l.left(t)
			l.opened(t)
		}, true},
		"still wanted": {func(t *testing.T, l ledger) { t.Helper(); l.left(t) }, false},
	}
	eachDialect(t, func(t *testing.T, l ledger) {
		number := int64(0)
		add := func() {
			t.Helper()
			number++
			l.event(t, 1, "order-1", number, "order.paid")
			l.numbered(t)
		}
		for name, test := range tests {
			l.opened(t)
			add()
			at := l.read(t, dispatch.StreamQuery{Limit: 1, After: dispatch.After{End: true}}).Next
			add()
			test.between(t, l)
			q := dispatch.StreamQuery{Limit: 1, After: dispatch.After{Cursor: &at}}
			_, err := l.Events(t.Context(), q)
			gone, isGone := errors.AsType[*dispatch.GoneError](err)
			if isGone != test.gone || !isGone && err != nil {
				t.Fatalf("%s: %v, want one that is gone: %t", name, err, test.gone)
			}
			if isGone {
				q.After.Cursor = &gone.Begin
				l.read(t, q)
			}
		}
	})
}

// deletesOlder deletes what is older than keep.
func (l ledger) deletesOlder(tb testing.TB, keep time.Duration) {
	tb.Helper()
	if _, err := l.Clean(tb.Context(), webhook.Place{}, keep, keep, 100); err != nil {
		tb.Fatal(err)
	}
}

// left has an instance look that does not want events of all shops.
func (l ledger) left(tb testing.TB) {
	tb.Helper()
	if err := l.LeaveAll(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// Nobody reads a stream that would have gaps: for shops whose events are not written, or have just begun to be.
func TestStreamNeedsAReason(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		want := func(shop int64, want error) dispatch.Cursor {
			t.Helper()
			page, err := l.Events(t.Context(), dispatch.StreamQuery{ShopID: shop, Limit: 1})
			if !errors.Is(err, want) {
				t.Errorf("shop %d: %v, want %v", shop, err, want)
			}
			return page.Next
		}
		want(0, dispatch.ErrNotWritten)
		l.endpoint(t, 1)
		want(0, dispatch.ErrNotWritten)
		want(1, dispatch.ErrNotWritten)
		l.endpoint(t, 0)
		want(0, dispatch.ErrNoStream)
		want(1, dispatch.ErrNotWritten)
		l.Exec(t, "DELETE FROM tb_webhook_endpoint")
		if err := l.OpenStream(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(1, dispatch.ErrNotWritten)
		e := l.endpoint(t, 1)
		want(1, dispatch.ErrSettling)
		l.Exec(t, "UPDATE tb_webhook_endpoint SET create_time = ?", ledgertest.StartTime.Add(-time.Hour))
		at := want(1, nil)
		want(0, dispatch.ErrNotWritten)
		want(2, dispatch.ErrNotWritten)

		l.endpoint(t, 0)
		want(0, dispatch.ErrSettling)
		q := dispatch.StreamQuery{ShopID: 1, Limit: 1, After: dispatch.After{Cursor: &at}}
		l.read(t, q)
		if err := l.DeleteEndpoint(t.Context(), e.ID, ledgertest.Admin); err != nil {
			t.Fatal(err)
		}
		l.Exec(t, "UPDATE tb_webhook_endpoint SET create_time = ?", ledgertest.StartTime.Add(-time.Hour))
		_, err := l.Events(t.Context(), q)
		if _, gone := errors.AsType[*dispatch.GoneError](err); !gone {
			t.Errorf("after its reason is gone: %v", err)
		}

		l.sale(t, 1, 0) // so that a transaction may be under way
		if err := l.WriteAll(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		l.Exec(t, "DELETE FROM tb_webhook_endpoint")
		want(0, dispatch.ErrSettling)
	})
}

// Events of all shops are written once one instance wants that, by all instances, and no longer than that.
func TestEventsOfAllShops(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.sale(t, 20, 0)
		written := func(user int64) int {
			t.Helper()
			l.Record(t, ledgertest.Claims(v, user, 1))
			return l.numbered(t)
		}
		if n := written(1); n != 0 {
			t.Errorf("%d events are written for a shop without an endpoint", n)
		}
		l.opened(t)
		if n := written(2); n != 1 {
			t.Errorf("%d events are written for an order, want 1", n)
		}
		if err := l.WriteAll(t.Context(), -time.Second); err != nil {
			t.Fatal(err)
		}
		l.left(t)
		l.Clock.Add(int64(2 * time.Second)) // so that it is read again whose events are written
		if n := written(300); n != 0 {
			t.Errorf("%d events are written after the last instance has left", n)
		}
	})
}

// An admin's reader opens the stream if events are written for it, unless a version 1.0 lives; a merchant's does not.
func TestReaderOpensTheStream(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		alone := order.ErrUpgrading
		asked := false
		r := dispatch.NewReader(l, func(context.Context) error { asked = true; return alone })
		for _, shop := range []int64{0, 1} {
			q := dispatch.StreamQuery{ShopID: shop, Limit: 1}
			if _, err := r.Read(t.Context(), q); !errors.Is(err, dispatch.ErrNotWritten) || asked {
				t.Errorf("shop %d: %v; asked for the end of 1.0: %t", shop, err, asked)
			}
			l.endpoint(t, shop)
		}
		if _, err := r.Read(t.Context(), dispatch.StreamQuery{Limit: 1}); !errors.Is(err, order.ErrUpgrading) {
			t.Errorf("while a version 1.0 lives: %v", err)
		}
		alone = nil
		if _, err := r.Read(t.Context(), dispatch.StreamQuery{Limit: 1}); !errors.Is(err, dispatch.ErrSettling) {
			t.Errorf("of an endpoint that was just made: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- l.KeepAll(ctx, true, func(context.Context) error { return nil }, l.DB().Log()) }()
		for _, err := r.Read(t.Context(), dispatch.StreamQuery{Limit: 1}); err != nil; {
			_, err = r.Read(t.Context(), dispatch.StreamQuery{Limit: 1})
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// When the database has lost its last events, one cursor that shows it ends all: their numbers are given to others.
func TestLostEventsEndAllCursors(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.opened(t)
		var at [3]dispatch.Cursor
		for i := range at {
			l.event(t, 1, "order-1", int64(i+1), "order.paid")
			l.numbered(t)
			at[i] = l.read(t, dispatch.StreamQuery{Limit: 1, After: dispatch.After{End: true}}).Next
		}
		l.Exec(t, "DELETE FROM tb_webhook_event WHERE number > 1")
		l.Exec(t, "UPDATE tb_webhook_sequence SET number = 1")
		for _, i := range []int{2, 1, 0} {
			q := dispatch.StreamQuery{Limit: 1, After: dispatch.After{Cursor: &at[i]}}
			_, err := l.Events(t.Context(), q)
			gone, isGone := errors.AsType[*dispatch.GoneError](err)
			if !isGone {
				t.Fatalf("behind event %d: %v", i+1, err)
			}
			q.After.Cursor = &gone.Begin
			if got, _ := l.follow(t, q); !slices.Equal(got, []string{"order-1-1"}) {
				t.Errorf("from the beginning: %v", got)
			}
		}
	})
}
