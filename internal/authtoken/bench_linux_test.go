package authtoken

import (
	"syscall"
	"testing"
	"time"
)

// processorTime returns the CPU time that this process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkVerify verifies a typical token with this package and with the reference. On a busy machine the CPU time is
// the steadier figure.
func BenchmarkVerify(b *testing.B) {
	r := Rules{Secret: secret, Issuer: "login"}
	v, err := NewVerifier(r)
	if err != nil {
		b.Fatal(err)
	}
	tokens := make([]string, 4096)
	for i := range tokens {
		if tokens[i], err = Sign(r, Account{User: int64(1_000_000 + i)}, time.Hour, noon); err != nil {
			b.Fatal(err)
		}
	}
	for name, verify := range map[string]func(string, time.Time) (Identity, error){
		"own": v.Verify, "reference": reference{r}.verify,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			before := processorTime(b)
			for i := 0; b.Loop(); i++ {
				if _, err := verify(tokens[i%len(tokens)], noon); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}
