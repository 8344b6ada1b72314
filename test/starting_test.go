package test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// TestWaitsForStores starts an instance while its database is down: it is alive but not ready. Once the database
// answers, it waits for another process to create the tables, and then sells at the same address.
func TestWaitsForStores(t *testing.T) {
	t.Parallel()
	_, prefix := testkit.Redis(t)
	maria := testkit.StartMariaDB(t)
	settings := map[string]string{
		"SECKILL_REDIS_ADDRS": testkit.RedisAddr(t), "SECKILL_REDIS_PREFIX": prefix,
		"SECKILL_MYSQL_DSN":  maria.DSN("seckill"),
		"SECKILL_JWT_SECRET": box.Secret, "SECKILL_WAIT_FOR_STORES": "true", "SECKILL_MIGRATE": "false",
	}
	maria.Stop()
	srv := box.NewServer(t, "instance", settings)
	if _, err := srv.Launch(); err != nil {
		t.Fatal(err)
	}
	answers := func(path string, status int, words string) error {
		resp, err := box.NewClient(t).Do(t.Context(), box.Request{Method: http.MethodGet, URL: srv.URL(path)})
		if err == nil && (resp.StatusCode != status || !strings.Contains(string(resp.Body), words)) {
			err = fmt.Errorf("%s answers %d: %s; want %d and %s", path, resp.StatusCode, resp.Body, status, words)
		}
		return err
	}
	waits := func(store string) {
		t.Helper()
		box.Eventually(t, "its waiting for "+store, func() error {
			if !strings.Contains(srv.Log.String(), store+" cannot be used yet") {
				return errors.New("the log does not say so")
			}
			return answers("/healthz", http.StatusOK, `"ok"`)
		})
		for path, word := range map[string]string{"/readyz": `"starting"`, "/voucher/list/1": `"UNAVAILABLE"`} {
			if err := answers(path, http.StatusServiceUnavailable, word); err != nil {
				t.Error(err)
			}
		}
	}
	waits("MySQL")
	maria.Start()
	waits("the schema")
	if got := box.Command(t, settings, "migrate"); got.Code != 0 {
		t.Fatalf("exit code %d\n%s", got.Code, got.Stderr)
	}
	box.Eventually(t, "its being ready", func() error { return answers("/readyz", http.StatusOK, `"ready"`) })
	if code, err := srv.Terminate(); err != nil || code != 0 {
		t.Errorf("exit code %d, %v", code, err)
	}
}
