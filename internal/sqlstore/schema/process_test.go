package schema_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/sqlstore"
	"seckill/internal/sqlstore/schema"
)

const (
	// envMigrate has this program migrate the schema of the DSN, print the files that it applied, and end.
	envMigrate = "SECKILL_TEST_MIGRATE"
	// envMigrateDies says that the program is to be killed: its lease is short, so that others wait briefly.
	envMigrateDies = "SECKILL_TEST_MIGRATE_DIES"
)

// migrateIfAsked is the whole program of a process that migrates, if the environment says that this is one.
func migrateIfAsked() (code int, asked bool) {
	dsn := os.Getenv(envMigrate)
	if dsn == "" {
		return 0, false
	}
	ctx := context.Background()
	store, err := sqlstore.OpenMySQL(ctx, dsn, quiet())
	if err == nil {
		s := store.Schema()
		if os.Getenv(envMigrateDies) != "" {
			s = schema.WithLease(s, shortLease)
		}
		var applied []string
		applied, err = s.Migrate(ctx)
		_, _ = fmt.Println(strings.Join(applied, " "))
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}

// migrator is a process that migrates.
type migrator struct {
	cmd            *exec.Cmd
	stdout, stderr strings.Builder
}

func startMigrator(t *testing.T, dsn string, env ...string) *migrator {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := &migrator{cmd: exec.CommandContext(t.Context(), program)}
	m.cmd.Env = append(append(os.Environ(), envMigrate+"="+dsn), env...)
	m.cmd.Stdout, m.cmd.Stderr = &m.stdout, &m.stderr
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.kill() }) // most have ended
	return m
}

func (m *migrator) kill() error {
	err := m.cmd.Process.Kill()
	_ = m.cmd.Wait() // it was killed
	return err
}

// wait returns the files that the process has applied.
func (m *migrator) wait(t *testing.T) []string {
	t.Helper()
	if err := m.cmd.Wait(); err != nil {
		t.Errorf("a process that migrates: %v: %s", err, &m.stderr)
	}
	return strings.Fields(m.stdout.String())
}

// TestMigratorKilled: of three processes that migrate, the one with the lease is killed while a statement of it runs,
// which the database goes on with. The next holder comes to the same statement and executes it once more. Only the
// lease of the one that dies is short: of those that live, none is replaced because it stalls.
func TestMigratorKilled(t *testing.T) {
	t.Parallel()
	b := newBlockedSchema(t)
	killed := startMigrator(t, b.dsn, envMigrateDies+"=yes")
	session := b.awaitBlocked(t, 0)
	others := []*migrator{startMigrator(t, b.dsn), startMigrator(t, b.dsn)}
	if err := killed.kill(); err != nil {
		t.Fatal(err)
	}
	b.awaitBlocked(t, session)
	b.unlock()
	var applied []string
	for _, m := range others {
		applied = append(applied, m.wait(t)...)
	}
	if diff := cmp.Diff(files, applied); diff != "" {
		t.Errorf("applied by those who live (-want +got):\n%s", diff)
	}
	if err := openQuiet(t, b.dsn).Schema().Check(t.Context()); err != nil {
		t.Error(err)
	}
	if n := b.Number(t, "SELECT COUNT(*) FROM tb_migration_lease WHERE holder = ''"); n != 1 {
		t.Error("the lease was not released")
	}
}
