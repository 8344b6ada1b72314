package life

import (
	"flag"
	"testing"

	"seckill/internal/testkit"
)

// usualChecks is how many histories are checked unless -rapid.checks says otherwise; they take some 30 seconds. make life
// checks a thousand.
const usualChecks = "30"

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", usualChecks); err != nil {
			panic(err) // rapid has renamed its flag
		}
	}
	testkit.Main(m)
}
