package config

import (
	"flag"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit"
)

var update = flag.Bool("update", false, "write the table of settings into docs/operations.md")

func TestDocumentHasTheTable(t *testing.T) {
	t.Parallel()
	testkit.Generated(t, "../../docs/operations.md", "<!-- settings:begin -->\n", "<!-- settings:end -->\n",
		markdownTable(), *update)
}

// markdownTable returns the table of docs/operations.md, which "make docs" writes.
func markdownTable() string {
	var b strings.Builder
	b.WriteString("| Variable | Default | Effect |\n| --- | --- | --- |\n")
	for _, s := range settings() {
		b.WriteString("| `" + s.name() + "` | " + s.cell() + " | " +
			strings.ReplaceAll(s.tag("effect"), "*", `\*`) + " |\n")
	}
	return b.String()
}

// cell returns the default for the table, and the kind of value unless the default or the name shows it.
// The bounds of numbers are left to --help.
func (s setting) cell() string {
	def := "`" + s.tag("envDefault") + "`"
	if s.tag("shown") != "" { // words, not a value
		def = s.tag("shown")
	} else if s.tag("envDefault") == "" {
		def = "none"
	}
	switch kind := s.allowed(); {
	case slices.Contains([]string{"name", "text", "number", "duration"}, s.tag("unit")),
		kind == "true or false", strings.HasSuffix(s.name(), "_SECRET"):
		return def
	case s.tag("min") != "" && s.tag("shown") == "":
		return def + " " + s.tag("unit")
	default:
		return def + " (" + kind + ")"
	}
}

func TestTagsAreComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range settings() {
		name := s.name()
		if !strings.HasPrefix(name, namePrefix) || seen[name] {
			t.Errorf("field %s: variable %q is not SECKILL_…, or used twice", s.field.Name, name)
		}
		seen[name] = true
		if s.tag("effect") == "" || s.allowed() == "" {
			t.Errorf("%s has no effect or no unit", name)
		}
		if strings.Contains(s.tag("effect")+s.allowed(), "|") {
			t.Errorf("%s: a bar ends a cell of the table", name)
		}
		if (s.tag("min") == "") != (s.tag("max") == "") {
			t.Errorf("%s has one of min and max", name)
		}
		for _, bound := range []string{"min", "max"} {
			if text := s.tag(bound); text != "" && !isNumber(text) {
				t.Errorf("%s: %s %q is no number and no duration", name, bound, text)
			}
		}
	}
}

func isNumber(text string) bool {
	_, notInt := strconv.ParseInt(text, 10, 64)
	_, notDuration := time.ParseDuration(text)
	return notInt == nil || notDuration == nil
}

func TestMarkdownTable(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSuffix(markdownTable(), "\n"), "\n")
	if want := len(Table()) + 2; len(lines) != want {
		t.Errorf("%d lines, want %d", len(lines), want)
	}
	for _, want := range []string{
		"| `SECKILL_MAX_WAIT` | `30s` | longest time that ?wait= waits for an order to be recorded |",
		"| `SECKILL_PAGES` | `true` | show pages to browsers; in the embedded mode the buyers' makes buyers for " +
			"trying out |",
		"| `SECKILL_USER_BURST` | `30` requests | how many requests a user may make at once before " +
			"SECKILL_USER_RATE applies |",
		"| `SECKILL_LOG_FORMAT` | `text` (text or json) | how log lines look: for people, or for programs |",
		"| `SECKILL_INSTANCE` | the host name | what this instance is called in logs and among " +
			"the stream's consumers |",
		"| `SECKILL_REDIS_MASTER` | none | the master that the sentinels watch; needed in the mode sentinel |",
	} {
		if !strings.Contains(markdownTable(), want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
}
