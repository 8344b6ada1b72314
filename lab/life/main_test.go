package life

import (
	"flag"
	"testing"

	"seckill/internal/testkit"
)

// usualChecks is how many histories are checked unless -rapid.checks is given; they take some 30 seconds. make -C lab
// life checks a thousand.
const usualChecks = "30"

// checksGiven says whether -rapid.checks is given.
var checksGiven bool

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Visit(func(f *flag.Flag) { checksGiven = checksGiven || f.Name == "rapid.checks" })
	if !checksGiven {
		if err := flag.Set("rapid.checks", usualChecks); err != nil {
			panic(err) // rapid has renamed its flag
		}
	}
	testkit.Main(m)
}
