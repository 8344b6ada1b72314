package compose

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"seckill/internal/testkit/contract"
)

// nginxConf is the configuration of the entry without its comments.
func nginxConf(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "deploy", "nginx", "nginx.conf"))
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^\s*#.*$`).ReplaceAllString(string(text), "")
}

// locations returns the location blocks in conf, by what they match.
func locations(t *testing.T, conf string) map[string]string {
	t.Helper()
	blocks := map[string]string{}
	for _, m := range regexp.MustCompile(`(?s)\n        location ([^\n]+) \{\n(.*?)\n        \}`).
		FindAllStringSubmatch(conf, -1) {
		blocks[m[1]] = m[2]
	}
	if len(blocks) == 0 {
		t.Fatal("nginx.conf has no locations")
	}
	return blocks
}

// directive returns the arguments of the directive with that name, which conf has at most once.
func directive(t *testing.T, conf, name string) []string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^\s*`+name+`\s+([^;]+);`).FindAllStringSubmatch(conf, -1)
	switch len(found) {
	case 0:
		return nil
	case 1:
		return strings.Fields(found[0][1])
	}
	t.Fatalf("nginx.conf has %d directives %s here, want one", len(found), name)
	return nil
}

const (
	purchases = `~ "^/voucher(-order)?/seckill/[0-9]+$"`
	stripes   = `~ "^/stripe/$"`
)

// nginx retries a purchase even if it may have arrived, but no other write. If an instance refuses connections, no
// answer is lost.
func TestOnlyPurchasesAreRepeated(t *testing.T) {
	t.Parallel()
	conf := nginxConf(t)
	blocks := locations(t, conf)
	if got := directive(t, blocks[purchases], "proxy_next_upstream"); !slices.Equal(got,
		[]string{"error", "timeout", "non_idempotent"}) {
		t.Errorf("a purchase goes to the other instance upon %v", got)
	}
	for match, block := range blocks {
		conf = strings.Replace(conf, block, "", 1)
		if got := directive(t, block, "proxy_next_upstream"); match != purchases && got != nil {
			t.Errorf("%s has its own rule: %v", match, got)
		}
	}
	if got := directive(t, conf, "proxy_next_upstream"); !slices.Equal(got, []string{"error", "timeout"}) {
		t.Errorf("a request goes to the other instance upon %v", got)
	}

	expression, err := strconv.Unquote(strings.TrimPrefix(purchases, "~ "))
	if err != nil {
		t.Fatal(err)
	}
	matcher := regexp.MustCompile(expression)
	for path, want := range map[string]bool{
		"/voucher/seckill/7": true, "/voucher-order/seckill/9007199254740991": true,
		"/voucher/seckill": false, "/voucher/seckill/": false, "/voucher": false, "/order/7": false,
	} {
		if got := matcher.MatchString(path); got != want {
			t.Errorf("%s is a purchase: %t, want %t", path, got, want)
		}
	}
}

// nginx's own answers have the form of the service's.
func TestRefusalsOfTheEntryAreProblemDocuments(t *testing.T) {
	t.Parallel()
	conf := nginxConf(t)
	said := regexp.MustCompile(`return (\d+) '(.*)';`)
	for match, block := range locations(t, conf) {
		if strings.Contains(block, "proxy_pass") {
			continue
		}
		m := said.FindStringSubmatch(block)
		if m == nil {
			t.Errorf("%s has no message", match)
			continue
		}
		var document struct {
			Type, Title, Detail, Code, ErrorMsg string
			Status                              int
			Success                             *bool
		}
		if err := json.Unmarshal([]byte(m[2]), &document); err != nil {
			t.Errorf("%s: %v", match, err)
			continue
		}
		if document.Type != "urn:seckill:problem:"+strings.ReplaceAll(strings.ToLower(document.Code), "_", "-") ||
			strconv.Itoa(document.Status) != m[1] || document.Title == "" || document.Detail == "" ||
			document.ErrorMsg == "" || document.Success == nil || *document.Success {
			t.Errorf("%s answers %s with %+v", match, m[1], document)
		}
		for _, header := range []string{"X-Request-Id $entry_request_id always;", "Cache-Control no-store always;"} {
			if !strings.Contains(block, "add_header "+header) {
				t.Errorf("%s: no header %s", match, header)
			}
		}
		if asked := strings.Contains(block, "add_header Retry-After"); asked != (document.Status >= 500 ||
			document.Status == 429) {
			t.Errorf("%s: Retry-After: %t", match, asked)
		}
		if path, found := strings.CutPrefix(match, "= "); found {
			if !strings.Contains(block, "internal;") {
				t.Errorf("%s is a page of its own", match)
			}
			if !regexp.MustCompile(`error_page [^;]* ` + path + `;`).MatchString(conf) {
				t.Errorf("%s is never used", match)
			}
		}
	}
}

// Each status that nginx itself answers has a problem document, so that no program gets nginx's HTML.
func TestEntryHasADocumentForEachOfItsStatuses(t *testing.T) {
	t.Parallel()
	conf := nginxConf(t)
	blocks := locations(t, conf)
	answered := map[string]bool{}
	for _, m := range regexp.MustCompile(`error_page ([^;]+) (\S+);`).FindAllStringSubmatch(conf, -1) {
		for status := range strings.FieldsSeq(m[1]) {
			answered[status] = true
		}
		targets := []string{"= " + m[2]}
		if m[2] == "@$unanswered" {
			targets = []string{"@unknown", "@unavailable"}
		}
		for _, target := range targets {
			if _, found := blocks[target]; !found {
				t.Errorf("error_page %s: no location %s", m[1], target)
			}
		}
	}
	for _, status := range []string{
		"400", "404", "405", "413", "414", "429", "494", "500", "501", "502", "503", "504", "505",
	} {
		if !answered[status] {
			t.Errorf("%s is answered with nginx's own page", status)
		}
	}
}

// The entry accepts bodies on exactly the routes whose description has one.
func TestBodiesAreTakenWhereTheyAreDescribed(t *testing.T) {
	t.Parallel()
	var taking, tiny, large *regexp.Regexp
	for match, block := range locations(t, nginxConf(t)) {
		refuses := strings.Contains(block, "if ($body) { return 413; }")
		switch {
		case !strings.Contains(block, "proxy_pass"):
		case match == stripes:
			if refuses || !strings.Contains(block, "limit_conn bodies_of_address") {
				t.Errorf("%s: want bodies to be bounded", match)
			}
		case strings.Contains(block, "client_max_body_size 64;"): // that of a purchase, which a crowd may send
			if tiny != nil || refuses || !strings.Contains(block, "client_body_timeout  2s;") {
				t.Errorf("%s: want one location whose bodies are tiny, and come at once", match)
			}
			tiny = expressionOf(t, match)
		case strings.Contains(block, "client_max_body_size    272k;"): // that of a payment provider's notice
			if large != nil || refuses || !strings.Contains(block, "limit_conn bodies_of_address") {
				t.Errorf("%s: want one location whose bodies are large, and bounded", match)
			}
			large = expressionOf(t, match)
		case refuses == strings.Contains(block, "limit_conn bodies_of_address"):
			t.Errorf("%s: a location refuses bodies or bounds them", match)
		case !refuses:
			if taking != nil {
				t.Fatalf("%s: want one expression for all routes that take a body", match)
			}
			taking = expressionOf(t, match)
		}
	}
	if taking == nil || tiny == nil || large == nil {
		t.Fatal("no route takes a body")
	}
	c, err := contract.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	parameter := regexp.MustCompile(`\{\w+\}`)
	for _, o := range c.Operations() {
		embeddedOnly := strings.HasPrefix(o.Path, "/demo/") // which has no entry in front
		if path := parameter.ReplaceAllString(o.Path, "7"); !embeddedOnly && o.TakesBody() &&
			!taking.MatchString(path) && !tiny.MatchString(path) && !large.MatchString(path) {
			t.Errorf("%s %s has a body, which the entry refuses", o.Method, o.Path)
		}
	}
}

// expressionOf returns the regular expression of a location.
func expressionOf(t *testing.T, match string) *regexp.Regexp {
	t.Helper()
	expression, err := strconv.Unquote(strings.TrimPrefix(match, "~ "))
	if err != nil {
		t.Fatalf("%s: %v", match, err)
	}
	return regexp.MustCompile(expression)
}

// number returns the only argument of a directive of conf.
func number(t *testing.T, conf, name string) int {
	t.Helper()
	args := directive(t, conf, name)
	if len(args) != 1 {
		t.Fatalf("%s is %v", name, args)
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Every buyer's connection needs one to an instance: two file descriptors in all.
func TestConnectionsHaveFileDescriptors(t *testing.T) {
	t.Parallel()
	conf := nginxConf(t)
	connections, files := number(t, conf, "worker_connections"), number(t, conf, "worker_rlimit_nofile")
	if files < 2*connections {
		t.Errorf("worker_rlimit_nofile is %d for %d connections", files, connections)
	}
	// 10000 is Redis's default maxclients; it needs 32 further descriptors.
	for name, want := range map[string]int{"nginx": files, "redis": 10000 + 32} {
		limit := project(t).Services[name].Ulimits["nofile"]
		if limit == nil || max(limit.Single, limit.Soft) < want || max(limit.Single, limit.Hard) < want {
			t.Errorf("%s: the container's nofile is %+v, want at least %d", name, limit, want)
		}
	}
}
