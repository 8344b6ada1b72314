package upgrade

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/checker"
	"seckill/internal/testkit"
	"seckill/internal/testkit/server"
	"seckill/lab/grown"
	"seckill/test/box"
)

// TestUpgradeLarge goes up, down and up again during a sale, on a ledger of the previous version with many orders:
// SECKILL_TEST_ORDERS, or a few. It runs on MariaDB, or on the program that SECKILL_TEST_MYSQL_PROGRAM names, and logs
// what a buyer notices of each step.
func TestUpgradeLarge(t *testing.T) {
	t.Parallel()
	old, now := before(t), today(t)
	size := grown.Size{Sales: 20, PerSale: orders(t) / 20, Open: 2}
	l := openLarge(t, old, size)

	a, b := l.start(old, "a"), l.start(old, "b")
	l.expectBalanced(old)
	reports := l.reports(a)
	sale := l.open(a, 300_000)
	sale.use(a, b)
	stop := sale.load(12, 20*time.Millisecond)
	sale.phase(l, "1.0 alone", func() { sale.awaitAccepted(enough, a, b) })

	var c, d, e, f, g, h *instance
	sale.phase(l, "up: the schema", func() {
		t.Log(l.run(now, "migrate", "-plan"))
		begin := time.Now()
		t.Logf("%s in %v, with the start of the program", l.run(now, "migrate"), time.Since(begin))
		if out := l.run(now, "migrate", "-plan"); !strings.Contains(out, "up to date") {
			t.Errorf("the plan after the migration: %s", out)
		}
		sale.awaitAccepted(enough, a, b)
	})
	sale.phase(l, "up: the instances", func() {
		c, d = l.replace(sale, now, a, b, "c", "d")
	})
	l.sameReports(c, reports)
	sale.phase(l, "a format of today's", func() { // written once no heartbeat of 1.0 is left
		box.Eventually(l, "an operation with an identity", func() error {
			if l.named() == 0 {
				return errNotYet
			}
			return nil
		})
	})
	sale.phase(l, "down: the instances", func() {
		e, f = l.replace(sale, old, c, d, "e", "f")
	})
	l.sameReports(e, reports)
	sale.phase(l, "up again", func() {
		g, h = l.replace(sale, now, e, f, "g", "h")
	})
	l.sameReports(g, reports)
	sale.phase(l, "an index on the orders", func() {
		begin := time.Now()
		l.exec("ALTER TABLE tb_voucher_order ADD INDEX idx_lab (create_time, id), ALGORITHM = INPLACE, LOCK = NONE")
		took := time.Since(begin)
		t.Logf("an index on %d orders took %v: %v a row", size.Orders(), took.Round(time.Millisecond),
			took/time.Duration(size.Orders()))
		l.exec("ALTER TABLE tb_voucher_order DROP INDEX idx_lab")
	})
	stop()
	if n := sale.awaitSettled().Live(); n >= sale.units {
		t.Errorf("all %d units were sold before the instances were replaced", sale.units)
	}
	sale.askAgain(40, g, h)
	l.expectBalanced(now)
	l.expectBalanced(old)
	t.Logf("answers: %v; nothing was lost", sale.counts())
}

// enough is how many purchases each instance accepts in a phase.
const enough = 1000

// orders returns how many orders the ledger has.
func orders(t *testing.T) int64 {
	t.Helper()
	text := os.Getenv("SECKILL_TEST_ORDERS")
	if text == "" {
		return 20_000
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1000 {
		t.Fatalf("SECKILL_TEST_ORDERS is %q, want a number from 1000 on", text)
	}
	return n
}

// large is a ledger with many orders.
type large struct{ *stores }

// openLarge returns a ledger of the release, filled.
func openLarge(t *testing.T, of release, size grown.Size) *large {
	t.Helper()
	redis := testkit.StartRedis(t, "--appendonly", "yes")
	db := testkit.StartMariaDB(t, databaseMemory()...)
	l := &large{openStores(t, redis, db.DSN("seckill"))}
	l.run(of, "migrate")
	begin := time.Now()
	l.must(grown.Fill(t.Context(), l.ledger.DB, size))
	t.Logf("%s: %d orders of %d sales in %v", db.Version, size.Orders(), size.Sales,
		time.Since(begin).Round(time.Second))
	return l
}

// databaseMemory returns the database's arguments for its memory, which is less than a million orders take with their
// indexes, and for the size of its log.
func databaseMemory() []string {
	log := "--innodb-log-file-size=512M"
	if strings.HasPrefix(os.Getenv(server.EnvMySQLProgram), "mysql") {
		log = "--innodb-redo-log-capacity=512M"
	}
	return []string{"--innodb-buffer-pool-size=512M", log}
}

// run runs a command of a release, which must succeed, and returns its output.
func (l *large) run(of release, args ...string) string {
	l.Helper()
	cmd := exec.CommandContext(l.Context(), of.binary, args...)
	cmd.Dir = l.TempDir()
	for name, value := range l.settings() {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		l.Fatalf("%s: server %v: %v\n%s%s", of.name, args, err, &stdout, &stderr)
	}
	return stdout.String()
}

func (l *large) exec(statement string) {
	l.Helper()
	if _, err := l.ledger.DB.ExecContext(l.Context(), statement); err != nil {
		l.Fatalf("%s: %v", statement, err)
	}
}

// expectBalanced waits until reconcile of a release finds every sale balanced.
func (l *large) expectBalanced(of release) {
	l.Helper()
	box.Eventually(l, "balanced sales", func() error {
		ctx, cancel := context.WithTimeout(l.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, of.binary, "reconcile")
		for name, value := range l.settings() {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

// reports returns the report of each of the first sales as JSON.
func (l *large) reports(at *instance) map[int64]any {
	l.Helper()
	all := map[int64]any{}
	for voucher := range int64(4) {
		status, answer, err := at.do(l.Context(), http.MethodGet,
			at.server.URL(fmt.Sprintf("/admin/voucher/%d/report", voucher+1)), box.AdminToken(), nil)
		var report struct {
			Data map[string]any `json:"data"`
		}
		if err == nil {
			err = json.Unmarshal(answer, &report)
		}
		if err != nil || status != http.StatusOK {
			l.Fatalf("the report of %d at %s: %d %s %v", voucher+1, at.name, status, answer, err)
		}
		delete(report.Data, "at") // when it was asked for
		all[voucher+1] = report.Data
	}
	return all
}

// sameReports fails the test unless the reports have what they had. Members may have been added.
func (l *large) sameReports(at *instance, want map[int64]any) {
	l.Helper()
	got := l.reports(at)
	for voucher, report := range want {
		was, _ := report.(map[string]any)
		is, _ := got[voucher].(map[string]any)
		for name, value := range was {
			if diff := cmp.Diff(value, is[name]); diff != "" {
				l.Errorf("%s at %s, voucher %d (-was +is):\n%s", name, at.name, voucher, diff)
			}
		}
	}
}

// replace replaces two instances one after the other, and lets each sell. It logs how many operations got an identity
// meanwhile: none beside 1.0.
func (l *large) replace(s *sale, by release, first, second *instance, names ...string) (a, b *instance) {
	l.Helper()
	named := l.named()
	a = l.start(by, names[0])
	s.use(first, second, a)
	s.awaitAccepted(enough, first, second, a)
	s.use(second, a)
	first.terminate()
	b = l.start(by, names[1])
	s.use(second, a, b)
	s.awaitAccepted(enough, second, a, b)
	s.use(a, b)
	l.Logf("%s beside %s: %d operations got an identity", by.name, second.name, l.named()-named)
	second.terminate()
	s.awaitAccepted(enough, a, b)
	return a, b
}

// named returns how many operations have an identity, which only instances write whose fellows all read it.
func (l *large) named() (n int) {
	l.Helper()
	query := "SELECT COUNT(*) FROM tb_voucher_operation WHERE identity IS NOT NULL"
	if err := l.ledger.DB.QueryRowContext(l.Context(), query).Scan(&n); err != nil {
		l.Fatal(err)
	}
	return n
}

// phase does something while buyers buy, and logs what they noticed of it.
func (s *sale) phase(l *large, name string, do func()) {
	l.Helper()
	begin := time.Now()
	do()
	end := time.Now()
	var n, refused, unknown int
	var slowest time.Duration
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.answers {
		if a.Action != checker.Buy || a.Received.Before(begin) || a.Received.After(end) {
			continue
		}
		switch a.Outcome {
		case checker.Accepted:
			n++
		case checker.Later, checker.Refused:
			refused++
		case checker.Unknown:
			unknown++
		case checker.Held:
		}
		slowest = max(slowest, a.Received.Sub(a.Sent))
	}
	l.Logf("%-24s %6.1f s, %6d bought, %d refused, %d unknown, slowest answer %v", name, end.Sub(begin).Seconds(), n,
		refused, unknown, slowest.Round(time.Millisecond))
}
