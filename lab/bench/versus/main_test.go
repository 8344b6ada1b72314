package main

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestParse: what is wrong on the command line is said before anything is built.
func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args  string
		wrong bool
	}{
		{"", true},
		{"-old x", false},
		{"-old x -new y -rounds 1", false},
		{"-old x -rounds 0", true},
		{"-old x -duration 0s", true},
		{"-old x -connections 0", true},
		{"-old x y", true},
		{"-smoke", false},
		{"-smoke -old x", true},
		{"-smoke -out .", true},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			if _, err := parse(strings.Fields(tt.args), t.Output()); (err != nil) != tt.wrong {
				t.Errorf("error %v, want one: %v", err, tt.wrong)
			}
		})
	}
}

// TestProcessorTime: what another process does is seen to a millisecond, and that of a process that is not there is an
// error.
func TestProcessorTime(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done; read wait")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	used, err := processorTime(cmd.Process.Pid)
	_ = in.Close() // ends it
	_ = cmd.Wait() // its exit code is read's
	total := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if err != nil || (used-total).Abs() > 10*time.Millisecond || used == 0 {
		t.Errorf("processor time %v, %v; it took %v", used, err, total)
	}
	if _, err := processorTime(1<<22 - 1); err == nil {
		t.Error("a process that is not there has a processor time")
	}
}
