package rig

import (
	"testing"
	"time"
)

func TestParseWaits(t *testing.T) {
	t.Parallel()
	const timehist = `Samples do not have callchains.
           time    cpu  task name                       wait time  sch delay   run time
                        [tid/pid]                          (msec)     (msec)     (msec)
--------------- ------  ------------------------------  ---------  ---------  ---------
   79371.874569 [0000]  <idle>                              0.014      0.000      1.148
   79371.874591 [0001]  server[4712/4711]                   0.000      0.250      0.022
   79371.874603 [0000]  server[4711]                        1.000      2.750      0.100
   79371.874604 [0000]  bio close file[77/70]               0.000      0.003      0.001
   79371.874622 [0001]  sshd[9]                             0.000      0.001      0.500
`
	w := parseWaits([]byte(timehist), map[int]string{4711: "service", 70: "Redis"})
	if w.Problem != "" || len(w.Of) != 3 || w.Of["Redis"] == nil || w.Of[others] == nil {
		t.Fatalf("read %+v", w)
	}
	s := w.Of["service"]
	if len(s.Delays) != 2 || s.Delays[0] != 250 || s.Delays[1] != 2750 || s.Ran != 122*time.Microsecond {
		t.Errorf("the service's waits are %+v", s)
	}
}

func TestProcessOf(t *testing.T) {
	t.Parallel()
	for task, want := range map[string]int{
		"server[4712/4711]": 4711, "redis-server[70]": 70, "<idle>": 0, "a[b][9/8]": 8, "[x]": 0,
	} {
		if got := processOf(task); got != want {
			t.Errorf("%s: %d, want %d", task, got, want)
		}
	}
}
