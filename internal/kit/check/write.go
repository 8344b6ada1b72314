package check

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"seckill/internal/kit/words"
)

// Write writes the list for people, and the verdict: go or no-go.
func Write(w io.Writer, lines []Line, in words.Language) error {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, l := range lines {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", l.Level.Sign(), l.Name, l.What(in))
		if do := l.Do(in); do != "" {
			_, _ = fmt.Fprintf(table, "\t\t→ %s\n", do)
		}
	}
	_ = table.Flush() // cannot fail: it writes to memory
	verdict := "GO"
	if !Go(lines) {
		verdict = "NO-GO"
	}
	_, err := fmt.Fprintf(w, "%s%s\n", b.String(), verdict)
	return err
}
