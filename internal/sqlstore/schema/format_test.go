package schema_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"seckill/internal/sqlstore"
	"seckill/internal/sqlstore/schema"
	"seckill/internal/testkit/ledgertest"
	"seckill/migrations"
)

// A ledger of an earlier program, of another format, or without a word is refused by whoever comes: one that migrates
// and one that does not. Nothing in it is changed.
func TestOtherFormatsAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		made   []string // on a schema that this program has made
		theirs string
	}{
		"17 migrations of before": {
			[]string{
				"DELETE FROM tb_migration WHERE version_id > 0", "DROP TABLE tb_format",
				"INSERT INTO tb_migration (version_id, is_applied) VALUES (1, 1), (17, 1)",
			}, "its tb_migration goes up to 17, from before formats had names",
		},
		"both": {
			[]string{"INSERT INTO tb_migration (version_id, is_applied) VALUES (17, 1)"},
			"its tb_migration goes up to 17",
		},
		"another format": {[]string{"UPDATE tb_format SET format = '0.0'"}, `it is "0.0"`},
		"another format, died in between": {
			[]string{"UPDATE tb_format SET format = '0.0'", "DELETE FROM tb_migration WHERE version_id > 0"},
			`it is "0.0"`,
		},
		"no word": {[]string{"DELETE FROM tb_format"}, "it has none"},
	} {
		t.Run(name, func(t *testing.T) {
			eachOwnSchema(t, func(t *testing.T, l ledger) {
				for _, statement := range tc.made {
					l.Exec(t, statement)
				}
				tables := l.tables(t)
				applied, err := l.Schema().Migrate(t.Context())
				if len(applied) > 0 {
					t.Errorf("it has applied %v", applied)
				}
				todo := map[string]string{
					"mysql": "a schema of its own in SECKILL_MYSQL_DSN", "sqlite": "away",
				}[l.Dialect]
				died := l.Number(t, "SELECT COUNT(*) FROM tb_migration WHERE version_id > 0") == 0
				for what, err := range map[string]error{"Migrate": err, "Check": l.Schema().Check(t.Context())} {
					if what == "Check" && died {
						continue // it lacks the migration, in the first place
					}
					if !errors.Is(err, schema.ErrFormat) || !strings.Contains(err.Error(), tc.theirs) ||
						!strings.Contains(err.Error(), `this program's is "`+migrations.Format+`"`) ||
						!strings.Contains(err.Error(), todo) {
						t.Errorf("%s: %v", what, err)
					}
				}
				if n := l.tables(t); n != tables {
					t.Errorf("there are %d tables, and were %d", n, tables)
				}
			})
		})
	}
}

// Each ledger has a word of its own, which stays, and which all instances that migrate it at once agree on.
func TestWord(t *testing.T) {
	eachEmpty(t, func(t *testing.T, open func() *sqlstore.Store, l ledger) {
		stores := []*sqlstore.Store{open()}
		if l.Dialect == "mysql" { // the file has one process
			stores = append(stores, open(), open())
		}
		words := make([]string, len(stores))
		var starting sync.WaitGroup
		for i, store := range stores {
			starting.Go(func() {
				_, err := store.Schema().Migrate(t.Context())
				if err == nil {
					words[i], err = store.Schema().Word(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		starting.Wait()
		for _, word := range words {
			if id, has := strings.CutPrefix(word, migrations.Format+"/"); !has || len(id) != 16 || word != words[0] {
				t.Errorf("words %q", words)
			}
		}
	})
	if a, b := word(t, openQuiet(t, ledgertest.MigratedMySQL(t))),
		word(t, openSQLite(t, ledgertest.MigratedSQLite(t)).Store); a == b {
		t.Errorf("two ledgers have the word %s", a)
	}
}

func word(t *testing.T, store *sqlstore.Store) string {
	t.Helper()
	word, err := store.Schema().Word(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return word
}

// An earlier program, which has 17 migrations, refuses this one's ledger by itself: it misses them.
func TestEarlierProgramsRefuse(t *testing.T) {
	theirs := fstest.MapFS{}
	for n := range 17 {
		theirs[fmt.Sprintf("%05d_step.sql", n+1)] = &fstest.MapFile{
			Data: []byte("-- +goose Up\nCREATE TABLE tb_earlier (id INT)"),
		}
	}
	eachOwnSchema(t, func(t *testing.T, l ledger) {
		if _, err := l.Schema().Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		dialect := map[string]database.Dialect{
			"mysql": database.DialectMySQL, "sqlite": database.DialectSQLite3,
		}[l.Dialect]
		versions, err := database.NewStore(dialect, "tb_migration")
		if err != nil {
			t.Fatal(err)
		}
		program, err := goose.NewProvider(goose.DialectCustom, l.Raw, theirs, goose.WithStore(versions),
			goose.WithDisableGlobalRegistry(true))
		if err != nil {
			t.Fatal(err)
		}
		tables := l.tables(t)
		if _, err := program.UpByOne(t.Context()); err == nil || !strings.Contains(err.Error(), "17 missing") {
			t.Errorf("it went on: %v", err)
		}
		if n := l.tables(t); n != tables {
			t.Errorf("there are %d tables, and were %d", n, tables)
		}
	})
}

// A raised ledger is read as before, under the same word in Redis, and refused by 1.0, whose check is for one format.
func TestRaise(t *testing.T) {
	eachOwnSchema(t, func(t *testing.T, l ledger) {
		before := word(t, l.Store)
		for range 2 {
			if err := l.Schema().Raise(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		migrate(t, l.Store, nil)
		if err := l.Schema().Check(t.Context()); err != nil {
			t.Errorf("Check: %v", err)
		}
		if after := word(t, l.Store); after != before {
			t.Errorf("Redis's word is %s, and was %s", after, before)
		}
		const readBy10 = "SELECT COUNT(*) FROM tb_format WHERE id = 1 AND format = '1'"
		if n := l.Number(t, readBy10); n != 0 {
			t.Error("1.0 would start on it")
		}
	})
}
