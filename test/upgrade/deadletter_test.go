package upgrade

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"seckill/internal/checker"
	"seckill/test/box"
)

// deadLetters goes back to the version before while orders wait that today's version has accepted. What the version
// before cannot decode of them becomes dead letters, and today's version replays those in full. Two of the entries lack a
// field, so there are dead letters also while both versions write the same format. Two of the orders share a packed entry.
func deadLetters(t *testing.T, old, now release) {
	const recorded, waiting, units = 4, 6, 12
	s := sharedStores(t)
	x := s.start(now, "x")
	sale := s.open(x, units)
	sale.use(x)
	for range recorded {
		sale.buyUntilAnswered(t.Context(), sale.users.Add(1))
	}
	box.Eventually(s, "the first rows", s.drained)
	resume := s.stopRecording()
	for range waiting {
		sale.buyUntilAnswered(t.Context(), sale.users.Add(1))
	}
	x.kill()
	resume()
	won := sale.winners()
	if len(won) != recorded+waiting {
		t.Fatalf("%d accepted, want %d; answers %v", len(won), recorded+waiting, sale.counts())
	}
	const replayed, discarded = int64(recorded + waiting - 1), int64(recorded + waiting) // users
	s.redeliver(map[int64]string{replayed: "e", discarded: "e"})
	s.pack(recorded+1, recorded+2)

	y := s.start(old, "y")
	box.Eventually(s, "an end of the stream", s.drained)
	y.kill()                                                     // before its audit has the sale rebuilt, which queues the orders again
	list := todaysCommand(t, s.settings(), "deadletter", "list") // makes one of each order of the packed entry
	letters, err := s.rdb.XRange(t.Context(), s.rdb.DeadKey(), "-", "+").Result()
	s.must(err)
	var replay, discard []string
	for _, l := range letters {
		if l.Values["raw.u"] == strconv.FormatInt(discarded, 10) {
			discard = append(discard, l.ID)
		} else {
			replay = append(replay, l.ID)
		}
		if !strings.Contains(list, l.ID) {
			t.Errorf("dead letter %s is not in today's list:\n%s", l.ID, list)
		}
	}
	if len(discard) != 1 || len(replay) == 0 || strings.Count(list, "waiting") != len(letters) {
		t.Fatalf("dead letters %v; want one of user %d, and one at least of others, all of orders that wait:\n%s", letters, discarded, list)
	}
	todaysCommand(t, s.settings(), append([]string{"deadletter", "replay", "-why", "upgrade"}, replay...)...)
	todaysCommand(t, s.settings(), append([]string{"deadletter", "discard", "-why", "upgrade", "-yes"}, discard...)...)

	z := s.start(now, "z")
	sale.use(z)
	box.Eventually(s, "the outcome of every order", func() error {
		for user, order := range won {
			want := checker.Unpaid
			if user == discarded {
				want = checker.Failed
			}
			if got := s.status(order); got != want {
				return fmt.Errorf("order %d of user %d is %s, want %s", order, user, got, want)
			}
		}
		return s.rowsAre(sale.voucher, won)
	})
	box.Eventually(s, "the sale of every unit", func() error { // the one that came back waits a moment until it can be sold
		sale.sellOut()
		e, err := s.evidence(t.Context(), sale.voucher, units)
		if err == nil && (e.Live() != units || e.Redis.Dead+e.Redis.Waiting != 0) {
			err = fmt.Errorf("%d live orders of %d units, %d dead letters, %d waiting", e.Live(), units, e.Redis.Dead, e.Redis.Waiting)
		}
		return err
	})
}

// drained returns an error while entries wait.
func (s *stores) drained() error { return equal("entries", s.length(s.rdb.StreamKey()), 0) }

// rowsAre returns an error unless each user's order is in the ledger as that user's and that voucher's.
func (s *stores) rowsAre(voucher int64, orders map[int64]int64) error {
	rows, err := s.ledger.Orders(s.Context(), voucher)
	if err != nil {
		return err
	}
	for user, order := range orders {
		if !slices.ContainsFunc(rows, func(o checker.Order) bool { return o.ID == order && o.User == user }) {
			return fmt.Errorf("order %d of user %d has no row", order, user)
		}
	}
	return nil
}

// redeliver replaces every entry of the stream by a copy that is not delivered yet. The entries of the users in lacking
// lose a field. No instance may run.
func (s *stores) redeliver(lacking map[int64]string) {
	s.Helper()
	entries, err := s.rdb.Do(s.Context(), "XRANGE", s.rdb.StreamKey(), "-", "+").Slice()
	s.must(err)
	for _, e := range entries {
		entry, ok := e.([]any)
		if !ok || len(entry) != 2 {
			s.Fatalf("XRANGE answers %v", e)
		}
		fields, ok := entry[1].([]any)
		if !ok {
			s.Fatalf("XRANGE answers %v", e)
		}
		var kept []any
		for i := 0; i < len(fields); i += 2 {
			if field, lacks := lacking[userOf(fields)]; !lacks || fields[i] != field {
				kept = append(kept, fields[i], fields[i+1])
			}
		}
		s.must(s.rdb.XAdd(s.Context(), &redis.XAddArgs{Stream: s.rdb.StreamKey(), Values: kept}).Err())
		s.must(s.rdb.XDel(s.Context(), s.rdb.StreamKey(), fmt.Sprint(entry[0])).Err())
	}
}

// pack replaces the entries of users by one with all of their orders. No instance may run.
func (s *stores) pack(users ...int64) {
	s.Helper()
	entries, err := s.rdb.XRange(s.Context(), s.rdb.StreamKey(), "-", "+").Result()
	s.must(err)
	var values []any
	var orders []string
	for _, e := range entries {
		if user, _ := e.Values["u"].(string); slices.ContainsFunc(users, func(u int64) bool { return strconv.FormatInt(u, 10) == user }) {
			if values == nil {
				values = []any{"v", e.Values["v"], "e", e.Values["e"], "s", e.Values["s"]}
			}
			orders = append(orders, user, fmt.Sprint(e.Values["o"]))
			s.must(s.rdb.XDel(s.Context(), s.rdb.StreamKey(), e.ID).Err())
		}
	}
	s.must(equal("orders to pack", int64(len(orders)), 2*int64(len(users))))
	s.must(s.rdb.XAdd(s.Context(), &redis.XAddArgs{Stream: s.rdb.StreamKey(), Values: append(values, "p", strings.Join(orders, " "))}).Err())
}

// userOf returns the user of an entry; 0 if it has none.
func userOf(fields []any) (user int64) {
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == "u" {
			user, _ = strconv.ParseInt(fmt.Sprint(fields[i+1]), 10, 64) // 0 is what it then is
		}
	}
	return user
}
