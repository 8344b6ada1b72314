package main

import (
	"runtime"
	"testing"
	"time"

	"seckill/internal/checker"
)

// TestInternBounded checks that any number of different network errors takes no more space than maxCodes.
func TestInternBounded(t *testing.T) {
	t.Parallel()
	r := newRecord(time.Now(), 0)
	for i := range 5 * maxCodes {
		r.add(i, result{code: string(rune('a'+i%26)) + time.Duration(i).String()}, r.began, r.began, r.began)
	}
	if len(r.codes) > maxCodes+1 || r.answered != 5*maxCodes {
		t.Errorf("%d codes kept of %d answers", len(r.codes), r.answered)
	}
}

// BenchmarkMillionBuyers records and checks a sale with a million buyers of 100,000 units. It reports the memory of the
// record, and the additional memory of the checker.
func BenchmarkMillionBuyers(b *testing.B) {
	const buyers, units = 1_000_000, 100_000
	for b.Loop() {
		before := inUse()
		r := newRecord(time.Now(), 0)
		view := checker.View{Name: "all", Complete: true}
		for i := range buyers {
			at := r.began.Add(time.Duration(i) * time.Microsecond)
			res := result{outcome: checker.Refused, code: checker.CodeSoldOut}
			if i < units {
				id := int64(i) + 1
				res = result{outcome: checker.Accepted, order: id}
				view.Orders = append(view.Orders,
					checker.Order{ID: id, User: int64(i), Voucher: 1, Status: checker.Unpaid})
			}
			r.add(i, res, at, at, at.Add(time.Millisecond))
		}
		recorded := inUse()
		report := checker.Check(checker.Evidence{
			Voucher: 1, Issued: units, Answers: r.answers(1, &tokens{}),
			Views: []checker.View{view}, ShownStock: new(int64),
		})
		if report.Total > 0 {
			b.Fatal(report.Findings)
		}
		b.ReportMetric(float64(recorded-before)/buyers, "record-B/buyer")
		b.ReportMetric(float64(allocated()-recorded)/buyers, "checker-B/buyer")
		runtime.KeepAlive(r)
	}
}

// inUse returns the number of bytes in use.
func inUse() uint64 {
	runtime.GC()
	return allocated()
}

// allocated returns the number of bytes in use or not yet collected.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
