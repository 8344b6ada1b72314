package store_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/internal/feature/guard/keys"
	"seckill/internal/feature/guard/store"
	"seckill/internal/testkit/ledgertest"
)

func TestFirstGuardSaltIsMadeOnce(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		table := store.NewLedger(l.DB())
		var got [8][]keys.Salt
		var asking sync.WaitGroup
		for i := range got {
			asking.Go(func() {
				var err error
				if got[i], err = table.GuardSalts(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		asking.Wait()
		for _, salts := range got {
			if len(salts) != 1 || salts[0] != got[0][0] || salts[0].ID != 0 || salts[0].Value == [keys.Bytes]byte{} {
				t.Errorf("one instance has the salts %v, another %v", got[0], salts)
			}
		}
	})
}

func TestGuardSaltIsStoredBeforeItsFirstUse(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		table := store.NewLedger(l.DB())
		first, err := table.GuardSalts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if id, err := table.RotateGuardSalt(t.Context()); err != nil || id != 1 {
			t.Fatalf("RotateGuardSalt = %d, %v", id, err)
		}
		after, err := table.GuardSalts(t.Context())
		if err != nil || len(after) != 2 || after[0] != first[0] || after[1].ID != 1 ||
			after[1].Value == after[0].Value {
			t.Fatalf("after a rotation the salts are %v, %v", after, err)
		}
		if lead := after[1].UsedFrom.Sub(first[0].UsedFrom); lead < keys.RotationLead {
			t.Errorf("the new salt is used %v after the first was stored, sooner than all instances know it", lead)
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_audit WHERE action = 'rotate'"); n != 1 {
			t.Errorf("%d lines of audit", n)
		}
	})
}

// TestOldGuardSaltsAreRemoved holds that a salt goes once no ticket can name it, and that its id is never used again.
func TestOldGuardSaltsAreRemoved(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		table := store.NewLedger(l.DB())
		for want := range uint16(4) {
			if id, err := table.RotateGuardSalt(t.Context()); err != nil || id != want {
				t.Fatalf("RotateGuardSalt = %d, %v; want %d", id, err, want)
			}
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_setting"); n != 4 {
			t.Fatalf("%d salts, want 4: tickets of each may still be in use", n)
		}
		l.Exec(t, "UPDATE tb_setting SET create_time = '2020-01-01 00:00:00'")
		if id, err := table.RotateGuardSalt(t.Context()); err != nil || id != 4 {
			t.Fatalf("RotateGuardSalt = %d, %v", id, err)
		}
		salts, err := table.GuardSalts(t.Context())
		if err != nil || len(salts) != 2 || salts[0].ID != 3 || salts[1].ID != 4 {
			t.Fatalf("salts %v, %v; want 3 and 4", salts, err)
		}
		if lead := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).Add(keys.RotationLead); !salts[0].UsedFrom.Equal(lead) {
			t.Errorf("salt 3 is used from %v", salts[0].UsedFrom)
		}
	})
}

func TestGuardSaltsThatAreNone(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		table := store.NewLedger(l.DB())
		for name, value := range map[string]string{
			"guard_salt_00000": "short", "guard_salt_x": strings.Repeat("x", 32),
			"guard_salt_70000": strings.Repeat("x", 32),
		} {
			l.Exec(t, "INSERT INTO tb_setting VALUES (?, ?, '2026-06-01 20:00:00')", name, value)
			if salts, err := table.GuardSalts(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v, %v; want an error that names it", name, salts, err)
			}
			l.Exec(t, "DELETE FROM tb_setting")
		}
	})
}
