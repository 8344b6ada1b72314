package retention

import (
	"bytes"
	"os"
	"testing"

	"seckill/internal/testkit/ledgertest"
)

// What is deleted of a person does not stay in free pages of the embedded mode's file.
func TestForgottenInNoFile(t *testing.T) {
	t.Parallel()
	path := ledgertest.MigratedSQLite(t)
	r := newRig(ledgertest.OpenSQLite(t, path))
	r.person(t)
	has := func(text string) (n int) {
		t.Helper()
		r.Exec(t, "PRAGMA wal_checkpoint(TRUNCATE)")
		for _, file := range []string{path, path + "-wal"} {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			n += bytes.Count(content, []byte(text))
		}
		return n
	}
	for _, text := range []string{"carol", "ABCDEFGHJKMNPQRS", `"userId":3,`} {
		if has(text) == 0 {
			t.Errorf("%s is not in the file: nothing could be found", text)
		}
	}
	if _, err := Forget(t.Context(), r.retention, forgotten, by(), atOnce); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"carol", "ABCDEFGHJKMNPQRS", `"userId":3,`} {
		if n := has(text); n > 0 {
			t.Errorf("%s is %d times in the file", text, n)
		}
	}
}
