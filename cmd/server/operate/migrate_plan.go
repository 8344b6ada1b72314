package operate

import (
	"fmt"
	"strings"
	"time"

	"seckill/internal/sqlstore/schema"
	"seckill/internal/sqlstore/schema/ddl"
)

// longMigration is how long a migration may take before it should run apart from the replacement of instances.
const longMigration = time.Minute

// planText returns a plan for people: each statement, and what to do when all of them take too long.
func planText(p schema.Plan) string {
	var b strings.Builder
	if len(p.Steps) == 0 {
		fmt.Fprintf(&b, "%s (%s): the schema is up to date\n", p.Place, p.Server)
		return b.String()
	}
	fmt.Fprintf(&b, "%s (%s)\n", p.Place, p.Server)
	file, built := "", false
	for _, s := range p.Steps {
		if s.File != file {
			file = s.File
			fmt.Fprintf(&b, "\n%s\n", file)
		}
		fmt.Fprintf(&b, "  %s\n    %s\n", shortened(s.Text), stepText(s))
		built = built || s.Kind == ddl.AddIndex
	}
	fmt.Fprintf(&b, "\nin all: %s. Instances sell meanwhile.\n", about(p.Takes()))
	b.WriteString("An ALTER waits for the transactions that use its table. It gives way after 2 s (an index after\n" +
		"10 s) and comes again, 30 times at most. End long reports and dumps of that table before you begin.\n")
	if built {
		b.WriteString("A replica repeats each statement after the primary, and is behind by as long.\n")
	}
	if built && p.Galera {
		b.WriteString("This is a Galera cluster: while an index is built, no node commits anything. Unless a pause\n" +
			"of that length is harmless, build it by hand, on one node after the other (wsrep_OSU_method = RSU).\n")
	}
	if p.Takes() > longMigration {
		b.WriteString("That is long. Run server migrate before you replace instances, hours away from a sale, with\n" +
			"SECKILL_MIGRATE=false on the instances. If it is too long even so, make the change by hand, with\n" +
			"gh-ost or pt-online-schema-change: server migrate takes a column or an index that is there for made.\n")
	}
	return b.String()
}

// shortened returns a statement without what makes it too long for a line.
func shortened(text string) string {
	const most = 160
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + " …"
	}
	return text
}

// stepText says what a statement costs.
func stepText(s schema.Step) string {
	switch s.Kind {
	case ddl.AddColumn:
		return fmt.Sprintf("%s has about %s rows: %s, however many they are", s.Table, thousands(s.Rows),
			about(s.Takes))
	case ddl.AddIndex:
		return fmt.Sprintf("%s has about %s rows, %d MB: %s, while others write it", s.Table, thousands(s.Rows),
			s.Bytes>>20, about(s.Takes))
	case ddl.CreateTable, ddl.Fill, ddl.Other:
	}
	return about(s.Takes)
}

// about returns an estimate, which is not to look exact.
func about(d time.Duration) string {
	switch {
	case d < time.Second:
		return "under a second"
	case d < 2*time.Minute:
		return fmt.Sprintf("about %d s", int64(d.Seconds()+0.5))
	default:
		return fmt.Sprintf("about %d min", int64(d.Minutes()+0.5))
	}
}

// thousands returns a number with its thousands set apart.
func thousands(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
