package upgrade

import (
	"path/filepath"
	"testing"

	"seckill/test/box"
)

// embeddedMode starts one version after the other on the same data directory.
func embeddedMode(t *testing.T, old, now release) {
	const units = 60
	s := &stores{TB: t}
	settings := map[string]string{
		"SECKILL_DATA_DIR": filepath.Join(t.TempDir(), "data"), "SECKILL_JWT_SECRET": box.Secret,
		"SECKILL_USER_RATE": "0",
	}
	var sale *sale
	for n, r := range []release{old, now, old, now} {
		i := launch(t, r, r.name, settings)
		if n == 0 {
			sale = s.open(i, units)
		}
		sale.use(i)
		sale.askAgain(units, i)
		for range 10 {
			sale.buyUntilAnswered(t.Context(), sale.users.Add(1))
		}
		if n == 3 {
			sale.sellOut()
			sale.askAgain(units, i)
		}
		i.terminate()
	}
	if n := len(sale.winners()); n != units {
		t.Errorf("%d buyers have an order, of %d units; answers %v", n, units, sale.counts())
	}
}
