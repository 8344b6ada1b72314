package upgrade

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/checker"
	"seckill/test/box"
)

const testdata = "testdata"

// The files of a fixture, behind its name.
const (
	recordFile = ".json"
	redisFile  = ".redis.json"
	sqlFile    = ".sql"
)

// TestFixtures lets today's server go on from what each old version left behind: it settles every order that a buyer was
// told of, answers the same again, and sells the rest.
func TestFixtures(t *testing.T) {
	t.Parallel()
	versions, err := filepath.Glob(filepath.Join(testdata, "*"))
	if err != nil || len(versions) == 0 {
		t.Fatalf("versions in %s: %v, %v", testdata, versions, err)
	}
	tests := []struct {
		name, fixture string
		same          bool  // this is the same run of the same Redis
		epoch         int64 // which the sale has in the end
		letters       bool  // dead letters are replayed by hand
	}{
		{"goes on", "running", true, 1, true},
		{"Redis was restarted meanwhile", "running", false, 2, false},
		{"the rebuild goes on", "rebuilding", true, 3, false},
	}
	for _, dir := range versions {
		for _, tt := range tests {
			t.Run(filepath.Base(dir)+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				s := ownStores(t)
				f := s.readFixture(filepath.Join(dir, tt.fixture))
				s.load(f.sql)
				s.restore(f.redis, tt.same)
				if tt.letters {
					todaysCommand(s, s.settings(), "migrate") // the commands need today's schema, as operators are told
					s.replayDeadLetters()
				}
				sale := s.continueSale(f)
				if got := s.epoch(f.Voucher); got != tt.epoch {
					t.Errorf("the sale is at epoch %d, want %d", got, tt.epoch)
				}
				sale.expectSoldOut()
			})
		}
	}
}

// replayDeadLetters lets today's command replay the dead letter of a waiting order, and discard the one without an order.
func (s *stores) replayDeadLetters() {
	s.Helper()
	letters, err := s.rdb.XRange(s.Context(), s.rdb.DeadKey(), "-", "+").Result()
	s.must(err)
	list := todaysCommand(s, s.settings(), "deadletter", "list")
	if len(letters) != 2 || !strings.Contains(list, letters[0].ID) || !strings.Contains(list, letters[1].ID) {
		s.Fatalf("dead letters %v, want two, and in the list:\n%s", letters, list)
	}
	for _, l := range letters {
		if _, named := l.Values["raw.u"]; named {
			todaysCommand(s, s.settings(), "deadletter", "replay", "-why", "upgrade", l.ID)
		} else {
			todaysCommand(s, s.settings(), "deadletter", "discard", "-why", "upgrade", "-yes", l.ID)
		}
	}
}

// continueSale starts today's server on a fixture, lets all winners ask again, and new users buy until nothing is left.
func (s *stores) continueSale(f fixture) *sale {
	s.Helper()
	sale := s.resume(f.Voucher, f.Units)
	for _, a := range f.Answers {
		action := checker.Buy
		if a.Cancel {
			action = checker.Cancel
		}
		sale.record(checker.Answer{Action: action, Outcome: checker.Accepted, User: a.User, Order: a.Order, Voucher: f.Voucher, Server: "before"})
		sale.users.Store(max(sale.users.Load(), a.User))
	}
	i := s.start(today(s), "today")
	sale.use(i)
	box.Eventually(s, "the rows of the orders that waited", func() error { return s.rowsAre(f.Voucher, sale.winners()) })
	sale.askAgain(int(f.Units), i)
	s.discardRecorded()
	sale.sellOut()
	sale.askAgain(int(f.Units), i)
	return sale
}

// discardRecorded discards the dead letters that are left: a rebuild has recorded their orders.
func (s *stores) discardRecorded() {
	s.Helper()
	letters, err := s.rdb.XRange(s.Context(), s.rdb.DeadKey(), "-", "+").Result()
	s.must(err)
	for _, l := range letters {
		todaysCommand(s, s.settings(), "deadletter", "discard", "-why", "upgrade", "-yes", l.ID)
	}
}

func (s *stores) readFixture(path string) (f fixture) {
	s.Helper()
	read := func(suffix string) []byte {
		b, err := os.ReadFile(path + suffix)
		s.must(err)
		return b
	}
	s.must(json.Unmarshal(read(recordFile), &f))
	s.must(json.Unmarshal(read(redisFile), &f.redis))
	f.sql = string(read(sqlFile))
	return f
}

// fixturesAreCurrent makes the fixtures anew and compares what matters of them with the files: which keys there are, with
// which fields, and which tables. With -update it writes the files.
func fixturesAreCurrent(t *testing.T, old, _ release) {
	commit, err := from()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(testdata, commit[:min(7, len(commit))])
	for name, capture := range fixtures() {
		s := &stores{TB: t}
		f := capture(t, old)
		path := filepath.Join(dir, name)
		if *update {
			s.writeFixture(path, f)
			continue
		}
		if diff := cmp.Diff(s.readFixture(path).shape(), f.shape()); diff != "" {
			t.Errorf("%s is not what commit %s writes (- file, + now); make test-upgrade TESTFLAGS=-update writes it:\n%s", path, commit, diff)
		}
	}
}

func (s *stores) writeFixture(path string, f fixture) {
	s.Helper()
	s.must(os.MkdirAll(filepath.Dir(path), 0o755))
	for suffix, v := range map[string]any{recordFile: f, redisFile: f.redis} {
		b, err := json.MarshalIndent(v, "", " ")
		s.must(err)
		s.must(os.WriteFile(path+suffix, append(b, '\n'), 0o644))
	}
	s.must(os.WriteFile(path+sqlFile, []byte(f.sql), 0o644))
}

// shape is what of a fixture does not depend on when it was made: a line for each kind of key and each form of its
// value, and the names in each table.
func (f fixture) shape() []string {
	lines := map[string]bool{}
	number, name := regexp.MustCompile(`\d+(\.\d+)?`), regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)
	add := func(key storedKey, form string) {
		line := strings.ReplaceAll(key.Name+": "+form, f.redis.RunID, "<run>")
		line = name.ReplaceAllString(line, "<uuid>")
		lines[number.ReplaceAllString(line, "#")] = true
	}
	for _, k := range f.redis.Keys {
		switch {
		case strings.HasPrefix(k.Name, "lock:"): // may be held just now or not
		case k.Text != nil:
			add(k, "string "+*k.Text)
		case k.Stream != nil:
			for _, e := range k.Stream.Entries {
				add(k, fmt.Sprint("entry ", e.Fields))
			}
			for _, g := range k.Stream.Groups {
				add(k, fmt.Sprint("group ", g.Name, slices.Sorted(maps.Keys(g.Pending))))
			}
		case k.Hash != nil:
			for field, value := range k.Hash {
				add(k, "field "+field+"="+value)
			}
		default:
			for member := range k.Scores {
				add(k, "member "+member)
			}
		}
	}
	quoted := regexp.MustCompile("`\\w+`")
	for statement := range strings.SplitSeq(f.sql, ";\n") {
		if strings.HasPrefix(statement, "CREATE") {
			lines[fmt.Sprint("table, columns, keys: ", quoted.FindAllString(statement, -1))] = true
		}
	}
	return slices.Sorted(maps.Keys(lines))
}
