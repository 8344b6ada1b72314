package siege

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/internal/testkit"
	stores "seckill/internal/testkit/server"
	"seckill/lab/version"
	"seckill/test/box"
)

// envBefore names a commit whose server is besieged, too.
const envBefore = "SECKILL_TEST_SIEGE_BEFORE"

// looked is how long after a purchase was cut its outcome is certainly known.
const looked = 8 * time.Second

// cutter is one account that presses in a sale with shares, from the address of its neighbours.
type cutter struct {
	deployed

	t       *testing.T
	sale    int64
	address string
	lines   *lines
}

// deployed is a server, and the entry in front of it that its buyers use.
type deployed struct {
	server *box.Server
	entry  string // host:port
	client *box.Client
}

// attack is what a cutter does, and in which sale.
type attack struct {
	name                       string
	share, perUser, neighbours int
	// run attacks and calls press meanwhile or afterwards, which returns once all neighbours are answered.
	run func(c *cutter, press func())
}

// attacks returns those of which two were found to hurt neighbours.
func attacks() []attack {
	return []attack{
		{"an account buys, then 24 purchases are cut in 32 s", 10, 1, 9, func(c *cutter, press func()) {
			c.buy(0)
			for n := range 24 {
				c.cut(0, 1, time.Duration(n%8)*200*time.Microsecond)
				sleep(c.t.Context(), 32*time.Second/24)
			}
			sleep(c.t.Context(), looked)
			press()
		}},
		{"an account with an order presses on 60 lines", 20, 1, 15, func(c *cutter, press func()) {
			c.buy(0)
			c.during(60, func() { c.ask(0) }, press)
		}},
		{"300 purchases of a new account are cut", 30, 1, 21, func(c *cutter, press func()) {
			var cutting sync.WaitGroup
			for line := range 20 {
				cutting.Go(func() {
					for n := range 15 {
						c.cut(0, 1, time.Duration((line+n)%8)*200*time.Microsecond)
					}
				})
			}
			cutting.Wait()
			press()
		}},
		{"eight purchases of 20 units are cut", 40, 20, 10, func(c *cutter, press func()) {
			for n := range 8 {
				c.cut(0, 20, time.Duration(n)*200*time.Microsecond)
			}
			press()
		}},
	}
}

// user returns an account of the sale: 0 is the cutter's, the others are their neighbours'.
func (c *cutter) user(n int) string { return box.BuyerToken(c.sale*accountsOfASale + int64(n)) }

// cut sends a purchase and closes the connection after a moment.
func (c *cutter) cut(user, units int, after time.Duration) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(c.address)}}
	line, err := dialer.DialContext(c.t.Context(), "tcp", c.entry)
	if err != nil {
		return
	}
	defer func() { _ = line.Close() }() // nobody reads the answer
	_, err = fmt.Fprintf(line, "POST /voucher/seckill/%d?quantity=%d HTTP/1.1\r\nHost: shop\r\n"+
		"Authorization: Bearer %s\r\nContent-Length: 0\r\n\r\n", c.sale, units, c.user(user))
	if err != nil {
		return
	}
	sleep(c.t.Context(), after)
}

// during runs a step on many lines, again and again, until press returns.
func (c *cutter) during(lines int, step, press func()) {
	var pressing sync.WaitGroup
	done := make(chan struct{})
	for range lines {
		pressing.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					step()
				}
			}
		})
	}
	press()
	close(done)
	pressing.Wait()
}

// ask sends one purchase and returns the answer's code, "" for an order, and in how long to ask again if it says so.
func (c *cutter) ask(user int) (code string, again time.Duration) {
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost,
		fmt.Sprintf("http://%s/voucher/seckill/%d", c.entry, c.sale), http.NoBody)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.user(user))
	reply, err := c.lines.from(c.address).Do(r)
	if err != nil {
		return err.Error(), time.Second
	}
	defer func() { _ = reply.Body.Close() }() // only its beginning matters
	var a answer
	if err := json.NewDecoder(reply.Body).Decode(&a); err != nil {
		return err.Error(), time.Second
	}
	seconds, _ := strconv.Atoi(reply.Header.Get("Retry-After"))
	return a.Code, time.Duration(seconds) * time.Second
}

// buy presses as a person's page does: again where it is told to, peoplesPatience times at most. It reports whether the
// account has an order.
func (c *cutter) buy(user int) bool {
	for range 1 + peoplesPatience {
		code, again := c.ask(user)
		if code == "" || code == "ALREADY_BOUGHT" {
			return true
		}
		if again == 0 {
			return false
		}
		sleep(c.t.Context(), again)
	}
	return false
}

// result is what an attack left to the neighbours, and how many units were sold and counted in the end.
type result struct{ served, neighbours, sold, counted int }

func (r result) String() string {
	text := fmt.Sprintf("%d of %d", r.served, r.neighbours)
	if r.sold != r.counted {
		text += fmt.Sprintf("; %d sold, %d counted", r.sold, r.counted)
	}
	return text
}

// attacked has a cutter attack a sale of its own, from an address of its own.
func (d deployed) attacked(t *testing.T, n int, a attack) result {
	t.Helper()
	draft := box.SeckillDraft(1, 1000, time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	draft["perUser"] = a.perUser
	draft["guards"] = map[string]any{
		"limits": map[string]any{"perUser": map[string]int{"requests": 10000, "seconds": 10}},
		"units":  map[string]any{"perAddress": a.share},
	}
	created := d.client.Must(t, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: d.server.URL("/voucher/seckill"), Token: box.AdminToken(), Body: draft,
	})
	c := &cutter{
		deployed: d, t: t, sale: box.Decode[struct{ ID int64 }](t, created).ID, lines: newLines(),
		address: fmt.Sprintf("127.9.3.%d", n+1),
	}
	defer c.lines.close()
	r := result{neighbours: a.neighbours}
	a.run(c, func() {
		var served atomic.Int64
		var pressing sync.WaitGroup
		for user := range a.neighbours {
			pressing.Go(func() {
				if c.buy(1 + user) {
					served.Add(1)
				}
			})
		}
		pressing.Wait()
		r.served = int(served.Load())
	})
	sleep(t.Context(), looked)
	r.sold, r.counted = c.units()
	return r
}

// units returns how many units the sale has sold by its report, and how many the guards have counted.
func (c *cutter) units() (sold, counted int) {
	reply := c.client.Must(c.t, http.StatusOK, box.Request{
		Method: http.MethodGet, Token: box.AdminToken(),
		URL: c.server.URL(fmt.Sprintf("/admin/voucher/%d/report", c.sale)),
	})
	report := box.Decode[struct {
		Sold   struct{ Units int }
		Guards struct{ UnitsByAge map[string]int }
	}](c.t, reply)
	for _, n := range report.Guards.UnitsByAge {
		counted += n
	}
	return report.Sold.Units, counted
}

// deployments returns ways to run a server: each starts it, and what it needs.
func deployments() map[string]func(t *testing.T, binary string) deployed {
	return map[string]func(t *testing.T, binary string) deployed{
		"direct": func(t *testing.T, binary string) deployed {
			t.Helper()
			return onStores(t, binary, nil)
		},
		"through nginx": func(t *testing.T, binary string) deployed {
			t.Helper()
			d := onStores(t, binary, map[string]string{"SECKILL_TRUSTED_PROXIES": proxy})
			d.entry = behindNginx(t, d.server.Addr)
			return d
		},
		"embedded": func(t *testing.T, binary string) deployed {
			t.Helper()
			return started(t, binary, map[string]string{"SECKILL_DATA_DIR": filepath.Join(t.TempDir(), "data")})
		},
	}
}

// onStores starts a server on stores of its own; settings are additional.
func onStores(t *testing.T, binary string, settings map[string]string) deployed {
	t.Helper()
	_, prefix := testkit.Redis(t)
	all := map[string]string{
		"SECKILL_REDIS_ADDRS": testkit.RedisAddr(t), "SECKILL_REDIS_PREFIX": prefix,
		"SECKILL_MYSQL_DSN": testkit.MySQL(t),
	}
	maps.Copy(all, settings)
	return started(t, binary, all)
}

func started(t *testing.T, binary string, settings map[string]string) deployed {
	t.Helper()
	settings["SECKILL_JWT_SECRET"], settings["SECKILL_USER_RATE"] = box.Secret, "0"
	s := box.NewServer(t, "besieged", settings)
	s.Binary = binary
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	return deployed{server: s, entry: s.Addr, client: box.NewClient(t)}
}

// behindNginx starts nginx with the configuration of the compose stack in front of a server.
func behindNginx(t *testing.T, server string) (entry string) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/nginx/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	n, err := stores.StartNginx(t.Context(), func(addr, dir string) string {
		for name, text := range map[string]string{
			"trusted-proxies.conf": "", "instances.conf": "server " + server + " max_fails=2 fail_timeout=2s;\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		conf := regexp.MustCompile(`(?m)^(    resolver|worker_rlimit_nofile) .*\n`).ReplaceAllString(string(text), "")
		return strings.NewReplacer("listen 8080 ", "listen "+addr+" ", " /tmp/", " "+dir+"/", "/etc/nginx/", dir+"/",
			"worker_processes auto", "worker_processes 2").Replace(conf)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() }) // the test is over
	return n.Addr
}

// TestCallersHangUp writes a table of what buyers who hang up leave to their neighbours: with the server of an earlier
// commit, and with this one.
func TestCallersHangUp(t *testing.T) {
	if os.Getenv(envSiege) != "cuts" {
		return // F62 of the fault scenarios is what always runs
	}
	before := filepath.Join(t.TempDir(), "before")
	if err := version.Build(t.Context(), "../..", os.Getenv(envBefore), before); err != nil {
		t.Fatal(err)
	}
	names := []string{"direct", "through nginx", "embedded"}
	got := map[string][]result{}
	for _, name := range names {
		for _, binary := range []string{before, box.Binary(t)} {
			d := deployments()[name](t, binary)
			results := make([]result, len(attacks()))
			var attacking sync.WaitGroup
			for n, a := range attacks() {
				attacking.Go(func() { results[n] = d.attacked(t, n, a) })
			}
			attacking.Wait()
			t.Logf("%s: %v", name, results)
			for n, a := range attacks() {
				got[a.name] = append(got[a.name], results[n])
			}
			if _, err := d.server.Terminate(); err != nil {
				t.Error(err)
			}
		}
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%sNeighbours behind one address who get a unit of its share, before (%s) and now:\n\n"+
		"| Attack |", load(), os.Getenv(envBefore))
	for _, name := range names {
		fmt.Fprintf(&table, " %s, before | now |", name)
	}
	table.WriteString("\n| --- |" + strings.Repeat(" --- | --- |", len(names)) + "\n")
	for _, a := range attacks() {
		fmt.Fprintf(&table, "| %s: a share of %d |", a.name, a.share)
		for _, r := range got[a.name] {
			fmt.Fprintf(&table, " %s |", r)
		}
		table.WriteString("\n")
	}
	written(t, "siege-cuts", table.String())
}
