package compose

import (
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"seckill/internal/config"
)

// The settings file can be read by systemd, and by a shell for commands that run beside the service.
func TestSystemdSettings(t *testing.T) {
	t.Parallel()
	const names = `"$SECKILL_REDIS_ADDRS" "$SECKILL_MYSQL_DSN" "$SECKILL_HTTP_ADDR"`
	out, err := exec.CommandContext(t.Context(), "sh", "-euc",
		". "+root+"/deploy/systemd/seckill.env; printf '%s\n' "+names).CombinedOutput()
	if want := "127.0.0.1:6379\nseckill:password@tcp(127.0.0.1:3306)/seckill\n:8080\n"; err != nil ||
		string(out) != want {
		t.Errorf("%v: %s; want %s", err, out, want)
	}
}

// The unit gives a stopping process the time that its settings allow, as many open files as a container has, and no way
// into the embedded mode.
func TestSystemdUnit(t *testing.T) {
	t.Parallel()
	unit := text(t, "deploy/systemd/seckill.service")
	stop, err := time.ParseDuration(strings.Join(found(`(?m)^TimeoutStopSec=(\S+)$`, unit), ""))
	var longest time.Duration
	for _, name := range []string{"ShutdownTimeout", "DrainDelay"} {
		field, is := reflect.TypeFor[config.Server]().FieldByName(name)
		if !is {
			t.Fatalf("config.Server has no %s", name)
		}
		d, err := time.ParseDuration(field.Tag.Get("envDefault"))
		if err != nil {
			t.Fatal(err)
		}
		longest += d
	}
	if err != nil || stop <= longest {
		t.Errorf("it is killed after %s, want more than %s (%v)", stop, longest, err)
	}
	if strings.Contains(unit, "\nProcSubset=") {
		t.Error("Go cannot read how many connections may wait, and lets 128")
	}
	for _, line := range []string{
		"LimitNOFILE=65536", "Restart=always", "StartLimitIntervalSec=0", "RestartPreventExitStatus=2",
		"DynamicUser=yes", "NoNewPrivileges=yes", "ProtectSystem=strict",
		"CapabilityBoundingSet=", "EnvironmentFile=/etc/seckill/seckill.env",
	} {
		if !strings.Contains(unit, "\n"+line+"\n") {
			t.Errorf("the unit has no %s", line)
		}
	}
	if !strings.Contains(unit, "SECKILL_WAIT_FOR_STORES=true") {
		t.Error("it gives up where the stores come up late")
	}
	if !strings.Contains(unit, "SECKILL_EMBEDDED=never") {
		t.Error("a machine that forgot its settings would sell from memory")
	}
}

// The unit of seckill-stripe gives it the 20 s in which it finishes what is in flight, and a shell can read its file of
// settings.
func TestStripeUnit(t *testing.T) {
	t.Parallel()
	unit := text(t, "deploy/systemd/seckill-stripe.service")
	for _, line := range []string{
		"TimeoutStopSec=30s", "Restart=always", "StartLimitIntervalSec=0", "DynamicUser=yes", "NoNewPrivileges=yes",
		"ProtectSystem=strict", "CapabilityBoundingSet=", "EnvironmentFile=/etc/seckill/seckill-stripe.env",
	} {
		if !strings.Contains(unit, "\n"+line+"\n") {
			t.Errorf("the unit has no %s", line)
		}
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-euc",
		". "+root+`/deploy/systemd/seckill-stripe.env; printf %s "$LISTEN$STRIPE_API_KEY"`).CombinedOutput()
	if err != nil || string(out) != "127.0.0.1:8090" {
		t.Errorf("%v: %s", err, out)
	}
}
