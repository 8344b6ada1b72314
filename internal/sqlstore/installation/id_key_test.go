package installation_test

import (
	"testing"

	"seckill/internal/testkit/ledgertest"
)

func TestIDKeyIsMadeOnce(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		const callers = 8
		keys := make(chan [16]byte, callers)
		for range callers {
			go func() {
				key, err := l.IDKey(t.Context())
				if err != nil {
					t.Errorf("IDKey: %v", err)
				}
				keys <- key
			}()
		}
		first := <-keys
		for range callers - 1 {
			if key := <-keys; key != first {
				t.Errorf("keys %x and %x", first, key)
			}
		}
		if first == [16]byte{} {
			t.Error("the key is empty")
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_setting"); n != 1 {
			t.Errorf("%d keys are stored", n)
		}
	})
}

func TestIDKeyDiffersBetweenLedgers(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		key, err := l.IDKey(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		l.Exec(t, "DELETE FROM tb_setting")
		if other, err := l.IDKey(t.Context()); err != nil || other == key {
			t.Errorf("a new ledger's key is %x as before, %v", other, err)
		}
	})
}

func TestIDKeyOfAnotherLength(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		l.Exec(t, "INSERT INTO tb_setting VALUES ('order_id_key', 'short', '2026-06-01 20:00:00')")
		if key, err := l.IDKey(t.Context()); err == nil {
			t.Errorf("IDKey = %x, want an error", key)
		}
	})
}
