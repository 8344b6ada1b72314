package clientip

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func asked(tb testing.TB, peer string, lines ...string) *http.Request {
	tb.Helper()
	r, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, "/voucher/seckill/5", http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	r.RemoteAddr, r.Header[header] = peer, lines
	return r
}

func open(tb testing.TB, log *slog.Logger, proxies ...string) *Addresses {
	tb.Helper()
	a, err := New(proxies, log)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// TestAddresses checks that the entries of all kinds of proxies are read, with ports, in brackets, in several lines,
// and that entries made up by the caller are ignored.
func TestAddresses(t *testing.T) {
	t.Parallel()
	const proxy = "10.0.0.7:4711"
	behind := open(t, slog.New(slog.DiscardHandler), "10.0.0.0/8", "fd00::1")
	for name, c := range map[string]struct {
		peer  string
		lines []string
		want  string // "" is unreadable
	}{
		"no proxy":               {"192.0.2.1:1234", []string{"203.0.113.9"}, "192.0.2.1"},
		"no proxy, IPv6":         {"[2001:db8::1]:1234", nil, "2001:db8::1"},
		"an address":             {proxy, []string{"203.0.113.9"}, "203.0.113.9"},
		"with a port":            {proxy, []string{"203.0.113.9:51234"}, "203.0.113.9"},
		"IPv6":                   {proxy, []string{"2001:db8::7"}, "2001:db8::7"},
		"IPv6 in brackets":       {proxy, []string{"[2001:db8::7]"}, "2001:db8::7"},
		"IPv6 with a port":       {proxy, []string{"[2001:db8::7]:51234"}, "2001:db8::7"},
		"IPv6 with a zone":       {proxy, []string{"fe80::7%eth0"}, "fe80::7"},
		"IPv4 in IPv6":           {proxy, []string{"::ffff:203.0.113.9"}, "203.0.113.9"},
		"a proxy in IPv6":        {"[fd00::1]:1", []string{"203.0.113.9"}, "203.0.113.9"},
		"a proxy as IPv4 in it":  {"[::ffff:10.0.0.7]:1", []string{"203.0.113.9"}, "203.0.113.9"},
		"made up before":         {proxy, []string{"198.51.100.1, 203.0.113.9"}, "203.0.113.9"},
		"made up, with a port":   {proxy, []string{"198.51.100.1,203.0.113.9:7"}, "203.0.113.9"},
		"made up in a line":      {proxy, []string{"198.51.100.1", "203.0.113.9"}, "203.0.113.9"},
		"nonsense made up":       {proxy, []string{"x, 203.0.113.9"}, "203.0.113.9"},
		"two proxies":            {proxy, []string{"203.0.113.9, 10.1.1.1:80"}, "203.0.113.9"},
		"empty entries":          {proxy, []string{"203.0.113.9, ,"}, "203.0.113.9"},
		"only proxies":           {proxy, []string{"10.3.3.3, 10.1.1.1"}, "10.3.3.3"},
		"a silent proxy":         {proxy, nil, "10.0.0.7"},
		"an empty header":        {proxy, []string{""}, "10.0.0.7"},
		"a word":                 {proxy, []string{"unknown"}, ""},
		"a word behind":          {proxy, []string{"203.0.113.9, unknown"}, ""},
		"a port that is no port": {proxy, []string{"203.0.113.9:http"}, ""},
		"a bracket":              {proxy, []string{"[2001:db8::7"}, "2001:db8::7"},
		"no peer":                {"@", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := netip.Addr{}
			if c.want != "" {
				want = netip.MustParseAddr(c.want)
			}
			if got := behind.Of(asked(t, c.peer, c.lines...)); got != want {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
	var none *Addresses
	if got := none.Of(asked(t, proxy, "203.0.113.9")); got != netip.MustParseAddr("10.0.0.7") {
		t.Errorf("without proxies: %v", got)
	}
}

// TestUnreadableAddressesAreCounted checks that unreadable addresses are counted each time and logged once.
func TestUnreadableAddressesAreCounted(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	a := open(t, slog.New(slog.NewTextHandler(&log, nil)), "10.0.0.0/8")
	for range 3 {
		a.Note(asked(t, "10.0.0.7:1", "unknown"))
		a.Note(asked(t, "10.0.0.7:1", "203.0.113.9:7"))
	}
	if n := a.Unreadable(); n != 3 || strings.Count(log.String(), "cannot be read") != 1 ||
		!strings.Contains(log.String(), "header=unknown") {
		t.Errorf("%d counted, logged: %s", n, log.String())
	}
}

func TestProxiesThatAreNone(t *testing.T) {
	t.Parallel()
	_, err := New([]string{"10.0.0.0/8", "nonsense"}, nil)
	if err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("%v", err)
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"203.0.113.9": "203.0.113.9", "::ffff:203.0.113.9": "203.0.113.9", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::",
	} {
		if got := Line(netip.MustParseAddr(addr)); got != netip.MustParseAddr(want) {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}

func BenchmarkAddresses(b *testing.B) {
	a := open(b, slog.New(slog.DiscardHandler), "10.0.0.0/8")
	r := asked(b, "10.0.0.7:4711", "198.51.100.1, 203.0.113.9:51234")
	b.ReportAllocs()
	for b.Loop() {
		a.Of(r)
	}
}
