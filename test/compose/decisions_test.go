package compose

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestDecisionsAreNumbered: each decision has a number of its own, the same in its name and its heading.
func TestDecisionsAreNumbered(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/adr/[0-9]*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("decisions: %v, %v", files, err)
	}
	named := map[string]string{}
	for _, file := range files {
		number := filepath.Base(file)[:4]
		if other, taken := named[number]; taken {
			t.Errorf("%s and %s have one number", other, file)
		}
		named[number] = file
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if _, err = fmt.Sscanf(number, "%d", &n); err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(fmt.Sprintf(`^# %d\. `, n)).Match(text) {
			t.Errorf("%s begins with %q", file, firstLine(text))
		}
	}
}

func firstLine(text []byte) string { return regexp.MustCompile(`^[^\n]*`).FindString(string(text)) }
