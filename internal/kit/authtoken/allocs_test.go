//go:build !race

package authtoken

import (
	"fmt"
	"testing"
	"time"
)

// TestAllocations: the check of a token that was never seen allocates nothing, and neither does that of a forged one.
// The test counts for the whole process, and so runs by itself.
func TestAllocations(t *testing.T) {
	v := verifier(t, Rules{Previous: previous, Audience: "shop", MaxLife: time.Hour})
	good := signed(fmt.Sprintf(`{"sub":"42","aud":["x","shop"],"role":"buyer","exp":%d,"iat":%d,"name":"优"}`,
		at(time.Hour), at(0)))
	for token, valid := range map[string]bool{good: true, good[:len(good)-1] + "!": false, "x": false} {
		allocs := testing.AllocsPerRun(1000, func() {
			if _, err := v.Verify(token, noon); (err == nil) != valid {
				t.Fatalf("%s: %v", token, err)
			}
		})
		if allocs > 0 {
			t.Errorf("valid %t: %v allocations", valid, allocs)
		}
	}
}
