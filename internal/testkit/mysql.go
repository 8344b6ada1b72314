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

// MariaDBServer is a mariadbd for one test. It has the fields Addr, Dir and Version; Stop, Kill, Pause and Resume act
// on the process immediately.
type MariaDBServer struct {
	*server.MariaDB
	tb testing.TB
}

// StartMariaDB starts a mariadbd, or the program that [server.EnvMySQLProgram] names, for the test, which takes about a
// second; the end of the test kills it. Commits are flushed, so killing it loses nothing. args are appended to its
// command line, such as "--read-only=1".
func StartMariaDB(tb testing.TB, args ...string) *MariaDBServer {
	tb.Helper()
	m, err := server.StartMariaDB(tb.Context(), args...)
	return ownMariaDB(tb, m, err)
}

// StartMariaDBOnDisk is StartMariaDB with its own disk of the given size, which FillDisk fills. The server cannot be
// restarted.
func StartMariaDBOnDisk(tb testing.TB, megabytes int, args ...string) *MariaDBServer {
	tb.Helper()
	m, err := server.StartMariaDBOnDisk(tb.Context(), megabytes, args...)
	return ownMariaDB(tb, m, err)
}

// GaleraCluster is a Galera cluster for one test, whose nodes are MariaDBServers. Kill, Pause and Resume act on a node
// immediately.
type GaleraCluster struct {
	Nodes   []*MariaDBServer
	Version string
	galera  *server.Galera
}

// StartGalera starts a Galera cluster for the test, installing what it needs; three nodes take about ten seconds. The
// end of the test kills it. The nodes share a configuration file.
func StartGalera(tb testing.TB, nodes int, conf string) *GaleraCluster {
	tb.Helper()
	g, err := server.StartGalera(tb.Context(), nodes, conf)
	if err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	c := &GaleraCluster{Version: g.Version, galera: g}
	for _, m := range g.Nodes {
		c.Nodes = append(c.Nodes, ownMariaDB(tb, m, nil))
	}
	return c
}

// Size returns the number of nodes in a node's cluster, as that node sees it.
func (c *GaleraCluster) Size(ctx context.Context, node int) (int, error) {
	return c.galera.Size(ctx, node)
}

// ownMariaDB wraps a server for the test, whose end closes it.
func ownMariaDB(tb testing.TB, m *server.MariaDB, err error) *MariaDBServer {
	tb.Helper()
	if err != nil {
		tb.Fatalf("testkit: start a MariaDB: %v", err)
	}
	tb.Cleanup(func() {
		if err := m.Close(); err != nil {
			tb.Errorf("testkit: close the MariaDB: %v", err)
		}
	})
	return &MariaDBServer{MariaDB: m, tb: tb}
}

// Start starts the server again after Stop or Kill, with the same port and data, and waits until it has recovered.
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

// MySQLQuery is how every text query begins on the wire, for [Proxy.Answer].
const MySQLQuery = "\x00\x00\x03"

// MySQLError is a server's answer to a query: an error with its number, SQLSTATE and text.
func MySQLError(number uint16, state, text string) []byte {
	const failed, marker, sequence = 0xff, '#', 1
	body := append([]byte{failed, byte(number), byte(number >> 8), marker}, state+text...)
	return append([]byte{byte(len(body)), 0, 0, sequence}, body...)
}
