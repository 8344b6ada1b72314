package redisstore

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/testkit"
)

var update = flag.Bool("update", false, "write the fields of a sale's hash into README.md")

// The fields of a sale's hash.
const (
	fieldMode       = "mode"
	fieldStock      = "stock"
	fieldReturned   = "returned"
	fieldReturnedAt = "returned_at"
	fieldReturnedIn = "returned_in"
	fieldBegin      = "begin"
	fieldEnd        = "end"
	fieldEpoch      = "epoch"
	fieldSequence   = "seq"
	fieldOperation  = "op"
	fieldIdentity   = "op_id"
	fieldDecided    = "decided"
	fieldTakes      = "takes"
	fieldReserved   = "reserved"
	fieldReservedAt = "reserved_at"

	fieldReservedUnits = "reserved_units"
	fieldReservedKept  = "reserved_kept"
	fieldExtra         = "extra"
	fieldBuilding      = "building"
	fieldResumes       = "resumes"
	fieldStopped       = "stopped"
	fieldServer        = "server"
)

// saleField is one field of a sale's hash. All fields are stored as text; kind says what the text means.
type saleField struct{ name, kind, meaning, writers string }

// saleFields is the one table of the fields, with the scripts that write each of them.
var saleFields = []saleField{
	{
		fieldMode, "word", "what the sale does: `open`, `paused`, `off`, `rebuild`",
		"apply begin_rebuild publish seckill",
	},
	{fieldStock, "units", "can be sold now", "apply begin_rebuild correct publish seckill"},
	{
		fieldReturned, "units", "came back to the sold-out sale and cannot be sold yet (rule 11)",
		"apply begin_rebuild correct publish seckill",
	},
	{fieldReturnedAt, "ms", "from when they can be sold", "apply begin_rebuild correct publish"},
	{
		fieldReturnedIn, "number",
		"epoch of the last rebuild during which a unit came back; 0 or missing: none", "correct",
	},
	{fieldBegin, "ms", "begin of the window", "apply begin_rebuild publish"},
	{fieldEnd, "ms", "end of the window, exclusive", "apply begin_rebuild publish"},
	{fieldEpoch, "number", "raised by every rebuild (rule 9)", "begin_rebuild publish"},
	{fieldSequence, "number", "admissions in this epoch", "apply begin_rebuild publish seckill"},
	{fieldOperation, "number", "the last operation that is applied (rule 1)", "apply begin_rebuild publish"},
	{
		fieldIdentity, "text", "that operation as `12 -7305`: its number and its identity, random bits that tell it " +
			"from a lost operation of that number; missing, or of an earlier number, if the last one has none",
		"apply publish",
	},
	{
		fieldDecided, "text", "the last operation applied that a person decided, as `10 8821 pause`, or `none`; " +
			"missing: not known",
		"apply publish",
	},
	{
		fieldTakes, "text", "outcomes of takes that may still be asked for, as `12=1:7 15=0`: operation, " +
			"got its units, and the sequence that it raised the sale to if it made a holder",
		"apply publish",
	},
	{fieldReserved, "number", "operation that waits until no instance has the sale cached as sold out (rule 11): a " +
		"late payment, for which returned units are kept, or an acceptance; 0: none", "apply publish"},
	{fieldReservedAt, "ms", "from when they are the user's", "apply"},
	{fieldReservedUnits, "units", "how many they are; missing: one", "apply publish"},
	{
		fieldReservedKept, "flag", "it is an acceptance, which takes no unit from the stock; missing: it is none",
		"apply publish",
	},
	{
		fieldExtra, "units", "what the holders have beyond one unit each; missing: nothing",
		"apply correct publish seckill",
	},
	{fieldBuilding, "number", "epoch of the rebuild under way; 0: none", "begin_rebuild publish"},
	{fieldResumes, "ms", "from when a rebuilt sale sells (rule 11); 0: at once", "begin_rebuild"},
	{fieldStopped, "ms", "when its last rebuild stopped it", "begin_rebuild"},
	{
		fieldServer, "text", "run id of the server on which its last rebuild stopped and opened it; empty: not known",
		"begin_rebuild",
	},
}

// Every field that a script reads or writes is in the table, with that script among its writers if it writes it.
func TestScriptsKeepToTheSaleFields(t *testing.T) {
	t.Parallel()
	writers, used := map[string][]string{}, map[string]bool{}
	files, err := filepath.Glob("../../scripts/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatalf("scripts %v: %v", files, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".lua")
		read, written := fieldsIn(string(source))
		for _, field := range written {
			writers[field] = append(writers[field], name)
		}
		for _, field := range slices.Concat(read, written) {
			used[field] = true
		}
	}
	listed := map[string][]string{}
	for _, f := range saleFields {
		listed[f.name] = strings.Fields(f.writers)
		if !used[f.name] {
			t.Errorf("no script uses the field %s of saleFields", f.name)
		}
		delete(used, f.name)
	}
	for field := range used {
		t.Errorf("a script uses the field %s of a sale, which saleFields lacks", field)
	}
	if diff := cmp.Diff(listed, writers); diff != "" {
		t.Errorf("writers in saleFields (-) and in scripts/*.lua (+):\n%s", diff)
	}
}

// fieldsIn returns the fields of a sale's hash that a script names in its calls of Redis.
func fieldsIn(source string) (read, written []string) {
	call := regexp.MustCompile(`'(HSET|HDEL|HINCRBY|HGET|HMGET)', (?:sale_key|KEYS\[[1i]\])`)
	for _, at := range call.FindAllStringSubmatchIndex(source, -1) {
		arguments := source[at[1]:]
		for i, depth := 0, 1; i < len(arguments); i++ {
			depth += strings.Count("(", arguments[i:i+1]) - strings.Count(")", arguments[i:i+1])
			if depth == 0 {
				arguments = arguments[:i]
			}
		}
		fields := namesIn(arguments)
		for _, list := range regexp.MustCompile(`unpack\((\w+)\)`).FindAllStringSubmatch(arguments, -1) {
			fields = append(fields, listed(source, list[1])...)
		}
		slices.Sort(fields)
		fields = slices.Compact(fields)
		if command := source[at[2]:at[3]]; strings.HasSuffix(command, "GET") {
			read = append(read, fields...)
		} else {
			written = append(written, fields...)
		}
	}
	slices.Sort(written)
	return read, slices.Compact(written)
}

// listed returns the fields that a script puts into a list: at once, one by one, or from another list.
func listed(source, list string) []string {
	var fields []string
	for _, set := range regexp.MustCompile(`(?s)\b`+list+` = \{(.*?)\}`).FindAllStringSubmatch(source, -1) {
		fields = append(fields, namesIn(set[1])...)
	}
	for _, set := range regexp.MustCompile(`\b`+list+`\[[^=\n]* = (.*)`).FindAllStringSubmatch(source, -1) {
		fields = append(fields, namesIn(set[1])...)
		if other := regexp.MustCompile(`^(\w+)\[i\]`).FindStringSubmatch(set[1]); other != nil {
			fields = append(fields, listed(source, other[1])...)
		}
	}
	return fields
}

// namesIn returns the words in a piece of Lua that may be fields.
func namesIn(text string) []string {
	var names []string
	for _, word := range regexp.MustCompile(`'([a-z_]+)'`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains([]string{modeOpen, modePaused, modeOff, modeRebuild}, word[1]) {
			names = append(names, word[1])
		}
	}
	return names
}

// TestDocumentHasTheSaleFields: README.md lists the fields.
func TestDocumentHasTheSaleFields(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| Field | Type | What it holds | Written by |\n| --- | --- | --- | --- |\n")
	for _, f := range saleFields {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n",
			f.name, f.kind, f.meaning, strings.Join(strings.Fields(f.writers), ", "))
	}
	testkit.Generated(t, "README.md", "<!-- sale-fields:begin -->\n",
		"<!-- sale-fields:end -->\n", b.String(), *update)
}
