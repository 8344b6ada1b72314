package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/feature/guard/cooldown"
	"seckill/internal/feature/guard/store"
	"seckill/internal/testkit/ledgertest"
)

// Instances read in pages whose orders expired, in the order in which that was committed, and then what is new.
func TestUnpaidAfter(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		table, after := store.NewLedger(l.DB()), cooldown.Cursor{}
		read := func(want ...cooldown.Unpaid) {
			t.Helper()
			var all []cooldown.Unpaid
			for {
				users, next, err := table.UnpaidAfter(t.Context(), after, 2)
				if err != nil {
					t.Fatal(err)
				}
				all, after = append(all, users...), next
				if len(users) < 2 {
					break
				}
			}
			if diff := cmp.Diff(want, all); diff != "" {
				t.Errorf("at %+v (-want +got):\n%s", after, diff)
			}
		}
		expire := func(user, expired, number int64, ago time.Duration) {
			l.Exec(t, "DELETE FROM tb_unpaid WHERE user_id = ?", user)
			l.Exec(t, "INSERT INTO tb_unpaid (user_id, expired, last_time, number) VALUES (?, ?, ?, ?)",
				user, expired, ledgertest.Stored(ledgertest.RecordedAt.Add(-ago)), number)
		}
		read()
		expire(9, 1, 4, time.Hour)
		for _, user := range []int64{3, 1, 2} {
			expire(user, user, 5, time.Minute)
		}
		read(cooldown.Unpaid{UserID: 9, Expired: 1, Age: time.Hour},
			cooldown.Unpaid{UserID: 1, Expired: 1, Age: time.Minute},
			cooldown.Unpaid{UserID: 2, Expired: 2, Age: time.Minute},
			cooldown.Unpaid{UserID: 3, Expired: 3, Age: time.Minute})
		read()
		expire(1, 2, 6, 0)
		read(cooldown.Unpaid{UserID: 1, Expired: 2})
		read()
	})
}
