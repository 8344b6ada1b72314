package schema_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/testkit"
	"seckill/internal/testkit/ledgertest"
)

// TestAlterGivesWay: a transaction that goes on for long uses a table that is to be altered. Others write the table
// meanwhile, although they come after the ALTER that waits; it is executed once the transaction ends.
func TestAlterGivesWay(t *testing.T) {
	t.Parallel()
	dsn := testkit.MySQL(t)
	migrateTo(t, dsn, firstRelease)
	b := &blockedSchema{ledger: pastStore(t, dsn)}
	long, err := b.Raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var none int
	err = long.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM tb_voucher_operation").Scan(&none)
	if err != nil || none != 0 {
		t.Fatal(none, err)
	}
	type result struct {
		applied []string
		err     error
	}
	migrated := make(chan result, 1)
	store := openQuiet(t, dsn)
	go func() {
		applied, err := store.Schema().Migrate(context.WithoutCancel(t.Context()))
		migrated <- result{applied, err}
	}()
	// Half of what an ALTER once waited.
	buyers := ledgertest.RawPool(t, "mysql", dsn+"&lock_wait_timeout=30")
	for n := range 2 { // the ALTER comes again
		b.await(t, "an ALTER that waits", "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() "+
			"AND info LIKE 'ALTER TABLE tb_voucher_operation%'")
		if _, err := buyers.ExecContext(t.Context(), "INSERT INTO tb_voucher_operation (voucher_id, number, kind, "+
			"delta, actor, state, create_time) VALUES (1, ?, 'stock', 1, 'admin', 2, NOW())", n); err != nil {
			t.Fatal(err)
		}
	}
	if err := long.Commit(); err != nil {
		t.Fatal(err)
	}
	r := <-migrated
	if diff := cmp.Diff(files[1:], r.applied); r.err != nil || diff != "" {
		t.Errorf("Migrate: %v; (-want +got):\n%s", r.err, diff)
	}
	if n := b.Number(t, "SELECT COUNT(*) FROM tb_voucher_operation WHERE identity IS NULL"); n != 2 {
		t.Errorf("%d rows", n)
	}
}
