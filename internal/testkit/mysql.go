package testkit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"testing"

	"seckill/internal/testkit/server"
)

// MySQL returns the DSN of a new, empty schema for the test on the shared MySQL or MariaDB. The end of the test drops
// the schema: close its users before that.
func MySQL(tb testing.TB) string {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	dsn, err := sharedServers.mysqlServer(ctx)
	if err != nil {
		tb.Fatalf("testkit: MySQL: %v", err)
	}
	schema := "test_" + rand.Text()
	own, err := server.CreateSchema(ctx, dsn, schema)
	if err != nil {
		tb.Fatalf("testkit: create schema %s: %v", schema, err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
		defer cancel()
		if err := server.DropSchema(ctx, dsn, schema); err != nil {
			tb.Errorf("testkit: drop schema %s: %v", schema, err)
		}
	})
	return own
}

// MigratedMySQL returns the DSN of a schema that migrate has filled; it must be the same function in all tests of a
// process. Migrating takes longer than most tests, so schemas are reused: the end of a test resets the rows. Close the
// schema's users before that. A test that alters tables must migrate its own schema: use MySQL.
func MigratedMySQL(tb testing.TB, migrate func(ctx context.Context, dsn string) error) string {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	dsn, err := sharedServers.mysqlServer(ctx)
	if err != nil {
		tb.Fatalf("testkit: MySQL: %v", err)
	}
	schema, err := sharedServers.schemas.take(ctx, dsn, migrate)
	if err != nil {
		tb.Fatalf("testkit: a migrated schema: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
		defer cancel()
		if err := sharedServers.schemas.giveBack(ctx, schema); err != nil {
			tb.Errorf("testkit: %v", err)
		}
	})
	return schema.DSN
}

// schemaPool is the set of migrated schemas of a process.
type schemaPool struct {
	mu       sync.Mutex
	template *server.Schema // the migrated original, which nobody modifies
	free     []*server.Schema
	made     []*server.Schema // all copies of the template
}

// take returns an unused schema, creating one if necessary. The first caller migrates the template while others wait.
func (p *schemaPool) take(
	ctx context.Context, dsn string, migrate func(context.Context, string) error,
) (*server.Schema, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		schema := p.free[n-1]
		p.free = p.free[:n-1]
		return schema, nil
	}
	if p.template == nil {
		template, err := server.NewTemplate(ctx, dsn, "test_"+rand.Text(), migrate)
		if err != nil {
			return nil, err
		}
		p.template = template
	}
	schema, err := p.template.Copy(ctx, "test_"+rand.Text())
	if err == nil {
		p.made = append(p.made, schema)
	}
	return schema, err
}

// giveBack resets a schema to the template, for the next test.
func (p *schemaPool) giveBack(ctx context.Context, schema *server.Schema) error {
	if err := schema.Reset(ctx); err != nil {
		return fmt.Errorf("emptying schema %s: %w", schema.Name, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, schema)
	return nil
}

// drop removes all schemas. It is called after all tests.
func (p *schemaPool) drop(ctx context.Context) error {
	var errs []error
	if p.template != nil {
		errs = append(errs, p.template.Drop(ctx))
	}
	for _, schema := range p.made {
		errs = append(errs, schema.Drop(ctx))
	}
	return errors.Join(errs...)
}

// MariaDBServer is a [server.MariaDB] for one test.
type MariaDBServer struct {
	*server.MariaDB
	tb testing.TB
}

// StartMariaDB is [server.StartMariaDB] for the test, whose end kills the server. It takes about a second.
func StartMariaDB(tb testing.TB, args ...string) *MariaDBServer {
	tb.Helper()
	m, err := server.StartMariaDB(tb.Context(), args...)
	return &MariaDBServer{own(tb, m, err), tb}
}

// StartMariaDBOnDisk is [server.StartMariaDBOnDisk] for the test.
func StartMariaDBOnDisk(tb testing.TB, megabytes int, args ...string) *MariaDBServer {
	tb.Helper()
	m, err := server.StartMariaDBOnDisk(tb.Context(), megabytes, args...)
	return &MariaDBServer{own(tb, m, err), tb}
}

// GaleraCluster is a [server.Galera] for one test, whose nodes are MariaDBServers.
type GaleraCluster struct {
	*server.Galera

	Nodes []*MariaDBServer
}

// StartGalera starts a Galera cluster for the test, installing what it needs; three nodes take about ten seconds. The
// end of the test kills it. The nodes share a configuration file.
func StartGalera(tb testing.TB, nodes int, conf string) *GaleraCluster {
	tb.Helper()
	g, err := server.StartGalera(tb.Context(), nodes, conf)
	if err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	c := &GaleraCluster{Galera: g}
	for _, m := range g.Nodes {
		c.Nodes = append(c.Nodes, &MariaDBServer{own(tb, m, nil), tb})
	}
	return c
}

// Start starts the server again after Stop or Kill.
func (m *MariaDBServer) Start() {
	m.tb.Helper()
	if err := m.MariaDB.Start(m.tb.Context()); err != nil {
		m.tb.Fatalf("testkit: start the MariaDB again: %v", err)
	}
}

// DSN returns the DSN of the schema, creating the schema if necessary.
func (m *MariaDBServer) DSN(schema string) string {
	m.tb.Helper()
	dsn, err := server.CreateSchema(m.tb.Context(), m.MariaDB.DSN(""), schema)
	if err != nil {
		m.tb.Fatalf("testkit: create schema %s: %v", schema, err)
	}
	return dsn
}
