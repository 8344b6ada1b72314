package config

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	goodDSN    = "shop:hunter2@tcp(mysql:3306)/seckill"
	goodSecret = "kR3p0Xv9qLw2Zt7yBn5mHc8jDf4gSa61"
)

// withStores returns an environment outside the embedded mode, with more variables added or overridden.
func withStores(more ...string) []string {
	return append([]string{
		"SECKILL_REDIS_ADDRS=redis:6379", "SECKILL_MYSQL_DSN=" + goodDSN, "SECKILL_JWT_SECRET=" + goodSecret,
		"SECKILL_WEBHOOK_ALLOW=10.0.0.0/8,::1", "SECKILL_WEBHOOK_KEEP=2h", "SECKILL_INSTANCE=shop-1",
	}, more...)
}

func TestLoadDefaults(t *testing.T) {
	t.Parallel()
	got, err := Load([]string{"PATH=/bin"})
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		HTTP: HTTP{
			Addr: "127.0.0.1:8080", OpsAddr: "127.0.0.1:8081", BodyLimit: 65536, MaxWait: 30 * time.Second,
			MaxInFlight: 20_000, MaxConnections: openFiles() - 500, UserRate: 10, UserBurst: 30, MaxStreams: 20_000,
			UserStreams: 10, Pages: true,
		},
		Stores: Stores{Embedded: "auto", DataDir: "./data", Migrate: true},
		Redis: Redis{
			Mode: "single", PoolSize: 64, Timeout: 2 * time.Second, ReplicaTimeout: 200 * time.Millisecond,
		},
		MySQL:     MySQL{PoolSize: 16, Timeout: 10 * time.Second},
		JWT:       JWT{Direct: true},
		Session:   Session{Life: 8 * time.Hour, Rate: 100},
		Orders:    Orders{MaxBacklog: 1_000_000, Partitions: 1, RecordBatch: 500},
		Payment:   Payment{Provider: SandboxPayments, Currency: "CNY", CloseRate: 2000},
		Webhook:   Webhook{Keep: 168 * time.Hour},
		Journal:   Journal{Users: 200_000},
		Merchants: Merchants{Sales: 100, Units: 100_000, Webhooks: 5},
		Server:    Server{Instance: host, Timezone: "UTC", ShutdownTimeout: 20 * time.Second},
		Log:       Log{Level: slog.LevelInfo, Format: "text"},
	}
	if diff := diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !got.Embedded() {
		t.Error("not the embedded mode")
	}
}

func TestLoadEverything(t *testing.T) {
	t.Parallel()
	got, err := Load([]string{
		"SECKILL_HTTP_ADDR=10.0.0.1:80", "SECKILL_OPS_ADDR=[::1]:81", "SECKILL_BODY_LIMIT=2048",
		"SECKILL_MAX_WAIT=1m30s", "SECKILL_MAX_IN_FLIGHT=500", "SECKILL_MAX_CONNECTIONS=99", "SECKILL_USER_RATE=0",
		"SECKILL_USER_BURST=3", "SECKILL_MAX_STREAMS=4", "SECKILL_USER_STREAMS=2", "SECKILL_PAGES=false",
		"SECKILL_TRUSTED_PROXIES=10.0.0.0/8, ::1,",
		"SECKILL_CORS_ORIGINS=https://shop.example.com,http://localhost:3000",
		"SECKILL_EMBEDDED=never", "SECKILL_DATA_DIR=/var/lib/seckill", "SECKILL_MIGRATE=false",
		"SECKILL_REDIS_MODE=sentinel", "SECKILL_REDIS_ADDRS=a:1, b:2 ,[::1]:3", "SECKILL_REDIS_MASTER=shop",
		"SECKILL_REDIS_USERNAME=u",
		"SECKILL_REDIS_PASSWORD= p w ", "SECKILL_REDIS_DB=3", "SECKILL_REDIS_PREFIX=shop:", "SECKILL_REDIS_POOL_SIZE=9",
		"SECKILL_REDIS_TIMEOUT=500ms", "SECKILL_REDIS_REPLICAS=2", "SECKILL_REDIS_REPLICA_TIMEOUT=30ms",
		"SECKILL_REDIS_TLS=true",
		"SECKILL_MYSQL_DSN= " + goodDSN + "?tls=true ", "SECKILL_MYSQL_POOL_SIZE=8", "SECKILL_MYSQL_TIMEOUT=3s",
		"SECKILL_JWT_SECRET=" + goodSecret, "SECKILL_JWT_ISSUER=iss", "SECKILL_JWT_AUDIENCE=aud",
		"SECKILL_JWT_DIRECT=false",
		"SECKILL_ISSUERS=/etc/issuers.json", "SECKILL_SESSION_LIFE=1h", "SECKILL_SESSION_RATE=0",
		"SECKILL_MAX_BACKLOG=10", "SECKILL_RECORD_BATCH=20", "SECKILL_PARTITIONS=4",
		"SECKILL_PAYMENT_PROVIDER=sandbox", "SECKILL_PAYMENT_SECRET=" + goodSecret,
		"SECKILL_CURRENCY=EUR",
		"SECKILL_PAYMENT_CALLBACK_URL=https://me.example/payment/callback", "SECKILL_CLOSE_RATE=7",
		"SECKILL_WEBHOOK_ALLOW=10.0.0.0/8,::1", "SECKILL_WEBHOOK_KEEP=2h",
		"SECKILL_MERCHANT_SALES=20", "SECKILL_MERCHANT_UNITS=3000", "SECKILL_MERCHANT_WEBHOOKS=0",
		"SECKILL_INSTANCE=shop-1.example_com", "SECKILL_TIMEZONE=Asia/Shanghai", "SECKILL_SHUTDOWN_TIMEOUT=5s",
		"SECKILL_LOG_LEVEL=debug", "SECKILL_LOG_FORMAT=json",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		HTTP: HTTP{
			Addr: "10.0.0.1:80", OpsAddr: "[::1]:81", BodyLimit: 2048, MaxWait: 90 * time.Second,
			MaxInFlight: 500, MaxConnections: 99, UserBurst: 3, MaxStreams: 4, UserStreams: 2,
			TrustedProxies: []string{"10.0.0.0/8", "::1"},
			CORSOrigins:    []string{"https://shop.example.com", "http://localhost:3000"},
		},
		Stores: Stores{Embedded: "never", DataDir: "/var/lib/seckill"},
		Redis: Redis{
			Mode: "sentinel", Addrs: []string{"a:1", "b:2", "[::1]:3"}, Master: "shop", Username: "u",
			Password: " p w ", DB: 3, Prefix: "shop:", PoolSize: 9, Timeout: 500 * time.Millisecond, Replicas: 2,
			ReplicaTimeout: 30 * time.Millisecond, TLS: true,
		},
		MySQL:   MySQL{DSN: goodDSN + "?tls=true", PoolSize: 8, Timeout: 3 * time.Second},
		JWT:     JWT{Secret: goodSecret, Issuer: "iss", Audience: "aud"},
		Session: Session{Issuers: "/etc/issuers.json", Life: time.Hour},
		Orders:  Orders{MaxBacklog: 10, Partitions: 4, RecordBatch: 20},
		Payment: Payment{
			Provider: SandboxPayments, Secret: goodSecret, CallbackURL: "https://me.example/payment/callback",
			Currency: "EUR", CloseRate: 7,
		},
		Webhook:   Webhook{Allow: []string{"10.0.0.0/8", "::1"}, Keep: 2 * time.Hour},
		Journal:   Journal{Users: 200_000},
		Merchants: Merchants{Sales: 20, Units: 3000},
		Server:    Server{Instance: "shop-1.example_com", Timezone: "Asia/Shanghai", ShutdownTimeout: 5 * time.Second},
		Log:       Log{Level: slog.LevelDebug, Format: "json"},
	}
	if diff := diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.Embedded() {
		t.Error("the embedded mode")
	}
	if s := got.Server.Location.String(); s != "Asia/Shanghai" {
		t.Errorf("location %s", s)
	}
}

func TestEmptyVariablesCountAsUnset(t *testing.T) {
	t.Parallel()
	var environ []string
	for _, r := range Table() {
		if r.Name != "SECKILL_OPS_ADDR" {
			environ = append(environ, r.Name+"=")
		}
	}
	got, err := Load(environ)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOperationsListenerCanBeOff(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", "off"} {
		c, err := Load([]string{"SECKILL_OPS_ADDR=" + value})
		if err != nil || c.HTTP.OpsAddr != "" {
			t.Errorf("SECKILL_OPS_ADDR=%s: address %q, %v, want none", value, c.HTTP.OpsAddr, err)
		}
	}
}

func TestVariablesOfOthersAreIgnored(t *testing.T) {
	t.Parallel()
	_, err := Load([]string{
		"SECKILL=1", "SECKILLED=1", "SECKILL_TEST_REDIS_ADDR=127.0.0.1:1",
		// Kubernetes sets these for services named seckill and seckill-redis.
		"SECKILL_SERVICE_HOST=10.0.0.1", "SECKILL_SERVICE_PORT=80", "SECKILL_SERVICE_PORT_HTTP=80",
		"SECKILL_PORT=tcp://10.0.0.1:80", "SECKILL_PORT_80_TCP=tcp://10.0.0.1:80", "SECKILL_PORT_80_TCP_PROTO=tcp",
		"SECKILL_PORT_80_TCP_PORT=80", "SECKILL_PORT_80_TCP_ADDR=10.0.0.1", "SECKILL_REDIS_SERVICE_HOST=10.0.0.2",
		"SECKILL_REDIS_PORT=tcp://10.0.0.2:6379", "SECKILL_REDIS_PORT_6379_TCP_ADDR=10.0.0.2",
	})
	if err != nil {
		t.Error(err)
	}
}

func TestSettingsAreNotTakenForThoseOfKubernetes(t *testing.T) {
	t.Parallel()
	for _, r := range Table() {
		if isForeign(r.Name, "tcp://10.0.0.1:80") {
			t.Errorf("%s would be ignored", r.Name)
		}
	}
}

func TestLoadListsAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Load([]string{
		"SECKILL_LOG_FORMAT=xml", "SECKILL_MAX_WAIT=ever", "SECKILL_HTTP_ADR=:80", "SECKILL_REDIS_ADDRS=redis",
		"SECKILL_MIGRATE=maybe",
	})
	const want = `wrong settings:
  SECKILL_MAX_WAIT cannot be read: it is "ever" (allowed: duration, 1s to 5m)
  SECKILL_MIGRATE cannot be read: it is "maybe" (allowed: true or false)
  SECKILL_REDIS_ADDRS has "redis" (allowed: host:port, such as redis:6379)
  SECKILL_MYSQL_DSN is missing, though SECKILL_REDIS_ADDRS is set (allowed: user:password@tcp(host:3306)/database; or neither of them, for the embedded mode)
  SECKILL_JWT_SECRET is missing (allowed: 32 bytes or more by chance, such as the output of: openssl rand -hex 32)
  SECKILL_LOG_FORMAT is "xml" (allowed: text or json)
  SECKILL_HTTP_ADR is not a setting; did you mean SECKILL_HTTP_ADDR? (allowed: the names in the table of settings)`
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}

// diff compares two Configs without Location, which cannot be compared.
func diff(want, got Config) string {
	want.Server.Location, got.Server.Location = nil, nil
	return cmp.Diff(want, got)
}

// problemsOf returns the problems of an environment, by variable.
func problemsOf(t *testing.T, environ []string) map[string]string {
	t.Helper()
	_, err := Load(environ)
	if err == nil {
		return nil
	}
	var invalid *InvalidError
	if !errors.As(err, &invalid) || len(invalid.Problems) == 0 {
		t.Fatalf("Load: %v, want an *InvalidError with problems", err)
	}
	found := map[string]string{}
	for _, p := range invalid.Problems {
		if p.Wrong == "" || p.Allowed == "" {
			t.Errorf("%+v is not complete", p)
		}
		found[p.Variable] = p.Wrong
	}
	return found
}
