package migrations_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"
	"testing"

	"seckill/migrations"
)

// released is the SHA-256 of each migration that a release has. A release adds its own.
var released = map[string]string{
	"mysql/01000_ledger.sql":  "a0a8e862f55d355e6336cd02a386832a2b00a7b5563069b48a5b0c1264a86b7c",
	"sqlite/01000_ledger.sql": "6e0a9dade4631612617f50e8891e2e40a96a8b0825293b681fff82e2ed311fdd",
}

// TestReleasedMigrationsStay: a ledger that has applied a migration never applies it again, so a change of it reaches
// new ledgers alone.
func TestReleasedMigrationsStay(t *testing.T) {
	t.Parallel()
	last := map[string]string{}
	for file, want := range released {
		text, err := fs.ReadFile(migrations.FS, file)
		if got := fmt.Sprintf("%x", sha256.Sum256(text)); err != nil || got != want {
			t.Errorf("%s has SHA-256 %s, %v; released was %s.\n"+
				"Restore the file, and put the change into a new one with a higher number, for each dialect.",
				file, got, err, want)
		}
		dialect := path.Dir(file)
		last[dialect] = max(last[dialect], file)
	}
	files, err := fs.Glob(migrations.FS, "*/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if _, old := released[file]; !old && file < last[path.Dir(file)] {
			t.Errorf("%s comes before %s, which is released: ledgers that have that one would refuse it. "+
				"Give it a higher number.", file, last[path.Dir(file)])
		}
	}
}

// TestReleasedFormatStays: stores with another word are refused, so a version with another one reads nothing of the
// versions before.
func TestReleasedFormatStays(t *testing.T) {
	t.Parallel()
	if written := "0.9"; migrations.Format != written {
		t.Errorf("the format is %q, and 1.0 wrote %q: its stores would be refused. "+
			"Change formats in two steps instead (docs/operations.md#what-stays).", migrations.Format, written)
	}
}
