package config

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProblems checks the problems found in each wrong environment.
func TestProblems(t *testing.T) {
	t.Parallel()
	type found = map[string]string
	for name, tc := range map[string]struct {
		environ []string
		want    found
	}{
		"nothing wrong": {withStores(), nil},
		"nothing to work on": {
			[]string{"SECKILL_EMBEDDED=never"}, found{
				"SECKILL_REDIS_ADDRS": "is missing, and SECKILL_EMBEDDED=never rules the embedded mode out",
				"SECKILL_MYSQL_DSN":   "is missing, and SECKILL_EMBEDDED=never rules the embedded mode out",
				"SECKILL_JWT_SECRET":  "is missing",
			},
		},
		"only Redis": {
			[]string{"SECKILL_REDIS_ADDRS=redis:6379", "SECKILL_JWT_SECRET=" + goodSecret},
			found{"SECKILL_MYSQL_DSN": "is missing, though SECKILL_REDIS_ADDRS is set"},
		},
		"only MySQL": {
			[]string{"SECKILL_MYSQL_DSN=" + goodDSN, "SECKILL_JWT_SECRET=" + goodSecret},
			found{"SECKILL_REDIS_ADDRS": "is missing, though SECKILL_MYSQL_DSN is set"},
		},
		"only Redis's password": {
			[]string{"SECKILL_REDIS_PASSWORD=x"},
			found{"SECKILL_REDIS_ADDRS": "is missing, though SECKILL_REDIS_PASSWORD is set"},
		},
		"only MySQL's pool": {
			[]string{"SECKILL_MYSQL_POOL_SIZE=9"},
			found{"SECKILL_MYSQL_DSN": "is missing, though SECKILL_MYSQL_POOL_SIZE is set"},
		},
		"kept for minutes instead of days": {
			[]string{"SECKILL_KEEP=730m", "SECKILL_AUDIT_KEEP=1h"},
			found{"SECKILL_KEEP": "is 12h10m0s", "SECKILL_AUDIT_KEEP": "is 1h0m0s"},
		},
		"kept for a day":       {[]string{"SECKILL_KEEP=24h", "SECKILL_AUDIT_KEEP=0s"}, nil},
		"not a choice":         {[]string{"SECKILL_EMBEDDED=always"}, found{"SECKILL_EMBEDDED": `is "always"`}},
		"blank data directory": {[]string{"SECKILL_DATA_DIR= "}, found{"SECKILL_DATA_DIR": "is blank"}},
		"a name too long": {
			[]string{"SECKILL_SITE_NAME=" + strings.Repeat("面", 41)},
			found{"SECKILL_SITE_NAME": "has 41 characters"},
		},
		"a name in two lines": {
			[]string{"SECKILL_SITE_NAME=Noodles\nand more"},
			found{"SECKILL_SITE_NAME": "has a character that cannot be shown"},
		},
		"no buyers' tokens": {
			withStores("SECKILL_JWT_DIRECT=false"),
			found{"SECKILL_JWT_DIRECT": "is false, and SECKILL_ISSUERS is not set: nobody could buy"},
		},
		"buyers' sessions alone": {
			withStores("SECKILL_JWT_DIRECT=false", "SECKILL_ISSUERS=issuers.json"), nil,
		},
		"no tokens to try out": {
			[]string{"SECKILL_JWT_DIRECT=false", "SECKILL_ISSUERS=issuers.json"},
			found{"SECKILL_JWT_DIRECT": "is false in the embedded mode, which makes buyers' tokens itself"},
		},
		"a currency in small letters": {
			[]string{"SECKILL_CURRENCY=cny"}, found{"SECKILL_CURRENCY": `is "cny"`},
		},
		"no currency": {
			[]string{"SECKILL_CURRENCY= "}, found{"SECKILL_CURRENCY": `is ""`},
		},
		"a currency of ten thousand": {
			[]string{"SECKILL_CURRENCY=CLF"}, found{"SECKILL_CURRENCY": `is "CLF"`},
		},
		"two currencies": {
			[]string{"SECKILL_CURRENCY=CNY EUR"}, found{"SECKILL_CURRENCY": `is "CNY EUR"`},
		},
		"no longer a currency": {
			[]string{"SECKILL_CURRENCY=DEM"}, found{"SECKILL_CURRENCY": `is "DEM"`},
		},
		"a colour's name": {[]string{"SECKILL_SITE_COLOUR=green"}, found{"SECKILL_SITE_COLOUR": `is "green"`}},
		"half a colour": {
			[]string{"SECKILL_SITE_COLOUR=#12345g"}, found{"SECKILL_SITE_COLOUR": `is "#12345g"`},
		},
		"a link for all orders": {
			[]string{"SECKILL_TRACE_URL=https://logs.example"},
			found{"SECKILL_TRACE_URL": `is "https://logs.example"`},
		},
		"a link that runs": {
			[]string{"SECKILL_TRACE_URL=javascript:alert({order})"},
			found{"SECKILL_TRACE_URL": `is "javascript:alert({order})"`},
		},
		"address without a port": {[]string{"SECKILL_HTTP_ADDR=8080"}, found{"SECKILL_HTTP_ADDR": `is "8080"`}},
		"port too high": {
			[]string{"SECKILL_HTTP_ADDR=:65536"}, found{"SECKILL_HTTP_ADDR": `is ":65536"`},
		},
		"port by name": {[]string{"SECKILL_OPS_ADDR=:http"}, found{"SECKILL_OPS_ADDR": `is ":http"`}},
		"one address twice": {[]string{"SECKILL_HTTP_ADDR=127.0.0.1:8081"}, found{
			"SECKILL_OPS_ADDR": `is "127.0.0.1:8081", which SECKILL_HTTP_ADDR "127.0.0.1:8081" occupies`,
		}},
		"all addresses and one": {[]string{"SECKILL_HTTP_ADDR=:8081"}, found{
			"SECKILL_OPS_ADDR": `is "127.0.0.1:8081", which SECKILL_HTTP_ADDR ":8081" occupies`,
		}},
		"one and all addresses": {
			[]string{"SECKILL_HTTP_ADDR=127.0.0.1:1", "SECKILL_OPS_ADDR=[::]:1"},
			found{"SECKILL_OPS_ADDR": `is "[::]:1", which SECKILL_HTTP_ADDR "127.0.0.1:1" occupies`},
		},
		"two addresses, one port": {[]string{"SECKILL_HTTP_ADDR=10.0.0.1:8081"}, nil},
		"any free ports": {
			[]string{"SECKILL_HTTP_ADDR=127.0.0.1:0", "SECKILL_OPS_ADDR=127.0.0.1:0"}, nil,
		},
		"body limit too low": {[]string{"SECKILL_BODY_LIMIT=10"}, found{"SECKILL_BODY_LIMIT": "is 10"}},
		"duration too high":  {[]string{"SECKILL_MAX_WAIT=5m1ms"}, found{"SECKILL_MAX_WAIT": "is 5m0.001s"}},
		"duration without a unit": {
			[]string{"SECKILL_SHUTDOWN_TIMEOUT=20"}, found{"SECKILL_SHUTDOWN_TIMEOUT": `cannot be read: it is "20"`},
		},
		"negative duration": {
			[]string{"SECKILL_SHUTDOWN_TIMEOUT=-20s"}, found{"SECKILL_SHUTDOWN_TIMEOUT": "is -20s"},
		},
		"not a number": {
			[]string{"SECKILL_MAX_BACKLOG=1e6"}, found{"SECKILL_MAX_BACKLOG": `cannot be read: it is "1e6"`},
		},
		"zero backlog": {[]string{"SECKILL_MAX_BACKLOG=0"}, found{"SECKILL_MAX_BACKLOG": "is 0"}},
		"batch too large": {
			[]string{"SECKILL_RECORD_BATCH=1001"}, found{"SECKILL_RECORD_BATCH": "is 1001"},
		},
		"too few connections": {
			[]string{"SECKILL_MAX_CONNECTIONS=9"}, found{"SECKILL_MAX_CONNECTIONS": "is 9"},
		},
		"connections, not a number": {
			[]string{"SECKILL_MAX_CONNECTIONS=all"}, found{"SECKILL_MAX_CONNECTIONS": `cannot be read: it is "all"`},
		},
		"a host with a port": {
			[]string{"SECKILL_OPS_HOSTS=server-1, server-2:8081"}, found{"SECKILL_OPS_HOSTS": `has "server-2:8081"`},
		},
		"all hosts": {[]string{"SECKILL_OPS_HOSTS=*"}, nil},
		"not a network": {
			[]string{"SECKILL_TRUSTED_PROXIES=10.0.0.1,proxy"}, found{"SECKILL_TRUSTED_PROXIES": `has "proxy"`},
		},
		"origin with a path": {
			[]string{"SECKILL_CORS_ORIGINS=https://shop.example.com/"},
			found{"SECKILL_CORS_ORIGINS": `has "https://shop.example.com/"`},
		},
		"origin without a scheme": {
			[]string{"SECKILL_CORS_ORIGINS=shop.example.com"}, found{"SECKILL_CORS_ORIGINS": `has "shop.example.com"`},
		},
		"hosts of pictures": {[]string{"SECKILL_PICTURE_HOSTS=img.shop.example, cdn-1.example:8443"}, nil},
		"an address as a host of pictures": {
			[]string{"SECKILL_PICTURE_HOSTS=https://img.example"},
			found{"SECKILL_PICTURE_HOSTS": `has "https://img.example"`},
		},
		"any host of pictures": {
			[]string{"SECKILL_PICTURE_HOSTS=*.example"}, found{"SECKILL_PICTURE_HOSTS": `has "*.example"`},
		},
		"a host of pictures that ends the policy": {
			[]string{"SECKILL_PICTURE_HOSTS=a.example; script-src *"},
			found{"SECKILL_PICTURE_HOSTS": `has "a.example; script-src *"`},
		},
		"every origin": {[]string{"SECKILL_CORS_ORIGINS=*"}, nil},
		"every origin and one": {
			[]string{"SECKILL_CORS_ORIGINS=*,https://a.example"}, found{"SECKILL_CORS_ORIGINS": "has * and others"},
		},
		"unknown zone": {
			[]string{"SECKILL_TIMEZONE=Asia/Atlantis"}, found{"SECKILL_TIMEZONE": `is "Asia/Atlantis"`},
		},
		"the machine's zone":    {[]string{"SECKILL_TIMEZONE=Local"}, found{"SECKILL_TIMEZONE": `is "Local"`}},
		"instance with a space": {[]string{"SECKILL_INSTANCE=shop 1"}, found{"SECKILL_INSTANCE": `is "shop 1"`}},
		"unknown level": {
			[]string{"SECKILL_LOG_LEVEL=loud"}, found{"SECKILL_LOG_LEVEL": `cannot be read: it is "loud"`},
		},
		"Redis without a host": {
			withStores("SECKILL_REDIS_ADDRS=:6379"), found{"SECKILL_REDIS_ADDRS": `has ":6379"`},
		},
		"Redis on port 0": {
			withStores("SECKILL_REDIS_ADDRS=redis:0"), found{"SECKILL_REDIS_ADDRS": `has "redis:0"`},
		},
		"Redis as a URL": {
			withStores("SECKILL_REDIS_ADDRS=redis://redis:6379"),
			found{"SECKILL_REDIS_ADDRS": `has "redis://redis:6379"`},
		},
		"several Redis in mode single": {
			withStores("SECKILL_REDIS_ADDRS=a:1,b:2"),
			found{"SECKILL_REDIS_ADDRS": "has 2 addresses, but SECKILL_REDIS_MODE is single"},
		},
		"several Redis in a cluster": {withStores("SECKILL_REDIS_ADDRS=a:1,b:2", "SECKILL_REDIS_MODE=cluster"), nil},
		"unknown mode": {
			withStores("SECKILL_REDIS_MODE=ring", "SECKILL_REDIS_MASTER=m"), found{"SECKILL_REDIS_MODE": `is "ring"`},
		},
		"sentinels without a master": {
			withStores("SECKILL_REDIS_MODE=sentinel"),
			found{"SECKILL_REDIS_MASTER": "is missing, though SECKILL_REDIS_MODE is sentinel"},
		},
		"a master without sentinels": {
			withStores("SECKILL_REDIS_MASTER=m"),
			found{"SECKILL_REDIS_MASTER": "is set, but SECKILL_REDIS_MODE is single"},
		},
		"a sentinel password alone": {
			withStores("SECKILL_REDIS_SENTINEL_PASSWORD=s"),
			found{"SECKILL_REDIS_SENTINEL_PASSWORD": "is set, but SECKILL_REDIS_MODE is single"},
		},
		"a database in a cluster": {
			withStores("SECKILL_REDIS_MODE=cluster", "SECKILL_REDIS_DB=1"),
			found{"SECKILL_REDIS_DB": "is 1, but SECKILL_REDIS_MODE is cluster"},
		},
		"replicas, embedded": {
			[]string{"SECKILL_REDIS_REPLICAS=1"},
			found{"SECKILL_REDIS_ADDRS": "is missing, though SECKILL_REDIS_REPLICAS is set"},
		},
		"partitions, embedded": {
			[]string{"SECKILL_PARTITIONS=2"},
			found{"SECKILL_PARTITIONS": "is 2, but the embedded mode has one partition"},
		},
		"too many partitions": {withStores("SECKILL_PARTITIONS=33"), found{"SECKILL_PARTITIONS": "is 33"}},
		"patience with replicas": {
			withStores("SECKILL_REDIS_REPLICAS=1", "SECKILL_REDIS_TIMEOUT=200ms"),
			found{"SECKILL_REDIS_REPLICA_TIMEOUT": "is 200ms, and SECKILL_REDIS_TIMEOUT is 200ms"},
		},
		"a hash tag as prefix": {
			withStores("SECKILL_REDIS_PREFIX={shop}:"), found{"SECKILL_REDIS_PREFIX": `is "{shop}:"`},
		},
		"a long prefix": {
			withStores("SECKILL_REDIS_PREFIX=" + strings.Repeat("x", 65)),
			found{"SECKILL_REDIS_PREFIX": `is "` + strings.Repeat("x", 65) + `"`},
		},
		"MySQL as a URL": {
			withStores("SECKILL_MYSQL_DSN=mysql://shop:hunter2@mysql/seckill"), found{"SECKILL_MYSQL_DSN": "is a URL"},
		},
		"MySQL without a slash": {
			withStores("SECKILL_MYSQL_DSN=shop:hunter2@tcp(mysql:3306)"),
			found{"SECKILL_MYSQL_DSN": "is not a data source name of go-sql-driver/mysql"},
		},
		"MySQL without a database": {
			withStores("SECKILL_MYSQL_DSN=shop:hunter2@tcp(mysql:3306)/"),
			found{"SECKILL_MYSQL_DSN": "names no database"},
		},
		"MySQL counting found rows": {
			withStores("SECKILL_MYSQL_DSN=" + goodDSN + "?clientFoundRows=true"),
			found{"SECKILL_MYSQL_DSN": "has clientFoundRows=true, with which orders cannot be recorded safely"},
		},
		"MySQL counting changed rows": {withStores("SECKILL_MYSQL_DSN=" + goodDSN + "?clientFoundRows=false"), nil},
		"no secret":                   {withStores("SECKILL_JWT_SECRET="), found{"SECKILL_JWT_SECRET": "is missing"}},
		"short secret": {
			withStores("SECKILL_JWT_SECRET=" + goodSecret[1:]), found{"SECKILL_JWT_SECRET": "has 31 bytes"},
		},
		"short secret, embedded": {
			[]string{"SECKILL_JWT_SECRET=short"}, found{"SECKILL_JWT_SECRET": "has 5 bytes"},
		},
		"a previous secret": {withStores("SECKILL_JWT_PREVIOUS_SECRET=" + goodSecret + "!"), nil},
		"a short previous secret": {
			withStores("SECKILL_JWT_PREVIOUS_SECRET=short"), found{"SECKILL_JWT_PREVIOUS_SECRET": "has 5 bytes"},
		},
		"a guessable previous secret": {withStores("SECKILL_JWT_PREVIOUS_SECRET=" +
			strings.Repeat("a", 32)), found{"SECKILL_JWT_PREVIOUS_SECRET": "can be guessed"}},
		"the same secret twice": {withStores("SECKILL_JWT_PREVIOUS_SECRET=" +
			goodSecret), found{"SECKILL_JWT_PREVIOUS_SECRET": "is the same as SECKILL_JWT_SECRET"}},
		"an admins' secret": {withStores("SECKILL_JWT_ADMIN_SECRET=" + goodSecret + "!"), nil},
		"a short admins' secret": {
			withStores("SECKILL_JWT_ADMIN_SECRET=short"), found{"SECKILL_JWT_ADMIN_SECRET": "has 5 bytes"},
		},
		"the buyers' secret for admins": {
			withStores("SECKILL_JWT_ADMIN_SECRET=" + goodSecret),
			found{"SECKILL_JWT_ADMIN_SECRET": "is another setting's secret too"},
		},
		"the buyers' previous secret for admins": {
			withStores("SECKILL_JWT_ADMIN_SECRET="+goodSecret+"!", "SECKILL_JWT_PREVIOUS_SECRET="+goodSecret+"!"),
			found{"SECKILL_JWT_ADMIN_SECRET": "is another setting's secret too"},
		},
		"two admins' secrets": {withStores(
			"SECKILL_JWT_ADMIN_SECRET="+goodSecret+"!", "SECKILL_JWT_ADMIN_PREVIOUS_SECRET="+goodSecret+"?"), nil},
		"one admins' secret twice": {
			withStores("SECKILL_JWT_ADMIN_SECRET="+goodSecret+"!", "SECKILL_JWT_ADMIN_PREVIOUS_SECRET="+goodSecret+"!"),
			found{"SECKILL_JWT_ADMIN_PREVIOUS_SECRET": "is the same as SECKILL_JWT_ADMIN_SECRET"},
		},
		"an admins' previous secret alone": {
			withStores("SECKILL_JWT_ADMIN_PREVIOUS_SECRET=" + goodSecret + "!"),
			found{"SECKILL_JWT_ADMIN_PREVIOUS_SECRET": "is set without SECKILL_JWT_ADMIN_SECRET"},
		},
		"the admins' secret for guards": {
			withStores("SECKILL_JWT_ADMIN_SECRET="+goodSecret+"!", "SECKILL_GUARD_SECRET="+goodSecret+"!"),
			found{"SECKILL_GUARD_SECRET": "is another setting's secret too"},
		},
		"a guards' secret": {withStores("SECKILL_GUARD_SECRET=" + goodSecret + "!"), nil},
		"a short guards' secret": {
			withStores("SECKILL_GUARD_SECRET=short"), found{"SECKILL_GUARD_SECRET": "has 5 bytes"},
		},
		"a guessable guards' secret": {
			withStores("SECKILL_GUARD_SECRET=" + strings.Repeat("a", 32)),
			found{"SECKILL_GUARD_SECRET": "can be guessed"},
		},
		"a guards' secret of tokens": {
			withStores("SECKILL_GUARD_SECRET=" + goodSecret),
			found{"SECKILL_GUARD_SECRET": "is another setting's secret too"},
		},
		"a negative life": {
			withStores("SECKILL_JWT_MAX_LIFE=-1s"), found{"SECKILL_JWT_MAX_LIFE": "is -1s"},
		},
		"an admin's long life": {
			withStores("SECKILL_JWT_ADMIN_MAX_LIFE=87601h"), found{"SECKILL_JWT_ADMIN_MAX_LIFE": "is 87601h0m0s"},
		},
		"payments, embedded":    {nil, nil},
		"no payments, embedded": {[]string{"SECKILL_PAYMENT_PROVIDER=none"}, nil},
		"payments with a secret": {
			withStores("SECKILL_PAYMENT_PROVIDER=sandbox", "SECKILL_PAYMENT_SECRET="+goodSecret), nil,
		},
		"payments without a secret": {
			withStores("SECKILL_PAYMENT_PROVIDER=sandbox"), found{"SECKILL_PAYMENT_SECRET": "is missing"},
		},
		"payments with a short secret": {
			[]string{"SECKILL_PAYMENT_SECRET=short"}, found{"SECKILL_PAYMENT_SECRET": "has 5 bytes"},
		},
		"a secret without payments": {
			withStores("SECKILL_PAYMENT_SECRET=" + goodSecret),
			found{"SECKILL_PAYMENT_SECRET": "is set, but there is no payment provider"},
		},
		"unknown provider": {
			withStores("SECKILL_PAYMENT_PROVIDER=bank"), found{"SECKILL_PAYMENT_PROVIDER": `is "bank"`},
		},
		"a callback to nowhere": {
			[]string{"SECKILL_PAYMENT_CALLBACK_URL=me:80"}, found{"SECKILL_PAYMENT_CALLBACK_URL": "is not an address"},
		},
		"unknown names": {
			[]string{"SECKILL_REDIS_ADDR=a:1", "SECKILL_JWT_KEY=x"}, found{
				"SECKILL_REDIS_ADDR": "is not a setting; did you mean SECKILL_REDIS_ADDRS?",
				"SECKILL_JWT_KEY":    "is not a setting",
			},
		},
		"a port without an address": {[]string{"SECKILL_PORT=8080"}, found{"SECKILL_PORT": "is not a setting"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := problemsOf(t, tc.environ)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGuessableSecrets(t *testing.T) {
	t.Parallel()
	for secret, guessable := range map[string]bool{
		strings.Repeat("a", 32):                    true,
		strings.Repeat("ab", 16):                   true,
		strings.Repeat("password", 4):              true,
		strings.Repeat("changeme", 4):              true,
		"please-CHANGE-me-before-going-live-1":     true,
		"replace_this_with_something_random":       true,
		"xx-your-secret-here-0123456789abcd":       true,
		goodSecret:                                 false,
		"0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c": false,
		strings.Repeat("a", 31) + "b":              false, // not detectable; only careless secrets are
	} {
		if got := isGuessable(secret); got != guessable {
			t.Errorf("%q: guessable is %t, want %t", secret, got, guessable)
		}
		_, wrong := problemsOf(t, withStores("SECKILL_JWT_SECRET="+secret))["SECKILL_JWT_SECRET"]
		if wrong != guessable {
			t.Errorf("%q: refused is %t, want %t", secret, wrong, guessable)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "abc", 0}, {"", "abc", 3}, {"abc", "", 3}, {
			"kitten", "sitting", 3,
		}, {"ab", "ba", 2}, {"abc", "xabc", 1},
	} {
		if got := distance(tc.a, tc.b); got != tc.want {
			t.Errorf("distance of %q and %q is %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

func TestBoundsAreInclusive(t *testing.T) {
	t.Parallel()
	for _, s := range settings() {
		for _, bound := range []string{"min", "max"} {
			if s.tag(bound) == "" {
				continue
			}
			if wrong, ok := problemsOf(t, withStores(s.name()+"="+s.tag(bound)))[s.name()]; ok {
				t.Errorf("%s at its %s: %s", s.name(), bound, wrong)
			}
		}
	}
}

// TestConnectionsLeaveDescriptors checks that the limit of connections always leaves descriptors for everything else.
func TestConnectionsLeaveDescriptors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		set   string
		files int
		pools [2]int
		want  int
		wrong string
	}{
		"by default":               {"", 20_000, [2]int{64, 16}, 19_500, ""},
		"by default, larger pools": {"", 20_000, [2]int{1000, 100}, 18_480, ""},
		"no limit":                 {"", math.MaxInt32, [2]int{64, 16}, math.MaxInt32 - 500, ""},
		"as many as there can be":  {"19500", 20_000, [2]int{64, 16}, 19_500, ""},
		"one more": {"19501", 20_000, [2]int{64, 16}, 19_501, "is 19501, but the process may open 20000 files, of " +
			"which 500 are kept for other things"},
		"few files": {"", 510, [2]int{64, 16}, 10, ""},
		"too few files": {"", 509, [2]int{64, 16}, 0, "cannot be satisfied: the process may open 509 files, and 500 " +
			"are kept for other things"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := Config{Redis: Redis{PoolSize: tc.pools[0]}, MySQL: MySQL{PoolSize: tc.pools[1]}}
			c.HTTP.MaxConnections, _ = strconv.Atoi(tc.set) // 0 for ""
			var ps problems
			checkConnections(map[string]string{"SECKILL_MAX_CONNECTIONS": tc.set}, &c, &ps, tc.files)
			wrong := ""
			if len(ps.list) > 0 {
				wrong = ps.list[0].Wrong
			}
			if wrong != tc.wrong || c.HTTP.MaxConnections != tc.want {
				t.Errorf("%d, %q; want %d, %q", c.HTTP.MaxConnections, wrong, tc.want, tc.wrong)
			}
		})
	}
}
