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
	each(t, 1, func(t *testing.T, r *rig) {
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
	})
}
