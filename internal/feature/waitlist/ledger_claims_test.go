package waitlist_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"seckill/internal/feature/waitlist"
)

// Of all calls about a place, one claims its unit, however many come at once: the first yes, whether it is said
// beforehand or accepts an invitation.
func TestOneCallClaims(t *testing.T) {
	const calls = 8
	each(t, 2, func(t *testing.T, r *rig) {
		yes := func(user int64) (waitlist.Place, error) {
			places, err := r.lists.Join(t.Context(), r.voucher,
				[]waitlist.Joining{{UserID: user, Standing: new(true)}}, r.row().LastOperation)
			return places[user], err
		}
		atOnce := func(what string, want int64, ask func(i int) (waitlist.Place, error)) {
			t.Helper()
			var claims atomic.Int64
			var all sync.WaitGroup
			for i := range calls {
				all.Go(func() {
					switch p, err := ask(i); {
					case err != nil && !errors.Is(err, waitlist.ErrNotInvited):
						t.Error(err)
					case err == nil && p.Claims:
						claims.Add(1)
					}
				})
			}
			all.Wait()
			if claims.Load() != want {
				t.Errorf("%s: %d calls claim a unit, want %d", what, claims.Load(), want)
			}
		}
		r.join(11)
		atOnce("a yes of somebody new", 1, func(int) (waitlist.Place, error) { return yes(12) })
		atOnce("a later yes", 1, func(int) (waitlist.Place, error) { return yes(11) })
		r.says(11, new(false))
		atOnce("a yes that was taken back", 0, func(int) (waitlist.Place, error) { return yes(11) })
		r.join(13)
		r.must(r.leave(11))
		r.must(r.leave(12))
		r.cancel(1)
		r.turn()
		r.want("11 left, 12 left, 13 invited")
		atOnce("a yes and accepting", 1, func(i int) (waitlist.Place, error) {
			if i%2 == 0 {
				return yes(13)
			}
			return r.accept(13)
		})
		atOnce("accepting again", 0, func(int) (waitlist.Place, error) { return r.accept(13) })
		r.join(14)
		r.cancel(2)
		r.turn()
		atOnce("a yes of who is invited", 1, func(int) (waitlist.Place, error) { return yes(14) })
		atOnce("accepting after that yes", 0, func(int) (waitlist.Place, error) { return r.accept(14) })
	})
}

// A window that passes while the ledger is away is not missed: its user accepts within half a minute afterwards.
func TestWindowStops(t *testing.T) {
	each(t, 2, func(t *testing.T, r *rig) {
		r.join(11, 12)
		r.cancel(1)
		r.cancel(2)
		r.turn()
		r.want("11 invited, 12 invited")
		r.pass(window)
		r.Exec(t, "UPDATE tb_fence SET token = token - ? WHERE name = 'deadlines'", 1000*window) // nobody noted it
		r.turn()
		r.want("11 invited, 12 invited")
		if _, err := r.accept(11); err != nil {
			t.Error(err)
		}
		r.Exec(t, "UPDATE tb_fence SET token = token - 31000 WHERE name = 'deadlines stopped'")
		r.turn()
		r.want("11 accepted, 12 invited+")
	})
}
