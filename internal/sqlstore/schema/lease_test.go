package schema_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"seckill/internal/sqlstore"
	"seckill/internal/sqlstore/schema"
	"seckill/internal/testkit"
)

// blockedSchema is a schema whose migration was half done: a statement in its middle waits for a table that another
// session has locked, and creates nothing of what comes after it.
type blockedSchema struct {
	ledger
	dsn    string
	unlock func()
}

func newBlockedSchema(t *testing.T) *blockedSchema {
	t.Helper()
	dsn := testkit.MySQL(t)
	migrated(t, dsn)
	b := &blockedSchema{dsn: dsn, ledger: pastStore(t, dsn)}
	for _, statement := range []string{
		"DELETE FROM tb_migration WHERE version_id > 0", "DROP TABLE tb_webhook_retry",
	} {
		b.Exec(t, statement)
	}
	locker, err := b.Raw.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := locker.ExecContext(t.Context(), "LOCK TABLES tb_webhook_sequence READ"); err != nil {
		t.Fatal(err)
	}
	b.unlock = func() {
		if _, err := locker.ExecContext(context.WithoutCancel(t.Context()), "UNLOCK TABLES"); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { _ = locker.Close() }) // it only locked
	return b
}

// awaitBlocked waits until a session later than that one executes the statement that waits for the table, and returns
// it.
func (b *blockedSchema) awaitBlocked(t *testing.T, after int64) (session int64) {
	t.Helper()
	last := fmt.Sprintf("SELECT COALESCE(MAX(id), 0) FROM information_schema.processlist "+
		"WHERE db = DATABASE() AND info LIKE 'INSERT IGNORE INTO tb_webhook_sequence%%' AND id > %d", after)
	b.await(t, "a statement that waits", last)
	return b.Number(t, last)
}

// shortLease is how long the lease of migrating is here.
const shortLease = 1500 * time.Millisecond

// blockedMigration is a migration under way in a blocked schema.
type blockedMigration struct {
	*blockedSchema
	store  *sqlstore.Store
	result chan error
}

func newBlockedMigration(t *testing.T) *blockedMigration {
	t.Helper()
	b := &blockedMigration{blockedSchema: newBlockedSchema(t), result: make(chan error, 1)}
	b.store = openQuiet(t, b.dsn)
	go func() {
		_, err := schema.WithLease(b.store.Schema(), shortLease).Migrate(context.WithoutCancel(t.Context()))
		b.result <- err
	}()
	b.awaitBlocked(t, 0)
	return b
}

// openQuiet opens the ledger by the server's own clock, unlike openMySQL.
func openQuiet(t *testing.T, dsn string) *sqlstore.Store {
	t.Helper()
	store, err := sqlstore.OpenMySQL(t.Context(), dsn, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() }) // nothing is under way
	return store
}

// migrated is openQuiet with the whole schema.
func migrated(t *testing.T, dsn string) *sqlstore.Store {
	t.Helper()
	store := openQuiet(t, dsn)
	migrate(t, store, files)
	return store
}

// await waits until the query counts something.
func (b *blockedSchema) await(t *testing.T, what, query string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); b.Number(t, query) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("there is not %s", what)
		}
	}
}

// TestMigrationLeaseIsRenewed: a statement takes longer than the lease, which nobody else gets meanwhile.
func TestMigrationLeaseIsRenewed(t *testing.T) {
	t.Parallel()
	b := newBlockedMigration(t)
	before := b.Number(t, "SELECT version FROM tb_migration_lease")
	// A busy machine may renew it late, but does so again.
	b.await(t, "a lease that was renewed again and again and is not free",
		fmt.Sprintf("SELECT COUNT(*) FROM tb_migration_lease WHERE version > %d AND holder <> '' AND "+
			"expires > UTC_TIMESTAMP(3)", before+5))
	b.unlock()
	if err := <-b.result; err != nil {
		t.Error(err)
	}
	if n := b.Number(t, "SELECT COUNT(*) FROM tb_migration_lease WHERE holder = ''"); n != 1 {
		t.Error("the lease was not released")
	}
}

// TestMigrationLeaseIsLost: another instance takes the lease over while a statement runs. It is the last one.
func TestMigrationLeaseIsLost(t *testing.T) {
	t.Parallel()
	b := newBlockedMigration(t)
	b.Exec(t,
		"UPDATE tb_migration_lease SET holder = 'another', expires = UTC_TIMESTAMP(3) + INTERVAL 200000 MICROSECOND")
	b.unlock()
	if err := <-b.result; !errors.Is(err, schema.ErrBusy) {
		t.Errorf("Migrate: %v, want ErrBusy", err)
	}
	for what, query := range map[string]string{
		"a later statement": "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND " +
			"table_name = 'tb_webhook_retry'",
		"the bookkeeping": "SELECT COUNT(*) FROM tb_migration WHERE version_id > 0",
		"the release":     "SELECT COUNT(*) FROM tb_migration_lease WHERE holder <> 'another'",
	} {
		if b.Number(t, query) != 0 {
			t.Errorf("%s was executed without the lease", what)
		}
	}
	migrate(t, b.store, files) // once the lease has expired
}

// TestMigrationLeaseOfTheDead: who died, or had a clock that was set back since, does not keep others from migrating.
func TestMigrationLeaseOfTheDead(t *testing.T) {
	t.Parallel()
	for name, expires := range map[string]string{
		"it ends soon":      "UTC_TIMESTAMP(3) + INTERVAL 1 SECOND",
		"it has ended":      "UTC_TIMESTAMP(3) - INTERVAL 1 HOUR",
		"clock an hour off": "UTC_TIMESTAMP(3) + INTERVAL 1 HOUR",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := testkit.MySQL(t)
			l := pastStore(t, dsn)
			store := migrated(t, dsn)
			l.Exec(t, "DELETE FROM tb_migration WHERE version_id > 0")
			l.Exec(t, "UPDATE tb_migration_lease SET holder = 'dead', expires = "+expires)
			migrate(t, store, files)
		})
	}
}

// TestMigrationLeaseIsRenewedMeanwhile: who waits for the row while its holder renews the lease does not get it.
func TestMigrationLeaseIsRenewedMeanwhile(t *testing.T) {
	t.Parallel()
	dsn := testkit.MySQL(t)
	store := migrated(t, dsn)
	b := &blockedSchema{ledger: pastStore(t, dsn)}
	take, err := schema.NewLease(t.Context(), store.Schema())
	if err != nil {
		t.Fatal(err)
	}
	tx, err := b.Raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	const renew = "UPDATE tb_migration_lease SET holder = 'another', expires = UTC_TIMESTAMP(3) + INTERVAL 30 SECOND"
	if _, err = tx.ExecContext(t.Context(), renew); err != nil {
		t.Fatal(err)
	}
	type result struct {
		taken bool
		err   error
	}
	got := make(chan result, 1)
	go func() {
		taken, err := take(context.WithoutCancel(t.Context()))
		got <- result{taken, err}
	}()
	b.await(t, "one who waits for the row", "SELECT COUNT(*) FROM information_schema.processlist WHERE db = "+
		"DATABASE() AND info LIKE 'UPDATE tb_migration_lease%'")
	for _, statement := range []string{"DO SLEEP(0.05)", renew} { // so that the two differ in their time
		if _, err = tx.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err = tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if r := <-got; r.taken || r.err != nil {
		t.Errorf("taken %t, %v", r.taken, r.err)
	}
}

// TestMigrationNeedsNoLease: who waited while another migrated finds nothing to do; who has nothing to do waits for
// nobody.
func TestMigrationNeedsNoLease(t *testing.T) {
	t.Parallel()
	dsn := testkit.MySQL(t)
	store := migrated(t, dsn)
	l := pastStore(t, dsn)
	l.Exec(t, "UPDATE tb_migration_lease SET holder = 'another', expires = UTC_TIMESTAMP(3) + INTERVAL 20 SECOND")
	migrate(t, store, nil)
	l.Exec(t, "DELETE FROM tb_migration WHERE version_id = 1000")
	done := make(chan error, 1)
	go func() { _, err := store.Schema().Migrate(context.WithoutCancel(t.Context())); done <- err }()
	l.Exec(t, "INSERT INTO tb_migration (version_id, is_applied) VALUES (1000, 1)") // the other one is ready
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := l.Number(t, "SELECT COUNT(*) FROM tb_migration_lease WHERE holder = 'another'"); n != 1 {
		t.Error("the lease was taken while another had it")
	}
}
