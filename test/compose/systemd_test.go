package compose

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"seckill/internal/config"
)

// The unit leaves a stopping process the time that its settings may give it, as many open files as a container has, and no
// way into the embedded mode.
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
		"LimitNOFILE=65536", "Restart=always", "DynamicUser=yes", "NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet=",
		"EnvironmentFile=/etc/seckill/seckill.env",
	} {
		if !strings.Contains(unit, "\n"+line+"\n") {
			t.Errorf("the unit has no %s", line)
		}
	}
	if !strings.Contains(unit, "SECKILL_EMBEDDED=never") {
		t.Error("a machine that forgot its settings would sell from memory")
	}
}
