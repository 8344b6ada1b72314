package waitlist_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/feature/waitlist"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// each runs the test on a rig that is told of turns, with so many units sold.
func each(t *testing.T, units int64, test func(t *testing.T, r *rig)) {
	t.Helper()
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) { test(t, newRig(t, l, units).hooked()) })
}

// turnsTold are the hooks' turns in words, since the last time.
func (r *rig) turnsTold() (told string) {
	for _, turn := range r.turned {
		told += fmt.Sprintf("%d %s %d; ", turn.UserID, turn.Kind, turn.Number)
	}
	r.turned = nil
	return told
}

// A place goes through invitation, acceptance and order; the hooks are told each turn, and commits wake the job.
func TestTurns(t *testing.T) {
	each(t, 3, func(t *testing.T, r *rig) {
		r.join(11, 12, 13)
		r.says(14, new(true))
		r.cancel(1)
		r.cancel(2)
		if n := r.woken.Load(); n != 2 {
			t.Errorf("woken %d times by two cancels", n)
		}
		r.turn()
		r.want("11 invited, 12 invited, 13 waiting, 14 waiting")
		if _, err := r.accept(11); err != nil {
			t.Error(err)
		}
		r.must(r.leave(12))
		r.turn()
		r.want("11 accepted, 12 declined, 13 invited, 14 waiting")
		r.decide()
		r.pass(window)
		r.turn() // 14 has said yes, and comes before 13, who has missed
		r.want("11 bought, 12 declined, 13 waiting+, 14 accepted")
		r.decide()
		r.cancel(3)
		r.turn()
		r.pass(window)
		r.turn()
		r.want("11 bought, 12 declined, 13 missed++, 14 bought")
		want := fmt.Sprintf("11 invited 1; 12 invited 1; 11 accepted 2; 12 declined 2; 13 invited 1; 13 missed 2; "+
			"14 accepted 1; 13 invited 3; 13 missed 4; 0 released %d; ", r.row().LastOperation)
		if got := r.turnsTold(); got != want {
			t.Errorf("told %s\nwant %s", got, want)
		}
		if s := r.row(); s.Stock != 1 || s.Kept != 0 || s.ListOpen {
			t.Errorf("nobody waits, and the sale is %+v", s)
		}
	})
}

// An invitation cannot be accepted once its window has passed, also before the job has seen that.
func TestAcceptTooLate(t *testing.T) {
	each(t, 1, func(t *testing.T, r *rig) {
		r.join(11)
		r.cancel(1)
		r.turn()
		r.pass(window)
		if p, err := r.accept(11); !errors.Is(err, waitlist.ErrNotInvited) {
			t.Errorf("accepted too late: %+v, %v", p, err)
		}
		r.want("11 invited")
	})
}

// Kept units wait for the acceptances before them: else Redis would still have none on sale while the list is open, and
// who joins then would see the unit go to the public.
func TestNothingIsReleasedBesideAcceptances(t *testing.T) {
	each(t, 2, func(t *testing.T, r *rig) {
		r.join(11)
		r.cancel(1)
		r.cancel(2)
		r.turn()
		if _, err := r.accept(11); err != nil {
			t.Fatal(err)
		}
		r.turn()
		if s := r.row(); s.Stock != 0 || s.Kept != 2 || !s.ListOpen {
			t.Errorf("beside an acceptance the sale is %+v", s)
		}
		r.join(12)
		r.decide()
		r.turn()
		r.want("11 bought, 12 invited")
		if s := r.row(); s.Stock != 0 {
			t.Errorf("%d units reached the public while 12 waited", s.Stock)
		}
	})
}

// Once the sale is called off, places end so, nobody accepts any more, and the kept units go to the stock once the
// acceptances before that are decided. Their orders are made.
func TestCalledOff(t *testing.T) {
	each(t, 3, func(t *testing.T, r *rig) {
		r.join(11, 12, 13)
		r.cancel(1)
		r.cancel(2)
		r.turn()
		if _, err := r.accept(11); err != nil {
			t.Fatal(err)
		}
		_, err := r.CallOff(t.Context(), r.voucher, voucher.Author{AdminID: 7}, "the price was wrong")
		r.must(err)
		if _, err := r.accept(12); !errors.Is(err, voucher.ErrCalledOff) {
			t.Errorf("accepted after that: %v", err)
		}
		r.turn()
		_, err = r.ChangeVoucher(t.Context(), r.voucher, ledgertest.Admin, func(v *voucher.Voucher) error {
			v.Status = voucher.OffShelf
			return nil
		})
		r.must(err)
		r.turn() // the shelf makes nothing due
		r.want("11 accepted, 12 called_off, 13 called_off")
		if s := r.row(); s.Kept != 2 || s.Stock != 0 {
			t.Errorf("beside an acceptance the sale is %+v", s)
		}
		r.decide()
		r.turn()
		r.want("11 bought, 12 called_off, 13 called_off")
		if told := r.turnsTold(); strings.Contains(told, "released") || !strings.Contains(told, "12 ended") {
			t.Errorf("told: %s", told)
		}
		if s := r.row(); s.Kept != 0 || s.Stock != 1 || s.ListOpen {
			t.Errorf("afterwards the sale is %+v", s)
		}
	})
}

// A pause moves deadlines once, whoever is the first to lock the list after it.
func TestDeadlinesMoveOnce(t *testing.T) {
	each(t, 2, func(t *testing.T, r *rig) {
		r.join(11, 12)
		r.cancel(1)
		r.cancel(2)
		r.turn()
		r.must(r.leave(11))
		r.pause(true)
		r.turn()
		before, err := r.lists.Place(t.Context(), r.voucher, 12)
		r.must(err)
		r.pass(40)
		r.pause(false)
		for range 3 {
			r.must(r.leave(11)) // again: their place has ended
		}
		r.turn()
		after, err := r.lists.Place(t.Context(), r.voucher, 12)
		r.must(err)
		if moved := after.Deadline.Sub(before.Deadline); moved > 41*time.Second || moved < 0 {
			t.Errorf("a pause of 40 s moved the deadline by %v", moved)
		}
	})
}

// The list opens only when Redis has applied every operation: else a unit may be on its way to the public.
func TestOpening(t *testing.T) {
	each(t, 2, func(t *testing.T, r *rig) {
		applied := r.row().LastOperation
		r.cancel(1) // before anybody waits
		_, err := r.lists.Join(t.Context(), r.voucher, []waitlist.Joining{{UserID: 11}}, applied)
		if !errors.Is(err, waitlist.ErrBehind) || r.row().ListOpen {
			t.Errorf("the list opens while a unit is on its way: %v", err)
		}
		if _, err := r.lists.Join(t.Context(), r.voucher, []waitlist.Joining{{UserID: 2}}, applied+1); err != nil ||
			r.row().ListOpen {
			t.Errorf("the list opens for a user who has an order: %v", err)
		}
		r.join(11)
		r.cancel(2)
		if s := r.row(); s.Stock != 1 || s.Kept != 1 {
			t.Errorf("the sale is %+v", s)
		}
		r.end()
		r.turn()
		_, err = r.lists.Join(t.Context(), r.voucher, []waitlist.Joining{{UserID: 12}}, r.row().LastOperation)
		if !errors.Is(err, gate.ErrEnded) {
			t.Errorf("joining an ended sale: %v", err)
		}
	})
}

// A head whose user has an order is refused; thousands of them hold the sale for one transaction at a time only.
func TestManyRefused(t *testing.T) {
	each(t, 1, func(t *testing.T, r *rig) {
		r.join(10)
		r.Exec(t, "UPDATE tb_place SET state = 5, end_time = create_time WHERE voucher_id = ?", r.voucher)
		const many = 2600
		for from := 0; from < many; from += 500 {
			query := "INSERT INTO tb_place (voucher_id, position, user_id, state, create_time) VALUES "
			orders := "INSERT INTO tb_voucher_order (id, user_id, voucher_id, kind, amount, status, create_time, " +
				"quantity) VALUES "
			at := ledgertest.Stored(ledgertest.RecordedAt)
			for i := from; i < min(from+500, many); i++ {
				user := 1000 + i
				query += fmt.Sprintf("(%d, %d, %d, 1, '%s'),", r.voucher, 2+i, user, at)
				orders += fmt.Sprintf("(%d, %d, %d, 1, 1000, 1, '%s', 1),", 7_000_000+r.voucher*10_000+int64(i), user,
					r.voucher, at)
			}
			r.Exec(t, query[:len(query)-1])
			r.Exec(t, orders[:len(orders)-1])
		}
		r.Exec(t, "UPDATE tb_seckill_voucher SET issued = issued + ? WHERE voucher_id = ?", many, r.voucher)
		r.Exec(t, "UPDATE tb_waiting_list SET last_position = 5000 WHERE voucher_id = ?", r.voucher)
		r.join(11)
		r.cancel(1)
		first, err := r.lists.Turn(t.Context(), r.voucher, nil)
		if err != nil || !first.More || first.Refused == 0 || first.Refused >= many {
			t.Errorf("the first turn: %+v, %v; want a part of %d", first, err, many)
		}
		r.turn()
		if n := r.Number(t, "SELECT COUNT(*) FROM tb_place WHERE voucher_id = ? AND state = 8", r.voucher); n != many {
			t.Errorf("%d of %d are refused", n, many)
		}
		if p, err := r.lists.Place(t.Context(), r.voucher, 11); err != nil || p.State != waitlist.Invited {
			t.Errorf("the last one: %+v, %v", p, err)
		}
		r.Conserved(t, r.voucher)
	})
}

// Many accept, decline, join and miss at once, while turns are taken by two instances: one order a unit, and nobody who
// was invited goes without.
func TestAllAtOnce(t *testing.T) {
	const units, users = 12, 36
	each(t, units, func(t *testing.T, r *rig) {
		for user := range int64(users) {
			r.join(100 + user)
		}
		var acting sync.WaitGroup
		for user := int64(1); user <= units; user++ {
			acting.Go(func() { r.cancel(user) })
		}
		stop := make(chan struct{})
		var turning sync.WaitGroup
		for range 2 {
			turning.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						// A busy machine may give up on some, which the job takes again in its next round.
						if err := r.turns.Take(t.Context(), r.voucher); !errors.Is(err, order.ErrUnavailable) {
							r.must(err)
						}
						time.Sleep(time.Millisecond) // so that users get at the rows, too
					}
				}
			})
		}
		for user := range int64(users) {
			acting.Go(func() {
				for range 200 {
					p, err := r.lists.Place(t.Context(), r.voucher, 100+user)
					switch {
					case err != nil || !p.State.Open():
						return
					case p.State == waitlist.Invited && user%3 == 0:
						r.must(r.leave(100 + user))
					case p.State == waitlist.Invited:
						if got, err := r.accept(100 + user); err != nil || got.State != waitlist.Accepted {
							t.Errorf("user %d was invited, accepts, and is %s, %v", 100+user, got.State, err)
						}
						return
					}
					time.Sleep(time.Millisecond) // as a page asks for news
				}
			})
		}
		acting.Wait()
		close(stop)
		turning.Wait()
		r.decide()
		r.turn()
		r.Conserved(t, r.voucher)
		if s := r.row(); s.Stock != 0 {
			t.Errorf("%d units reached the public while somebody waited", s.Stock)
		}
		late := r.Number(t, "SELECT COUNT(*) FROM tb_place a JOIN tb_place b ON b.voucher_id = a.voucher_id AND "+
			"b.position > a.position WHERE a.voucher_id = ? AND a.state = 1 AND a.turns = 0 AND b.turns > 0", r.voucher)
		if late != 0 {
			t.Errorf("%d places wait, and the turn of a later one has come", late)
		}
	})
}

// Joining again gives the same place with how many wait before it; a place that has missed is behind the others.
func TestAhead(t *testing.T) {
	each(t, 1, func(t *testing.T, r *rig) {
		r.join(11, 12, 13)
		r.cancel(1)
		r.turn()
		r.pass(window)
		r.turn()
		r.want("11 waiting+, 12 invited, 13 waiting")
		for user, want := range map[int64]int64{11: 1, 13: 0} {
			p, err := r.lists.Place(t.Context(), r.voucher, user)
			again, errAgain := r.lists.Join(t.Context(), r.voucher, []waitlist.Joining{{UserID: user}}, 0)
			if err != nil || errAgain != nil || p.Ahead != want || again[user].Ahead != want {
				t.Errorf("user %d: %+v, %v; joined again %+v, %v; want %d ahead", user, p, err, again[user], errAgain,
					want)
			}
		}
		joined, err := r.lists.Join(t.Context(), r.voucher, []waitlist.Joining{{UserID: 14}}, 0)
		if err != nil || joined[14].Ahead != 1 {
			t.Errorf("who joins waits behind %d, %v; want 1: the one who has missed is behind", joined[14].Ahead, err)
		}
	})
}

// An invitation stands until the sale's end at most, and says when the sale stands still; sums and counts add up.
func TestPlacesAreShown(t *testing.T) {
	each(t, 2, func(t *testing.T, r *rig) {
		r.join(11, 12)
		r.cancel(1)
		r.turn()
		end := ledgertest.StartTime.Add(10 * time.Second).Truncate(time.Millisecond).UTC()
		r.Exec(t, "UPDATE tb_seckill_voucher SET end_time = ? WHERE voucher_id = ?", ledgertest.Stored(end), r.voucher)
		r.pause(true)
		r.Exec(t, "UPDATE tb_seckill_voucher SET end_time = ? WHERE voucher_id = ?", ledgertest.Stored(end), r.voucher)
		p, err := r.lists.Place(t.Context(), r.voucher, 11)
		if err != nil || !p.Deadline.Equal(end) || !p.Paused {
			t.Errorf("%+v, %v; want it paused, and until %s", p, err, end)
		}
		open, err := r.lists.Places(t.Context(), 12, 10)
		if err != nil || len(open) == 0 || open[0].State != waitlist.Waiting {
			t.Errorf("open places: %+v, %v", open, err)
		}
		counts, err := r.lists.Counts(t.Context(), r.voucher)
		want := waitlist.Counts{
			States: map[waitlist.State]int64{waitlist.Waiting: 1, waitlist.Invited: 1}, Kept: 1, Joined: 2, Invited: 1,
		}
		if diff := cmp.Diff(want, counts); diff != "" || err != nil {
			t.Errorf("%v, (-want +got)\n%s", err, diff)
		}
		figures, err := r.lists.Figures(t.Context(), r.shown())
		if shown, _ := figures.(map[string]int64); err != nil || len(shown) != 8 || shown["invited"] != 1 ||
			shown["open"] != 1 {
			t.Errorf("figures %v, %v", figures, err)
		}
	})
}

// A long list is counted again after ten seconds at the earliest; a short one for each question.
func TestLongListsAreCountedNowAndThen(t *testing.T) {
	each(t, 2, func(t *testing.T, r *rig) {
		r.join(11)
		waiting := func(want int64) {
			t.Helper()
			c, err := r.lists.Counts(t.Context(), r.voucher)
			if err != nil || c.States[waitlist.Waiting] != want || c.Joined != want {
				t.Errorf("%+v, %v; want %d places, all waiting", c, err, want)
			}
		}
		r.join(12)
		waiting(2)
		const ten = "(SELECT 0 AS n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION " +
			"SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)"
		const n = "a.n + 10 * b.n + 100 * c.n + 1000 * d.n"
		r.Exec(t, "INSERT INTO tb_place (voucher_id, position, user_id, state, create_time) SELECT ?, 3 + "+n+
			", 1003 + "+n+", ?, ? FROM "+ten+" a CROSS JOIN "+ten+" b CROSS JOIN "+ten+" c CROSS JOIN "+ten+" d",
			r.voucher, waitlist.Waiting, ledgertest.Stored(ledgertest.StartTime))
		r.Exec(t, "UPDATE tb_waiting_list SET last_position = 10002 WHERE voucher_id = ?", r.voucher)
		waiting(10002)
		r.join(13)
		waiting(10002)
		r.Clock.Add(int64(9 * time.Second))
		waiting(10002)
		r.Clock.Add(int64(time.Second))
		waiting(10003)
		var lists sync.WaitGroup // for the race detector
		for i := range int64(8) {
			lists.Go(func() {
				for range 60 {
					_, _ = r.lists.Counts(t.Context(), r.voucher+i%2)
					r.Clock.Add(int64(10 * time.Second))
				}
			})
		}
		lists.Wait()
	})
}

// BenchmarkJoin is how many join a list of one ledger.
func BenchmarkJoin(b *testing.B) {
	l := ledgertest.OpenMySQL(b, ledgertest.MigratedMySQL(b))
	r := newRig(b, l, 1)
	r.join(1_000_000)
	user := int64(2_000_000)
	for b.Loop() {
		joining := make([]waitlist.Joining, 500)
		for i := range joining {
			user++
			joining[i].UserID = user
		}
		_, err := r.lists.Join(b.Context(), r.voucher, joining, 0)
		r.must(err)
	}
	b.ReportMetric(float64(b.N)*500/b.Elapsed().Seconds(), "joins/s")
}
